/** `stackside hooks …` against a started server. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { postEvents } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { definition, filtersOf, type Receiver, receiver } from '../hooks/server.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { metricOf } from '../support/servers/metrics.ts';
import { until } from '../support/time/until.ts';
import { problemOf, type Server, stackside, startServer } from './stackside.ts';

const events = [...devnetEvents({ seed: 6, blocks: 25, accounts: 12, transactionsPerBlock: 4, forkEvery: 0 })];
let directory: DataDirectory;
let server: Server;
let target: Receiver;
let file: string;

beforeAll(async () => {
  directory = dataDirectory();
  target = receiver();
  server = await startServer('serve', '--data', data(), '--hook-targets', '127.0.0.0/8');
  await postEvents(events.slice(0, -20), server.events);
  file = join(directory.path, 'hook.json');
  const hook = definition(target.url, filtersOf('tenure_change', 'stx_event', 'contract_call'));
  await Bun.write(file, JSON.stringify({ ...hook, name: 'shell' }));
});
afterAll(async () => {
  await server.stop();
  target[Symbol.dispose]();
  directory[Symbol.dispose]();
});

const data = () => join(directory.path, 'data');
const hooks = (...args: string[]) => stackside('hooks', ...args, '--url', server.api, '--data', data());

/** Runs a command that prints JSON. */
const hooksJson = async (...args: string[]) => JSON.parse((await hooks(...args)).stdout);

/** The headings of a list of chainhooks that are new and disabled. */
const headings = (more = ''): string => `ID${' '.repeat(36)}STATE          WAITING  NAME${more}\n`;

test('a definition is tried, added, seen, backfilled, delivered again and removed', async () => {
  const trial = await hooks('try', file, '--from-height', '1', '--to-height', '10');
  expect([trial.code, trial.stdout]).toEqual([0, expect.stringMatching(/^\d+ transactions in \d+ blocks match\n$/)]);
  const blocks = Number(/in (\d+) blocks/.exec(trial.stdout)?.[1]);
  expect(blocks).toBeGreaterThan(3);
  const payloads = await hooksJson('try', file, '--from-height', '1', '--to-height', '10', '--payloads');
  expect(payloads).toHaveLength(Math.min(5, blocks));
  expect((await hooks('list')).stdout).toBe('No chainhooks are registered.\n');

  const { uuid } = await hooksJson('add', file);
  expect((await hooks('list')).stdout).toBe(`${headings()}${uuid}  new, disabled        0  shell\n`);
  expect((await hooks('enable', uuid)).code).toBe(0);
  await postEvents(events.slice(-20), server.events);
  await until(async () => (await hooksJson('show', uuid)).status.pending_deliveries === 0);
  const live = target.received.length;
  expect(live).toBeGreaterThan(0);

  const backfill = ['backfill', uuid, '--from-height', '1', '--to-height', '10', '--wait'];
  const job = await hooksJson(...backfill);
  expect(job).toMatchObject({ state: 'completed', matched_blocks: blocks, deliveries: { queued: blocks } });
  expect(await hooksJson(...backfill, '--dry-run')).toMatchObject({
    state: 'completed',
    dry_run: true,
    matched_blocks: blocks,
    deliveries: { queued: 0 },
  });
  await until(() => target.received.length >= live + blocks);

  const listed = (await hooks('deliveries', uuid, '--state', 'delivered', '--limit', '2')).stdout.trim().split('\n');
  expect(listed).toHaveLength(2);
  const [id = ''] = listed[0]!.split(' ');
  expect(listed[0]).toContain('backfill');
  const before = target.received.length;
  expect(await hooksJson('redeliver', uuid, id)).toMatchObject({ id, reason: 'redelivery' });
  await until(() => target.received.slice(before).some(({ headers }) => headers['webhook-id'] === id));
  const many = await hooksJson('redeliver', uuid, '--from-height', '1', '--to-height', '3');
  expect(many.queued).toBeGreaterThan(0);
  const queuedBetween = async (since: string, until: string) =>
    (await hooksJson('redeliver', uuid, '--since', since, '--until', until)).queued;
  expect(await queuedBetween('2020-01-01', '2999-12-31T12:00:00Z')).toBeGreaterThan(0);
  expect(await queuedBetween('2020-01-01', '2020-01-02')).toBe(0);

  expect(await metricOf(server.api, 'chainhooks_hooks{status="streaming",enabled="true"}')).toBe(1);
  const delivered = await metricOf(server.api, 'chainhooks_deliveries_succeeded_total');
  expect(delivered).toBeGreaterThanOrEqual(live + blocks);

  const tested = await hooks('test', uuid, '--json');
  expect([tested.code, JSON.parse(tested.stdout)]).toMatchObject([0, { ok: true, status_code: 200 }]);
  expect((await hooks('test', uuid)).stdout).toMatch(
    /^evt_\w+ {2}shell {2}apply \d+, \d+ transactions?\nThe receiver answered 200 after \d+ ms\.\nIts answer: ok\n$/,
  );
  target.answer = () => new Response('no', { status: 500 });
  const failed = await hooks('test', uuid);
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining('The receiver answered 500 after ')]);
  expect(failed.stderr).toBe(
    'The receiver failed: status 500.\nRepair the receiver, or change the URL of the chainhook.\n',
  );
  for (const name of ['retry', 'skip'])
    expect(await hooks(name, uuid)).toEqual({
      code: 1,
      stdout: '',
      stderr: `No failed delivery blocks the chainhook.\n\`stackside hooks redeliver ${uuid} --state dead\` sends deliveries that were given up again.\n`,
    });
  target.answer = () => new Response('ok');
  expect((await hooks('disable', uuid)).stdout).toBe(`Disabled ${uuid}.\n`);
  const evaluated = async () => (await hooksJson('show', uuid)).status.evaluated_block_count as number;
  const evaluatedLive = await evaluated();
  const enabled = await hooks('enable', uuid, '--resume-from', '1');
  expect(enabled).toEqual({ code: 0, stdout: `Enabled ${uuid}.\n`, stderr: '' });
  expect((await hooks('enable', '--paused')).stdout).toBe('No chainhook is paused.\n');
  await until(async () => (await evaluated()) === evaluatedLive + 25);
  expect(await problemOf('hooks', 'enable', uuid, '--resume-from', 'now')).toBe(
    '--resume-from is "now".\nIt must be tip, last_evaluated or a height of 0 or more.\n',
  );
  expect(await problemOf('hooks', 'enable', '--paused', '--resume-from', 'tip')).toContain(
    "'--resume-from <start>' cannot be used with option '--paused'",
  );
  expect((await hooks('remove', uuid)).stdout).toBe(`Deleted ${uuid}.\n`);
  expect(await hooks('show', uuid)).toMatchObject({ code: 1, stderr: expect.stringContaining('Chainhook not found') });
});

