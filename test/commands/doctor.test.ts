/** `stackside doctor`: its checks over given facts, and the facts of a real server. */
import { expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import type { ServerStatus } from '../../src/api/stackside/server.ts';
import { type Identity, identityBytes, toIdentity } from '../../src/archive/archive.ts';
import { loadSeenArchive, saveSeenArchive } from '../../src/archive/open.ts';
import { newPrivateKey, parseSigner } from '../../src/archive/signing.ts';
import { systemClock } from '../../src/base/clock.ts';
import { READ_TIMEOUT_MS } from '../../src/commands/cli/client.ts';
import { runChecks } from '../../src/commands/doctor/checks.ts';
import { type Facts, gatherFacts, parseMetrics } from '../../src/commands/doctor/facts.ts';
import { chainState } from '../../src/console/app/chain/state.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { type Alert, Alerts, type Series } from '../../src/metrics/alerts.ts';
import { requestMetrics } from '../../src/metrics/requests.ts';
import { observerToml } from '../../src/node/node-config.ts';
import { nodeRpc } from '../../src/node/rpc.ts';
import { readSettings } from '../../src/settings/config.ts';
import { objectStoreAt } from '../../src/storage/location.ts';
import { beginMaking } from '../../src/store/files/staged-files.ts';
import { dataStateOf, type FileFates } from '../../src/store/files/status.ts';
import { archive } from '../support/data/archive.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { NO_NODE, serving } from '../support/servers/serving.ts';
import { standInNode, TESTNET_INFO } from '../support/servers/stand-in-node.ts';
import { watching } from '../support/servers/watching.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const TESTNET = 0x8000_0000;
const SERVER = {
  state: 'live',
  reason: null,
  next: 'Nothing to do.',
  observer: null,
  index: { height: 100 },
  node: { height: 100 },
  events: { endpoint: '127.0.0.1:3700', per_second: 1 },
  cluster: null,
  archive: { entry: 7, failing: false, behind_entries: 0, behind_seconds: 0, base: { failing: false } },
  disk: { growth: null },
} as unknown as ServerStatus;

const ALERT: Omit<Alert, 'name'> = {
  severity: 'warning',
  state: 'pending',
  since: 1,
  summaries: ['A summary.'],
  description: 'A description.',
  meaning: 'A meaning.',
  measure: null,
  threshold: null,
  for_seconds: 0,
  values: [],
};

/** The facts of a server without a problem. */
const WELL: Facts = {
  settings: readSettings({ data: '/srv', archive: '/archive', nodeRpc: 'http://127.0.0.1:20443' }, {}),
  url: 'http://127.0.0.1:3999',
  nodeUrl: 'http://127.0.0.1:20443',
  node: { chainId: TESTNET, height: 100, burnBlockHeight: 50, indexBlockHash: null, isSynced: true, secondsAhead: 0 },
  nodeFailure: null,
  server: SERVER,
  alerts: [],
  data: { value: { chainId: TESTNET, files: { index: 'used', journal: null } }, error: null },
  nodeConfig: {
    value: { observers: [{ endpoint: '127.0.0.1:3700', events_keys: ['*'], timeout_ms: 60_000 }], authToken: 'a' },
    error: null,
  },
  token: { value: 'a', error: null },
  tokenStatus: 404,
  takenPorts: [],
  freeBytes: 5e11,
  archive: null,
  from: { value: '/from', error: null },
};

/** Gathers the facts of a server that isn't there, unless the flags name one. */
function factsOf(flags: Record<string, string>, clock = systemClock): Promise<Facts> {
  const settings = readSettings({ apiPort: '0', eventPort: '0', nodeRpc: NO_NODE, ...flags }, {});
  return gatherFacts(settings, nodeRpc(settings.nodeRpc), clock);
}

/** Returns the result of one check. */
const checkOf = async (name: string, flags: Record<string, string>) =>
  runChecks(await factsOf(flags)).find((result) => result.name === name);

const checkFacts = (facts: Partial<Facts>) =>
  Object.fromEntries(runChecks({ ...WELL, ...facts } as Facts).map(({ name, ...finding }) => [name, finding]));
const server = (more: Partial<ServerStatus>) => ({ server: { ...SERVER, ...more } });
const withFiles = (files: FileFates): Partial<Facts> => ({ data: { value: { chainId: null, files }, error: null } });

test('finds no problem if all is well', () => {
  expect(new Set(Object.values(checkFacts({})).map(({ state }) => state))).toEqual(new Set(['ok']));
});

test.each([
  ['node of a network', false],
  ['simulated node', true],
])('with a %s, the header, doctor and the alert about missing blocks agree', async (_, isSimulated) => {
  using directory = dataDirectory();
  const { world, after, now, operations } = watching({ isSimulated });
  Object.assign(world, { height: 100, nodeHeight: 100, lastEvent: 0, tipTime: 0 });
  const { series: seriesOf } = operations(directory.path, { readiness: () => after(0) });
  const alerts = new Alerts();
  for (const minutes of [0, 60, 61, 66]) {
    const readiness = await after(60 * minutes - now() / 1_000);
    const status: ServerStatus = { ...SERVER, ...readiness, index: SERVER.index, node: SERVER.node };
    const series = await seriesOf();
    const alert = alerts.evaluate(now() / 1_000, series).find(({ name }) => name === 'StacksideNoBlocks')?.state;
    const { events } = checkFacts({ server: status });
    const isOld = !isSimulated && minutes > 60;
    expect([minutes, chainState(status, false).word]).toEqual([minutes, isOld ? 'Stale' : 'Live']);
    expect([minutes, events?.state]).toEqual([minutes, isOld ? 'problem' : 'ok']);
    if (isOld) expect(events?.message).toBe(readiness.reason!);
    expect([minutes, alert]).toEqual([minutes, isOld ? (minutes === 61 ? 'pending' : 'firing') : 'quiet']);
    expect(readiness.ready).toBe(true);
  }
});

test('doctor and the server itself read the same metrics, which include those of API threads', async () => {
  using directory = dataDirectory();
  const { after, operations } = watching();
  const [registry, thread] = [new Registry(), new Registry()];
  for (const [of, milliseconds] of [
    [registry, 3],
    [thread, 70],
  ] as const) {
    requestMetrics(of).route('GET', '/"a\\b"')(200, milliseconds);
  }
  const threads = async () => [await thread.getMetricsAsJSON()];
  const read = operations(directory.path, { registry, threads, readiness: () => after(0) });
  const sorted = (series: readonly Series[]) =>
    series
      .filter(({ name }) => !name.startsWith('process_'))
      .map(({ name, labels: { route, ...labels }, value }) => ({ name, labels, value }))
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  const series = sorted(await read.series());
  expect(series).toContainEqual({
    name: 'http_request_duration_seconds_count',
    labels: { method: 'GET', status_code: '200' },
    value: 2,
  });
  expect(series).toEqual(sorted(parseMetrics(await read.metrics())));
});

test.each<[string, Partial<Facts>, string, string]>([
  [
    'node',
    { node: null, nodeFailure: 'no node answers at http://127.0.0.1:20443' },
    'No node answers at http://127.0.0.1:20443.',
    'Start the node, or name the address of its RPC with --node-rpc.',
  ],
  [
    'chain',
    { node: { ...WELL.node!, chainId: 1 } },
    'The node at http://127.0.0.1:20443 belongs to chain 0x00000001, and the data to chain 0x80000000.',
    'Name a node of chain 0x80000000 with --node-rpc, or use another --data directory for chain 0x00000001.',
  ],
  [
    'chain',
    { data: null, settings: { ...WELL.settings, network: 1 } },
    'The node at http://127.0.0.1:20443 belongs to chain 0x80000000, but --network is 0x00000001.',
    'Check --node-rpc, or omit --network.',
  ],
  [
    'sync',
    { node: { ...WELL.node!, isSynced: false } },
    'The node itself is not synced yet.',
    'Wait until the node has the whole chain.',
  ],
  [
    'sync',
    { node: { ...WELL.node!, height: 1_200 }, ...server({ state: 'stale', reason: 'No block has arrived.' }) },
    'The index is 1,100 blocks behind the node: No block has arrived.',
    'Nothing to do.',
  ],
  [
    'observer',
    { nodeConfig: { value: { observers: [], authToken: null }, error: null } },
    "The node's configuration lacks an observer for 127.0.0.1:3700.",
    'Add this section to it, and restart the node.',
  ],
  [
    'events',
    server({ state: 'waiting_for_the_first_event', reason: 'No event has arrived.', next: 'Restart the node.' }),
    'No event has arrived.',
    'Restart the node.',
  ],
  [
    'blocks',
    server({ state: 'stuck', reason: 'Block 7 is missing.', next: 'Fill it.' }),
    'Block 7 is missing.',
    'Fill it.',
  ],
  ['server', server({ state: 'cannot_write', reason: 'Disk full.', next: 'Free space.' }), 'Disk full.', 'Free space.'],
  ['server', { alerts: [{ ...ALERT, name: 'StacksideChainhookInterrupted' }] }, 'A summary.', 'A description.'],
  [
    'token',
    { tokenStatus: 401 },
    'The node rejects the auth token.',
    "Give the auth_token of the node's [connection_options] with --node-config or --node-auth-file, and restart the node if it changed.",
  ],
  [
    'ports',
    { server: null, takenPorts: [{ flag: '--api-port', port: 3999 }] },
    'No Stackside answers at http://127.0.0.1:3999, but port 3999 (--api-port) is in use.',
    'If a Stackside that hangs uses the port, restart it. Otherwise, stop the other program, or choose another port with --api-port.',
  ],
  [
    'clock',
    { node: { ...WELL.node!, secondsAhead: -75 } },
    "The clock is 1 minute 15 seconds ahead of the node's.",
    'Synchronise both clocks with NTP.',
  ],
  ['disk', { freeBytes: 5e8 }, '500 MB are free.', 'Free space, or move the data directory.'],
  [
    'disk',
    server({ disk: { ...SERVER.disk, growth: { measured_seconds: 1, bytes_per_day: 1, full_in_seconds: 86_400 } } }),
    '500 GB are free, and the disk is full in 1 day.',
    'Free space, or move the data directory.',
  ],
  [
    'archive',
    server({ archive: { ...SERVER.archive!, failing: true, behind_entries: 7, behind_seconds: 90 } }),
    'The last attempt to write the archive failed. It lacks 7 entries and has been incomplete for 1 minute 30 seconds.',
    "Read the server's log: the event service_failing has the reason.",
  ],
  [
    'archive',
    server({ archive: { ...SERVER.archive!, base: { ...SERVER.archive!.base, failing: true } } }),
    'The last attempt to write a base to the archive failed.',
    "Read the server's log: the event service_failing has the reason.",
  ],
  [
    'format',
    withFiles({ index: 'newer', journal: null }),
    'A newer version of Stackside wrote /srv.',
    'Install that version, or a later one.',
  ],
  [
    'format',
    withFiles({ index: 'newer', journal: 'used' }),
    'A newer version of Stackside wrote the index in /srv.',
    'Run the newer version, or rebuild the index with this one: stackside rebuild.',
  ],
  [
    'format',
    withFiles({ index: 'used', journal: 'unreleased' }),
    '/srv was made by an unreleased Stackside.',
    'Run stackside export with the executable that made it, and stackside import into a new directory with this one.',
  ],
  [
    'format',
    withFiles({ index: 'unreleased', journal: 'used' }),
    '/srv was made by an unreleased Stackside.',
    'Make a new index from the journal: stackside rebuild.',
  ],
])('the check of %s reports the problem and the remedy for %p', (name, facts, message, remedy) => {
  const results = checkFacts(facts);
  expect(results[name]).toMatchObject({ state: 'problem', message, remedy });
});

test.each(['starting', 'catching_up'] as const)(
  'a server that is %s has no problem, however far ahead the node is',
  (state) => {
    const node = { ...WELL.node!, height: 1_200 };
    expect(checkFacts({ node, ...server({ state, reason: 'Wait.' }) }).sync).toMatchObject({
      state: 'ok',
      message: 'Wait.',
    });
  },
);

test("the check of the observer shows the endpoint of the node's configuration", () => {
  const value = {
    ...WELL.nodeConfig!.value!,
    observers: [{ ...WELL.nodeConfig!.value!.observers[0]!, endpoint: 'stackside:3700' }],
  };
  expect(checkFacts({ nodeConfig: { value, error: null } }).observer).toMatchObject({
    state: 'ok',
    message:
      "The node's configuration has an observer for stackside:3700. The node must reach 127.0.0.1:3700 with this address.",
  });
});

/** Makes a data directory with a chain that lacks one of its files. */
function copyWithout(directory: string, file: string): void {
  using filled = ingestOf(simulatedEvents({ seed: 5, blocks: 1 }));
  cpSync(filled.path, directory, { recursive: true });
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(directory, file) + suffix, { force: true });
}

