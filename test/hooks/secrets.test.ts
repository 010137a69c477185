/** Signing secrets: stored only encrypted, and deliveries wait if a secret can't be decrypted. */

import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { makeSealing, secretsKeyFile } from '../../src/hooks/delivery/sealing.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { copyOf, dataDirectory } from '../support/data/data-directory.ts';
import { emptyDirectory } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { assertProperty } from '../support/property.ts';
import { until } from '../support/time/until.ts';
import { type DirectHooks, directHooks } from './direct.ts';
import {
  definition,
  everything,
  type HookServer,
  hookServer,
  listHooks,
  type Received,
  receiver,
  sequences,
  signatureOf,
  started,
  straightChain,
  upTo,
} from './server.ts';

const { keep } = keepToEnd();

const events = straightChain(6, 2);
const mined = events.flatMap(({ path }, index) => (path === '/new_block' ? [index] : []));
/** The events of the blocks from a height on, up to another. */
const blocks = (from: number, to: number) => events.slice(from === 0 ? 0 : mined[from - 1]! + 1, mined[to]! + 1);
const SECRET = '/chainhooks/me/secret';
const A = 'a'.repeat(64);
const B = 'b'.repeat(64);

const signatures = ({ headers }: Received): string[] => (headers['webhook-signature'] ?? '').split(' ').filter(Boolean);

const newSecret = async (server: HookServer, consumer = 'default'): Promise<string> =>
  (await server.request('POST', SECRET, undefined, { 'x-chainhook-consumer': consumer })).body.secret;
const unreadable = ({ logged }: HookServer) => logged.filter(({ event }) => event === 'hook_secrets_unreadable');

test('commands, tables and files contain a secret only encrypted, with a key that the first start creates', async () => {
  using directory = emptyDirectory();
  const file = secretsKeyFile(directory.path);
  let secrets: string[];
  {
    await using server = await hookServer({}, directory.path);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    using run = spyOn(server.hooks.commands, 'run');
    secrets = [await newSecret(server), await newSecret(server)];
    const sent = JSON.stringify(run.mock.calls);
    expect(sent).toContain('hook.set_secret');
    for (const secret of secrets) expect(sent).not.toContain(secret);
    const stored = server.ingest.hooks.secrets.find('default')!;
    for (const value of [stored.secret, stored.previous!]) expect(value.length).toBeGreaterThan(32);
  }
  const key = readFileSync(file, 'utf8');
  expect(key).toMatch(/^[0-9a-f]{64}\n$/);
  for (const name of readdirSync(directory.path)) {
    const bytes = readFileSync(join(directory.path, name));
    for (const secret of secrets) {
      expect([name, bytes.includes(Buffer.from(secret, 'hex')), bytes.includes(secret)]).toEqual([name, false, false]);
    }
  }
  await using restarted = await hookServer({}, directory.path);
  expect(readFileSync(file, 'utf8')).toBe(key);
  expect((await restarted.request('GET', SECRET)).body.secret).toBe(secrets[1]!);
  expect(unreadable(restarted)).toEqual([]);
});

/** Damages of the key file; `canMake` if a new secret can still be created. */
const DAMAGES: Readonly<Record<string, { damage: (file: string) => unknown; named?: true; canMake: boolean }>> = {
  'is gone': { damage: (file) => rmSync(file), canMake: true },
  "is another host's": { damage: (file) => writeFileSync(file, `${B}\n`), canMake: true },
  'lacks its end': { damage: (file) => writeFileSync(file, A.slice(0, 40)), canMake: true },
  'is shorter than a key': { damage: (file) => writeFileSync(file, A.slice(0, 20)), canMake: false },
  'is empty': { damage: (file) => writeFileSync(file, ''), canMake: false },
  'has a line that is cut off': { damage: (file) => writeFileSync(file, `${A}\n${B.slice(0, 9)}`), canMake: false },
  'is a directory': { damage: (file) => [rmSync(file), mkdirSync(file)], canMake: false },
  'is named and gone': { damage: (file) => rmSync(file), named: true, canMake: false },
  'is named, and every user may read it': { damage: (file) => chmodSync(file, 0o644), named: true, canMake: false },
};

/** A receiver of deliveries with a hook's secret, and the directory of the stopped server that sent them. */
let delivered: { directory: string; target: ReturnType<typeof receiver>; uuid: string; earlier: readonly Received[] };
beforeAll(async () => {
  const [directory, target] = [keep(emptyDirectory()), receiver()];
  writeFileSync(secretsKeyFile(directory), `${A}\n`, { mode: 0o600 });
  await using server = await hookServer({}, directory);
  const uuid = await server.register(target.url);
  await newSecret(server);
  server.feed(blocks(0, 2));
  await server.untilDrained(uuid);
  delivered = { directory, target, uuid, earlier: [...target.received] };
});
afterAll(() => delivered.target[Symbol.dispose]());

