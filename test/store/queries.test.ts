import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { heightOf, positionOf } from '../../src/chain/position.ts';
import { fromHex } from '../../src/codec/hex.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { type Cursor, type CursorSide, cursorSides, type Page } from '../../src/store/model/page.ts';
import { NoSnapshotError, UnreadableCursorError } from '../../src/store/model/read-errors.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import { ingestOf, type OpenIngest, openNew, received } from '../support/data/ingest.ts';
import { forks, grown } from '../support/events/forked-chain.ts';
import { alice, announcement, block, bob, carol, drop, transfer } from '../support/events/handmade.ts';
import { assertProperty, Seen } from '../support/property.ts';

let open: OpenIngest;
let chain: SimulatedChain;
let snapshots: Snapshots;
/** The principal, height and transaction with the most rows in their lists. */
let busy: { principal: string; height: number; txId: Uint8Array };

const take = (events: readonly NodeEvent[]) => {
  for (const event of events) open.ingest.receive(received(event));
};

beforeAll(() => {
  chain = new SimulatedChain({ seed: 1, accounts: 10 });
  open = openNew();
  take([chain.genesis()]);
  for (let i = 0; i < 25; i++) take(chain.mine(chain.tip.indexBlockHash, { transactions: 8 }).events);
  // Pending transactions that are far from being mined stay in the mempool.
  const waiting = [alice, bob, carol].flatMap((account) => [5, 6, 7, 8].map((nonce) => transfer(account, nonce, 200)));
  for (const [index, tx] of waiting.entries()) open.ingest.receive(announcement([tx], 1_800_000_000 + (index >> 1)));
  using db = new Database(indexPath(open.directory), { readonly: true });
  const busiest = <T>(text: string): T => db.query<T, []>(`${text} ORDER BY count(*) DESC LIMIT 1`).get() as T;
  busy = {
    principal: busiest<{ address: string }>(
      'SELECT p.address FROM principal_transactions t JOIN principals p ON p.id = t.principal_id GROUP BY p.id',
    ).address,
    height: busiest<{ height: number }>('SELECT position >> 20 AS height FROM transactions GROUP BY 1').height,
    txId: busiest<{ tx_id: Uint8Array }>(
      'SELECT t.tx_id FROM events e JOIN transactions t USING (position) GROUP BY position',
    ).tx_id,
  };
  snapshots = openSnapshots(open.directory);
});
afterAll(() => {
  snapshots.close();
  open[Symbol.dispose]();
});

interface List {
  page: (reader: Reader, limit: number, cursor: Cursor | null) => Page<unknown> | undefined;
  /** The key of its items. */
  id: (item: never) => string;
}

const txId = ({ txId }: { txId: Uint8Array }): string => txId.toHex();
const lists: Record<string, List> = {
  'all transactions': { page: (reader, limit, cursor) => reader.transactions.page(limit, cursor, models), id: txId },
  'the transactions of a block': {
    page: (reader, limit, cursor) => reader.transactions.ofBlock({ height: busy.height }, limit, cursor, models),
    id: txId,
  },
  'the transactions of a principal': {
    page: (reader, limit, cursor) => reader.transactions.ofPrincipal(busy.principal, limit, cursor, models),
    id: ({ transaction }: { transaction: { txId: Uint8Array } }) => txId(transaction),
  },
  'the events of a transaction': {
    page: (reader, limit, cursor) => reader.events.ofTransaction(busy.txId, limit, cursor),
    id: ({ index }: { index: number }) => String(index),
  },
  'the mempool': { page: (reader, limit, cursor) => reader.mempool.page(limit, cursor, models), id: txId },
};

interface ListPage {
  ids: string[];
  page: Page<unknown>;
}

async function read(list: List, limit: number, cursor: Cursor | null): Promise<ListPage> {
  const page = snapshots.read((reader) => list.page(reader, limit, cursor));
  if (page === undefined) throw new Error('the list exists');
  return { ids: page.items.map((item) => list.id(item as never)), page };
}

/** Every page from the head on. */
async function pages(list: List, limit: number): Promise<ListPage[]> {
  const reads: ListPage[] = [];
  let cursor: Cursor | null = null;
  do {
    const next: ListPage = await read(list, limit, cursor);
    reads.push(next);
    cursor = next.page.next;
  } while (cursor !== null);
  return reads;
}

