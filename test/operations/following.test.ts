/** A server that follows an archive reads the events that its node doesn't send. */
import { expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FollowEvent, findEntryBelow } from '../../src/archive/restore.ts';
import { archiveFollowing, nodeActivity, serverFollowing } from '../../src/commands/serve/following.ts';
import { noLease } from '../../src/commands/serve/gap-filling.ts';
import { type MineOptions, SimulatedChain } from '../../src/devnet/chain.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { LogEvent } from '../../src/log.ts';
import { eventIntake } from '../../src/node/event-intake.ts';
import { readSettings } from '../../src/settings/config.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import type { ReceivedEvent } from '../../src/store/ingest/event.ts';
import { archive, restoredFrom } from '../support/data/archive.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { emptyDirectory, ingestOf, openAt, received } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { logWithCommands } from '../support/data/log-with-commands.ts';
import { tables } from '../support/data/tables.ts';
import { serving } from '../support/servers/serving.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { manualClock } from '../support/time/manual-clock.ts';
import { until } from '../support/time/until.ts';

const LOOK_MS = 5_000;
const SILENT_MS = 15_001;
const AWAY_MS = 600_001;

const sent = [...devnetEvents({ seed: 21, blocks: 40, accounts: 4, transactionsPerBlock: 2, forkEvery: 9 })];
const events = sent.map(received);
const blocks = events.filter(({ path }) => path === '/new_block');
const heightOf = ({ text }: ReceivedEvent): number => JSON.parse(text).block_height;

const { keep, folder } = keepToEnd();

/**
 * Excluded from the comparison: receipt times of pending transactions, and commands, because servers differ in them.
 */
const LOCAL = /mempool|pending|hook|deliver|outbox|faucet|change|progress|console|secret|nonce_rivals|consumer/;
const chainTables = (directory: string) =>
  Object.fromEntries(Object.entries(tables(directory)).filter(([name]) => !LOCAL.test(name)));

// The archive contains commands, which a follower ignores.
const source = keep(await logWithCommands(sent));
const original = folder();
await archive(source, directoryFiles(original));
/** The chain's tables of the archive's own server. */
const expected = chainTables(source);

/**
 * A server with the first events, which follows an archive. Its clock stands still.
 * @param commits whether each event has a commit, or groups of events have one when they are published
 */
function follower(
  initial: readonly ReceivedEvent[],
  { directory = keep(emptyDirectory()), path = original, startsAt = 0, commits = 'each' as 'each' | 'group' } = {},
) {
  const open = openAt(directory, commits === 'each' ? {} : { clock: manualClock() });
  const { ingest } = open;
  for (const event of initial) ingest.receive(event);
  ingest.publish();
  const clock = heldClock([LOOK_MS, SILENT_MS, AWAY_MS]);
  const logged: FollowEvent[] = [];
  const node = nodeActivity(clock, ingest.history);
  const intake = eventIntake({
    receive: node.around(async (event) => ingest.receive(event)),
    fill: node.fill,
    log: () => {},
  });
  const post = async (event: ReceivedEvent) => (await intake(event)).outcome;
  let offered = 0;
  const files = directoryFiles(path);
  const filesRead: string[] = [];
  const following = archiveFollowing({
    location: path,
    node,
    clock,
    ingest:
      startsAt === 0
        ? ingest
        : { ...ingest, history: { ...ingest.history, tip: () => ({ ...ingest.history.tip(), height: startsAt }) } },
    open: async () => ({
      ...files,
      read(...args) {
        filesRead.push(args[0]);
        return files.read(...args);
      },
    }),
    receive(event) {
      offered += 1;
      return ingest.receive(event);
    },
    claim: async () => noLease,
    log: (event) => logged.push(event),
  });
  /** Lets time pass, then starts the next look. */
  async function begin(after = 0): Promise<void> {
    if (after > 0) clock.pass(after);
    await until(() => clock.waiting(LOOK_MS) === 1, 'the wait for the next look');
    clock.pass(LOOK_MS);
  }
  return {
    directory,
    ingest,
    logged,
    post,
    offered: () => offered,
    /** Names of the archive's files that it has read, in order. */
    filesRead,
    begin,
    /** Lets time pass, then waits until the next look has started and ended. */
    async look(after = 0) {
      await begin(after);
      await until(() => clock.waiting(LOOK_MS) === 1, 'the end of the look');
    },
    async [Symbol.asyncDispose]() {
      await following.stop();
      open[Symbol.dispose]();
    },
  };
}

const tip = ({ ingest }: Pick<ReturnType<typeof follower>, 'ingest'>): number => ingest.history.tip().height;