test.each(Object.entries(DAMAGES))(
  'with a key that %s, the server starts, and deliveries wait for a new secret',
  async (_, { damage, named, canMake }) => {
    const { target, uuid } = delivered;
    using directory = copyOf({ path: delivered.directory });
    using files = dataDirectory();
    target.received.splice(0, Number.POSITIVE_INFINITY, ...delivered.earlier);
    const file = named === undefined ? secretsKeyFile(directory.path) : join(files.path, 'named.key');
    if (named !== undefined) renameSync(secretsKeyFile(directory.path), file);
    const settings = named === undefined ? {} : { clusterKey: file };
    const { length: earlier } = target.received;
    damage(file);
    await using server = await hookServer(settings, directory.path);
    server.feed(blocks(3, 4));
    expect((await server.request('POST', `/chainhooks/me/${uuid}/evaluate`, { block_height: 2 })).status).toBe(204);
    const first = target.received[0]!.headers['webhook-id']!;
    const redelivered = await server.request('POST', `/chainhooks/me/${uuid}/deliveries/${first}/redeliver`);
    expect(redelivered.status).toBeLessThan(300);
    const atTip = { status: 'streaming', enabled: true, lag_blocks: 0, last_evaluated_block_height: 4 };
    const paused = { paused_reason: 'secret_unreadable', pending_deliveries: 4 };
    expect(await server.status(uuid)).toMatchObject({ ...atTip, ...paused });
    expect(unreadable(server)).toEqual([{ event: 'hook_secrets_unreadable', count: 1, consumers: ['default'] }]);
    expect(server.logged.some(({ event }) => event === 'hook_key_unusable')).toBe(!canMake);
    expect(server.hooks.secrets.unreadable()).toEqual(['default']);
    expect(await listHooks(server)).toContain('streaming, paused     ');
    expect(await listHooks(server)).toContain("secret_unreadable: the server can't read the signing secret");
    expect((await server.request('GET', SECRET)).body.details).toContain("can't be read");
    expect((await server.request('POST', `/chainhooks/me/${uuid}/test`, {})).status).toBe(409);
    expect(target.received).toHaveLength(earlier);

    const rotated = await server.request('POST', SECRET);
    expect(rotated.status).toBe(canMake ? 200 : 409);
    if (!canMake) expect((await server.request('DELETE', SECRET)).status).toBe(204);
    await server.untilDrained(uuid);
    const waited = target.received.slice(earlier);
    expect(waited).toHaveLength(4);
    for (const request of waited) {
      // The secret that was there can't be read, and so signs nothing.
      expect(signatures(request)).toEqual(canMake ? [signatureOf(rotated.body.secret, request)] : []);
    }
    const live = target.received.filter(({ headers }) => headers['x-chainhook-sequence'] !== undefined);
    expect(sequences(live)).toEqual(upTo(live.length));
    expect(live.length).toBe(earlier + 2);
    expect((await server.status(uuid)).paused_reason).toBeNull();
    expect(server.hooks.secrets.unreadable()).toEqual([]);
    expect(unreadable(server)).toHaveLength(1);
  },
);

test('a damaged key file is not replaced by a new key', async () => {
  using directory = emptyDirectory();
  mkdirSync(directory.path, { recursive: true });
  writeFileSync(secretsKeyFile(directory.path), 'short\n');
  {
    await using _ = await hookServer({}, directory.path);
  }
  expect(readFileSync(secretsKeyFile(directory.path), 'utf8')).toBe('short\n');
});

test('a replaced key takes effect at the next start, and the old key can be restored', async () => {
  using directory = emptyDirectory();
  using target = receiver();
  const file = secretsKeyFile(directory.path);
  let uuid: string;
  let secret: string;
  {
    await using server = await hookServer({}, directory.path);
    uuid = await server.register(target.url);
    await newSecret(server);
    writeFileSync(file, `${B}\n${readFileSync(file, 'utf8')}`);
    const content = readFileSync(file, 'utf8');
    writeFileSync(file, `${B}\n`);
    secret = await newSecret(server);
    server.feed(blocks(0, 2));
    await server.untilDrained(uuid);
    expect(signatures(target.received.at(-1)!)).toHaveLength(2);
    await server.stop();
    {
      await using other = await hookServer({}, directory.path);
      other.feed(blocks(3, 3));
      expect(await other.status(uuid)).toMatchObject({ paused_reason: 'secret_unreadable', pending_deliveries: 1 });
    }
    // With both keys, all secrets can be decrypted.
    writeFileSync(file, content);
  }
  await using back = await hookServer({}, directory.path);
  await back.untilDrained(uuid);
  expect(target.received.at(-1)!.headers.authorization).toBe(`Bearer ${secret}`);
  expect(sequences(target.received)).toEqual(upTo(target.received.length));
});

