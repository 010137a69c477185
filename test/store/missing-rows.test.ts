/**
 * Rows that vanish, at an end of a table or in its middle, by SQL or by a flipped bit: the journal is refused or read
 * correctly, and a check names the table of the index. STACKSIDE_RUNS for more bits.
 */

import { Database } from 'bun:sqlite';
import { expect, spyOn, test } from 'bun:test';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import schema from '../../schema.sql' with { type: 'text' };
import { OperatorError } from '../../src/base/errors.ts';
import { runExport } from '../../src/commands/data/export.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { localTables } from '../../src/store/check/tables.ts';
import { indexPath, journalPath, oneRowTables } from '../../src/store/files/database.ts';
import { directoryStatus } from '../../src/store/files/status.ts';
import { openWithHooks } from '../faults/event-range.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { byBits, byStatement, type Loss, places } from '../support/data/missing-rows.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { everything, wholeIndex } from '../support/data/tables.ts';
import { casesOf, firstSeed } from '../support/property.ts';

const events = simulatedEvents({ seed: 6, blocks: 8, accounts: 4, transactionsPerBlock: 2, forkEvery: 3 });

/** Result of a command on a directory; null if the command failed. */
type Outcome = unknown;

/** Commands, each run on a separate directory. */
const commands: Readonly<Record<string, (directory: string) => Outcome | Promise<Outcome>>> = {
  status(directory) {
    const { journal } = directoryStatus(directory);
    return journal?.fits === true ? { ...journal, bytes: 0 } : null;
  },
  serve(directory) {
    openAt(directory).ingest.close();
    return wholeIndex(directory);
  },
  check: (directory) => (checkDirectory(directory).some(({ problems }) => problems.length > 0) ? null : true),
  rebuild(directory) {
    rebuildIndex({ directory });
    return wholeIndex(directory);
  },
  async export(directory) {
    const file = join(directory, 'recording.tsv');
    const quiet = spyOn(process.stderr, 'write').mockImplementation(() => true);
    try {
      await runExport(directory, file, true);
    } finally {
      quiet.mockRestore();
    }
    return readFileSync(file, 'utf8');
  },
  async backup(directory) {
    await backupOf(directory, join(directory, 'backup'));
    const target = join(directory, 'restored');
    await restored(join(directory, 'backup'), target);
    return everything(target);
  },
};

async function outcomeOf(command: string, from: string, act: Loss['act']): Promise<Outcome> {
  using directory = dataDirectory();
  cpSync(from, directory.path, { recursive: true });
  act(journalPath(directory.path));
  try {
    return await commands[command]!(directory.path);
  } catch (error) {
    if (error instanceof OperatorError) return null;
    throw error;
  }
}

const together = (first: Loss, second: Loss): Loss => ({
  ...first,
  what: `${first.what}, and ${second.what}`,
  act(path) {
    first.act(path);
    second.act(path);
  },
});

const withoutRows = async () => {
  using whole = ingestOf(events);
  const [expected, path] = [new Map<string, Outcome>(), journalPath(whole.path)];
  for (const command of Object.keys(commands)) {
    expected.set(command, await outcomeOf(command, whole.path, () => {}));
  }
  expect([...expected].filter(([, outcome]) => outcome === null)).toEqual([]);
  const prng = new Prng(`missing-rows/journal/${firstSeed}`);
  const bits = ['events', 'chain'].flatMap((table) => byBits(path, table));
  const losses = [
    ...['events', 'chain'].flatMap((table) => places.map((place) => byStatement(table, place))),
    ...places.map((place) => together(byStatement('events', place), byStatement('chain', place))),
    ...prng.shuffle(bits).slice(0, casesOf(1)),
  ];
  const wrong: string[] = [];
  for (const { what, act } of prng.shuffle(losses).slice(0, casesOf(3))) {
    for (const command of Object.keys(commands)) {
      const outcome = await outcomeOf(command, whole.path, act);
      if (outcome !== null && !Bun.deepEquals(outcome, expected.get(command))) wrong.push(`${command}: ${what}`);
      if (command === 'check' && outcome !== null) wrong.push(`check finds nothing: ${what}`);
    }
  }
  expect(wrong).toEqual([]);
};
test('with missing journal rows, each command refuses the journal or is right, and a check finds them', withoutRows);

test('the list of one-row tables equals the schema', () => {
  const names = [...schema.matchAll(/CREATE TABLE (\w+) \((?:(?!CREATE)[^;])*?CHECK \(id = 1\)/g)].map(
    ([, name]) => name!,
  );
  expect<string[]>([...oneRowTables].sort()).toEqual(names.sort());
});

const ofTheIndex = () => {
  using whole = ingestOf(events.slice(0, -10));
  {
    using open = openWithHooks(whole.path);
    open.register();
    for (const event of events.slice(-10)) open.ingest.receive(event);
  }
  const path = indexPath(whole.path);
  const filled = readOf(path, (db) =>
    db
      .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'")
      .all()
      .map(({ name }) => name)
      .filter((name) => !(name in localTables) && db.query(`SELECT 1 FROM ${name}`).get() !== null),
  );
  expect(filled.length).toBeGreaterThan(43);
  const prng = new Prng(`missing-rows/index/${firstSeed}`);
  const bits = prng.shuffle(filled.flatMap((table) => byBits(path, table))).slice(0, casesOf(2));
  const rows = prng.shuffle(filled.flatMap((table) => places.map((place) => byStatement(table, place))));
  const unnamed: string[] = [];
  for (const { what, table, act } of [...bits, ...rows.slice(0, casesOf(1))]) {
    using directory = dataDirectory();
    cpSync(whole.path, directory.path, { recursive: true });
    act(indexPath(directory.path));
    if (!wordsOf(directory.path).includes(table)) unnamed.push(what);
  }
  expect(unnamed).toEqual([]);
};
test('a deep check names the table of the index that lost rows', ofTheIndex);

function readOf<T>(path: string, read: (db: Database) => T): T {
  using db = new Database(path, { readonly: true });
  return read(db);
}

/** Returns the texts of a deep check's findings. */
function wordsOf(directory: string): string[] {
  try {
    const failed = checkDirectory(directory, { deep: silentMachine }).filter(({ problems }) => problems.length > 0);
    return failed.flatMap(({ name, problems }) => [name, ...problems]).flatMap((text) => text.split(/\W+/));
  } catch (error) {
    if (error instanceof OperatorError) return error.message.split(/\W+/);
    throw error;
  }
}