test('a server whose node sends nothing catches up with the archive, and ignores its commands', async () => {
  const initial = events.slice(0, events.indexOf(blocks[15]!));
  const newest = initial.findLast(({ path }) => path === '/new_block')!;
  const server = follower(initial);
  await server.look();
  expect([tip(server), server.offered()]).toEqual([heightOf(newest), 0]);
  await server.look(SILENT_MS);
  expect(server.logged).toEqual([
    { event: 'archive_followed', place: original, blocks: 40 - heightOf(newest), height: 40 },
  ]);
  // The server reads nothing twice.
  const offered = server.offered();
  await server.look();
  expect([server.offered(), server.logged.length]).toEqual([offered, 1]);
  await server[Symbol.asyncDispose]();
  expect(chainTables(server.directory)).toEqual(expected);
});

test('a server without a block reads the archive from the genesis block', async () => {
  const server = follower([]);
  await server.look(SILENT_MS);
  expect(server.logged).toEqual([{ event: 'archive_followed', place: original, blocks: 40, height: 40 }]);
  await server[Symbol.asyncDispose]();
  expect(chainTables(server.directory)).toEqual(expected);
});

test("the log of a failure shows no secrets of the archive's URL", async () => {
  await using web = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('no', { status: 403 }) });
  const from = `http://user:s3cretpw@127.0.0.1:${web.port}/archive?token=s3cret`;
  using directory = dataDirectory();
  using open = openAt(directory.path);
  const clock = heldClock([LOOK_MS, SILENT_MS]);
  const logged: LogEvent[] = [];
  const settings = { ...readSettings({ data: directory.path }, {}), from, archiveUnsigned: true };
  const base = { settings, environment: { clock }, log: (event: LogEvent) => void logged.push(event) };
  const following = serverFollowing(base, open.ingest, null, async (event) => open.ingest.receive(event));
  await until(() => clock.waiting(LOOK_MS) === 1);
  clock.pass(SILENT_MS);
  clock.pass(LOOK_MS);
  await until(() => logged.length === 1);
  await following?.stop();
  expect(logged[0]).toMatchObject({ event: 'service_failing', place: `http://127.0.0.1:${web.port}/archive` });
  expect(JSON.stringify(logged)).not.toContain('s3cret');
});

test('a server that already has all blocks of the archive logs nothing', async () => {
  await using server = follower(events);
  await server.look(SILENT_MS);
  expect([tip(server), server.logged]).toEqual([40, []]);
});

test('a server that starts to read far above the last shared block goes back as many segments as necessary', async () => {
  await using server = follower(events.slice(0, events.indexOf(blocks[8]!)), { startsAt: 1_000 });
  await server.look(SILENT_MS);
  expect(tip(server)).toBe(40);
});

test('a partial history reads nothing from below its start, and stops at the end of the archive', async () => {
  const start = events.indexOf(blocks.find((block) => heightOf(block) === 18)!);
  const initial = events.slice(start, start + 8);
  await using server = follower(initial);
  expect(server.ingest.history.bottom()).toBe(17);
  await server.look(SILENT_MS);
  expect([tip(server), server.ingest.history.bottom()]).toEqual([40, 17]);
  expect(server.logged.map(({ event }) => event)).toEqual(['archive_followed']);
});

test('a server on a branch that the archive left finds the last shared block', async () => {
  const orphan = blocks.findIndex((block, index) => index > 20 && heightOf(block) <= heightOf(blocks[index - 1]!));
  const lost = blocks[orphan - 1]!;
  const initial = events.slice(0, events.indexOf(lost) + 1);
  const server = follower(initial);
  await server.look(SILENT_MS);
  await server[Symbol.asyncDispose]();
  expect(chainTables(server.directory)).toEqual(expected);
});

test("does not apply the archive above a posting node's tip until the node is silent for ten minutes", async () => {
  const initial = events.slice(0, events.indexOf(blocks[10]!));
  await using server = follower(initial);
  const later = blocks.find((block) => heightOf(block) === 25)!;
  expect(await server.post(later)).toBe('failed');
  await server.look();
  expect(tip(server)).toBe(24);
  expect(await server.post(later)).toBe('applied');
  await server.look(SILENT_MS);
  expect(tip(server)).toBe(25);
  await server.look(AWAY_MS);
  expect(tip(server)).toBe(40);
});

/** A chain to mine. @param defaults options of each block */
function growingChain(defaults: MineOptions = {}) {
  const chain = new SimulatedChain({ seed: 21, accounts: 4, transactionsPerBlock: 2 });
  const sent = [chain.genesis()];
  const mine = (parent: string, options: MineOptions = {}): string => {
    const { events, indexBlockHash } = chain.mine(parent, { ...defaults, ...options });
    sent.push(...events);
    return indexBlockHash;
  };
  return {
    mine,
    /** Mines on the tip up to a height. @returns the tip */
    mineTo(height: number): string {
      while (chain.tip.height < height) mine(chain.tip.indexBlockHash);
      return chain.tip.indexBlockHash;
    },
    /** All events so far. */
    events: () => sent.map(received),
    /** Archives the chain. @returns the archive with the blocks that were mined */
    async archived() {
      const path = folder();
      await archive(keep(ingestOf(sent.map(received))), directoryFiles(path));
      return { path, blocks: sent.map(received).filter((event) => event.path === '/new_block') };
    },
  };
}

