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

const section = (keys: string) => `[[events_observer]]\nendpoint = "localhost:3700"\n${keys}\n`;

test.each([
  [NODE, "The node's configuration lacks an observer for 127.0.0.1:3700", ENDPOINT],
  [observerToml('127.0.0.1:3701'), "The node's configuration lacks an observer for 127.0.0.1:3700", ENDPOINT],
  [
    observerToml('http://127.0.0.1:3700'),
    "The observer's endpoint http://127.0.0.1:3700 has a scheme, and the node accepts none",
    ENDPOINT,
  ],
  [
    section('events_keys = ["stx"]\ntimeout_ms = 60000'),
    'The observer localhost:3700 doesn\'t get all events: its events_keys lack "*"',
    'localhost:3700',
  ],
  [
    section('events_keys = ["*"]'),
    'The observer localhost:3700 has too little time for large blocks: timeout_ms is the default of 1000',
    'localhost:3700',
  ],
  [
    section('events_keys = ["*"]\ntimeout_ms = 300'),
    'The observer localhost:3700 has too little time for large blocks: timeout_ms is 300',
    'localhost:3700',
  ],
  [
    section('events_keys = ["*"]\ntimeout_ms = 60000\ndisable_retries = true'),
    "The node drops events that the observer localhost:3700 doesn't accept at once: disable_retries is true",
    'localhost:3700',
  ],
  [
    section('events_keys = ["*"]\ntimeout_ms = 60000\ndisable_contract_interface = true'),
    'The observer localhost:3700 gets contracts without their interface: disable_contract_interface is true',
    'localhost:3700',
  ],
])('finds the problem of %p', (text, problem, endpoint) => {
  expect(problemOf(text)).toMatchObject({ problem, section: observerToml(endpoint) });
});

test.each([
  ['a = ', /^Stacks\.toml isn't valid TOML: /],
  [
    '[events_observer]\nendpoint = "localhost:3700"',
    /^Stacks\.toml has \[events_observer\], .* \[\[events_observer\]\]\.$/,
  ],
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
