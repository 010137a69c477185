/** The key that `stackside hooks` sends to a server. */
import { afterAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { ask, call, callDevnet, keyFor as keyOf, printSignInLink } from '../../src/commands/cli/client.ts';
import { deliveries, redeliver, setEnabled, tryFile } from '../../src/commands/hooks/hooks.ts';
import { adminKeyOf } from '../../src/hooks/access/keys.ts';
import { readSettingsOf } from '../../src/settings/config.ts';
import { refusal } from '../support/data/archive.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { serving } from '../support/servers/serving.ts';

const [directory, empty] = [dataDirectory(), dataDirectory()];
const key = adminKeyOf(directory.path);
afterAll(() => {
  for (const data of [directory, empty]) data[Symbol.dispose]();
});

/** Returns the key that a command sends with these flags and variables. */
const keyFor = (
  flags: { url: string; data?: string; adminKey?: string },
  environment: Record<string, string>,
): string | null => keyOf(readSettingsOf('hooks', flags, environment));

const HERE = 'http://127.0.0.1:3999';
const ELSEWHERE = 'https://stacks.example.org';

test('the admin key of the default directory is sent only to servers on this machine', () => {
  const environment = { STACKSIDE_DATA: directory.path };
  for (const url of [HERE, 'http://localhost:3999', 'http://[::1]:3999', 'http://127.1:80']) {
    expect(keyFor({ url }, environment)).toBe(key);
  }
  for (const url of [ELSEWHERE, 'http://10.1.2.3:3999', 'http://localhost.example.org', 'http://0.0.0.0']) {
    expect(keyFor({ url }, environment)).toBeNull();
  }
  expect(keyFor({ url: HERE }, { STACKSIDE_DATA: empty.path })).toBeNull();
});

test('the admin key of a given directory is sent to any server, and a missing key is an error', () => {
  expect(keyFor({ url: ELSEWHERE, data: directory.path }, {})).toBe(key);
  const missing = () => keyFor({ url: HERE, data: empty.path }, {});
  expect(missing).toThrow(OperatorError);
  expect(missing).toThrow('No admin key found at');
});

test('the key of a given file is used first, and is sent to another machine only if the flag names the file', () => {
  const file = join(empty.path, 'shared.key');
  const shared = 'ab'.repeat(32);
  writeFileSync(file, shared, { mode: 0o600 });
  const variables = { STACKSIDE_ADMIN_KEY_FILE: file, STACKSIDE_DATA: directory.path };
  expect(keyFor({ url: ELSEWHERE, adminKey: file }, {})).toBe(shared);
  expect(keyFor({ url: HERE }, variables)).toBe(shared);
  expect(keyFor({ url: ELSEWHERE }, variables)).toBeNull();
  expect(keyFor({ url: HERE }, { ...variables, STACKSIDE_HOOK_KEY: 'of-a-consumer' })).toBe('of-a-consumer');
  const missing = join(empty.path, 'nowhere.key');
  expect(() => keyFor({ url: HERE, adminKey: missing }, {})).toThrow("nowhere.key doesn't exist");
});

test('advises to use a server that accepts events if a process only reads', async () => {
  using directory = dataDirectory();
  await using reader = await serving({ mode: 'read' }, directory.path);
  const error = await call({ url: reader.api, key: null }, 'GET', '/me').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    message: expect.stringContaining('This process only reads'),
    remedy: expect.stringContaining('give the URL of a server that accepts events with --url'),
  });
});

test('errors name the fields of the request', async () => {
  using directory = dataDirectory();
  await using server = await serving({ hookTargets: '127.0.0.0/8' }, directory.path);
  const connection = { url: server.api, key: adminKeyOf(directory.path) };
  const file = join(directory.path, 'hook.json');
  writeFileSync(file, JSON.stringify({ filters: { events: [{ type: 'stx_burn' }] } }));
  const definition = {
    ...{ name: 'a', version: '1', chain: 'stacks', network: 'testnet' },
    ...{ filters: { events: [{ type: 'stx_burn' }] }, action: { type: 'http_post', url: 'http://127.0.0.1:9/' } },
  };
  const { uuid } = (await call(connection, 'POST', '/me', definition)) as { uuid: string };
  const range = { payloads: false, json: false };
  const problems = [
    tryFile(connection, file, { fromHeight: 7, toHeight: 5, ...range }),
    deliveries(connection, uuid, { state: 'dead,lost', limit: 5, json: false }),
    redeliver(connection, uuid, undefined, { state: 'lost' }),
    redeliver(connection, uuid, undefined, { since: 7, until: 5 }),
    redeliver(connection, uuid, undefined, { fromHeight: 7, toHeight: 5 }),
    setEnabled(connection, uuid, true, 7),
  ].map(refusal);
  expect(
    (await Promise.all(problems)).map((problem) => problem.replace('The server rejected the request: ', '')),
  ).toEqual([
    'from_height must not be above the tip, which is at 0.',
    'state/1 must be equal to one of the allowed values (pending, failed, delivered, dead, cancelled).',
    'state.0 must be dead or failed or delivered.',
    'since must not be after until.',
    'from_height must not be above to_height.',
    'resume_from must not be above the tip, which is at 0.',
  ]);
});

test('the key in STACKSIDE_HOOK_KEY comes first', () => {
  const environment = { STACKSIDE_HOOK_KEY: 'of-a-consumer', STACKSIDE_DATA: directory.path };
  expect(keyFor({ url: ELSEWHERE }, environment)).toBe('of-a-consumer');
  expect(keyFor({ url: HERE, data: directory.path }, environment)).toBe('of-a-consumer');
  expect(keyFor({ url: HERE }, { ...environment, STACKSIDE_HOOK_KEY: '' })).toBe(key);
});

test('a request with a key follows no redirect, and the redirect is an error', async () => {
  const requests: string[] = [];
  using server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url, headers }) => {
      requests.push(`${new URL(url).pathname} ${headers.get('x-api-key')} ${headers.get('x-chainhook-consumer')}`);
      return Response.redirect('/elsewhere');
    },
  });
  const connection = { url: server.url.origin, key, consumer: 'alice' };
  expect(await ask(connection, 'GET', '/me')).toEqual({ status: 302, body: null });
  await expect(call(connection, 'GET', '/me')).rejects.toThrow(`${server.url.origin} answers 302.`);
  expect(new Set(requests)).toEqual(new Set([`/chainhooks/me ${key} alice`]));
});

test('an unknown response from another kind of server is an error', async () => {
  const bodies = ['<html>', '{"path":', '{"path":7}'];
  using server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response(bodies.shift(), { headers: { 'content-type': 'application/json' } }),
  });
  const connection = { url: server.url.origin, key: null };
  while (bodies.length > 0) {
    const printing = printSignInLink(connection);
    await expect(printing).rejects.toThrow(`${connection.url} sent an unexpected response.`);
    await expect(printing).rejects.toBeInstanceOf(OperatorError);
  }
});

test('an error of a devnet names the field of the request', async () => {
  using server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    // Answers with the payload as its error.
    fetch: async (request) => Response.json(await request.json(), { status: 400 }),
  });
  const { origin } = server.url;
  const error = await callDevnet(origin, '/', { message: 'body/until_time is wrong' }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ message: 'until_time is wrong.' });
});
