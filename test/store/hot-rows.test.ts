/** The hot-row cache writes the same rows at the commit as writing each change at once would. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { rowCache } from '../../src/store/effects/hot-rows.ts';
import { openWriter } from '../../src/store/files/database.ts';
import type { Stored } from '../../src/store/rows/statement.ts';
import { nftHoldingsTable } from '../../src/store/rows/tables.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { assertProperty, Seen } from '../support/property.ts';

type Holding = Stored<'nft_holdings'>;

/** Maximum number of cached rows. There are more keys, so some rows are written and read again within a transaction. */
const MAX_CACHED = 3;
const key = fc.record({ owner_id: fc.nat({ max: 2 }), identifier: fc.constantFrom('a', 'b/1') });
const step = fc.oneof(
  fc.record({ does: fc.constant('put' as const), key, instances: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ does: fc.constantFrom('get' as const, 'remove' as const), key }),
  fc.record({ does: fc.constantFrom('commit' as const, 'undo' as const) }),
);

test('cached rows are read and written like rows of the table, with and without rollbacks', () => {
  using directory = dataDirectory();
  using db = openWriter(directory.path);
  const storedRows = (): Holding[] =>
    db.query<Holding, []>('SELECT * FROM nft_holdings ORDER BY owner_id, identifier').all();

  const seen = new Seen({ commits: 20, rollbacks: 20, 'kept rows': 20 });
  assertProperty(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      db.run('DELETE FROM nft_holdings');
      const cache = rowCache(db, nftHoldingsTable, MAX_CACHED);
      let [committed, open] = [new Map<string, Holding>(), new Map<string, Holding>()];
      db.run('BEGIN');
      for (const step of steps) {
        if ('key' in step) {
          const name = `${step.key.owner_id} ${step.key.identifier}`;
          expect(cache.get(step.key)).toEqual(open.get(name) ?? null);
          if (step.does === 'put') {
            const row = { ...step.key, asset_id: 1, instances: step.instances };
            cache.put(row);
            open.set(name, row);
          } else if (step.does === 'remove') {
            cache.remove(step.key);
            open.delete(name);
          }
          continue;
        }
        if (step.does === 'commit') {
          seen.add('commits');
          seen.add('kept rows', open.size);
          cache.store();
          db.run('COMMIT');
          committed = new Map(open);
        } else {
          seen.add('rollbacks');
          db.run('ROLLBACK');
          cache.forget();
          open = new Map(committed);
        }
        expect(storedRows()).toEqual([...committed].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row));
        db.run('BEGIN');
      }
      db.run('ROLLBACK');
    }),
    { seen, cases: 100 },
  );
});
