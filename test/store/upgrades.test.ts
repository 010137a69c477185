/** Data directories of older versions, and from before version 0.1.0. */

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { definitionLine } from '../../src/commands/data/rebuild.ts';
import { rebuildCost, sumOverGrowth, upgradeReport } from '../../src/commands/data/upgrade.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readDefinition } from '../../src/hooks/definition/definition.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { type Connect, openToWrite } from '../../src/store/files/connection.ts';
import {
  indexPath,
  journalPath,
  needsRebuild,
  openWriter,
  SCHEMA_VERSION,
  type Upgrade,
} from '../../src/store/files/database.ts';
import { JOURNAL_VERSION } from '../../src/store/files/journal.ts';
import { openJournalTrimming } from '../../src/store/files/journal-trim.ts';
import type { LostHook } from '../../src/store/hooks/earlier-hooks.ts';
import { rebuildIndex } from '../../src/store/ingest/rebuild.ts';
import { addEarlierHooks, makeEarlier } from '../support/data/earlier-data.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';

const events = [...devnetEvents({ seed: 3, blocks: 10, accounts: 10, transactionsPerBlock: 2, forkEvery: 4 })].map(
  received,
);

const rebuild = (directory: string, force = false, making = () => {}) =>
  rebuildIndex({ directory, chainId: null, machine: silentMachine, log: () => {}, force, making });

/** The names and bytes of the files of a directory. */
const filesOf = (directory: string): [string, string][] =>
  readdirSync(directory)
    .sort()
    .map((name) => [name, Bun.hash(readFileSync(join(directory, name))).toString()]);

describe.each([1, 2] as const)('a directory from before version 0.1.0, with a journal of version %d', (version) => {
  test('is refused with what to do, and made anew by a rebuild', () => {
    using directory = ingestOf(events);
    const wanted = everything(directory.path);
    makeEarlier(directory.path, version);
    expect(() => openAt(directory.path)).toThrow(`${indexPath(directory.path)} was made by a Stackside from before`);
    expect(() => openAt(directory.path)).toThrow(
      expect.objectContaining({ remedy: expect.stringContaining('stackside rebuild') }),
    );
    rebuild(directory.path);
    expect(everything(directory.path)).toEqual(wanted);
    openAt(directory.path).ingest.close();
    expect(everything(directory.path)).toEqual(wanted);
  });

  test('goes on where a rebuild was killed after it renewed the journal', () => {
    using directory = ingestOf(events);
    const wanted = everything(directory.path);
    makeEarlier(directory.path, version);
    const killed = () => {
      throw new Error('killed');
    };
    expect(() => rebuild(directory.path, false, killed)).toThrow('killed');
    expect(() => openAt(directory.path)).toThrow('from before version 0.1.0');
    rebuild(directory.path);
    expect(everything(directory.path)).toEqual(wanted);
  });

  test('with an index that has more events than its journal is not made anew unasked', () => {
    using directory = ingestOf(events);
    makeEarlier(directory.path, version);
    {
      using index = new Database(indexPath(directory.path));
      index.run('UPDATE progress SET journal_id = journal_id + 1');
    }
    expect(() => rebuild(directory.path)).toThrow('would be lost');
    rebuild(directory.path, true);
  });
});

