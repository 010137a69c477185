import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { fitOf, openWholeJournal } from '../../src/store/files/journal-link.ts';
import { directoryStatus } from '../../src/store/files/status.ts';
import type { PreparedEntry } from '../../src/store/ingest/event.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { CHAIN_START, nextChain } from '../../src/store/log/entry.ts';
import { copyFile } from '../support/data/copy.ts';
import { copyOf, type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { emptyDirectory, entryOf, ingestOf, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { journalRows, tables, wholeIndex } from '../support/data/tables.ts';
import { block } from '../support/events/handmade.ts';

const devnet = (seed: number, blocks = 12): ReceivedEvent[] =>
  simulatedEvents({ seed, blocks, accounts: 10, transactionsPerBlock: 2, forkEvery: 5 });

const events = devnet(1);
const half = Math.floor(events.length / 2);
const whole = ingestOf(events);
afterAll(() => whole[Symbol.dispose]());

const rebuild = (directory: string, force = false) => rebuildIndex({ directory, force });

/** Returns the error for the operator that an action throws. */
function refusal(action: () => unknown): OperatorError {
  try {
    action();
  } catch (error) {
    if (error instanceof OperatorError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const open = (directory: string) => openAt(directory).ingest.close();

function inJournal(directory: string, sql: string, ...values: (number | string | Uint8Array)[]): void {
  using db = new Database(journalPath(directory));
  db.query(sql).run(...values);
}

function removeJournal(directory: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(journalPath(directory) + suffix, { force: true });
}

function replaceFile(path: string, from: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  writeFileSync(path, readFileSync(from));
}

test('a chain value is SHA-256 over the value before it, id, time, and the hashes of path and text', () => {
  const number = (value: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(value));
    return bytes;
  };
  const sha256 = (data: string | Uint8Array) => new Bun.CryptoHasher('sha256').update(data).digest();
  const entry = { id: 7, receivedAt: 1_700_000_000_000_001, path: '/new_block', text: '{"a":"é"}' };
  const framed = Buffer.concat([
    new Uint8Array(32).fill(9),
    number(7),
    number(1_700_000_000_000_001),
    sha256('/new_block'),
    sha256('{"a":"é"}'),
  ]);
  const expected = sha256(framed).toHex();
  expect(nextChain(new Uint8Array(32).fill(9), entry).toHex()).toBe(expected);
  expect(CHAIN_START).toEqual(new Uint8Array(32));
});

test('two journals of the same events have the same chain values', () => {
  using copy = ingestOf(events);
  const [ofOne, ofOther] = [whole, copy].map(({ path }) => {
    const reader = openJournalReader(path);
    const values = [...(reader?.after(0) ?? [])].map(({ chain }) => chain.toHex());
    reader?.close();
    return values;
  });
  expect(ofOne).toHaveLength(journalRows(whole.path).length);
  expect(ofOne).toEqual(ofOther!);
});

const damages: [what: string, sql: string, named: RegExp][] = [
  ['time', 'UPDATE events SET received_at = received_at + 1 WHERE id = 9', /^Entry 9 of .*journal\.db is damaged/],
  ['path', "UPDATE events SET path = '/new_blocl' WHERE id = 9", /^Entry 9 .*is damaged/],
  [
    'text',
    'UPDATE events SET payload = (SELECT payload FROM events WHERE id = 8) WHERE id = 9',
    /^Entry 9 .*is damaged: its chain value/,
  ],
  ['compressed bytes', "UPDATE events SET payload = x'00' WHERE id = 9", /^Entry 9 .*can't be decompressed/],
  ['chain value', 'UPDATE chain SET value = zeroblob(32) WHERE id = 9', /^Entry 9 .*is damaged/],
  ['absence', 'DELETE FROM events WHERE id = 9', /^Entry 9 .*is missing/],
  ['absence of its chain value', 'DELETE FROM chain WHERE id = 9', /^Entry 9 .*is damaged/],
];
for (const [title, sql, named] of damages) {
  test(`an entry with a changed ${title} is reported, and neither replayed nor exported`, () => {
    using directory = copyOf(whole);
    inJournal(directory.path, sql);
    const before = wholeIndex(directory.path);
    const error = refusal(() => rebuild(directory.path));
    expect(error).toBeInstanceOf(OperatorError);
    expect(error.message).toMatch(named);
    expect(error.remedy).toContain('backup');
    expect(wholeIndex(directory.path)).toEqual(before);
    expect(existsSync(join(directory.path, 'rebuild'))).toBe(false);
    const reader = openJournalReader(directory.path);
    expect(() => [...(reader?.after(0) ?? [])]).toThrow(named);
    reader?.close();
  });
}

test('a payload that is read by its id is verified', () => {
  using directory = copyOf(whole);
  inJournal(directory.path, 'UPDATE events SET received_at = 1 WHERE id = 9');
  const reader = openJournalReader(directory.path);
  expect(() => reader?.read(9)).toThrow(/^Entry 9 .*is damaged/);
  expect(reader?.read(8)?.id).toBe(8);
  expect(reader?.read(10)?.id).toBe(10);
  expect(reader?.read(entryOf(events.length) + 1)).toBeUndefined();
  reader?.close();
});

/** Returns a directory with all events, and a copy of its journal after half of them. */
function withOlderJournal(): { directory: DataDirectory; older: string } {
  const directory = dataDirectory();
  const older = join(directory.path, 'older.db');
  using opened = openAt(directory.path);
  for (const [index, event] of events.entries()) {
    if (index === half) {
      copyFile(journalPath(directory.path), older);
    }
    opened.ingest.receive(event);
  }
  return { directory, older };
}

test('a journal that is deleted, emptied, older, or of another chain is refused with remedies, and stays unchanged', () => {
  const { directory, older } = withOlderJournal();
  using _ = directory;
  using foreign = ingestOf(devnet(2));
  const path = journalPath(directory.path);
  const empty = () => writeFileSync(path, '');
  const cases: [replace: () => void, says: RegExp][] = [
    [() => removeJournal(directory.path), /The journal in .* is missing, but the index contains \d+ events/],
    [empty, /its journal ends at event 0/],
    [() => replaceFile(path, older), new RegExp(`its journal ends at event ${entryOf(half)}`)],
    [() => replaceFile(path, journalPath(foreign.path)), /does not belong to the index|journal ends at event/],
  ];
  const index = wholeIndex(directory.path);
  for (const [replace, says] of cases) {
    removeJournal(directory.path);
    replace();
    if (replace === empty) expect(() => directoryStatus(directory.path)).toThrow(/journal\.db is empty/);
    else expect(directoryStatus(directory.path).journal?.fits ?? false).toBe(false);
    const error = refusal(() => open(directory.path));
    expect(error.message).toMatch(says);
    expect(error.remedy).toMatch(/Restore the journal\.db.*(stackside rebuild --force|restore a backup)/);
    // A rebuild would lose data that only the index has: it needs an explicit option.
    expect(refusal(() => rebuild(directory.path)).message).toMatch(/would be lost|differs|contain a journal|is empty/);
    expect(wholeIndex(directory.path)).toEqual(index);
  }
});

test('a rebuild from an empty journal changes no index, even with --force', () => {
  for (const damage of [() => {}, (path: string) => writeFileSync(path, 'no database')]) {
    using directory = copyOf(whole);
    damage(indexPath(directory.path));
    removeJournal(directory.path);
    writeFileSync(journalPath(directory.path), '');
    const index = readFileSync(indexPath(directory.path));
    const error = refusal(() => rebuild(directory.path, true));
    expect(error.message).toBe(`Can't rebuild the index: the journal in ${directory.path} is empty.`);
    expect(error.remedy).toStartWith('Put the journal.db of this index back');
    expect(readFileSync(indexPath(directory.path)).equals(index)).toBe(true);
  }
  // Without events, nothing can be lost.
  using unused = emptyDirectory();
  openAt(unused.path)[Symbol.dispose]();
  expect(rebuild(unused.path, true).tipHeight).toBe(0);
});

test('a rebuild with --force from an older journal makes the index of its events', () => {
  const { directory, older } = withOlderJournal();
  using _ = directory;
  replaceFile(journalPath(directory.path), older);
  rebuild(directory.path, true);
  using expected = ingestOf(events.slice(0, half));
  expect(tables(directory.path)).toEqual(tables(expected.path));
  open(directory.path);
});

test('a fork fails if a payload belongs to another block, and changes nothing', () => {
  using directory = copyOf(whole);
  using db = new Database(indexPath(directory.path));
  // Points the tip to the payload of the block below it.
  const two = 'SELECT index_block_hash FROM blocks ORDER BY height DESC LIMIT 1';
  db.run(`UPDATE block_payloads SET journal_id = (SELECT journal_id FROM block_payloads ORDER BY rowid LIMIT 1)
           WHERE index_block_hash = (${two})`);
  const [tip] = db
    .query<{ height: number; hash: Uint8Array; parent: Uint8Array }, []>(
      'SELECT height, index_block_hash AS hash, parent_index_block_hash AS parent FROM blocks ORDER BY height DESC LIMIT 1',
    )
    .all();
  db.close();
  using opened = openAt(directory.path);
  const below = { hash: `0x${tip!.parent.toHex()}`, height: tip!.height - 1, event: events[0]! };
  const rival = block(below, 'rival');
  opened.ingest.receive(rival.event);
  const before = wholeIndex(directory.path);
  expect(() => opened.ingest.receive(block(rival, 'past the tip').event)).toThrow('The index is damaged');
  expect(wholeIndex(directory.path)).toEqual(before);
});

test("a journal that ends at the index's position with another entry is another journal, not one that is behind", () => {
  const [ownChain, another] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const place = { id: 2, chain: ownChain };
  const journal = (chains: Uint8Array[]) => ({
    chainAt: (id: number) => chains[id] ?? null,
    lastId: () => chains.length - 1,
  });
  expect(fitOf(place, journal([another, another, ownChain]))).toBe('fits');
  expect(fitOf(place, journal([another, another, ownChain, another]))).toBe('fits');
  expect(fitOf(place, journal([another, ownChain, another]))).toBe('other');
  expect(fitOf(place, journal([another, ownChain, another, ownChain]))).toBe('other');
  expect(fitOf(place, journal([another, ownChain]))).toBe('behind');
});

test.each<[string, (bytes: Buffer) => Buffer]>([
  ['no database', (bytes) => bytes.fill('text ')],
  ['damaged', (bytes) => bytes.fill(0xff, 100, 200)],
  ['cut off in its header', (bytes) => bytes.subarray(0, 50)],
  ['cut off in its middle', (bytes) => bytes.subarray(0, bytes.length >> 1)],
])('an index that is %s is rebuilt by force, and its journal can be exported', (_, damage) => {
  using directory = copyOf(whole);
  const before = tables(directory.path);
  const path = indexPath(directory.path);
  const damaged = damage(readFileSync(path));
  writeFileSync(path, damaged);
  const journal = openWholeJournal(directory.path);
  expect(journal.lastId()).toBe(entryOf(events.length));
  journal.close();
  const error = refusal(() => rebuild(directory.path));
  expect(error.message).toBe(`${path} can't be read, so it can't be compared with the journal.`);
  expect(error.remedy).toStartWith('If the journal belongs to this directory, add --force.');
  expect(readFileSync(path).equals(damaged)).toBe(true);
  rebuild(directory.path, true);
  expect(tables(directory.path)).toEqual(before);
});

test('an index of 0 bytes is rebuilt without --force', () => {
  using directory = copyOf(whole);
  const before = tables(directory.path);
  writeFileSync(indexPath(directory.path), '');
  rebuild(directory.path);
  expect(tables(directory.path)).toEqual(before);
});

test('a rebuild replaces the database of another program only with --force', () => {
  using directory = copyOf(whole);
  const before = tables(directory.path);
  const path = indexPath(directory.path);
  rmSync(path);
  {
    using foreign = new Database(path);
    foreign.run('CREATE TABLE notes (text TEXT)');
  }
  expect(refusal(() => rebuild(directory.path)).message).toBe(`${path} is a database, but not an index.`);
  rebuild(directory.path, true);
  expect(tables(directory.path)).toEqual(before);
});

describe('a replay of entries that were read ahead', () => {
  function preparedEntriesOf(directory: string): PreparedEntry[] {
    const journal = openJournalReader(directory);
    try {
      return Array.from(journal.after(0), ({ text, ...entry }) => ({
        ...entry,
        length: text.length,
        content: { text },
      }));
    } finally {
      journal.close();
    }
  }

  /** Opens an empty index next to a directory's index. */
  function openStaging(directory: string) {
    const staging = join(directory, 'staging');
    mkdirSync(staging);
    return { staging, open: openAt(directory, { staging, load: 'bulk', replayTo: 0 }) };
  }

  test('groups of entries continue one transaction, which others read once it is published', () => {
    using directory = ingestOf(events);
    const entries = preparedEntriesOf(directory.path);
    const { staging, open } = openStaging(directory.path);
    const empty = wholeIndex(staging);
    for (let index = 0; index < entries.length; index += 4) open.ingest.replay(entries.slice(index, index + 4));
    expect(open.ingest.position().id).toBe(entries.length);
    expect(wholeIndex(staging)).toEqual(empty);
    open.ingest.publish();
    expect(wholeIndex(staging)).toEqual(wholeIndex(directory.path));
    open.ingest.close();
  });

  test('an index that is closed between two groups continues after the last published one', () => {
    using directory = ingestOf(events);
    const entries = preparedEntriesOf(directory.path);
    const half = Math.floor(entries.length / 2);
    const { staging, open } = openStaging(directory.path);
    open.ingest.replay(entries.slice(0, half));
    open.ingest.close();
    using resumed = openAt(directory.path, { staging, load: 'bulk', replayTo: 0 });
    expect(resumed.ingest.position().id).toBe(half);
    resumed.ingest.replay(entries.slice(half));
    resumed.ingest.catchUp();
    expect(wholeIndex(staging)).toEqual(wholeIndex(directory.path));
  });

  test('a group that skips an entry is refused, and the entries before it are replayed again from the journal', () => {
    using directory = ingestOf(events);
    const entries = preparedEntriesOf(directory.path);
    const { staging, open } = openStaging(directory.path);
    open.ingest.replay(entries.slice(0, 5));
    expect(() => open.ingest.replay(entries.slice(6))).toThrow(/^Entry \d+ .*is missing/);
    open.ingest.catchUp();
    expect(wholeIndex(staging)).toEqual(wholeIndex(directory.path));
    open.ingest.close();
  });
});
