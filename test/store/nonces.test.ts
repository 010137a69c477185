/** The nonces of an account, up to the largest that a node can send, with gaps of any size. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { networks } from '../../src/devnet/network.ts';
import { type Account, accounts } from '../../src/devnet/wallet.ts';
import { MAX_NONCES } from '../../src/store/model/account.ts';
import { noncesBetween } from '../../src/store/queries/accounts/principals.ts';
import { openApi } from '../support/api/api.ts';
import { type OpenIngest, openNew } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import {
  alice,
  announcement,
  block,
  bob,
  type MadeBlock,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

/** The largest nonce that a row can store. */
const GREATEST = 2n ** 63n - 1n;
const around = (value: bigint) => [value - 1n, value, value + 1n];
const edges = [0n, 1n, ...around(2n ** 53n), ...around(GREATEST), 2n ** 64n - 1n];

/** Nonces from the whole range; often close to each other, so that gaps are small. */
const nonce = fc.oneof(
  fc.constantFrom(...edges),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.tuple(fc.constantFrom(...edges), fc.bigInt({ min: -5n, max: 5n })).map(([edge, by]) => {
    const near = edge + by;
    return near < 0n ? 0n : BigInt.asUintN(64, near);
  }),
);

const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
const maximum = (nonces: readonly bigint[]): bigint | null => nonces.toSorted(ascending).at(-1) ?? null;

async function noncesOf({ directory }: OpenIngest, address: string) {
  using snapshots = snapshotsOf(directory);
  return snapshots.read((read) => read.principals.nonces(address));
}

describe('between two nonces', () => {
  test('the lowest are listed, each as waiting or missing', () => {
    const spread = fc.oneof(fc.bigInt({ min: 0n, max: 3_000n }), fc.bigInt({ min: 0n, max: 2n ** 64n }));
    const seen = new Seen({ waiting: 50, missing: 50 });
    assertProperty(
      fc.property(nonce, spread, fc.array(spread, { maxLength: 40 }), (confirmed, distance, steps) => {
        const last = confirmed + 1n + distance;
        const waiting = [...new Set(steps.map((step) => confirmed + 1n + step))]
          .filter((nonce) => nonce < last)
          .sort(ascending);
        const { pending, missing } = noncesBetween(confirmed, last, waiting);
        expect(pending).toEqual(waiting);
        seen.add('waiting', waiting.length);
        seen.add('missing', missing.length);
        const gaps = last - confirmed - 1n - BigInt(waiting.length);
        expect(BigInt(missing.length)).toBe(gaps < BigInt(MAX_NONCES) ? gaps : BigInt(MAX_NONCES));
        expect(missing).toEqual(missing.toSorted(ascending).reverse());
        expect(new Set([...missing, ...waiting]).size).toBe(missing.length + waiting.length);
        // Every missing nonce below the greatest is listed.
        const [top] = missing;
        if (top === undefined) return;
        const below = waiting.filter((nonce) => nonce < top).length;
        expect(top - confirmed).toBe(BigInt(missing.length + below));
      }),
      { seen },
    );
  });

  test('long lists of waiting and of missing nonces are cut to the lowest', () => {
    const waiting = Array.from({ length: 3 * MAX_NONCES }, (_, i) => BigInt(2 * i + 1));
    const { pending, missing } = noncesBetween(-1n, 10n ** 18n, waiting);
    expect([pending.length, pending[0], pending.at(-1)]).toEqual([MAX_NONCES, 1n, 1_999n]);
    expect([missing.length, missing[0], missing.at(-1)]).toEqual([MAX_NONCES, 1_998n, 0n]);
  });
});

test('any mined and pending nonces are returned exactly', async () => {
  using open = openNew();
  let parent: MadeBlock | null = null;
  const list = fc.array(nonce, { maxLength: 6 });
  const seen = new Seen({ between: 10 });
  await assertProperty(
    fc.asyncProperty(
      nonce.filter((value) => value <= GREATEST),
      list,
      list,
      async (mined, origins, sponsored) => {
        // Each case has new accounts, so that other nonces don't count.
        const label = `block ${(parent?.height ?? 0) + 1}`;
        const [payer, other] = accounts('nonces', label, 2, networks.testnet) as [Account, Account];
        const [spent, ...waiting]: [Transaction, ...Transaction[]] = [
          transfer(payer, mined, 200),
          ...[...new Set(origins)].map((value) => transfer(payer, value, 200)),
          ...[...new Set(sponsored)].map((value, i) => transfer(other, i, 200, { account: payer, nonce: value })),
        ];
        parent = block(parent, label, [spent]);
        open.ingest.apply(parent.event);
        open.ingest.apply(announcement(waiting));
        open.ingest.commit();
        const free = [...new Set([...origins, ...sponsored])].filter((value) => value <= GREATEST && value !== mined);
        const lastPending = maximum(free);
        const between = free.filter((value) => value > mined && value < (lastPending ?? 0n)).sort(ascending);
        seen.add('between', between.length);
        expect(await noncesOf(open, payer.address)).toMatchObject({
          lastConfirmed: mined,
          lastPending,
          next: (lastPending !== null && lastPending > mined ? lastPending : mined) + 1n,
          pending: between,
        });
      },
    ),
    { seen, cases: 25 },
  );
  expect(problemsIn(open.directory)).toEqual([]);
});

