/** The node's configuration: the settings that Stackside reads, and problems of its observer section. */
import { expect, test } from 'bun:test';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  nodeToken,
  observerProblem,
  observerToml,
  parseNodeConfig,
  readNodeConfig,
} from '../../src/node/node-config.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

const ENDPOINT = '127.0.0.1:3700';
const problemOf = (text: string) => observerProblem(parseNodeConfig(text, 'Stacks.toml'), ENDPOINT);

const NODE = `
[node]
working_dir = "/srv/node" # kept
rpc_bind = "0.0.0.0:20443"

[connection_options]
auth_token = "s3cret"

[[ustx_balance]]
address = "ST1"
amount = 100_000_000
`;

test('reads the observers and the auth token among the other keys of the file', () => {
  const section = '\n[[events_observer]]\nendpoint = "localhost:1"\nevents_keys = ["stx"]\n';
  const { observers, authToken } = parseNodeConfig(NODE + observerToml(ENDPOINT) + section, 'Stacks.toml');
  expect(observers.map(({ endpoint }) => endpoint)).toEqual([ENDPOINT, 'localhost:1']);
  expect(authToken).toBe('s3cret');
  expect(parseNodeConfig('', 'Stacks.toml')).toEqual({ observers: [], authToken: null });
});

test('the printed section is valid, also with another host name', () => {
  expect(problemOf(observerToml(ENDPOINT))).toBeNull();
  expect(problemOf(NODE + observerToml('stackside.internal:3700'))).toBeNull();
});

const LOCAL = 'localhost:3700';
const section = (keys: string) => `[[events_observer]]\nendpoint = "${LOCAL}"\n${keys.replaceAll('; ', '\n')}\n`;
const lacksObserver = `The node's configuration lacks an observer for ${ENDPOINT}`;
const hasScheme = `The observer's endpoint http://${ENDPOINT} has a scheme, and the node accepts none`;
const tooLittleTime = `The observer ${LOCAL} has too little time for large blocks: timeout_ms is`;
const dropsEvents = `The node drops events that the observer ${LOCAL} doesn't accept at once: disable_retries is true`;
const lacksInterface = `The observer ${LOCAL} gets contracts without their interface: disable_contract_interface is true`;
const all = 'events_keys = ["*"]';

test.each([
  [NODE, lacksObserver, ENDPOINT],
  [observerToml('127.0.0.1:3701'), lacksObserver, ENDPOINT],
  [observerToml(`http://${ENDPOINT}`), hasScheme, ENDPOINT],
  [section('events_keys = ["stx"]'), `The observer ${LOCAL} doesn't get all events: its events_keys lack "*"`, LOCAL],
  [section(all), `${tooLittleTime} the default of 1000`, LOCAL],
  [section(`${all}; timeout_ms = 300`), `${tooLittleTime} 300`, LOCAL],
  [section(`${all}; timeout_ms = 60000; disable_retries = true`), dropsEvents, LOCAL],
  [section(`${all}; timeout_ms = 60000; disable_contract_interface = true`), lacksInterface, LOCAL],
])('finds the problem of %p', (text, problem, endpoint) => {
  expect(problemOf(text)).toMatchObject({ problem, section: observerToml(endpoint) });
});

test.each([
  ['a = ', /^Stacks\.toml isn't valid TOML: /],
  ['[events_observer]\nendpoint = "x:1"', /^Stacks\.toml has \[events_observer\], .* \[\[events_observer\]\]\.$/],
  ['[[events_observer]]\nendpoint = 3700', /^Stacks\.toml has a wrong events_observer\.0\./],
  ['[connection_options]\nauth_token = 5', /^Stacks\.toml has a wrong connection_options\.auth_token: /],
])('rejects %p with an error that names the file and the key', (text, message) => {
  expect(() => parseNodeConfig(text, 'Stacks.toml')).toThrow(message);
});

test('the token comes from --node-auth-file, or else from the configuration', () => {
  using directory = dataDirectory();
  const [nodeConfig, nodeAuthFile] = [join(directory.path, 'Stacks.toml'), join(directory.path, 'token')];
  writeFileSync(nodeConfig, NODE);
  writeFileSync(nodeAuthFile, 'another\n');
  chmodSync(nodeAuthFile, 0o600);
  expect(nodeToken({ nodeAuthFile: null, nodeConfig: null })).toBeNull();
  expect(nodeToken({ nodeAuthFile: null, nodeConfig })).toBe('s3cret');
  expect(nodeToken({ nodeAuthFile, nodeConfig })).toBe('another');
  expect(() => readNodeConfig(join(directory.path, 'none.toml'))).toThrow(/none\.toml doesn't exist\./);
});
