/** The WALs have a size limit, whatever readers do. */
import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import { copyLog, LOOK_MS, startCheckpointer, type WalEvent } from '../../src/store/files/checkpointer.ts';
import { openToRead, openToWrite, WAL_LIMIT_BYTES } from '../../src/store/files/connection.ts';
import { indexPath, journalPath, type Load, openWriter } from '../../src/store/files/database.ts';
import { NoSnapshotError } from '../../src/store/model/read-errors.ts';
import { SNAPSHOT_LIMIT_MS } from '../../src/store/read/snapshots.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { type OpenIngest, openAt, openNew, simulatedEvents } from '../support/data/ingest.ts';
import { type WatchedSnapshots, watchedSnapshots } from '../support/data/watched-snapshots.ts';
import { serving } from '../support/servers/serving.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { type ManualClock, manualClock } from '../support/time/manual-clock.ts';
import { until } from '../support/time/until.ts';

const events = simulatedEvents({ seed: 6, blocks: 8, transactionsPerBlock: 3 });
const LIMIT = 100_000;

let open: OpenIngest;
let snapshots: WatchedSnapshots;
let clock: ManualClock;
let logged: WalEvent[];
let stop: () => void;

beforeEach(() => {
  open = openNew();
  snapshots = watchedSnapshots(open.directory);
  clock = manualClock();
  logged = [];
  stop = startCheckpointer({
    directory: open.directory,
    limitBytes: LIMIT,
    copy: async () => false,
    log: (event) => logged.push(event),
    ...clock,
  });
});
afterEach(() => {
  stop();
  snapshots.close();
  open[Symbol.dispose]();
});

const walOf = (path: string): number => statSync(`${path}-wal`).size;
const indexWal = (): number => walOf(indexPath(open.directory));

/** Starts a request with a snapshot of this moment, which reads again when the test resumes it. */
async function heldRequest() {
  const [started, resume] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const answer = snapshots.readLong(async (read) => {
    const first = read.chain.blockHash('latest');
    started.resolve();
    await resume.promise;
    return [first, read.chain.blockHash('latest')];
  });
  await started.promise;
  return { answer, goOn: resume.resolve };
}

function receiveAll(): void {
  for (const event of events) open.ingest.receive(event);
}

test('a log that grew while a reader held its snapshot is emptied once the reader has ended', async () => {
  const request = await heldRequest();
  receiveAll();
  const grown = indexWal();
  expect(grown).toBeGreaterThan(LIMIT);
  clock.tick();
  expect(indexWal()).toBe(grown);
  request.goOn();
  expect(await request.answer).toEqual([undefined, undefined]);
  clock.tick();
  expect(indexWal()).toBe(0);
  expect(logged).toEqual([]);
});

test('a reader that holds its snapshot for too long is cut off, and the log is emptied', async () => {
  const request = await heldRequest();
  receiveAll();
  snapshots.look(SNAPSHOT_LIMIT_MS - 1);
  clock.tick();
  expect(indexWal()).toBeGreaterThan(LIMIT);
  expect(snapshots.logged).toEqual([]);
  snapshots.look(1);
  expect(snapshots.logged).toEqual([{ event: 'read_timed_out', seconds: SNAPSHOT_LIMIT_MS / 1000 }]);
  clock.tick();
  expect(indexWal()).toBe(0);
  request.goOn();
  await expect(request.answer).rejects.toThrow(NoSnapshotError);
  // Other requests read as before.
  expect(snapshots.read((read) => read.chain.tip())?.height).toBe(8);
});

test('rows read before the timeout are answered, and younger readers continue', async () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const old = snapshots.readLong(async (read) => {
    const tip = read.chain.tip();
    await ended;
    return tip;
  });
  snapshots.look(SNAPSHOT_LIMIT_MS / 2);
  const young = await heldRequest();
  receiveAll();
  snapshots.look(SNAPSHOT_LIMIT_MS / 2);
  expect(snapshots.logged.length).toBe(1);
  end();
  young.goOn();
  expect(await old).toBeNull();
  expect(await young.answer).toEqual([undefined, undefined]);
});

test("a WAL that can't be truncated for a minute is logged once, and the journal's WAL is truncated", () => {
  using reader = openToRead(journalPath(open.directory));
  reader.run('BEGIN');
  reader.run('SELECT count(*) FROM events');
  receiveAll();
  const path = journalPath(open.directory);
  const grown = walOf(path);
  expect(grown).toBeGreaterThan(LIMIT);
  for (const milliseconds of [0, 59_999, 1, 60_000]) clock.tick(milliseconds);
  const reason = 'a reader holds an old snapshot, as stackside backup, check, sql and export do';
  expect(logged).toEqual([{ event: 'wal_not_truncated', file: 'journal.db-wal', bytes: grown, reason }]);
  reader.run('COMMIT');
  clock.tick();
  expect(walOf(path)).toBe(0);
});

