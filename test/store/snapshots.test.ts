/** Readers while the files of the index are replaced, missing, or of another version. */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { copyFileSync, readdirSync, readlinkSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { startCheckpointer } from '../../src/store/files/checkpointer.ts';
import { indexPath, journalPath, SCHEMA_VERSION } from '../../src/store/files/database.ts';
import { CommitCount } from '../../src/store/ingest/commit-count.ts';
import { IndexUnavailableError, NoSnapshotError } from '../../src/store/model/read-errors.ts';
import { openIndexFile } from '../../src/store/read/index-file.ts';
import { openSnapshots, SNAPSHOT_LIMIT_MS, type Snapshots } from '../../src/store/read/snapshots.ts';
import { appOf } from '../support/api/app.ts';
import { dataDirectory, moveIndex } from '../support/data/data-directory.ts';
import { ingestOf, type OpenIngest, openAt, openNew, simulatedEvents } from '../support/data/ingest.ts';
import { watchedSnapshots } from '../support/data/watched-snapshots.ts';
import { manualClock } from '../support/time/manual-clock.ts';

const events = simulatedEvents({ seed: 4, blocks: 8, transactionsPerBlock: 2, forkEvery: 0 });
const few = events.slice(0, Math.floor(events.length / 2));

const heightOf = (snapshots: Snapshots): Promise<number> =>
  snapshots.readLong(async (read) => read.chain.tip()?.height ?? 0);

function heightIn(directory: string): number {
  using db = new Database(indexPath(directory), { readonly: true });
  return db.query<{ height: number }, []>('SELECT max(height) AS height FROM blocks').get()?.height ?? 0;
}

/** Files of a directory that this process has open though they are deleted. */
const deletedAndOpen = (directory: string): string[] =>
  readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const target = readlinkSync(join('/proc/self/fd', descriptor));
      return target.startsWith(directory) && target.endsWith('(deleted)') ? [target] : [];
    } catch (error) {
      // The descriptor of the listing itself.
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
      throw error;
    }
  });

function setSchemaVersion(directory: string, version: number): void {
  using db = new Database(indexPath(directory));
  db.run(`PRAGMA user_version = ${version}`);
}

describe('an index that is replaced', () => {
  test('is read from then on, while a snapshot of the old one is read to its end and its file is then released', async () => {
    using old = ingestOf(few);
    using whole = ingestOf(events);
    const [before, after] = [heightIn(old.path), heightIn(whole.path)];
    expect(after).toBeGreaterThan(before);
    using snapshots = watchedSnapshots(old.path);
    const { promise: replaced, resolve: resume } = Promise.withResolvers<void>();
    const reading = snapshots.readLong(async (read) => {
      const first = read.chain.tip()?.height;
      await replaced;
      return [first, read.chain.tip()?.height, read.file];
    });
    moveIndex(whole.path, old.path);
    snapshots.look();
    expect(await heightOf(snapshots)).toBe(after);
    if (process.platform === 'linux') expect(deletedAndOpen(old.path)).not.toEqual([]);
    resume();
    expect(await reading).toEqual([before, before, 1]);
    expect(await snapshots.readLong(async (read) => read.file)).toBe(2);
    if (process.platform === 'linux') expect(deletedAndOpen(old.path)).toEqual([]);
    expect(snapshots.logged).toEqual([{ event: 'index_reopened' }]);
  });

  test('is noticed by later connections, which never differ from earlier ones in their file', async () => {
    using old = ingestOf(few);
    using whole = ingestOf(events);
    const after = heightIn(whole.path);
    using snapshots = watchedSnapshots(old.path);
    const { promise: replaced, resolve: resume } = Promise.withResolvers<void>();
    const reading = snapshots.readLong(() => replaced);
    moveIndex(whole.path, old.path);
    expect(await heightOf(snapshots)).toBe(after);
    resume();
    await reading;
    expect(await heightOf(snapshots)).toBe(after);
  });

  test('leaves no cached answer from the old one', async () => {
    using directory = ingestOf(events);
    using mended = ingestOf(events);
    {
      using db = new Database(indexPath(mended.path));
      db.run('UPDATE transactions SET fee = fee + 1');
    }
    using snapshots = watchedSnapshots(directory.path);
    const app = appOf({ snapshots });
    const answer = async () => {
      const response = await app.handle(new Request('http://localhost/extended/v3/transactions?limit=20'));
      return response.text();
    };
    const first = await answer();
    // Kept from the second time on.
    expect([await answer(), await answer()]).toEqual([first, first]);
    moveIndex(mended.path, directory.path);
    snapshots.look();
    expect(await answer()).not.toBe(first);
  });

  test.skipIf(process.platform !== 'linux')(
    'is closed with its journal once the snapshots of it have ended, also one that was cut off',
    () => {
      for (const ends of ['end', 'cutOff'] as const) {
        using directory = dataDirectory();
        openAt(directory.path)[Symbol.dispose]();
        const file = openIndexFile(directory.path, 1);
        const connection = file.begin();
        file.retire();
        rmSync(directory.path, { recursive: true });
        expect(deletedAndOpen(directory.path)).not.toEqual([]);
        file[ends](connection);
        expect([ends, deletedAndOpen(directory.path)]).toEqual([ends, []]);
      }
    },
  );

  test('is noticed, and so is a replaced journal', async () => {
    using directory = dataDirectory();
    openAt(directory.path)[Symbol.dispose]();
    using snapshots = watchedSnapshots(directory.path);
    const file = () => snapshots.readLong(async (read) => read.file);
    expect(await file()).toBe(1);
    openAt(directory.path)[Symbol.dispose]();
    snapshots.look();
    expect(await file()).toBe(1);
    copyFileSync(journalPath(directory.path), `${journalPath(directory.path)}.copy`);
    renameSync(`${journalPath(directory.path)}.copy`, journalPath(directory.path));
    snapshots.look();
    expect(await file()).toBe(2);
  });
});