test.each<[string, (directory: string) => void, RegExp]>([
  ['an unreadable directory', (directory) => symlinkSync(directory, directory), /is a symbolic link to itself/],
  [
    'an index that is no database',
    (directory) => {
      mkdirSync(directory);
      writeFileSync(join(directory, 'index.db'), 'x'.repeat(8_192));
    },
    /is not a database/,
  ],
  [
    'a damaged index',
    (directory) => {
      using filled = ingestOf(simulatedEvents({ seed: 5, blocks: 1 }));
      cpSync(filled.path, directory, { recursive: true });
      const index = join(directory, 'index.db');
      rmSync(`${index}-wal`, { force: true });
      const bytes = readFileSync(index);
      writeFileSync(index, bytes.fill(7, 4_096));
    },
    /is damaged/,
  ],
  ['a journal without its index', (directory) => copyWithout(directory, 'index.db'), /is missing, but .* a journal\.$/],
  [
    'an index without its journal',
    (directory) => copyWithout(directory, 'journal.db'),
    /^The journal in .* is missing, but the index contains \d+ events\.$/,
  ],
])('with %s, the other checks still run', async (_, damage, message) => {
  using around = dataDirectory();
  const data = join(around.path, 'data');
  damage(data);
  expect(await checkOf('format', { data })).toMatchObject({
    state: 'problem',
    message: expect.stringMatching(message),
  });
});

