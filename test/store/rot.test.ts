/**
 * Single flipped bits of the files are reported, or change no content. STACKSIDE_RUNS for more bits,
 * STACKSIDE_SEED for others.
 */

import { Database, SQLiteError } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import schema from '../../schema.sql' with { type: 'text' };
import { OperatorError } from '../../src/base/errors.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { type Tables, wholeIndex } from '../support/data/tables.ts';
import { casesOf, firstSeed } from '../support/property.ts';

const events = simulatedEvents({ seed: 6, blocks: 5, accounts: 4, transactionsPerBlock: 2, forkEvery: 3 });

/** Returns the data of the events, as files and as read from the files. */
function wholeData() {
  using directory = ingestOf(events);
  return {
    files: { index: readFileSync(indexPath(directory.path)), journal: readFileSync(journalPath(directory.path)) },
    tables: wholeIndex(directory.path),
    entries: entriesOf(directory.path),
  };
}

/** Every entry as the program reads it. */
function entriesOf(directory: string): string[] {
  const journal = openJournalReader(directory);
  try {
    return [...(journal?.after(0) ?? [])].map((entry) => JSON.stringify({ ...entry, chain: entry.chain.toHex() }));
  } finally {
    journal?.close();
  }
}
const { files, tables, entries } = wholeData();