for (const [name, list] of Object.entries(lists)) {
  describe(name, () => {
    test('has enough items to need several pages', async () => {
      expect((await read(list, 1000, null)).ids.length).toBeGreaterThan(7);
    });

    for (const limit of [1, 2, 3, 7, 1000]) {
      test(`walked ${limit} at a time, forwards and backwards, shows each item once and in one order`, async () => {
        const whole = await read(list, 1000, null);
        const forwards = await pages(list, limit);
        expect(forwards.flatMap(({ ids }) => ids)).toEqual(whole.ids);
        expect(new Set(whole.ids).size).toBe(whole.ids.length);
        for (const { page } of forwards) expect(page.total).toBe(whole.ids.length);

        const last = forwards.at(-1)!;
        const backwards = [...last.ids];
        let { previous } = last.page;
        while (previous !== null) {
          const earlier = await read(list, limit, previous);
          backwards.unshift(...earlier.ids);
          previous = earlier.page.previous;
        }
        expect(backwards).toEqual(whole.ids);
      });
    }

    test('the current cursor returns the same page again', async () => {
      for (const { ids, page } of await pages(list, 3)) {
        expect((await read(list, 3, page.current)).ids).toEqual(ids);
      }
    });

    test('the previous cursor returns the page before, at any limit, and fewer rows if fewer remain', async () => {
      const whole = await read(list, 1000, null);
      expect(whole.page.previous).toBeNull();
      for (const place of [1, 2, 3, 4, 6]) {
        const next = (await read(list, place, null)).page.next;
        const { page } = await read(list, 3, next);
        for (const limit of [1, 2, 5]) {
          expect((await read(list, limit, page.previous)).ids).toEqual(
            whole.ids.slice(Math.max(0, place - limit), place),
          );
        }
      }
    });

    test.each(cursorSides)('a key that no cursor of the list holds is refused: %s', (side) => {
      expect(read(list, 3, { side, key: ['x', 'y'] })).rejects.toBeInstanceOf(UnreadableCursorError);
    });
  });
}

test('a cursor between two items leads to those around it', async () => {
  const list = lists['all transactions']!;
  const { ids } = await read(list, 1000, null);
  const { page } = await read(list, 2, null);
  const [position] = page.next!.key as [number];
  // No transaction is behind all others of a block.
  const key = [positionOf(heightOf(position), 2 ** 20 - 1)];
  const idsFrom = async (side: CursorSide) => (await read(list, 1000, { side, key })).ids;
  expect(await idsFrom('from')).toEqual(await idsFrom('after'));
  expect(await idsFrom('before')).toEqual(await idsFrom('until'));
  expect([...(await idsFrom('before')), ...(await idsFrom('from'))]).toEqual(ids);
});

test('a page beyond either end is empty, and leads back', async () => {
  const list = lists['all transactions']!;
  const { ids } = await read(list, 1000, null);
  const beyond = await read(list, 3, { side: 'after', key: [0] });
  expect(beyond.ids).toEqual([]);
  expect(beyond.page).toMatchObject({ total: ids.length, current: { side: 'after', key: [0] }, next: null });
  expect((await read(list, 3, beyond.page.previous)).ids).toEqual(ids.slice(-3));
  const above = await read(list, 3, { side: 'before', key: [positionOf(10_000, 0)] });
  expect([above.ids, above.page.previous]).toEqual([[], null]);
  expect((await read(list, 3, above.page.next)).ids).toEqual(ids.slice(0, 3));
});

test('a cursor starts at the next pending transaction if its own is no longer pending', async () => {
  using index = openNew();
  const waiting = [0, 1, 2, 3].map((nonce) => transfer(alice, nonce, 200));
  for (const [second, tx] of waiting.entries()) index.ingest.receive(announcement([tx], 1_800_000_000 + second));
  const reading = openSnapshots(index.directory);
  const page = (limit: number, cursor: Cursor | null) =>
    reading.readLong(async (reader) => {
      const { items, next } = reader.mempool.page(limit, cursor, models);
      return { ids: items.map(({ txId }) => `0x${txId.toHex()}`), next };
    });
  const { next } = await page(2, null);
  index.ingest.receive(drop([waiting[1]!], 'TooExpensive'));
  expect((await page(2, next)).ids).toEqual([waiting[0]!.id]);
  reading.close();
});

test('a block is found by height and by either hash, and an unknown block is undefined', async () => {
  await snapshots.readLong(async (reader) => {
    const tip = reader.chain.tip();
    if (tip === null) throw new Error('there is a tip');
    const { height, blockHash, indexBlockHash } = tip;
    for (const id of ['latest', { height }, { hash: blockHash }, { hash: indexBlockHash }] as const) {
      expect(reader.chain.blockHash(id)).toEqual(tip.indexBlockHash);
    }
    expect(reader.chain.blockHash({ height: tip.height + 1 })).toBeUndefined();
    expect(reader.chain.blockHash({ hash: new Uint8Array(32) })).toBeUndefined();
    expect(reader.transactions.ofBlock({ height: tip.height + 1 }, 1, null, models)).toBeUndefined();
    expect(reader.events.ofTransaction(new Uint8Array(32), 1, null)).toBeUndefined();
    expect(reader.transactions.find(new Uint8Array(32))).toBeUndefined();
  });
});