test('the check of a sound archive does not promise that the next write succeeds', () => {
  expect(checkFacts(WELL).archive).toEqual({
    state: 'ok',
    message: 'The archive lacks 0 entries. Only the next upload shows whether it still accepts writes.',
  });
});

test('the check of an archive skips a host that does not write it', () => {
  const cluster = { name: 'a' } as ServerStatus['cluster'];
  expect(checkFacts(server({ archive: null, cluster })).archive).toEqual({
    state: 'skipped',
    message: 'The host that delivers chainhooks writes the archive, if it has --archive: give all hosts the same one.',
  });
  const settings = { ...WELL.settings, archive: null };
  expect(checkFacts({ settings, ...server({ archive: null }) }).archive?.message).toBe('No archive is written.');
  expect(checkFacts(server({ archive: null })).archive).toMatchObject({ state: 'problem' });
});

test('the check of the server names its state only if the server is live', () => {
  expect(checkFacts({}).server?.message).toBe('The server at http://127.0.0.1:3999 is live.');
  const stale = checkFacts(server({ state: 'stale', reason: 'No block has arrived.' }));
  expect([stale.server?.message, stale.events?.state]).toEqual([
    'The server at http://127.0.0.1:3999 answers.',
    'problem',
  ]);
});

test('a devnet needs no node', () => {
  const server = { ...SERVER, simulated_node: true };
  expect(checkFacts({ server, node: null }).node?.state).toBe('skipped');
});