test('the operator sees and manages the hooks of every consumer', async () => {
  const first = await hooksJson('add', file);
  const second = await hooksJson('add', file, '--consumer', 'alice');
  const listed = (await hooks('list')).stdout;
  const line = (uuid: string, end = '') => `${uuid}  new, disabled        0  shell${end}\n`;
  expect(listed).toBe(`${headings('  (CONSUMER)')}${line(second.uuid, '  (alice)')}${line(first.uuid, '  (default)')}`);
  expect((await hooks('list', '--consumer', 'alice')).stdout).toBe(`${headings()}${line(second.uuid)}`);
  expect((await hooks('show', second.uuid)).code).toBe(0);
  for (const { uuid } of [first, second]) expect((await hooks('remove', uuid)).code).toBe(0);
  expect((await hooks('list')).stdout).toBe('No chainhooks are registered.\n');
});

test('rejects mistakes with errors that name them', async () => {
  const problem = (...args: string[]) => problemOf('hooks', ...args, '--url', server.api, '--data', data());
  expect(await problemOf('hooks', 'list', '--url', server.api, '--data', directory.path)).toContain(
    `No admin key found at ${join(directory.path, 'admin.key')}.\nCheck --data, or name the file with --admin-key. stackside serve creates`,
  );
  const bad = join(directory.path, 'bad.json');
  await Bun.write(bad, '{"filters":{"events":[{"type":"stx_transfer","to":"x"}]}}');
  expect(await problem('try', bad, '--from-height', '1')).toContain('filters.events.0.to is not allowed');
  expect(await problem('add', join(directory.path, 'none.json'))).toContain("none.json doesn't exist.");
  const unknown = crypto.randomUUID();
  const messages: [args: string[], text: string][] = [
    [['show', 'nope'], '"nope" is not the id of a chainhook.\nGive the id that `stackside hooks list` prints'],
    [['deliveries', '../me'], '"../me" is not the id of a chainhook.'],
    [['show', unknown], 'Chainhook not found.\n`stackside hooks list` prints the ids'],
    [['redeliver', unknown], 'Choose the deliveries to send again.\nGive the id of one delivery, which'],
    [['redeliver', unknown, '--since', 'noon'], '--since is "noon".\nIt must be a time such as 2027-01-31T12:00:00Z.'],
    [['redeliver', unknown, 'evt_00', '--until', '2027-01-31'], "The id of a delivery can't be combined with options"],
    [['listen', '--port', '99999'], '--port is "99999".\nIt must be a whole number from 0 to 65535.'],
    [['redeliver', unknown, 'evt_00', '--from-height', '1'], "The id of a delivery can't be combined with options"],
  ];
  for (const [args, text] of messages)
    expect([args, await problem(...args)]).toEqual([args, expect.stringContaining(text)]);
  expect(await problemOf('hooks', 'list', '--url', server.events, '--data', data())).toContain(
    'answers 404.\nGive the URL of the API with --url; this may be the event port.',
  );
  expect(await problemOf('hooks', 'list', '--url', 'http://127.0.0.1:9')).toContain('No Stackside answers');
});