test('fills blocks that the archive has behind a fork to a lower block', async () => {
  const { mine, mineTo, events, archived } = growingChain();
  mineTo(4);
  const initial = events();
  const fork = mineTo(6);
  mineTo(9);
  let parent = mine(fork, { newTenure: true, newBurnBlock: true, burnFork: true });
  for (let height = 8; height <= 12; height++) parent = mine(parent);
  const { path, blocks } = await archived();

  await using server = follower(initial, { path });
  const posted = blocks.slice(-4);
  expect(posted.map(heightOf)).toEqual([9, 10, 11, 12]);
  expect(await server.post(posted[0]!)).toBe('failed');
  await server.look();
  // It has neither the rival block 9 nor any block above the node's.
  expect(tip(server)).toBe(8);
  for (const event of posted) expect(await server.post(event)).toBe('applied');
  expect(tip(server)).toBe(12);
  const offered = server.offered();
  await server.look();
  expect(server.offered()).toBe(offered);
});

/** Makes an archive of a chain whose Bitcoin blocks each have one block. @param hasFork whether Bitcoin forks above block 9 */
async function archiveOfBitcoin(hasFork: boolean) {
  const { mine, mineTo, events, archived } = growingChain({ newTenure: true, newBurnBlock: true });
  mineTo(4);
  const initial = events();
  let parent = mineTo(10);
  if (hasFork) {
    mine(parent);
    parent = mine(parent, { burnFork: true });
  }
  for (let blocks = 0; blocks < 20; blocks++) parent = mine(parent);
  return { initial, ...(await archived()) };
}

const burnHeightOf = ({ text }: Pick<ReceivedEvent, 'text'>): number => JSON.parse(text).burn_block_height;
const highestBurnBlock = ({ ingest }: Pick<ReturnType<typeof follower>, 'ingest'>): number =>
  Math.max(...[...ingest.entries.after(0)].filter(({ path }) => path === '/new_burn_block').map(burnHeightOf));

test('reads a found block once, and nothing above it, until the node posts again', async () => {
  const { path, initial, blocks } = await archiveOfBitcoin(false);
  await using server = follower(initial, { path });
  const posted = blocks.find((block) => heightOf(block) === 9)!;
  expect(await server.post(posted)).toBe('failed');
  await server.look();
  const [offered, last] = [server.offered(), server.ingest.lastEntry()];
  // The archive has the Bitcoin block of block 9 before block 9, which is above the node's tip.
  expect([tip(server), highestBurnBlock(server)]).toEqual([8, burnHeightOf(posted) - 1]);
  for (let looks = 0; looks < 2; looks++) await server.look();
  expect([server.offered(), server.ingest.lastEntry()]).toEqual([offered, last]);
});

test('reads nothing behind the segment with a found block, even if its commit includes later events', async () => {
  const { path, initial, blocks } = await archiveOfBitcoin(false);
  const filesOf = async (commits: 'each' | 'group'): Promise<string[]> => {
    await using server = follower(initial, { path, commits });
    expect(await server.post(blocks.find((block) => heightOf(block) === 9)!)).toBe('failed');
    await server.look();
    server.ingest.publish();
    expect(tip(server)).toBe(8);
    return server.filesRead;
  };
  expect(await filesOf('group')).toEqual(await filesOf('each'));
});

for (const hasFork of [false, true]) {
  test(`offers no Bitcoin blocks above the tip while the archive lacks the missing block, ${hasFork ? 'with' : 'without'} a Bitcoin fork`, async () => {
    const { path, initial, blocks } = await archiveOfBitcoin(hasFork);
    await using server = follower(initial, { path });
    const block = blocks.find((block) => heightOf(block) === 7)!;
    const other = { index_block_hash: `0x${'ab'.repeat(32)}`, parent_index_block_hash: `0x${'cd'.repeat(32)}` };
    const posted = { ...block, text: JSON.stringify({ ...JSON.parse(block.text), ...other }) };
    expect(await server.post(posted)).toBe('failed');
    await server.look();
    const last = server.ingest.lastEntry();
    expect(highestBurnBlock(server)).toBeLessThanOrEqual(burnHeightOf(block) + 1);
    for (let looks = 0; looks < 2; looks++) await server.look();
    expect(server.ingest.lastEntry()).toBe(last);
  });
}