test('without a server, its checks are skipped, but the checks of files and node still run', () => {
  const results = checkFacts({ server: null });
  const skipped = Object.entries(results).flatMap(([name, { state }]) => (state === 'skipped' ? [name] : []));
  expect(skipped).toEqual(['sync', 'events', 'blocks', 'server', 'archive']);
});

test('collects facts from a running server, its node, the configuration and the token', async () => {
  using node = standInNode();
  node.answer('/v2/info', () => Response.json({ ...TESTNET_INFO, stacks_tip_height: 3, is_fully_synced: true }));
  node.answer(
    `/v3/blocks/replay/${'0'.repeat(64)}`,
    ({ headers }) => new Response('', { status: headers.get('authorization') === 's3cret' ? 404 : 401 }),
  );
  using directory = dataDirectory();
  await using running = await serving({ nodeRpc: node.url }, directory.path);
  // Blocks from the future are never old.
  await running.post([...devnetEvents({ seed: 5, blocks: 3, startTime: 4_000_000_000 })]);
  const nodeConfig = join(directory.path, 'Stacks.toml');
  const token = '[connection_options]\nauth_token = "s3cret"\n';
  writeFileSync(nodeConfig, token + observerToml(new URL(running.events).host));
  const { hostname: apiHost, port: apiPort } = new URL(running.api);
  const flags = { data: directory.path, nodeRpc: node.url, nodeConfig, apiHost, apiPort };
  const facts = await factsOf(flags);
  expect(facts.server).toMatchObject({ state: 'live' });
  expect(facts.tokenStatus).toBe(404);
  expect(runChecks(facts).filter(({ state }) => state === 'problem')).toEqual([]);
  writeFileSync(nodeConfig, token.replace('s3cret', 'wrong'));
  const wrong = runChecks(await factsOf(flags));
  expect(wrong.filter(({ state }) => state === 'problem').map(({ name }) => name)).toEqual(['observer', 'token']);
});

