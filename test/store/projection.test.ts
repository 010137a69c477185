/** The projection of the mempool: how many pending transactions it reads, and its laws over them. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { indexPath } from '../../src/store/files/database.ts';
import { NoSnapshotError } from '../../src/store/model/read-errors.ts';
import { sharedProjection } from '../../src/store/queries/mempool-projection.ts';
import type { Reader, WorkLimits } from '../../src/store/read/index-reader.ts';
import { type OpenIngest, openNew } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { alice, announcement, block, bob, transfer } from '../support/events/handmade.ts';

/** Rows that were read. */
let rows = 0;
let spy: Disposable;
beforeAll(() => {
  const { prepare } = Database.prototype;
  function prepared(this: Database, sql: string, ...rest: never[]) {
    const statement = prepare.call(this, sql, ...rest);
    const { get, all } = statement;
    statement.get = ((...parameters: never[]) => {
      rows += 1;
      return get.apply(statement, parameters);
    }) as typeof get;
    statement.all = ((...parameters: never[]) => {
      const results = all.apply(statement, parameters);
      rows += Math.max(1, results.length);
      return results;
    }) as typeof all;
    return statement;
  }
  spy = spyOn(Database.prototype, 'prepare').mockImplementation(prepared as typeof prepare);
});
afterAll(() => spy[Symbol.dispose]());

const HOSTILE = 20_000;
const PROJECTED = 1_000;

/** Adds pending transfers without their bytes. @param sender and nonce as SQL of the number `n` */
function flood(open: OpenIngest, sender: string, nonce: string): void {
  using db = new Database(indexPath(open.directory));
  db.run('PRAGMA synchronous = OFF');
  db.run(`WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${HOSTILE})
    INSERT INTO principals (id, address) SELECT 1000 + n, 'hostile ' || n FROM c`);
  db.run(`WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${HOSTILE})
    INSERT INTO accounts SELECT 1000 + n, 'hostile ' || n, 'P1000000000000000', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM c`);
  db.run(`WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${HOSTILE})
    INSERT INTO mempool_transactions
    SELECT unhex(printf('%064x', n)), 0, n, 1, NULL, 0, ${sender}, ${nonce}, NULL, NULL, 'G9' || printf('%06d', n), 1, '1', x'',
           NULL, NULL, NULL, 200, x'00' FROM c`);
  db.run(`UPDATE progress SET mempool_pending = mempool_pending + ${HOSTILE}, mempool_version = mempool_version + 1`);
}

/** Reads from an index with honest transactions and hostile ones with higher fees. @returns the result and the rows that were read */
async function projectFlooded<T>(
  sender: string,
  nonce: string,
  look: (read: Reader) => Promise<T>,
  limits: WorkLimits = { projected: PROJECTED },
  /** Number of concurrent requests, each with a separate snapshot. */
  requests = 1,
) {
  using open = openNew();
  const honest = [transfer(alice, 0, 300), transfer(bob, 0, 400), transfer(bob, 1, 500)];
  open.ingest.receive(block(null, 'one', []).event);
  open.ingest.receive(announcement(honest));
  flood(open, sender, nonce);
  {
    using db = new Database(indexPath(open.directory));
    db.run(
      "INSERT OR REPLACE INTO accounts SELECT id, address, 'G1000000', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM principals WHERE id < 1000",
    );
  }
  using snapshots = snapshotsOf(open.directory, { limits });
  rows = 0;
  const [result] = await Promise.all(Array.from({ length: requests }, () => snapshots.readLong(look)));
  return { found: result!, honest, rows };
}

const projection = ({ mempool }: Reader) => mempool.projection();

test('a bounded number of transactions is read for one account', async () => {
  const { found: result, rows: read } = await projectFlooded('1001', 'n - 1', projection);
  expect(result).toMatchObject({ total: HOSTILE + 3, considered: 5 * PROJECTED, withoutBalance: 0 });
  expect(read).toBeLessThan(6 * PROJECTED);
});

test("an account with many transactions doesn't hide the transactions of other accounts", async () => {
  const { found: result, honest } = await projectFlooded('1001', 'n - 1', projection, {});
  expect(result.considered).toBe(HOSTILE + 3);
  // A node accepts 25 of an account.
  expect(result.places.size).toBe(25 + honest.length);
  for (const { id } of honest) expect(result.places.get(id.slice(2))?.block).toBe(1);
});

test('the accounts with the highest fees are in blocks, with any number of accounts', async () => {
  const { found: result, rows: read } = await projectFlooded('1000 + n', '0', projection);
  expect(result.considered).toBe(PROJECTED);
  expect(result.places.size).toBe(PROJECTED);
  expect(result.blocks[0]?.transactions[0]?.fee).toBe(9_020_000);
  expect(read).toBeLessThan(3 * PROJECTED);
});

test('a transaction waits for an earlier nonce that offers too little to be read', async () => {
  // Each account has two: the first offers the least of all, and the second the most.
  const [sender, nonce] = [`1000 + iif(n > ${HOSTILE / 2}, n - ${HOSTILE / 2}, n)`, `iif(n > ${HOSTILE / 2}, 1, 0)`];
  const idOf = (n: number): Uint8Array => Uint8Array.fromHex(n.toString(16).padStart(64, '0'));
  const { found, rows: read } = await projectFlooded(sender, nonce, async ({ mempool }) => ({
    whole: await mempool.projection(),
    earlier: await mempool.projected(idOf(HOSTILE / 2)),
    later: await mempool.projected(idOf(HOSTILE)),
  }));
  const { considered, withoutNonce, places } = found.whole;
  expect([considered, withoutNonce, places.size]).toEqual([PROJECTED, PROJECTED, 0]);
  expect(found.earlier).toMatchObject({ place: null, awaits: [] });
  expect(found.later).toMatchObject({ place: null, awaits: [{ for: 'nonce', nonce: 0, txId: idOf(HOSTILE / 2) }] });
  expect(read).toBeLessThan(3 * PROJECTED);
});

test('requests for one state of the mempool share a projection, however many they are', async () => {
  const { found: result, rows: read } = await projectFlooded('1000 + n', '0', projection, { projected: PROJECTED }, 20);
  expect(result.places.size).toBe(PROJECTED);
  expect(read).toBeLessThan(3 * PROJECTED);
});

test('if the request that makes a projection fails, another waiting request makes it', async () => {
  const shared = sharedProjection();
  const empty = { blocks: [], places: new Map(), nextNonces: new Map(), total: 0, considered: 0, estimated: 0 };
  const projection = { ...empty, withoutBalance: 0, withoutNonce: 0 };
  let tries = 0;
  const make = async () => {
    tries += 1;
    if (tries === 1) throw new NoSnapshotError('The snapshot was cut off');
    return projection;
  };
  const results = await Promise.allSettled([1, 2, 3].map(() => shared.get('state', make)));
  expect(results.map((result) => result.status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(await shared.get('state', make)).toBe(projection);
  expect(tries).toBe(2);
  await shared.get('another', make);
  expect(tries).toBe(3);
});