test("a server that stops at any event continues there, and its tables equal the archive's", async () => {
  const directory = keep(emptyDirectory());
  let initial = events.slice(0, events.indexOf(blocks[3]!));
  for (let limit = 1; ; limit *= 3) {
    const server = follower(initial, { directory });
    initial = [];
    await server.begin(SILENT_MS);
    await until(() => server.offered() >= limit || tip(server) === 40, 'some events');
    const isDone = tip(server) === 40;
    if (isDone) await server.look();
    expect(server.logged.filter(({ event }) => event === 'service_failing')).toEqual([]);
    await server[Symbol.asyncDispose]();
    if (isDone) break;
  }
  expect(chainTables(directory)).toEqual(expected);
});

test('logs a damaged archive once, and follows it again when it is repaired', async () => {
  const path = folder();
  cpSync(original, path, { recursive: true });
  const segments = readdirSync(path).filter((name) => name.startsWith('segment-'));
  const lost = segments[Math.floor(segments.length / 2)]!;
  rmSync(join(path, lost));
  await using server = follower(events.slice(0, events.indexOf(blocks[2]!)), { path });
  await server.look(SILENT_MS);
  await server.look();
  expect(server.logged).toMatchObject([
    { event: 'service_failing', service: 'following', reason: expect.stringContaining('lacks') },
  ]);
  cpSync(join(original, lost), join(path, lost));
  expect(existsSync(join(path, lost))).toBe(true);
  await server.look();
  expect([tip(server), server.logged.at(-1)?.event]).toEqual([40, 'archive_followed']);
});

test('finds the first entry to read by block height, from few segments', async () => {
  const store = directoryFiles(original);
  let reads = 0;
  const counting: typeof store = {
    ...store,
    read(...args) {
      reads += 1;
      return store.read(...args);
    },
  };
  const segments = readdirSync(original).filter((name) => name.startsWith('segment-')).length;
  const firsts = await Promise.all([0, 1, 20, 39, 1_000].map((height) => findEntryBelow(counting, height)));
  expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
  expect([firsts[0], firsts[4]! > firsts[2]!]).toEqual([1, true]);
  expect(segments).toBeGreaterThan(10);
  expect(reads / 5).toBeLessThan(2 * Math.log2(segments) + 2);
});

test('follows the archive with any data, unless it was restored to an earlier point', async () => {
  const [whole, earlier] = [folder(), folder()];
  await restoredFrom(directoryFiles(original), whole);
  await restoredFrom(directoryFiles(original), earlier, { until: { height: 12 } });
  const problem = expect.stringContaining("--from isn't followed") as unknown as string;
  for (const [directory, follows, warnings] of [
    [whole, true, []],
    [earlier, false, [{ event: 'setup_warning', place: original, problem }]],
  ] as const) {
    using open = openAt(directory);
    const logged: LogEvent[] = [];
    const log = (event: LogEvent) => void logged.push(event);
    const settings = readSettings({ data: directory, from: original }, {});
    const base = { settings, environment: { clock: heldClock([LOOK_MS]) }, log };
    const following = serverFollowing(base, open.ingest, null, open.ingest.receive);
    await following?.stop();
    expect(following !== null).toBe(follows);
    expect(logged).toMatchObject(warnings);
  }
});

test('the remedy for a gap names a new directory for data that was restored to an earlier point', async () => {
  const [data, files] = [folder(), folder()];
  await restoredFrom(directoryFiles(original), data, { until: { height: 12 } });
  mkdirSync(files);
  writeFileSync(join(files, 'token'), 'secret', { mode: 0o600 });
  await using server = await serving({ nodeAuthFile: join(files, 'token') }, data);
  const { status } = await fetch(`${server.events}/new_block`, { method: 'POST', body: blocks[20]!.text });
  expect(status).toBe(500);
  const readiness = async () => (await (await server.get('/ready')).json()) as { reason: string; next: string };
  await until(async () => (await readiness()).reason.includes("can't be filled"), 'the failed fill');
  expect((await readiness()).next).toContain('restored to an earlier point, use a new --data directory');
});

test('the state of a server without a node names the failure of the archive that it follows', async () => {
  const [data, path] = [folder(), folder()];
  cpSync(original, path, { recursive: true });
  await restoredFrom(directoryFiles(path), data);
  const aMinute = 60_000;
  const clock = heldClock([LOOK_MS, SILENT_MS, aMinute], () => 1_800_000_000_000 + clock.monotonic());
  await using server = await serving({ from: path }, data, {}, { clock });
  rmSync(path, { recursive: true });
  clock.pass(SILENT_MS);
  clock.pass(aMinute);
  const readiness = async () => (await (await server.get('/ready')).json()) as { reason: string; next: string };
  await until(async () => {
    clock.pass(LOOK_MS);
    return (await readiness()).next.startsWith('Check the archive of --from.');
  }, 'the failure in the state');
  expect((await readiness()).reason).toContain("The archive can't be followed: ");
});
