import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { fromHex } from '../../src/codec/hex.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { NoSnapshotError } from '../../src/store/model/read-errors.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import { ingestOf, type OpenIngest, openNew, received } from '../support/data/ingest.ts';
import { forks, grown } from '../support/events/forked-chain.ts';
import { alice, announcement, block, drop, transfer } from '../support/events/handmade.ts';
import { assertProperty, Seen } from '../support/property.ts';

let open: OpenIngest;
let chain: SimulatedChain;
let snapshots: Snapshots;

const take = (events: readonly NodeEvent[]) => {
  for (const event of events) open.ingest.receive(received(event));
};

beforeAll(() => {
  chain = new SimulatedChain({ seed: 1, accounts: 10 });
  open = openNew();
  take([chain.genesis()]);
  for (let i = 0; i < 25; i++) take(chain.mine(chain.tip.indexBlockHash, { transactions: 8 }).events);
  snapshots = openSnapshots(open.directory);
});
afterAll(() => {
  snapshots.close();
  open[Symbol.dispose]();
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
