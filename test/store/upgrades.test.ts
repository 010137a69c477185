/** Data directories of earlier versions. */
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { rebuildCost, sumOverGrowth } from '../../src/commands/rebuild-cost.ts';
import { upgradeReport } from '../../src/commands/upgrade.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { type Connect, openToWrite } from '../../src/store/files/connection.ts';
import { indexPath, journalPath, openWriter, SCHEMA_VERSION } from '../../src/store/files/database.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { JOURNAL_VERSION } from '../../src/store/files/journal-file.ts';
import { openJournalTrimming } from '../../src/store/files/journal-trim.ts';
import { alice, announcement, bob, sponsor, transfer } from '../support/handmade.ts';
import indexSchema1 from '../support/index-schema-1.sql' with { type: 'text' };
import { ingestOf, openAt, openNew, received } from '../support/ingest.ts';
import { everything } from '../support/tables.ts';

const events = [...devnetEvents({ seed: 3, blocks: 10, accounts: 10, transactionsPerBlock: 2, forkEvery: 4 })].map(
  received,
);

/** What the present program wrote, as version 1 would have written it. */
function downgrade(directory: string): void {
  using journal = new Database(journalPath(directory));
  journal.run('DROP TABLE chain; DROP TABLE breaks; PRAGMA user_version = 1');
  using index = new Database(indexPath(directory));
  const start = indexSchema1.indexOf('CREATE TABLE progress (');
  index.run(`ALTER TABLE progress RENAME TO progress_2;
    ${indexSchema1.slice(start, indexSchema1.indexOf(';\n', start))};
    INSERT INTO progress
      SELECT id, chain_id, journal_id, burn_block_height, mempool_pending, mempool_version FROM progress_2;
    DROP TABLE progress_2; PRAGMA user_version = 1`);
  minedInMempool(index);
}

/**
 * Before version 3, transactions of the chain stayed in the mempool's table; send-many contracts came with version 4, indexes
 * of decoded values with version 5, the transfers of a token with version 6, the origin of chainhooks with version 7, and early
 * drops with version 8.
 */
function minedInMempool(index: Database): void {
  index.run(`
    INSERT INTO mempool_transactions
      SELECT t.tx_id, 1, r.received_at, r.receipt_block_height, NULL, t.type, t.sender_id, t.nonce, t.sponsor_id,
             t.sponsor_nonce, t.fee, t.recipient_id, t.amount, t.memo, t.contract_id, t.function_name, t.clarity_version,
             length(b.raw), b.raw
        FROM mined_receipts r JOIN transactions t USING (position) JOIN transaction_bodies b USING (position);
    DROP TABLE mined_receipts; DROP TABLE send_many_contracts; DROP TABLE value_indexes; DROP TABLE value_index_entries;
    DROP INDEX events_ft; DROP TABLE hook_origin; DROP TABLE early_drops`);
}

/** Every table and index with its statement. */
function schemaOf(path: string): string[] {
  using db = new Database(path, { readonly: true });
  return db
    .query<{ line: string }, []>("SELECT type || ' ' || name || ' ' || coalesce(sql, '') AS line FROM sqlite_schema")
    .all()
    .map(({ line }) => line)
    .sort();
}

test('index and journal of version 1 become what the present version writes, schema and rows', () => {
  using directory = ingestOf(events);
  const expected = everything(directory.path);
  const schemas = [indexPath, journalPath].map((path) => schemaOf(path(directory.path)));
  downgrade(directory.path);
  using opened = openAt(directory.path);
  expect(opened.said).toEqual([{ event: 'journal_upgraded', entries: expected.journal.length }]);
  opened.ingest.close();
  expect(everything(directory.path)).toEqual(expected);
  expect([indexPath, journalPath].map((path) => schemaOf(path(directory.path)))).toEqual(schemas);
  const reader = openJournalReader(directory.path);
  expect([...(reader?.entriesAfter(0) ?? [])]).toHaveLength(expected.journal.length);
  reader?.close();
});

test('an index of version 2 becomes what the present version writes, schema and rows', () => {
  using directory = ingestOf(events);
  const expected = everything(directory.path);
  const schema = schemaOf(indexPath(directory.path));
  expect(expected.index.mined_receipts?.length).toBeGreaterThan(5);
  {
    using index = new Database(indexPath(directory.path));
    minedInMempool(index);
    index.run('PRAGMA user_version = 2');
  }
  openAt(directory.path).ingest.close();
  expect(everything(directory.path)).toEqual(expected);
  expect(schemaOf(indexPath(directory.path))).toEqual(schema);
});

test('an index of version 8 lists for sponsors what they sponsor, as the present version does', () => {
  using open = openNew();
  const account = { account: sponsor, nonce: 7 };
  open.ingest.receive(
    announcement([transfer(alice, 0, 200, account), transfer(sponsor, 8, 300), transfer(bob, 0, 200)]),
  );
  open.ingest.close();
  const expected = everything(open.directory);
  {
    using index = new Database(indexPath(open.directory));
    index.run(`DELETE FROM pending_principals WHERE (principal_id, tx_id) IN
                 (SELECT sponsor_id, tx_id FROM mempool_transactions WHERE sponsor_id IS NOT NULL);
               UPDATE pending_counts SET transactions = transactions - 1
                WHERE principal_id = (SELECT id FROM principals WHERE address = '${sponsor.address}');
               PRAGMA user_version = 8`);
  }
  openAt(open.directory).ingest.close();
  expect(everything(open.directory)).toEqual(expected);
});

