/** The journal is trimmed up to what the archive holds and to what the index still needs, and its chain values stay valid. */

import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { OperatorError } from '../../src/base/errors.ts';
import { operatorErrorOf } from '../../src/base/system-errors.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import type { Connect } from '../../src/store/files/connection.ts';
import { dataStateOf } from '../../src/store/files/data-state.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import type { EntryReader } from '../../src/store/files/payload-source.ts';
import { blockPayloads } from '../../src/store/ingest/block-payloads.ts';
import { rebuildIndex } from '../../src/store/ingest/rebuild.ts';
import { type EntryHolder, type RetentionEvent, startRetention } from '../../src/store/ingest/retention.ts';
import { everywhere } from '../faults/everywhere.ts';
import { type Fault, faultStore, faults, never } from '../faults/fault-store.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { imagesAtCommits } from '../support/data/crash-image.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { everything, journalRows, wholeIndex } from '../support/data/tables.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';
import { manualClock } from '../support/time/manual-clock.ts';

const all = [...devnetEvents({ seed: 9, blocks: 24, transactionsPerBlock: 1, forkEvery: 5, forkDepth: 2 })].map(
  received,
);
const events = all.slice(0, -30);
const later = all.slice(-30);
/** Blocks below the tip that these tests retain, deeper than any fork of the chain. */
const BLOCKS = 6;
const BATCH = 5;

const filled = ingestOf(events);
afterAll(() => filled[Symbol.dispose]());
const last = dataStateOf(filled.path).position;
const NEWEST = events.at(-1)!.receivedAt / 1_000;
const DAY = 86_400_000;

function copied(): DataDirectory {
  const directory = dataDirectory();
  cpSync(filled.path, directory.path, { recursive: true });
  return directory;
}

/** An archive that holds the entries up to one. */
const holding = (held: ReturnType<EntryHolder['held']>): EntryHolder => ({
  location: 's3://bucket/key',
  held: () => held,
});

interface Trimming {
  days?: number;
  now?: number;
  blocks?: number;
  ticks?: number;
  bytes?: number;
  connect?: Connect;
  archive?: EntryHolder;
}

/** Trims until nothing is left to trim. @returns what was said */
function trim(
  directory: string,
  { days = 0, now = NEWEST, blocks = BLOCKS, ticks = 100, bytes = 1e9, ...given }: Trimming = {},
) {
  const said: RetentionEvent[] = [];
  const clock = manualClock();
  const options = { directory, days, log: (event: RetentionEvent) => said.push(event), now: () => now };
  const batch = { entries: BATCH, bytes };
  const stop = startRetention({ archive: holding(last), ...options, ...given, every: clock.every, batch, blocks });
  for (let tick = 0; tick < ticks; tick++) clock.tick();
  stop();
  return said;
}

/** The first entry that is left. */
const firstIn = (directory: string): number => journalRows(directory)[0]!.id;
const problemsOf = (directory: string) => checkAndRecount(directory).flatMap(({ problems }) => problems);
/** The oldest entry of a block that stands no more than so many below the tip. */
function oldestOf(blocks: number): number {
  using db = new Database(indexPath(filled.path), { readonly: true });
  return (
    db
      .query<{ id: number }, [number]>(
        `SELECT min(journal_id) AS id FROM block_payloads WHERE index_block_hash IN (
           SELECT index_block_hash FROM blocks WHERE height >= (SELECT max(height) FROM blocks) - ?1
           UNION SELECT index_block_hash FROM orphaned_blocks WHERE height >= (SELECT max(height) FROM blocks) - ?1)`,
      )
      .get(blocks)?.id ?? 0
  );
}

test('what the archive holds is removed in batches, and what forks may need stays', () => {
  using directory = copied();
  const before = journalRows(directory.path);
  const said = trim(directory.path);
  const first = firstIn(directory.path);
  const upTo = first - 1;
  expect(upTo % BATCH).toBe(0);
  expect(oldestOf(BLOCKS) - upTo).toBeWithin(1, BATCH + 1);
  expect(said).toEqual([{ event: 'journal_trimmed', entries: upTo, up_to: upTo, archive: 's3://bucket/key' }]);
  expect(journalRows(directory.path)).toEqual(before.slice(upTo));
  expect(problemsOf(directory.path)).toEqual([]);
});

test('a batch is smaller where payloads are large', () => {
  using directory = copied();
  trim(directory.path, { ticks: 3, bytes: 1 });
  expect(firstIn(directory.path)).toBe(4);
});