test("a key that decrypts some consumers' secrets delays only the others", async () => {
  using directory = emptyDirectory();
  using files = dataDirectory();
  using first = receiver();
  using two = receiver();
  const clusterKey = join(files.path, 'a.key');
  mkdirSync(files.path, { recursive: true });
  const keys = (...lines: string[]) => writeFileSync(clusterKey, `${lines.join('\n')}\n`, { mode: 0o600 });
  keys(A);
  const uuids: string[] = [];
  {
    await using server = await hookServer({ clusterKey }, directory.path);
    uuids.push(await server.register(first.url, started, everything, { 'x-chainhook-consumer': 'one' }));
    await newSecret(server, 'one');
  }
  keys(B, A);
  {
    await using server = await hookServer({ clusterKey }, directory.path);
    uuids.push(await server.register(two.url, started, everything, { 'x-chainhook-consumer': 'two' }));
    await newSecret(server, 'two');
    server.feed(blocks(0, 2));
    for (const uuid of uuids) await server.untilDrained(uuid);
  }
  keys(A);
  await using server = await hookServer({ clusterKey }, directory.path);
  const { length } = two.received;
  server.feed(blocks(3, 5));
  await server.untilDrained(uuids[0]!);
  const reasons = uuids.map(async (uuid) => (await server.status(uuid)).paused_reason);
  expect(await Promise.all(reasons)).toEqual([null, 'secret_unreadable']);
  expect(unreadable(server)).toEqual([{ event: 'hook_secrets_unreadable', count: 1, consumers: ['two'] }]);
  expect(two.received).toHaveLength(length);
  await newSecret(server, 'two');
  await server.untilDrained(uuids[1]!);
  for (const { received } of [first, two]) expect(sequences(received)).toEqual(upTo(5));
});

test('a backup is restored without the key, and continues once the key is back', async () => {
  using directory = emptyDirectory();
  using places = dataDirectory();
  mkdirSync(places.path, { recursive: true });
  using target = receiver();
  let uuid: string;
  let secret: string;
  {
    await using server = await hookServer({}, directory.path);
    uuid = await server.register(target.url);
    secret = await newSecret(server);
    server.feed(blocks(0, 2));
    await server.untilDrained(uuid);
  }
  const pathOf = (name: string) => join(places.path, name);
  await backupOf(directory.path, pathOf('backup'));
  for (const name of ['without', 'with']) {
    await restored(pathOf('backup'), pathOf(name));
    expect(readdirSync(pathOf(name))).not.toContain('secrets.key');
  }
  cpSync(secretsKeyFile(directory.path), secretsKeyFile(pathOf('with')));
  {
    await using server = await hookServer({}, pathOf('without'));
    server.feed(blocks(3, 3));
    expect(await server.status(uuid)).toMatchObject({ paused_reason: 'secret_unreadable', pending_deliveries: 1 });
  }
  await using server = await hookServer({}, pathOf('with'));
  server.feed(blocks(3, 3));
  await server.untilDrained(uuid);
  expect(sequences(target.received)).toEqual(upTo(target.received.length));
  const last = target.received.at(-1)!;
  expect(signatures(last)).toEqual([signatureOf(secret, last)]);
});

test('the alert of a hook with an unreadable secret is unsigned', async () => {
  using directory = emptyDirectory();
  using operator = receiver();
  using target = receiver();
  const settings = { hookAlert: operator.url };
  const expires = { ...started, expire_after_evaluations: 2 };
  {
    await using server = await hookServer(settings, directory.path);
    await newSecret(server);
    await server.register(target.url, expires);
  }
  rmSync(secretsKeyFile(directory.path));
  await using server = await hookServer(settings, directory.path);
  server.feed(blocks(0, 3));
  await until(() => operator.received.length > 0, 'the alert');
  const { headers } = operator.received[0]!;
  expect([headers['webhook-signature'], headers['webhook-id']]).toEqual([undefined, expect.stringMatching(/^evt_/)]);
});