test('without a confirmed transaction nonces begin at 0: those below the first that waits are missing', async () => {
  using open = openNew();
  open.ingest.receive(block(null, 'one').event);
  using api = openApi(open.directory);
  const missingNonces = async (address: string) => {
    const [v1, v3] = await Promise.all([
      api.get(`/extended/v1/address/${address}/nonces`),
      api.get(`/extended/v3/principals/${address}/nonces`),
    ]);
    const [{ detected_missing_nonces }, { mempool }] = [await v1.json(), await v3.json()] as [
      { detected_missing_nonces: number[] },
      { mempool: { missing_nonces: number[]; pending_nonces: number[] } },
    ];
    expect(mempool.missing_nonces).toEqual(detected_missing_nonces);
    // As documented: pending nonces are listed after a confirmed one only.
    expect(mempool.pending_nonces).toEqual([]);
    return detected_missing_nonces;
  };
  open.ingest.receive(announcement([transfer(alice, 2, 200), transfer(alice, 3, 200)]));
  expect(await missingNonces(alice.address)).toEqual([1, 0]);
  // Transactions that it sponsors use the same nonce counter.
  open.ingest.receive(announcement([transfer(bob, 0, 200, { account: alice, nonce: 0 })]));
  expect(await missingNonces(alice.address)).toEqual([1]);
  expect(await missingNonces(bob.address)).toEqual([]);
  open.ingest.receive(announcement([transfer(alice, 1, 200)]));
  expect(await missingNonces(alice.address)).toEqual([]);
});

test('transactions with nonces beyond 2^53 replace only those with the same nonce', async () => {
  using open = openNew();
  open.ingest.receive(block(null, 'one').event);
  const large = 2n ** 53n;
  const [first, dearer] = [transfer(alice, large + 1n, 200), transfer(alice, large + 1n, 300)] as const;
  const other = transfer(alice, large, 200);
  open.ingest.receive(announcement([first, other]));
  open.ingest.receive(announcement([dearer]));
  using api = openApi(open.directory);
  const statusOf = async ({ id }: Transaction) =>
    ((await (await api.get(`/extended/v3/transactions/${id}`)).json()) as { status: string }).status;
  const statuses = await Promise.all([first, dearer, other].map(statusOf));
  expect(statuses).toEqual(['dropped_replace_by_fee', 'pending', 'pending']);
});

test('the routes write every digit of nonces above 2^53', async () => {
  using open = openNew();
  const confirmed = 2n ** 53n + 1n;
  open.ingest.receive(block(null, 'one', [transfer(alice, confirmed, 200)]).event);
  open.ingest.receive(announcement([confirmed + 2n, confirmed + 4n, GREATEST].map((n) => transfer(alice, n, 200))));
  using api = openApi(open.directory);
  const text = async (path: string) => (await api.get(path)).text();
  const v3 = await text(`/extended/v3/principals/${alice.address}/nonces`);
  expect(v3).toStartWith(
    '{"next_nonce":9223372036854775808,"last_confirmed_nonce":9007199254740993,"mempool":{"last_nonce":9223372036854775807,',
  );
  expect(v3).toContain('"pending_nonces":[9007199254740995,9007199254740997],');
  expect(v3).toEndWith(',9007199254740998,9007199254740996,9007199254740994]}}');
  const v1 = await text(`/extended/v1/address/${alice.address}/nonces`);
  expect(v1).toStartWith(
    '{"last_mempool_tx_nonce":9223372036854775807,"last_executed_tx_nonce":9007199254740993,"possible_next_nonce":9223372036854775808,',
  );
  expect(v1).toContain(',9007199254740996,9007199254740994],"detected_mempool_nonces":[9007199254740995,');
  const atBlock = await text(`/extended/v1/address/${alice.address}/nonces?block_height=1`);
  expect(atBlock).toContain('"last_executed_tx_nonce":9007199254740993,"possible_next_nonce":9007199254740994,');
  const transactions = await text('/extended/v3/transactions');
  expect(transactions).toContain('"nonce":9007199254740993}');
  const pending = await text('/extended/v3/mempool/transactions');
  expect(pending).toContain('"nonce":9223372036854775807}');
});