/** Starts a checkpointer that copies logs as a thread would. */
function startCopying() {
  const copied = {
    paths: [] as string[],
    commits: 0,
    go: Promise.withResolvers<void>(),
    meanwhile: (_path: string) => {},
  };
  copied.go.resolve();
  stop();
  stop = startCheckpointer({
    directory: open.directory,
    copiedPages: 50,
    beforeTruncate() {
      copied.commits += 1;
    },
    async copy(path) {
      await copied.go.promise;
      const isCopied = copyLog(path);
      copied.meanwhile(path);
      copied.paths.push(path);
      return isCopied;
    },
    log: (event) => logged.push(event),
    ...clock,
  });
  return copied;
}

test('long logs are copied, and the next transactions begin at their start again', async () => {
  const copied = startCopying();
  receiveAll();
  const grown = indexWal();
  clock.tick();
  await until(() => copied.commits === 2);
  expect(copied.paths).toEqual([indexPath(open.directory), journalPath(open.directory)]);
  for (let n = 0; n < 5; n++) open.ingest.receive({ path: '/of_a_newer_node', text: `${n}`, receivedAt: n });
  expect(indexWal()).toBe(grown);
  // Nothing was written that the files lack, apart from the few new pages.
  clock.tick();
  expect(copied.paths.length).toBe(2);
});

test('a log that grew a lot during its copy is copied again at once', async () => {
  const copied = startCopying();
  // More than the writer's thread copies itself.
  copied.meanwhile = (path) => {
    if (path !== indexPath(open.directory) || copied.paths.includes(path)) return;
    using db = new Database(path);
    db.run('CREATE TABLE large AS SELECT zeroblob(4000000) AS bytes');
  };
  receiveAll();
  clock.tick();
  await until(() => copied.commits === 3);
  expect(copied.paths.filter((path) => path === indexPath(open.directory)).length).toBe(2);
});

test('a log is copied only once at a time, and a short one is not copied', async () => {
  const copied = startCopying();
  open.ingest.receive(events[0]!);
  clock.tick();
  copied.go = Promise.withResolvers<void>();
  receiveAll();
  clock.tick();
  open.ingest.receive({ path: '/of_a_newer_node', text: '1', receivedAt: 1 });
  clock.tick();
  copied.go.resolve();
  await until(() => copied.commits === 2);
  expect(copied.paths.length).toBe(2);
});

test('a checkpointer that stops during copies commits nothing after them, and starts no further ones', async () => {
  const copied = startCopying();
  copied.go = Promise.withResolvers<void>();
  // More than the writer's thread copies itself.
  copied.meanwhile = (path) => {
    using db = new Database(path);
    db.run(`CREATE TABLE large${copied.paths.length} AS SELECT zeroblob(4000000) AS bytes`);
  };
  receiveAll();
  clock.tick();
  stop();
  copied.go.resolve();
  await until(() => copied.paths.length >= 2);
  await systemClock.turn();
  expect([copied.commits, copied.paths.length]).toEqual([0, 2]);
});

test('a log that is emptied by SQLite itself keeps no more than the bound', () => {
  using directory = dataDirectory();
  using db = openToWrite(`${directory.path}/any.db`, 'NORMAL');
  expect(db.query('PRAGMA journal_size_limit').get()).toEqual({ journal_size_limit: WAL_LIMIT_BYTES });
});

/** Bytes of the index's file after a transaction of 70 MB. */
function fileAfterMuch(load: Load): number {
  using directory = dataDirectory();
  using db = openWriter(directory.path, { load });
  db.run('CREATE TABLE large AS SELECT zeroblob(70000000) AS bytes');
  return statSync(indexPath(directory.path)).size;
}

test('the WAL of a large load grows, while another writer checkpoints at once', () => {
  expect(fileAfterMuch('events')).toBeGreaterThan(70_000_000);
  expect(fileAfterMuch('bulk')).toBeLessThan(1_000_000);
});

test('a large load leaves an empty WAL, even if another process has the file open', () => {
  using directory = dataDirectory();
  using much = openAt(directory.path, { load: 'bulk' });
  using reader = openToRead(indexPath(directory.path));
  reader.run('SELECT count(*) FROM blocks');
  for (const event of events) much.ingest.apply(event);
  much.ingest.commit();
  expect(walOf(indexPath(directory.path))).toBeGreaterThan(0);
  much.ingest.close();
  expect(walOf(indexPath(directory.path))).toBe(0);
});

test('a server empties a WAL above the limit', async () => {
  const clock = heldClock([LOOK_MS]);
  await using server = await serving({}, undefined, {}, { clock });
  using db = new Database(indexPath(server.directory));
  db.run('PRAGMA synchronous = OFF');
  db.run(`CREATE TABLE large AS SELECT zeroblob(${WAL_LIMIT_BYTES}) AS bytes`);
  const wal = `${indexPath(server.directory)}-wal`;
  expect(statSync(wal).size).toBeGreaterThan(WAL_LIMIT_BYTES);
  await until(() => {
    clock.pass(LOOK_MS);
    return statSync(wal).size === 0;
  }, 'an empty log');
});