test('what a migration sorts stands in the data directory, and nowhere else any more once it is done', () => {
  using directory = ingestOf(events);
  const sortedIn = (db: Database) =>
    db.query<{ temp_store_directory: string }, []>('PRAGMA temp_store_directory').get()?.temp_store_directory ?? '';
  const seen: [statement: string, place: string][] = [];
  {
    using index = new Database(indexPath(directory.path));
    index.run('DROP INDEX events_ft; DROP TABLE hook_origin; DROP TABLE early_drops; PRAGMA user_version = 5');
  }
  const connect: Connect = (path, synchronous) => {
    const db = openToWrite(path, synchronous);
    const run = db.run.bind(db);
    db.run = (sql: string, ...values: []) => {
      if (sql.startsWith('CREATE INDEX')) seen.push([sql.slice(0, 22), sortedIn(db)]);
      return run(sql, ...values);
    };
    return db;
  };
  using db = openWriter(directory.path, { connect });
  expect(seen).toEqual([['CREATE INDEX events_ft', directory.path]]);
  expect(sortedIn(db)).toBe('');
});

test('an index of version 1 whose journal is gone is refused', () => {
  using directory = ingestOf(events);
  downgrade(directory.path);
  rmSync(journalPath(directory.path));
  expect(() => openAt(directory.path)).toThrow(/There is no journal/);
});

/** The names and bytes of the files of a directory. */
const filesOf = (directory: string): [string, string][] =>
  readdirSync(directory)
    .sort()
    .map((name) => [name, Bun.hash(readFileSync(join(directory, name))).toString()]);

/** Sets the version that a file says it has. */
function setVersion(path: string, version: number): void {
  using db = new Database(path);
  db.run(`PRAGMA user_version = ${version}`);
}

describe('what an upgrade would do', () => {
  const directory = ingestOf(events);
  const { path } = directory;
  const [index, journal] = [indexPath(path), journalPath(path)];
  afterAll(() => directory[Symbol.dispose]());

  /** Puts both files back to the present versions. */
  const restore = (): void => {
    setVersion(index, SCHEMA_VERSION);
    setVersion(journal, JOURNAL_VERSION);
  };

  /** The report for versions of the files, after which the directory is as it was before. */
  function reportWith(indexVersion: number, journalVersion: number) {
    setVersion(index, indexVersion);
    setVersion(journal, journalVersion);
    const before = filesOf(path);
    const { duty, rebuild, ...report } = upgradeReport(path);
    expect(filesOf(path)).toEqual(before);
    return { duty, needsRebuild: rebuild !== null, index: report.index.fate, journal: report.journal?.fate };
  }

  test.each([
    [SCHEMA_VERSION, JOURNAL_VERSION, { duty: 'none', index: 'used', journal: 'used' }],
    [1, 1, { duty: 'none', index: 'migrated', journal: 'upgraded' }],
    [SCHEMA_VERSION + 1, JOURNAL_VERSION, { duty: 'newer-program', index: 'refused', journal: 'used' }],
    [SCHEMA_VERSION, JOURNAL_VERSION + 1, { duty: 'newer-program', index: 'used', journal: 'refused' }],
    // No migration begins at such a version.
    [-1, JOURNAL_VERSION, { duty: 'rebuild', index: 'rebuilt', journal: 'used', needsRebuild: true }],
  ])('with schema %d and journal %d is told, and changes nothing', (indexVersion, journalVersion, expected) => {
    expect(reportWith(indexVersion, journalVersion)).toEqual({ needsRebuild: false, ...expected } as never);
    restore();
  });

  test('is what a start then does', () => {
    setVersion(index, -1);
    expect(() => openAt(path)).toThrow("has schema -1, which this program can't migrate");
    setVersion(index, SCHEMA_VERSION + 1);
    expect(() => openAt(path)).toThrow('was written by a newer Stackside');
    restore();
    openAt(path).ingest.close();
  });

  test('is an import where there is no journal to rebuild from, or one that lacks events', () => {
    setVersion(index, -1);
    renameSync(journal, `${journal}.away`);
    expect(upgradeReport(path)).toMatchObject({ duty: 'import', journal: null, rebuild: null });
    renameSync(`${journal}.away`, journal);
    const trimming = openJournalTrimming(path);
    trimming.trimTo(3);
    trimming.close();
    expect(upgradeReport(path)).toMatchObject({ duty: 'import', journal: { lacksEvents: true }, rebuild: null });
    restore();
  });
});

test('a rebuild is estimated from the journal: its parts cost what they cost in the import that was measured', () => {
  const [short, long] = [rebuildCost(1e9), rebuildCost(2e9)];
  expect(long.indexBytes).toBeCloseTo(2 * short.indexBytes);
  // A transaction costs more the longer the chain is.
  expect(long.seconds).toBeGreaterThan(2 * short.seconds);
  const parts = [
    { transactions: 10, cost: 1 },
    { transactions: 20, cost: 3 },
  ];
  expect([5, 10, 15, 20, 30].map((count) => sumOverGrowth(parts, count, ({ cost }) => cost))).toEqual([
    5, 10, 25, 40, 70,
  ]);
});