test('whichever call fails, the journal is one chain, and the next batch goes on', () => {
  using counted = copied();
  let calls = 0;
  {
    using seen = everywhere(never);
    trim(counted.path, { ticks: 1 });
    calls = seen.calls();
  }
  expect(calls).toBeGreaterThan(10);
  for (let at = 0; at < calls; at++) {
    using directory = copied();
    {
      using _ = everywhere(({ number }) => (number === at ? faults[at % faults.length]! : null));
      try {
        trim(directory.path, { ticks: 1 });
      } catch (error) {
        // It could not begin, or not end.
        if (operatorErrorOf(error, directory.path) === null) throw error;
      }
    }
    const reader = openJournalReader(directory.path)!;
    const ids = [...reader.entriesAfter(0, true)].map(({ id }) => id);
    reader.close();
    expect([at, [1, 1 + BATCH].includes(ids[0]!), ids.at(-1)]).toEqual([at, true, last.id]);
    trim(directory.path, { ticks: 1 });
    expect(firstIn(directory.path)).toBeGreaterThan(BATCH);
  }
});

// A batch that finds another one's transaction open sees what that one removed, and goes on behind it.
test.each([
  ['begun, though it was said to have failed', { 'BEGIN IMMEDIATE': 'done' }, 1 + BATCH],
  ['to be undone, which failed as well', { COMMIT: 'kept', ROLLBACK: 'kept' }, 1 + 2 * BATCH],
] as const)('a batch whose transaction was %s is made by the next one of the same retention', (_, failing, first) => {
  using directory = copied();
  const left = new Map<string, Fault['effect']>(Object.entries(failing));
  const store = faultStore();
  store.follow(({ sql }) => {
    const effect = left.get(sql);
    left.delete(sql);
    return effect === undefined ? null : { code: 'io', effect };
  });
  trim(directory.path, { ticks: 2, connect: store.connect });
  expect([left.size, firstIn(directory.path)]).toEqual([0, first]);
});

test('a batch that could not begin holds no lock against events', () => {
  using directory = copied();
  const store = faultStore();
  store.follow(({ sql }) => (sql === 'BEGIN IMMEDIATE' ? { code: 'io', effect: 'done' } : null));
  let locked = true;
  const connect: Connect = (path, synchronous) => {
    const db = store.connect(path, synchronous);
    const close = db.close.bind(db);
    db.close = () => {
      locked = db.inTransaction;
      close();
    };
    return db;
  };
  trim(directory.path, { ticks: 1, connect });
  expect(locked).toBe(false);
});

test('no more is removed than the archive holds, and nothing where it holds none, or another log', () => {
  using part = copied();
  const journal = openJournalReader(part.path);
  const chain = journal.chainAt(18)!;
  journal.close();
  trim(part.path, { archive: holding({ id: 18, chain }) });
  expect(firstIn(part.path)).toBe(16);
  using whole = copied();
  for (const held of ['reading', null] as const) expect(trim(whole.path, { archive: holding(held) })).toEqual([]);
  for (const [held, reason] of [
    [{ reason: 'it is away' }, 'it is away'],
    [
      { id: 20, chain: new Uint8Array(32) },
      'the archive at s3://bucket/key is of another log: its entry 20 is another',
    ],
  ] as const) {
    expect(trim(whole.path, { archive: holding(held) })).toEqual([{ event: 'journal_not_trimmed', reason }]);
  }
  expect(firstIn(whole.path)).toBe(1);
});

test('entries stay for as many days as they are to be retained', () => {
  using directory = copied();
  const rows = journalRows(directory.path);
  const at = rows[14]!.receivedAt / 1_000;
  trim(directory.path, { days: 3, now: rows[0]!.receivedAt / 1_000 + 3 * DAY });
  expect(firstIn(directory.path)).toBe(1);
  trim(directory.path, { days: 3, now: at + 3 * DAY });
  const first = firstIn(directory.path);
  expect(first).toBeGreaterThan(1);
  expect(rows[first - 2]!.receivedAt / 1_000).toBeLessThan(at);
});

test('hooks that catch up, and backfills, keep what they have still to read', () => {
  using free = copied();
  trim(free.path);
  expect(firstIn(free.path)).toBeGreaterThan(13);
  const heightOf = (id: number): number => {
    using db = new Database(indexPath(filled.path), { readonly: true });
    return db
      .query<{ height: number }, [number]>(
        `SELECT max(b.height) AS height FROM blocks b JOIN block_payloads p ON p.index_block_hash = b.index_block_hash
          WHERE p.journal_id <= ?1`,
      )
      .get(id)!.height;
  };
  for (const statement of [
    `INSERT INTO hook_backfills (uuid, hook_id, state, dry_run, from_height, to_height, next_height, matched_blocks,
       matched_transactions, queued, delivered, dead, created_at) VALUES ('u', 1, 0, 0, 1, 9, ?1, 0, 0, 0, 0, 0, 0)`,
    `INSERT INTO hooks (uuid, consumer, created_at, definition, url, stage, status, cursor_height, cursor_hash, joined,
       evaluated, occurrences, window_evaluated, window_occurrences, sequence, consecutive_failures)
       VALUES ('u', 'c', 0, '{}', 'http://h', 2, 0, ?1, x'', 0, 0, 0, 0, 0, 0, 0)`,
  ]) {
    using directory = copied();
    {
      using db = new Database(indexPath(directory.path));
      db.run(statement, [heightOf(12)]);
    }
    trim(directory.path);
    expect(firstIn(directory.path)).toBeWithin(6, 13);
  }
});

