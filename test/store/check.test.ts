/** The reads and findings of `stackside check`. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { silentMachine } from '../../src/hooks/machine.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { copyOf, type DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';

let whole: DataDirectory;
beforeAll(() => {
  const options = { seed: 3, blocks: 20, accounts: 12, transactionsPerBlock: 8, forkEvery: 0 };
  whole = ingestOf(simulatedEvents(options));
});
afterAll(() => whole[Symbol.dispose]());

test('the write-ahead log can be emptied between any two checks', () => {
  using copy = copyOf(whole);
  using writer = new Database(indexPath(copy.path), { readwrite: true });
  writer.run('PRAGMA synchronous = OFF');
  let emptied = 0;
  const moveLog = () => {
    writer.run('UPDATE progress SET mempool_version = mempool_version + 1');
    expect(writer.query('PRAGMA wal_checkpoint(TRUNCATE)').get()).toEqual({ busy: 0, log: 0, checkpointed: 0 });
    emptied += 1;
  };
  checkDirectory(copy.path, { watch: { at: () => {}, found: moveLog } });
  expect(emptied).toBeGreaterThan(5);
});

test.each([{}, { deep: silentMachine }])('the last check has the number of all checks: %p', (options) => {
  const steps: { number: number; of: number }[] = [];
  checkDirectory(whole.path, { ...options, watch: { at: (_, step) => steps.push(step), found: () => {} } });
  const { number = 0, of } = steps.at(-1) ?? {};
  expect(number).toBeGreaterThan(5);
  expect(of).toBe(number);
});

test('a deep check finds an entry of a decoded value that no log has', () => {
  using copy = copyOf(whole);
  const problems = () =>
    checkDirectory(copy.path, { deep: silentMachine }).filter((result) => result.problems.length > 0);
  expect(problems()).toEqual([]);
  {
    using db = new Database(indexPath(copy.path));
    db.run("INSERT INTO value_index_entries (index_id, path, value, position, event_index) VALUES (7, '', '', 1, 0)");
  }
  expect(problems()).toEqual([
    { name: 'decoded values of logs and calls', problems: ["entries of index 7, which doesn't exist"] },
  ]);
});

test("an object that isn't in the journal's schema is a finding", () => {
  using copy = copyOf(whole);
  {
    using journal = new Database(journalPath(copy.path));
    journal.run('CREATE TABLE stray (id INTEGER PRIMARY KEY)');
  }
  expect(checkDirectory(copy.path).filter(({ problems }) => problems.length > 0)).toEqual([
    { name: 'schema of the journal file', problems: ['stray differs from a new file'] },
  ]);
});