test('a rotation while deliveries wait survives a restart, and the next rotation keeps the previous secret', async () => {
  using directory = emptyDirectory();
  using target = receiver();
  const file = secretsKeyFile(directory.path);
  let uuid: string;
  {
    await using server = await hookServer({}, directory.path);
    uuid = await server.register(target.url);
    await newSecret(server);
  }
  rmSync(file);
  let secret: string;
  {
    target.answer = () => new Response('not now', { status: 503 });
    await using server = await hookServer({}, directory.path);
    server.feed(blocks(0, 1));
    expect((await server.status(uuid)).paused_reason).toBe('secret_unreadable');
    secret = await newSecret(server);
    await until(() => target.received.length > 0, 'an attempt');
  }
  target.answer = () => new Response('ok');
  await using server = await hookServer({}, directory.path);
  expect(unreadable(server)).toEqual([]);
  await server.untilDrained(uuid);
  const last = target.received.at(-1)!;
  expect(signatures(last)).toEqual([signatureOf(secret, last)]);
  const next = await newSecret(server);
  server.feed(blocks(2, 2));
  await server.untilDrained(uuid);
  const newest = target.received.at(-1)!;
  expect(signatures(newest)).toEqual([signatureOf(next, newest), signatureOf(secret, newest)]);
});

describe('an encrypted secret', () => {
  const sealing = makeSealing(A, B);
  const secret = new Uint8Array(32).fill(7);

  test('decrypts only for its consumer, and only if unchanged', async () => {
    const sealed = sealing.seal('me', secret);
    expect(sealing.open('me', sealed)).toEqual(Buffer.from(secret));
    expect(sealing.open('you', sealed)).toBeNull();
    expect(makeSealing(B).open('me', sealed)).toBeNull();
    expect(makeSealing().open('me', sealed)).toBeNull();
    expect(makeSealing(B, A).open('me', sealed)).toEqual(Buffer.from(secret));
    await assertProperty(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(sealed.length), fc.nat(255), (bytes, offset, flip) => {
        expect(sealing.open('me', bytes)).toBeNull();
        // The prefix of the sealing key, so that the bytes after it are checked.
        expect(sealing.open('me', Buffer.concat([sealed.subarray(0, 8), bytes]))).toBeNull();
        expect(sealing.open('me', sealed.subarray(0, offset)) === null || offset === sealed.length).toBe(true);
        const changed = Buffer.from(sealed);
        changed[offset % sealed.length]! ^= flip;
        expect(sealing.open('me', changed) === null || flip === 0).toBe(true);
      }),
      { always: 'each case is bytes that nobody sealed' },
    );
  });

  test('in plain text or copied to another consumer delays deliveries and is reported', async () => {
    await using direct = directHooks({ sealing });
    const { commands, secrets } = direct.hooks;
    await commands.run('hook.set_secret', { consumer: 'plain', secret: '07'.repeat(32) });
    const stolen = sealing.seal('me', secret).toHex();
    await commands.run('hook.set_secret', { consumer: 'thief', secret: stolen });
    await commands.run('hook.set_secret', { consumer: 'me', secret: stolen });
    expect(secrets.unreadable()).toEqual(['plain', 'thief']);
    expect(secrets.find('me')?.secret).toEqual(Buffer.from(secret));
    expect(() => secrets.find('thief')).toThrow("can't be read");
  });
});

test.each(['the key that is back', 'a new secret'])(
  "a pause doesn't count for a delivery's retry budget when it ends with %s",
  async (end) => {
    const DAY = 24 * 3_600_000;
    using directory = emptyDirectory();
    using target = receiver();
    target.answer = () => new Response('', { status: 500 });
    const clock = { time: 1_800_000_000_000 };
    const openWith = (key: string) => directHooks({ directory: directory.path, clock, sealing: makeSealing(key) });
    let uuid: string;
    const untilTried = (direct: DirectHooks, times: number) =>
      until(() => direct.deliveries(uuid)[0]?.attempts === times);
    {
      await using direct = openWith(A);
      await direct.managed.rotateSecret('default');
      uuid = await direct.register(definition(target.url, everything, started));
      direct.feed(blocks(0, 1));
      await untilTried(direct, 1);
    }
    {
      await using direct = openWith(B);
      await until(() => direct.deliveries(uuid)[0]?.triedSince === null);
      clock.time += 3 * DAY;
      if (end === 'a new secret') {
        await direct.managed.rotateSecret('default');
        await untilTried(direct, 2);
      }
      expect(direct.deliveries(uuid)[0]?.state).toBe('failed');
    }
    await using direct = openWith(end === 'a new secret' ? B : A);
    direct.wake(uuid);
    await untilTried(direct, 2);
    expect([direct.deliveries(uuid)[0]?.state, direct.record(uuid).status]).toEqual(['failed', 'streaming']);
    // It is tried for a day from then on.
    clock.time += DAY;
    direct.wake(uuid);
    await untilTried(direct, 3);
    expect([direct.deliveries(uuid)[0]?.state, direct.record(uuid).status]).toEqual(['dead', 'interrupted']);
  },
);