test('accepts a node whose second answer is an error page', async () => {
  using directory = dataDirectory();
  using node = standInNode();
  let requests = 0;
  node.answer('/v2/info', () =>
    ++requests === 1 ? Response.json(TESTNET_INFO) : new Response('<html>', { status: 502 }),
  );
  const facts = await factsOf({ data: directory.path, nodeRpc: node.url });
  expect(facts.node).toMatchObject({ chainId: TESTNET, isSynced: null });
});

test('an unfinished restore is a problem, unless --from continues it', async () => {
  using directory = dataDirectory();
  beginMaking(directory.path, Buffer.from('{}'));
  const data = directory.path;
  expect(await checkOf('format', { data })).toMatchObject({
    state: 'problem',
    message: `${data} contains an unfinished restore.`,
  });
  expect(await checkOf('format', { data, from: '/backups' })).toMatchObject({ state: 'ok' });
});

test('without a server, reports a wrong --archive or --from', async () => {
  using directory = dataDirectory();
  const data = join(directory.path, 'data');
  const [right, wrong] = [join(directory.path, 'archive'), join(directory.path, 'not mounted', 'archive')];
  expect(await checkOf('archive', { data, archive: right })).toMatchObject({
    state: 'ok',
    message: expect.stringContaining(`${right} can be reached`),
  });
  expect(existsSync(right)).toBe(false);
  expect(await checkOf('archive', { data, archive: wrong })).toMatchObject({
    state: 'problem',
    message: `The directory ${join(directory.path, 'not mounted')} doesn't exist.`,
  });
  expect(await checkOf('from', { data, from: right })).toMatchObject({
    state: 'problem',
    message: expect.stringContaining(`No archive found at ${right}`),
  });
  expect(await checkOf('archive', { data, archive: wrong, from: right })).toMatchObject({
    message: `The directory ${join(directory.path, 'not mounted')} doesn't exist.`,
  });
});

test('reports a public archive that is older than the server has seen it, and stores nothing', async () => {
  using around = dataDirectory();
  const path = join(around.path, 'archive');
  const data = join(around.path, 'data');
  const signer = parseSigner(newPrivateKey())!;
  using source = ingestOf(simulatedEvents({ seed: 5, blocks: 1 }));
  const { chainId, identity } = dataStateOf(source.path);
  await archive(source.path, objectStoreAt(path, null), 'one', { signer });
  const flags = { data, from: path, archivePublicKey: signer.publicKey };
  expect(await checkOf('from', flags)).toMatchObject({ state: 'ok' });
  expect(existsSync(data)).toBe(false);
  const stored = toIdentity(chainId!, identity!, true);
  const seen = { location: path, archive: stored, entry: 1_000, chain: '00'.repeat(32) };
  saveSeenArchive(data, seen);
  expect(await checkOf('from', flags)).toMatchObject({
    state: 'problem',
    message: expect.stringContaining('but an earlier version had entry 1000.'),
  });
  expect(loadSeenArchive(data)).toEqual(seen);
});