function flip(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

/** Reports whether a check finds damage, or opening the files fails with an explained error. */
function isNoticed(directory: string, deep = true): boolean {
  try {
    return checkDirectory(directory, deep ? { deep: silentMachine } : {}).some(({ problems }) => problems.length > 0);
  } catch (error) {
    if (error instanceof OperatorError) return true;
    throw error;
  }
}

/**
 * Returns random bits of a file to flip, from its start to its end: half of them anywhere, half in
 * bytes that aren't zero.
 */
function bitsOf(bytes: Buffer, name: string, count: number): number[] {
  const prng = new Prng(`rot/${name}/${firstSeed}`);
  const used = [...bytes.keys()].filter((index) => bytes[index] !== 0);
  // Each pair is in a separate part, so that enough pairs reach every region.
  const parts = Math.ceil(casesOf(count) / 2);
  const offsetIn = (length: number, part: number): number =>
    Math.floor(((part + prng.below(1_000) / 1_000) / parts) * length);
  return Array.from({ length: parts }, (_, part) => [
    offsetIn(bytes.length, part) * 8 + prng.below(8),
    (used[offsetIn(used.length, part)] ?? 0) * 8 + prng.below(8),
  ]).flat();
}

for (const name of ['index', 'journal'] as const) {
  const turns = () => {
    const path = name === 'index' ? indexPath : journalPath;
    const missed: number[] = [];
    for (const bit of bitsOf(files[name], name, 2)) {
      using directory = dataDirectory();
      writeFileSync(indexPath(directory.path), files.index);
      writeFileSync(journalPath(directory.path), files.journal);
      writeFileSync(path(directory.path), flip(files[name], bit));
      if (isNoticed(directory.path)) continue;
      const isSame =
        Bun.deepEquals(wholeIndex(directory.path), tables) && Bun.deepEquals(entriesOf(directory.path), entries);
      if (!isSame) missed.push(bit);
    }
    expect(missed).toEqual([]);
  };
  test(`a flipped bit of the ${name} is found by a check, or changes nothing that is read`, turns);
}

/** Returns the content of a file; null if it can't be read. */
function readOf<T>(path: string, read: (db: Database) => T): T | null {
  try {
    using db = new Database(path, { readonly: true });
    return read(db);
  } catch (error) {
    if (error instanceof SQLiteError) return null;
    throw error;
  }
}

const isWhole = (path: string): boolean =>
  readOf(path, (db) => Object.values(db.query('PRAGMA integrity_check').get() ?? {})[0]) === 'ok';

/** Its statements, without their comments. */
const schemaOf = (path: string): unknown =>
  readOf(path, (db) =>
    db
      .query<Record<string, string | null>, []>('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name')
      .all()
      .map(({ sql, ...rest }) => ({ ...rest, sql: sql?.replace(/--.*/g, '').replace(/\s+/g, ' ') })),
  );

/** Returns the entries that can be read, or null if reading fails. */
function readableEntries(directory: string): string[] | null {
  try {
    return entriesOf(directory);
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return null;
  }
}

/** Writes the files as they were, and damages them. */
function copyDamaged(damage: (directory: string) => void): DataDirectory {
  const directory = dataDirectory();
  writeFileSync(indexPath(directory.path), files.index);
  writeFileSync(journalPath(directory.path), files.journal);
  damage(directory.path);
  return directory;
}

/** Whether there is something that a check without `deep` promises to find. */
function isPromised(directory: string, schemas: unknown[]): boolean {
  const paths = [indexPath(directory), journalPath(directory)];
  return (
    !paths.every(isWhole) ||
    !Bun.deepEquals(paths.map(schemaOf), schemas) ||
    !Bun.deepEquals(readableEntries(directory), entries)
  );
}

/** Bits in the statements that a file's tables and indexes are made with. */
function bitsOfSchema(bytes: Buffer, name: string): number[] {
  const prng = new Prng(`rot/schema/${name}/${firstSeed}`);
  const statements = [...bytes.toString('latin1').matchAll(/CREATE (TABLE|INDEX|UNIQUE INDEX)[^\0]{40}/g)];
  return Array.from({ length: casesOf(1) }, () => {
    const { index, 0: text } = prng.pick(statements);
    return (index + prng.below(text.length)) * 8 + prng.below(8);
  });
}

function* damages(): Generator<[what: string, damage: (directory: string) => void]> {
  for (const [name, path, bits] of [
    ['index', indexPath, 6],
    ['journal', journalPath, 2],
  ] as const) {
    const bytes = files[name];
    for (const bit of [...bitsOf(bytes, `plain ${name}`, bits), ...bitsOfSchema(bytes, name)]) {
      yield [`bit ${bit} of the ${name}`, (directory) => writeFileSync(path(directory), flip(bytes, bit))];
    }
  }
  const prng = new Prng(`rot/dropped/${firstSeed}`);
  const indexes = schema.match(/(?<=CREATE (UNIQUE )?INDEX )\w+/g) ?? [];
  for (let dropped = 0; dropped < casesOf(1); dropped++) {
    const name = prng.pick(indexes);
    const drop = (directory: string) => {
      using db = new Database(indexPath(directory));
      db.run(`DROP INDEX ${name}`);
    };
    yield [`no ${name}`, drop];
  }
}

function plainChecks() {
  using whole = copyDamaged(() => {});
  const schemas = [indexPath(whole.path), journalPath(whole.path)].map(schemaOf);
  expect(isPromised(whole.path, schemas)).toBe(false);
  const missed: string[] = [];
  for (const [title, damage] of damages()) {
    using directory = copyDamaged(damage);
    if (isPromised(directory.path, schemas) && !isNoticed(directory.path, false)) missed.push(title);
  }
  expect(missed).toEqual([]);
}
test('pages, schemas and entries that are wrong are found by a check that is not deep', plainChecks);

function rebuilds() {
  const wrong: number[] = [];
  for (const bit of bitsOf(files.journal, 'rebuild', 2)) {
    using directory = dataDirectory();
    writeFileSync(journalPath(directory.path), flip(files.journal, bit));
    let rebuilt: Tables | null = null;
    try {
      rebuildIndex({ directory: directory.path });
      rebuilt = wholeIndex(directory.path);
    } catch (error) {
      // The command explains the failure, whatever kind of error it is.
      expect(error).toBeInstanceOf(Error);
    }
    if (rebuilt !== null && !Bun.deepEquals(rebuilt, tables)) wrong.push(bit);
  }
  expect(wrong).toEqual([]);
}
test('a rebuild from a journal with a flipped bit makes the same index or fails', rebuilds);

test('a page of the journal that is lost is reported with the file, and nothing is made from the rest', () => {
  const PAGE = 4096;
  let refusals = 0;
  for (let page = 1; page < files.journal.length / PAGE; page += 4) {
    using directory = copyDamaged((path) =>
      writeFileSync(journalPath(path), Buffer.from(files.journal).fill(0, page * PAGE, (page + 1) * PAGE)),
    );
    const logged: string[] = [];
    try {
      rebuildIndex({ directory: directory.path, log: ({ event }) => logged.push(event) });
    } catch (error) {
      expect(error).toBeInstanceOf(OperatorError);
      expect((error as OperatorError).message).toContain(journalPath(directory.path));
      expect((error as OperatorError).remedy).not.toContain('rebuild');
      expect(logged).not.toContain('service_failing');
      refusals += 1;
    }
    expect(wholeIndex(directory.path)).toEqual(tables);
  }
  expect(refusals).toBeGreaterThan(2);
});
