/** Requests of one turn of the event loop share a snapshot, which is never older than their process's last commit. */
import { expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { startCheckpointer } from '../../src/store/files/checkpointer.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { CommitCount } from '../../src/store/ingest/commit-count.ts';
import { NoSnapshotError } from '../../src/store/model/read-errors.ts';
import { openSnapshots, SNAPSHOT_LIMIT_MS, type Snapshots } from '../../src/store/read/snapshots.ts';
import { moveIndex } from '../support/data/data-directory.ts';
import { ingestOf, type OpenIngest, openNew, simulatedEvents } from '../support/data/ingest.ts';
import { manualClock } from '../support/time/manual-clock.ts';

const events = simulatedEvents({ seed: 6, blocks: 8, transactionsPerBlock: 3, forkEvery: 0 });

/** Opens snapshots of an index that accepts events, in a loop whose turns the test ends. */
function shareSnapshots(open: OpenIngest, commits: () => number | null) {
  const clock = manualClock();
  let endTurn = () => {};
  const turn = () =>
    new Promise<void>((resolve) => {
      endTurn = resolve;
    });
  const snapshots = openSnapshots(open.directory, { ...clock, sharing: { turn, commits } });
  return {
    snapshots,
    look: clock.tick,
    async endTurn(): Promise<void> {
      endTurn();
      await Promise.resolve();
    },
    [Symbol.dispose]: snapshots.close,
  };
}

const heightOf = (snapshots: Snapshots): Promise<number | undefined> =>
  snapshots.readLong(async (read) => read.blocks.at(Number.MAX_SAFE_INTEGER)?.height);

test('a commit of another process is visible from the next turn', async () => {
  using open = openNew();
  using shared = shareSnapshots(open, () => 0);
  const [first, ...others] = events;
  open.ingest.receive(first!);
  const before = await heightOf(shared.snapshots);
  for (const event of others) open.ingest.receive(event);
  expect(await heightOf(shared.snapshots)).toBe(before);
  await shared.endTurn();
  expect(await heightOf(shared.snapshots)).toBe(8);
});

test('a commit of another process is visible after a millisecond of a long turn', async () => {
  using open = openNew();
  using shared = shareSnapshots(open, () => 0);
  const before = await heightOf(shared.snapshots);
  for (const event of events) open.ingest.receive(event);
  expect(await heightOf(shared.snapshots)).toBe(before);
  shared.look(1);
  expect(await heightOf(shared.snapshots)).toBe(8);
});

test('a commit of this process is visible to all threads at once, while older requests keep their snapshots', async () => {
  using open = openNew();
  // The count of another thread, which shares only the memory.
  const commits = new CommitCount(open.ingest.commits.memory);
  using shared = shareSnapshots(open, () => commits.now());
  const { promise: gate, resolve: resume } = Promise.withResolvers<void>();
  const old = shared.snapshots.readLong(async (read) => {
    const tip = read.chain.blockHash('latest');
    await gate;
    return [tip, read.chain.blockHash('latest')];
  });
  for (const event of events) {
    open.ingest.receive(event);
    const tip = shared.snapshots.read((read) => read.chain.tip());
    expect(tip?.height ?? 0).toBe(Math.max(0, open.ingest.tipHeight()));
  }
  expect(await heightOf(shared.snapshots)).toBe(8);
  resume();
  expect(await old).toEqual([undefined, undefined]);
});

test("a request doesn't join a snapshot during a commit, nor one that started during it", async () => {
  using open = openNew();
  const commits = new CommitCount();
  using shared = shareSnapshots(open, () => commits.now());
  const tips = [await heightOf(shared.snapshots)];
  const looks: Promise<void>[] = [];
  const look = () => looks.push(heightOf(shared.snapshots).then((height) => void tips.push(height)));
  commits.around(() => {
    look();
    // The commit, before it is counted.
    for (const event of events) open.ingest.receive(event);
    look();
  });
  look();
  await Promise.all(looks);
  expect(tips).toEqual([undefined, undefined, 8, 8]);
});

test('a snapshot ends with its turn and the last request that reads it, so that the log can be emptied', async () => {
  using open = openNew();
  using shared = shareSnapshots(open, () => 0);
  const upkeep = manualClock();
  using stack = new DisposableStack();
  stack.defer(
    startCheckpointer({ directory: open.directory, limitBytes: 1, copy: async () => false, log: () => {}, ...upkeep }),
  );
  const wal = () => statSync(`${indexPath(open.directory)}-wal`).size;
  await heightOf(shared.snapshots);
  for (const event of events) open.ingest.receive(event);
  upkeep.tick();
  expect(wal()).toBeGreaterThan(0);
  const { promise: gate, resolve: resume } = Promise.withResolvers<void>();
  const last = shared.snapshots.readLong(() => gate);
  await shared.endTurn();
  upkeep.tick();
  expect(wal()).toBeGreaterThan(0);
  resume();
  await last;
  upkeep.tick();
  expect(wal()).toBe(0);
});

test("a request doesn't join a snapshot that timed out, or one of a replaced file", async () => {
  using whole = ingestOf(events);
  using open = openNew();
  using shared = shareSnapshots(open, () => 0);
  const { promise: gate, resolve: resume } = Promise.withResolvers<void>();
  const late = shared.snapshots.readLong(async (read) => {
    await gate;
    return read.chain.blockHash('latest');
  });
  shared.look(SNAPSHOT_LIMIT_MS);
  expect(await heightOf(shared.snapshots)).toBeUndefined();
  resume();
  await expect(late).rejects.toThrow(NoSnapshotError);
  moveIndex(whole.path, open.directory);
  shared.look();
  expect(await heightOf(shared.snapshots)).toBe(8);
});