test('events and forks come after a trimming as before it, also to a directory restored from a backup of it', async () => {
  using directory = copied();
  trim(directory.path);
  using places = dataDirectory();
  await backupOf(directory.path, join(places.path, 'backup'));
  using fed = ingestOf(all);
  await restored(join(places.path, 'backup'), join(places.path, 'data'));
  for (const path of [directory.path, join(places.path, 'data')]) {
    using opened = openAt(path);
    for (const event of later) opened.ingest.apply(event);
    opened.ingest.commit();
    opened.ingest.close();
    expect(wholeIndex(path)).toEqual(wholeIndex(fed.path));
    expect(problemsOf(path)).toEqual([]);
  }
});

test('whatever the moment of a crash, the journal is one chain and fits its index', async () => {
  using directory = copied();
  const images = await imagesAtCommits(directory.path, () => trim(directory.path, { ticks: 3 }));
  expect(images.length).toBe(6);
  const before = everything(directory.path).index;
  for (const image of images) {
    using _ = image;
    openAt(image.path)[Symbol.dispose]();
    expect(wholeIndex(image.path)).toEqual(before);
    const reader = openJournalReader(image.path)!;
    const ids = [...reader.entriesAfter(0, true)].map(({ id }) => id);
    reader.close();
    expect(ids).toEqual(ids.map((_, at) => ids[0]! + at));
    expect(ids.at(-1)).toBe(last.id);
  }
});

test('a rebuild, a deep check, an export and a check say what is missing', () => {
  using directory = copied();
  trim(directory.path);
  const upTo = firstIn(directory.path) - 1;
  const refused = ((): OperatorError => {
    try {
      rebuildIndex({ directory: directory.path, chainId: null, machine: silentMachine, log: () => {}, force: false });
    } catch (error) {
      return error as OperatorError;
    }
    throw new Error('it was rebuilt');
  })();
  expect(refused.message).toContain(`lacks the events from 1 to ${upTo}`);
  expect(refused.remedy).toStartWith('Name the archive of this data with --archive.');
  expect(() => checkAndRecount(directory.path, { deep: silentMachine })).toThrow('lacks events');
  const names = checkAndRecount(directory.path).map(({ name }) => name);
  expect(names).toContain(
    `each entry of the journal against its chain value (it lacks the events 1 to ${upTo}, which were removed)`,
  );
  // A check since a height begins inside what is missing.
});

test('an entry that rots after the mark is found by the mark', () => {
  using directory = copied();
  trim(directory.path);
  const first = firstIn(directory.path);
  using db = new Database(journalPath(directory.path));
  db.run('UPDATE events SET received_at = received_at + 1 WHERE id = ?1', [first]);
  db.close();
  expect(problemsOf(directory.path)).toContain(
    `Entry ${first} of ${journalPath(directory.path)} is damaged: its chain value is wrong.`,
  );
});

test('a fork that needs a payload which is nowhere says so, and what to run with', () => {
  using db = new Database(indexPath(filled.path), { readonly: true });
  const { hash } = db.query<{ hash: Uint8Array }, []>('SELECT index_block_hash AS hash FROM block_payloads').get()!;
  const nowhere = {
    message: `A fork needs the payload of block 0x${hash.toHex()}, which is not stored.`,
    remedy: 'Run with the journal that this index was built from, or import the chain into another directory.',
  };
  const readFrom = (entries: EntryReader, of: Uint8Array): unknown => {
    try {
      return blockPayloads(db, entries).read(of);
    } catch (error) {
      return error;
    }
  };
  expect(readFrom({ read: () => undefined }, hash)).toMatchObject(nowhere);
  const journal = openJournalReader(filled.path)!;
  expect(JSON.parse(readFrom(journal, hash) as string)).toMatchObject({ index_block_hash: `0x${hash.toHex()}` });
  journal.close();
  const unknown = new Uint8Array(32);
  const message = nowhere.message.replace(hash.toHex(), unknown.toHex());
  expect(readFrom(journal, unknown)).toMatchObject({ ...nowhere, message });
});