test('a walk that started before a block continues as if without it', async () => {
  const list = lists['all transactions']!;
  const whole = await read(list, 1000, null);
  const first = await read(list, 5, null);
  take(chain.mine(chain.tip.indexBlockHash, { transactions: 6 }).events);
  const rest: string[] = [];
  for (let cursor = first.page.next; cursor !== null; ) {
    const next = await read(list, 5, cursor);
    rest.push(...next.ids);
    cursor = next.page.next;
  }
  expect([...first.ids, ...rest]).toEqual(whole.ids);
  const { page } = await read(list, 5, first.page.current);
  expect(page.previous).not.toBeNull();
});

test('a request reads a single state of the chain despite concurrent writes', async () => {
  const later = await snapshots.readLong(async (reader) => {
    const before = reader.chain.tip();
    const total = reader.transactions.page(1, null, models).total;
    take(chain.mine(chain.tip.indexBlockHash, { transactions: 6 }).events);
    expect(reader.chain.tip()).toEqual(before);
    expect(reader.transactions.page(1, null, models).total).toBe(total);
    // A request that starts during this read gets a separate snapshot.
    return { before, now: snapshots.read((other) => other.chain.tip()) };
  });
  expect(later.now?.height).toBe((later.before?.height ?? 0) + 1);
});

test('a transaction is found wherever it is: in the chain, in the mempool, or dropped from it', async () => {
  using index = openNew();
  const [mined, waiting, dropped] = [
    transfer(alice, 0, 200),
    transfer(alice, 1, 200),
    transfer(alice, 2, 200),
  ] as const;
  index.ingest.receive(announcement([mined, waiting, dropped]));
  const block1 = block(null, 'one', [mined]);
  index.ingest.receive(block1.event);
  index.ingest.receive(drop([dropped], 'StaleGarbageCollect'));
  const reading = openSnapshots(index.directory);
  await reading.readLong(async (reader) => {
    const find = ({ id }: { id: string }) => reader.transactions.find(fromHex(id));
    const state = ({ id }: { id: string }) => reader.transactions.state(fromHex(id));
    expect(find(mined)).toMatchObject({ mined: true, transaction: { status: 'success', block: { height: 1 } } });
    expect(find(waiting)).toMatchObject({ mined: false, transaction: { status: 'pending' } });
    const status = 'dropped_stale_garbage_collect';
    expect(find(dropped)).toMatchObject({ mined: false, transaction: { status } });
    expect(state(mined)).toEqual({ indexBlockHash: fromHex(block1.hash), status: 'success' });
    expect(state(waiting)).toEqual({ indexBlockHash: null, status: 'pending' });
    expect(state(dropped)).toEqual({ indexBlockHash: null, status });
    const nonces = { next: 2n, lastConfirmed: 0n, lastPending: 1n, pending: [], missing: [] };
    expect(reader.principals.nonces(alice.address)).toEqual(nonces);
  });
  reading.close();
});

test('nonces between the last mined and the last that waits are either waiting or missing', async () => {
  using index = openNew();
  index.ingest.receive(block(null, 'one', [transfer(alice, 3, 200)]).event);
  index.ingest.receive(announcement([5, 6, 9].map((nonce) => transfer(alice, nonce, 200))));
  const reading = openSnapshots(index.directory);
  expect(reading.read((reader) => reader.principals.nonces(alice.address))).toEqual({
    next: 10n,
    lastConfirmed: 3n,
    lastPending: 9n,
    pending: [5n, 6n],
    missing: [8n, 7n, 4n],
  });
  reading.close();
});

test("after any stream with forks, balances, locks and nonces equal the simulated chain's at the tip", async () => {
  const seen = new Seen({ balances: 12 });
  await assertProperty(
    fc.asyncProperty(forks(), async (generated) => {
      const { chain: tree, events } = grown(generated);
      using directory = ingestOf(events.map(received));
      const world = tree.block(tree.tip.indexBlockHash)!.world;
      // Attachments name the block too, and may come before it.
      const tip = events.find(
        ({ path, body }) => path === '/new_block' && body.includes(`"index_block_hash":"${tree.tip.indexBlockHash}"`),
      );
      const burnHeight: number = tip === undefined ? 0 : JSON.parse(tip.body).burn_block_height;
      const reading = openSnapshots(directory.path);
      await reading.readLong(async (reader) => {
        if (tree.tip.height === 0) return;
        for (const [principal, balance] of world.balances()) {
          seen.add('balances');
          const result = reader.principals.stxBalance(principal);
          const lock = world.locked(principal, burnHeight);
          expect({ principal, balance: result.balance, locked: result.locked?.amount ?? 0n }).toEqual({
            principal,
            balance,
            locked: lock?.amount ?? 0n,
          });
          const { lastConfirmed } = reader.principals.nonces(principal);
          expect({ principal, next: lastConfirmed === null ? 0 : Number(lastConfirmed) + 1 }).toEqual({
            principal,
            next: world.nonce(principal),
          });
        }
      });
      reading.close();
    }),
    { seen, cases: 1 },
  );
});

test('a closed store reports that it is closed, and opens no file', async () => {
  const closed = openSnapshots(open.directory);
  closed.close();
  expect(closed.readLong(async () => 1)).rejects.toThrow(NoSnapshotError);
});