test.skipIf(process.platform === 'win32')(
  "pages that are missing on the disk are an error, and don't end the process",
  async () => {
    using directory = ingestOf(events);
    // In a separate process, because a signal would end it.
    const program = `
    import { truncateSync } from 'node:fs';
    import { openSnapshots } from '${join(import.meta.dir, '../../src/store/read/snapshots.ts')}';
    const snapshots = openSnapshots('${directory.path}');
    const answer = snapshots.readLong(async (read) => {
      await read.chain.tip();
      truncateSync('${indexPath(directory.path)}', 8192);
      return read.transactions.page(20, null);
    });
    await answer.catch((error) => console.log(error.code));`;
    const child = Bun.spawn([process.execPath, '-e', program], { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
    const [printed, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
    expect([printed.trim(), code]).toEqual(['SQLITE_CORRUPT', 0]);
  },
);

describe('a reader without an index', () => {
  /** @returns why it can't be read */
  const whyNot = async (snapshots: Snapshots): Promise<string> => {
    const error = await heightOf(snapshots).then(
      () => null,
      (cause: unknown) => cause,
    );
    expect(error).toBeInstanceOf(IndexUnavailableError);
    return (error as Error).message;
  };

  test('logs that once, until there is one', async () => {
    using directory = dataDirectory();
    using whole = ingestOf(events);
    using snapshots = watchedSnapshots(directory.path);
    const missing = `No index found at ${indexPath(directory.path)}.`;
    expect(await whyNot(snapshots)).toBe(missing);
    snapshots.look();
    snapshots.look();
    expect(snapshots.logged).toMatchObject([{ event: 'service_failing', service: 'index', reason: missing }]);
    const height = heightIn(whole.path);
    renameSync(journalPath(whole.path), journalPath(directory.path));
    moveIndex(whole.path, directory.path);
    snapshots.look();
    expect(await heightOf(snapshots)).toBe(height);
    expect(snapshots.logged[1]).toEqual({ event: 'index_reopened' });

    rmSync(indexPath(directory.path));
    snapshots.look();
    expect(await whyNot(snapshots)).toBe(
      `The index ${indexPath(directory.path)} is missing, but ${directory.path} contains a journal.`,
    );
    expect(snapshots.logged.length).toBe(3);
  });

  test.each([
    [SCHEMA_VERSION - 1, (path: string) => `${path} was made by an unreleased Stackside.`],
    [
      SCHEMA_VERSION + 1,
      (path: string) =>
        `A newer version of Stackside wrote ${path} (schema ${SCHEMA_VERSION + 1}; this version supports ${SCHEMA_VERSION}).`,
    ],
  ])('reads an index of schema %d once it has the schema of this version', async (version, problem) => {
    using directory = ingestOf(events);
    const height = heightIn(directory.path);
    using snapshots = watchedSnapshots(directory.path);
    setSchemaVersion(directory.path, version);
    snapshots.look();
    const reason = problem(indexPath(directory.path));
    expect(await whyNot(snapshots)).toBe(reason);
    using started = watchedSnapshots(directory.path);
    expect(await whyNot(started)).toBe(reason);
    setSchemaVersion(directory.path, SCHEMA_VERSION);
    for (const reader of [snapshots, started]) {
      reader.look();
      expect(await heightOf(reader)).toBe(height);
    }
  });

  test.each([
    ['the file is not a database', 'data', indexPath('data'), 'is not a database.'],
    ['the directory is a file', 'file', 'file', "can't be used: a part of the path is a file, not a directory."],
  ])('fails if %s', async (_, data, file, problem) => {
    using around = dataDirectory();
    await Bun.write(join(around.path, file), 'x'.repeat(5000));
    const directory = join(around.path, data);
    using snapshots = watchedSnapshots(directory);
    const reason = `${indexPath(directory)} ${problem}`;
    expect(await whyNot(snapshots)).toBe(reason);
    expect(snapshots.logged).toMatchObject([
      { event: 'service_failing', service: 'index', reason, remedy: expect.stringMatching(/./) },
    ]);
  });
});

describe('requests of one turn of the event loop share a snapshot:', () => {
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
    expect(tips).toEqual([0, 0, 8, 8]);
  });

  test('a snapshot ends with its turn and the last request that reads it, so that the log can be emptied', async () => {
    using open = openNew();
    using shared = shareSnapshots(open, () => 0);
    const upkeep = manualClock();
    using stack = new DisposableStack();
    stack.defer(
      startCheckpointer({
        directory: open.directory,
        limitBytes: 1,
        copy: async () => false,
        log: () => {},
        ...upkeep,
      }),
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
    expect(await heightOf(shared.snapshots)).toBe(0);
    resume();
    await expect(late).rejects.toThrow(NoSnapshotError);
    moveIndex(whole.path, open.directory);
    shared.look();
    expect(await heightOf(shared.snapshots)).toBe(8);
  });
});