test('without a server, reports an archive that the server would refuse', async () => {
  using around = dataDirectory();
  using filled = ingestOf(simulatedEvents({ seed: 5, blocks: 1 }));
  const path = join(around.path, 'archive');
  mkdirSync(path);
  const archiveOf = async (stored: Identity, data: string, flags: Record<string, string | boolean> = {}) => {
    writeFileSync(join(path, 'archive.json'), identityBytes(stored));
    const fixed = { data, archive: path, apiPort: '0', eventPort: '0', nodeRpc: NO_NODE };
    const facts = await gatherFacts(readSettings({ ...fixed, ...flags }, {}), nodeRpc(NO_NODE), systemClock);
    return checkFacts(facts).archive;
  };
  const { chainId, identity } = dataStateOf(filled.path);
  const [own, other] = [identity!, '0'.repeat(32)];
  const empty = join(around.path, 'empty');
  expect(await archiveOf(toIdentity(chainId!, own, false), filled.path)).toMatchObject({ state: 'ok' });
  const refuses = async (stored: Identity, message: string, data = filled.path) =>
    expect(await archiveOf(stored, data)).toMatchObject({
      state: 'problem',
      message: expect.stringContaining(message),
    });
  await refuses(toIdentity(chainId!, other, false), `belongs to the log ${other}, but this server has the log ${own}`);
  await refuses(toIdentity(1, own, false), 'but this log belongs to testnet');
  const open = toIdentity(chainId!, own, true);
  for (const data of [filled.path, empty]) {
    await refuses(open, `The archive at ${path} is public, and --archive-public is not given.`, data);
    expect(await archiveOf(open, data, { archivePublic: true })).toMatchObject({ state: 'ok' });
  }
});

test('while a server runs, also checks the archive of --from, and not whether --archive can be written', async () => {
  using around = dataDirectory();
  await using running = await serving();
  const [from, unmounted] = ['from', join('not mounted', 'archive')].map((name) => join(around.path, name));
  const checksOf = async (flags: Record<string, string>) => {
    const apiPort = new URL(running.api).port;
    const fixed = { data: running.directory, apiHost: '127.0.0.1', apiPort, nodeRpc: NO_NODE };
    return checkFacts(await gatherFacts(readSettings({ ...fixed, ...flags }, {}), nodeRpc(NO_NODE), systemClock));
  };
  const missing = { state: 'problem', message: `No archive found at ${from}: archive.json is missing.` };
  const unwritten = { state: 'problem', remedy: 'Restart the server with --archive.' };
  expect(await checksOf({ from: from! })).toMatchObject({ from: missing, archive: { state: 'skipped' } });
  expect(await checksOf({ archive: unmounted! })).toMatchObject({ archive: unwritten });
  expect(await checksOf({ from: from!, archive: unmounted! })).toMatchObject({ from: missing, archive: unwritten });
  mkdirSync(from!);
  writeFileSync(join(from!, 'archive.json'), identityBytes(toIdentity(TESTNET, '0'.repeat(32), false)));
  expect((await checksOf({ from: from! })).from).toEqual({ state: 'ok', message: `${from} can be reached.` });
});

test('without a server, reports a port that another program uses', async () => {
  using directory = dataDirectory();
  using other = standInNode();
  const { port } = new URL(other.url);
  const facts = await factsOf({ data: directory.path, apiHost: '127.0.0.1', apiPort: port });
  expect(facts).toMatchObject({ server: null, node: null, data: null, takenPorts: [{ flag: '--api-port' }] });
});

test("no check shows the password of the node's URL", async () => {
  using directory = dataDirectory();
  const facts = await factsOf({ data: directory.path, nodeRpc: 'http://user:s3cretpw@127.0.0.1:1' });
  expect(checkFacts({ ...facts }).node?.message).toBe('No node answers at http://user:***@127.0.0.1:1.');
  const results = JSON.stringify(
    runChecks({ ...facts, node: { ...WELL.node!, chainId: 1 }, nodeFailure: null, data: WELL.data }),
  );
  expect(results).toContain('The node at http://user:***@127.0.0.1:1 belongs to chain 0x00000001');
  expect(results).not.toContain('s3cretpw');
});

test('a server that does not answer in ten seconds counts as absent', async () => {
  using directory = dataDirectory();
  await using hung = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Promise<Response>(() => {}) });
  const clock = heldClock([READ_TIMEOUT_MS]);
  const facts = factsOf({ data: directory.path, apiHost: '127.0.0.1', apiPort: `${hung.port}` }, clock);
  await until(() => clock.waiting(READ_TIMEOUT_MS) === 1);
  clock.pass(READ_TIMEOUT_MS);
  expect(await facts).toMatchObject({ server: null, takenPorts: [{ flag: '--api-port' }] });
});