test('a journal from before version 0.1.0 that is damaged or lacks events stays as it is', () => {
  const damages: [version: 1 | 2, sql: string, says: RegExp][] = [
    [2, 'UPDATE chain SET value = zeroblob(32) WHERE id = 7', /^Entry 7 of .* is damaged: its chain value is wrong/],
    [2, 'UPDATE events SET received_at = received_at + 1 WHERE id = 3', /^Entry 3 of .* is damaged/],
    [2, 'DELETE FROM chain WHERE id = 5', /^Entry 5 of .* is damaged/],
    [1, 'DELETE FROM events WHERE id IN (4, 5)', /lacks the events from 4 to 5: no index can be built from it/],
    [
      2,
      'DELETE FROM events WHERE id < 4; DELETE FROM chain WHERE id < 4; INSERT INTO breaks VALUES (3, zeroblob(32))',
      /lacks the events from 1 to 3/,
    ],
    [1, "UPDATE events SET payload = x'00' WHERE id = 9", /^Entry 9 of .* can't be decompressed/],
    [1, 'PRAGMA user_version = 3', /of version 3 from before version 0.1.0 of Stackside, which is not known/],
  ];
  for (const [version, sql, says] of damages) {
    using directory = ingestOf(events);
    makeEarlier(directory.path, version);
    {
      using journal = new Database(journalPath(directory.path));
      journal.run(sql);
    }
    const before = filesOf(directory.path).filter(([name]) => /^(index|journal)[.]db$/.test(name));
    expect(() => rebuild(directory.path)).toThrow(says);
    expect(filesOf(directory.path).filter(([name]) => /^(index|journal)[.]db$/.test(name))).toEqual(before);
  }
});

test('a rebuild reports the chainhooks that only an index from before version 0.1.0 has, as definitions to register', () => {
  using directory = ingestOf(events);
  addEarlierHooks(directory.path, ['0', '1', '2']);
  makeEarlier(directory.path, 2);
  const lines: string[] = [];
  const lost = (hooks: readonly LostHook[]) => void lines.push(...hooks.map(definitionLine));
  rebuildIndex({ directory: directory.path, chainId: null, machine: silentMachine, force: false, log: () => {}, lost });
  expect(lines).toHaveLength(3);
  const taken = lines.map((line) => readDefinition(JSON.parse(line), null));
  expect(taken.map(({ name, options }) => [name, options?.enable_on_registration])).toEqual([
    ['0', true],
    ['1', true],
    ['2', true],
  ]);
  expect(everything(directory.path).index.hooks).toEqual([]);
});

test("chainhooks that can't be read of an index from before version 0.1.0 are lost by force alone", () => {
  using directory = ingestOf(events);
  addEarlierHooks(directory.path, ['0']);
  makeEarlier(directory.path, 2);
  {
    using db = new Database(indexPath(directory.path));
    db.run('ALTER TABLE hooks RENAME COLUMN definition TO of_another_form');
  }
  expect(() => rebuild(directory.path)).toThrow(`The chainhooks in ${indexPath(directory.path)} can't be read.`);
  rebuild(directory.path, true);
  openAt(directory.path).ingest.close();
});

describe('an upgrade', () => {
  const step = (sql: string, needsRebuild = false): Upgrade => ({ sql, needsRebuild });
  const ADDED = step('ALTER TABLE totals ADD COLUMN added INTEGER NOT NULL DEFAULT 7');
  const versionIn = (directory: string): number => {
    using db = new Database(indexPath(directory), { readonly: true });
    return db.query<{ user_version: number }, []>('PRAGMA user_version').get()!.user_version;
  };

  test('takes the steps that follow the version of the file, and the older program refuses it then', () => {
    using directory = ingestOf(events);
    const { totals } = everything(directory.path).index;
    openWriter(directory.path, { steps: [ADDED] }).close();
    expect(versionIn(directory.path)).toBe(SCHEMA_VERSION + 1);
    // The first step is not taken again.
    using db = openWriter(directory.path, { steps: [ADDED, step('UPDATE totals SET added = added + 1')] });
    expect(db.query('SELECT added FROM totals').get()).toEqual({ added: 8 });
    expect(db.query('SELECT count(*) AS rows FROM totals').get()).toEqual({ rows: totals!.length });
    db.close();
    expect(versionIn(directory.path)).toBe(SCHEMA_VERSION + 2);
    expect(() => openAt(directory.path)).toThrow('was written by a newer Stackside');
  });

  test('that only a rebuild completes is known to the index until it is rebuilt', () => {
    using directory = ingestOf(events);
    openWriter(directory.path, { steps: [ADDED] }).close();
    using upgraded = openWriter(directory.path, {
      steps: [ADDED, step('ALTER TABLE totals ADD COLUMN more INTEGER', true)],
    });
    expect(needsRebuild(upgraded)).toBe(true);
    using made = openWriter(`${directory.path}/made`);
    expect(needsRebuild(made)).toBe(false);
  });

  test('that fails leaves the file as it was', () => {
    using directory = ingestOf(events);
    const before = everything(directory.path);
    expect(() => openWriter(directory.path, { steps: [ADDED, step('UPDATE no_such_table SET x = 1')] })).toThrow(
      'no_such_table',
    );
    expect(versionIn(directory.path)).toBe(SCHEMA_VERSION);
    expect(everything(directory.path)).toEqual(before);
    openAt(directory.path).ingest.close();
  });

  test('sorts in the data directory, and nothing else does once it is done', () => {
    using directory = ingestOf(events);
    const sortedIn = (db: Database) =>
      db.query<{ temp_store_directory: string }, []>('PRAGMA temp_store_directory').get()?.temp_store_directory ?? '';
    const seen: [sql: string, directory: string][] = [];
    const connect: Connect = (path, synchronous) => {
      const db = openToWrite(path, synchronous);
      const run = db.run.bind(db);
      db.run = (sql: string, ...values: []) => {
        if (sql.startsWith('CREATE INDEX')) seen.push([sql, sortedIn(db)]);
        return run(sql, ...values);
      };
      return db;
    };
    const sql = 'CREATE INDEX blocks_added ON blocks (block_time)';
    using db = openWriter(directory.path, { connect, steps: [step(sql)] });
    expect(seen).toEqual([[sql, directory.path]]);
    expect(sortedIn(db)).toBe('');
  });
});

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
    [SCHEMA_VERSION + 1, JOURNAL_VERSION, { duty: 'newer-program', index: 'refused', journal: 'used' }],
    [SCHEMA_VERSION, JOURNAL_VERSION + 1, { duty: 'newer-program', index: 'used', journal: 'refused' }],
  ])('with schema %d and journal %d is reported, and changes nothing', (indexVersion, journalVersion, expected) => {
    expect(reportWith(indexVersion, journalVersion)).toEqual({ needsRebuild: false, ...expected } as never);
    restore();
  });

  test('is a rebuild where the files are from before version 0.1.0', () => {
    using earlier = ingestOf(events);
    makeEarlier(earlier.path, 2);
    const before = filesOf(earlier.path);
    expect(upgradeReport(earlier.path)).toMatchObject({
      duty: 'rebuild',
      index: { fate: 'rebuilt', version: 9 },
      journal: { fate: 'renewed', version: 2, lacksEvents: false },
    });
    expect(filesOf(earlier.path)).toEqual(before);
  });

  test('is an import where there is no journal to rebuild from, or one that lacks events', () => {
    using earlier = ingestOf(events);
    const own = journalPath(earlier.path);
    const trimming = openJournalTrimming(earlier.path);
    trimming.trimTo(3);
    trimming.close();
    {
      using db = new Database(indexPath(earlier.path));
      db.run('PRAGMA application_id = 0; PRAGMA user_version = 9');
    }
    expect(upgradeReport(earlier.path)).toMatchObject({
      duty: 'import',
      journal: { lacksEvents: true },
      rebuild: null,
    });
    renameSync(own, `${own}.away`);
    expect(upgradeReport(earlier.path)).toMatchObject({ duty: 'import', journal: null, rebuild: null });
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
