/** What projected blocks cost by the number of pending transactions: each a new projection, none from the response cache. */
import { Database } from 'bun:sqlite';
import { parseArgs } from 'node:util';
import { devnetEvents } from '../src/devnet/scenario.ts';
import { indexPath } from '../src/store/files/database.ts';
import { openSnapshots } from '../src/store/read/snapshots.ts';
import { ingestOf, received } from '../test/support/data/ingest.ts';
import { SEED } from './dataset.ts';
import { figure, publish, reportOptions, spread } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '5' },
    /** Pending transactions. */
    sizes: { type: 'string', default: '1000,10000,100000' },
  },
});

/** Accounts of the pending transactions: each sends as many as a node accepts of one. */
const CHAINED = 25;

/** Milliseconds of projections of as many pending transactions, each account with a chain of nonces. */
async function timesOf(pending: number): Promise<{ milliseconds: number[]; considered: number; placed: number }> {
  using data = ingestOf(
    [...devnetEvents({ seed: SEED, blocks: 30, accounts: 4, transactionsPerBlock: 20 })].map(received),
  );
  using db = new Database(indexPath(data.path));
  db.run('PRAGMA synchronous = OFF');
  const counted = `WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < ${pending})`;
  db.run(`${counted} INSERT INTO principals (id, address) SELECT 1000000 + n, 'account ' || n FROM c`);
  db.run(`${counted} INSERT INTO accounts
    SELECT 1000000 + n, 'account ' || n, 'P1000000000000000', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM c`);
  db.run('DELETE FROM mempool_transactions');
  const [call] = db
    .query<{ contract_id: number; function_name: string }, []>(
      'SELECT contract_id, function_name FROM transactions WHERE type = 2 GROUP BY 1, 2 ORDER BY count(*) DESC LIMIT 1',
    )
    .all();
  db.query(`${counted} INSERT INTO mempool_transactions
    SELECT unhex(printf('%064x', n)), 0, n, 1, NULL, 2, 1000000 + n / ${CHAINED}, n % ${CHAINED}, NULL, NULL,
           'F' || (100000 + n * 7919 % 899999), NULL, NULL, NULL, ?1, ?2, NULL, 250, zeroblob(250) FROM c`).run(
    call?.contract_id ?? null,
    call?.function_name ?? null,
  );
  const change = db.prepare('UPDATE progress SET mempool_version = mempool_version + 1, mempool_pending = ?1');
  const snapshots = openSnapshots(data.path);
  const milliseconds: number[] = [];
  let [considered, placed] = [0, 0];
  for (let round = 0; round <= Number(values.repeat); round++) {
    change.run(pending);
    const begun = performance.now();
    const found = await snapshots.readLong(({ mempool }) => mempool.projection());
    // The first one compiles statements and code.
    if (round > 0) milliseconds.push(performance.now() - begun);
    [considered, placed] = [found.considered, found.places.size];
  }
  snapshots.close();
  return { milliseconds, considered, placed };
}

const sizes = values.sizes.split(',').map(Number);
const measured: Awaited<ReturnType<typeof timesOf>>[] = [];
for (const size of sizes) measured.push(await timesOf(size));
const first = spread(measured[0]!.milliseconds).median;

publish([
  {
    title: 'Projected blocks',
    notes: [
      `${values.repeat} rounds, each after a change of the mempool; median (least to greatest)`,
      `contract calls of one function, ${CHAINED} of each account, with fees in no order`,
      'ratio: to the time of the fewest',
    ],
    tables: [
      {
        head: ['pending', 'read', 'in blocks', 'ms', 'ratio'],
        rows: sizes.map((size, n) => {
          const { milliseconds, considered, placed } = measured[n]!;
          return [
            figure([size]),
            figure([considered]),
            figure([placed]),
            figure(milliseconds, 1),
            figure([spread(milliseconds).median / first], 1),
          ];
        }),
      },
    ],
  },
]);
