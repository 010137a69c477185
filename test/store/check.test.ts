/** The reads and findings of `stackside check`, which names rows by addresses and assets, not by row numbers. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { silentMachine } from '../../src/hooks/machine.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { copyOf } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';

const options = { seed: 3, blocks: 16, accounts: 12, transactionsPerBlock: 8, forkEvery: 4 };
const whole = ingestOf(simulatedEvents(options));
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

interface Holder {
  asset_id: number;
  principal_id: number;
  address: string;
  identifier: string;
}

/** The problems of a table after a change of a copy. */
function problemsAfter(table: string, damage: (db: Database) => void): string[] {
  using copy = copyOf(whole);
  {
    using db = new Database(indexPath(copy.path));
    damage(db);
  }
  const results = checkDirectory(copy.path, { deep: silentMachine });
  return results.find(({ name }) => name === `table ${table} against the journal`)?.problems ?? [];
}

const holders = (db: Database, count: number): Holder[] =>
  db.query<Holder, [number]>('SELECT * FROM ft_balances ORDER BY asset_id, principal_id LIMIT ?1').all(count);
const nameOf = ({ address, identifier }: Holder): string => `asset ${identifier}, principal ${address}`;

test('names a changed, a missing and an extra balance by asset and address, and no other row', () => {
  const expected: string[] = [];
  const problems = problemsAfter('ft_balances', (db) => {
    const [changed, missing, other] = holders(db, 3) as [Holder, Holder, Holder];
    const set = (change: string, { asset_id, principal_id }: Holder) =>
      db
        .query<null, [number, number]>(`${change} WHERE asset_id = ?1 AND principal_id = ?2`)
        .run(asset_id, principal_id);
    set("UPDATE ft_balances SET balance = 'B27'", changed);
    set('DELETE FROM ft_balances', missing);
    const stranger = db
      .query<{ id: number; address: string }, [number]>(
        `SELECT id, address FROM principals WHERE id NOT IN (SELECT principal_id FROM ft_balances WHERE asset_id = ?1)`,
      )
      .get(other.asset_id)!;
    db.query<null, [number, number, string, string]>(
      "INSERT INTO ft_balances (asset_id, principal_id, balance, transfers, address, identifier) VALUES (?1, ?2, 'B27', 1, ?3, ?4)",
    ).run(other.asset_id, stranger.id, stranger.address, other.identifier);
    expected.push(
      `${nameOf(changed)}: differs in balance`,
      `${nameOf(missing)}: the row is missing`,
      `${nameOf({ ...other, ...stranger })}: the journal doesn't produce this row`,
    );
  });
  expect(problems.toSorted()).toEqual(expected.sort());
});

test('names a missing transaction by its block and its place in the block', () => {
  const problems = problemsAfter('transaction_bodies', (db) =>
    db.run('DELETE FROM transaction_bodies WHERE position = (7 << 20) + 1'),
  );
  expect(problems).toEqual(['block 7, transaction 1: the row is missing']);
});

test('names a row by its hash, and an account without an address in the index by the journal', () => {
  const named: string[] = [];
  expect(
    problemsAfter('orphaned_blocks', (db) => {
      const [row] = db
        .query<{ hash: string }, []>(
          'DELETE FROM orphaned_blocks WHERE index_block_hash = (SELECT max(index_block_hash) FROM orphaned_blocks) RETURNING lower(hex(index_block_hash)) AS hash',
        )
        .all();
      named.push(`index_block_hash 0x${row?.hash}: the row is missing`);
    }),
  ).toEqual(named);
  const addresses: string[] = [];
  expect(
    problemsAfter('accounts', (db) => {
      const [row] = db
        .query<{ id: number; address: string }, []>(
          'DELETE FROM accounts WHERE principal_id = (SELECT max(principal_id) FROM accounts) RETURNING principal_id AS id, address',
        )
        .all();
      db.query<null, [number]>('DELETE FROM principals WHERE id = ?1').run(row!.id);
      addresses.push(`principal ${row?.address}: the row is missing`);
    }),
  ).toEqual(addresses);
});

test('names the first ten rows that differ, and counts the others', () => {
  const problems = problemsAfter('blocks', (db) =>
    db.run('UPDATE blocks SET burn_block_time = burn_block_time + 1 WHERE height BETWEEN 3 AND 14'),
  );
  expect(problems).toEqual([
    ...Array.from({ length: 10 }, (_, index) => `height ${3 + index}: differs in burn_block_time`),
    'and 2 more',
  ]);
});
