import { describe, expect, test } from 'bun:test';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { isQuiet, type TenureLimits, withOurFees } from '../../src/node/proxy.ts';
import type { TenureLoad } from '../../src/store/model/block.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { serving } from '../support/servers/serving.ts';
import { standInNode } from '../support/servers/stand-in-node.ts';

const costs = (each: number) => ({ runtime: each, readCount: each, readLength: each, writeCount: each });
const limits: TenureLimits = { ...costs(100), writeLength: 100, size: 100 };
const load = (blocks: number, share: number, fields: Partial<TenureLoad> = {}): TenureLoad => ({
  blocks,
  ...costs(share),
  writeLength: share,
  size: share,
  ...fields,
});
const full = load(9, 95);
const past = Array<TenureLoad>(5).fill(full);

const fuller = [load(9, 95, { writeCount: 99 }), full, load(9, 90), load(9, 80), load(9, 60)];
test.each<[hasRoom: boolean, tenures: string, loads: TenureLoad[]]>([
  [true, 'none', []],
  [true, 'fewer than are examined', [full, full, full, full, full]],
  [true, 'a half empty present one, even after full ones', [load(5, 49), ...past]],
  [false, 'a present one that is too short', [load(4, 10), ...past]],
  [false, 'a present one that is half full in one dimension', [load(9, 10, { size: 50 }), ...past]],
  [false, 'full ones', [full, ...past]],
  [
    true,
    'full ones, but a newest one with 20, which counts most: with 95, 95, 95, 95 they weigh 70',
    [full, load(9, 20), ...past.slice(1)],
  ],
  [false, '95, 95, 90, 80, 60, which weigh 89.7, in one dimension 91', [full, ...fuller]],
])('blocks have room: %p with the tenures: %s', (hasRoom, _, loads) => {
  expect(isQuiet(loads, limits)).toBe(hasRoom);
});

describe('fees', () => {
  const [low, high] = [
    { fee: 100, fee_rate: 1 },
    { fee: 1000, fee_rate: 2 },
  ] as const;
  const answer = { cost_scalar_change_by_byte: 0.5, estimations: [low, high] };
  const fees = (changed: ReturnType<typeof withOurFees>) => changed?.estimations.map(({ fee }) => fee);
  const request = { transaction_payload: '00'.repeat(180) };

  test('are one micro-STX per byte while blocks have room', () => {
    expect(fees(withOurFees(answer, request, true))).toEqual([180, 180]);
    const prefixed = { transaction_payload: `0x${request.transaction_payload}` };
    expect(fees(withOurFees(answer, prefixed, true))).toEqual([180, 180]);
    expect(fees(withOurFees(answer, { ...request, estimated_len: 350 }, true))).toEqual([350, 350]);
    expect(fees(withOurFees(answer, { ...request, estimated_len: 20 }, true))).toEqual([180, 180]);
    expect(fees(withOurFees(answer, { ...request, estimated_len: null }, true))).toEqual([180, 180]);
  });

  test("are the node's, but at least one micro-STX per byte, while blocks are full", () => {
    expect(fees(withOurFees(answer, request, false))).toEqual([180, 1000]);
    const fraction = { estimations: [{ fee: 180.5 }, { fee: 0.4 }] };
    expect(fees(withOurFees(fraction, { transaction_payload: '0x' }, false))).toEqual([181, 0]);
  });

  test('leave the rest of the response unchanged', () => {
    expect(withOurFees(answer, request, true)).toMatchObject({
      cost_scalar_change_by_byte: 0.5,
      estimations: [{ fee_rate: 1 }, { fee_rate: 2 }],
    });
  });

  test('are not changed in responses without estimates', () => {
    expect(withOurFees({ error: 'x' }, request, true)).toBeNull();
    expect(withOurFees(answer, null, true)).toBeNull();
  });
});

const events = [...devnetEvents({ seed: 4, blocks: 60, transactionsPerBlock: 6, forkEvery: 9 })];

test('the load of a tenure is the sum of its blocks, newest tenure first', async () => {
  using directory = ingestOf(events.map(received));
  using snapshots = snapshotsOf(directory.path);
  await snapshots.readLong(async (read) => {
    const loads = read.tenures.loads(3);
    expect(loads.length).toBe(4);
    const blocks = loads.reduce((sum, tenure) => sum + tenure.blocks, 0);
    const page = read.blocks.page(blocks, { cursor: null, item: null, offset: 0 }, models);
    const sum = (pick: (block: (typeof newest)[number]) => number | bigint) =>
      newest.reduce((total, block) => total + Number(pick(block)), 0);
    const newest = page?.items ?? [];
    expect(loads.reduce((total, { runtime }) => total + runtime, 0)).toBe(sum(({ cost }) => cost.runtime));
    expect(loads.reduce((total, { writeLength }) => total + writeLength, 0)).toBe(sum(({ cost }) => cost.writeLength));
    // Each starts with the block that contains its change of tenure.
    let index = 0;
    for (const { blocks: length } of loads) {
      index += length;
      const height = newest[index - 1]?.height ?? 0;
      const first = read.transactions.ofBlock({ height }, 50, null, models);
      expect(first?.items.some(({ payload }) => payload.type === 'tenure_change')).toBe(true);
    }
  });
});

test("with the estimator, the node's fees are replaced by the minimum if blocks have room, and raised to it if not", async () => {
  using node = standInNode();
  const estimations = [
    { fee: 5000, fee_rate: 10 },
    { fee: 90, fee_rate: 1 },
  ];
  node.answer('/v2/fees/transaction', () => Response.json({ estimations, estimated_cost_scalar: 14 }));
  const ask = async (settings: Record<string, string>, posted = events.slice(0, 25)) => {
    await using server = await serving({ nodeRpc: node.url, ...settings });
    await server.post(posted);
    const body = JSON.stringify({ transaction_payload: '00'.repeat(180), estimated_len: 350 });
    const response = await server.get('/v2/fees/transaction', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    return response.json();
  };
  const answered = (...fees: number[]) => ({
    estimations: estimations.map((estimation, index) => ({ ...estimation, fee: fees[index]! })),
    estimated_cost_scalar: 14,
  });
  expect(await ask({ feeEstimator: 'true' })).toEqual(answered(350, 350));
  expect(await ask({})).toEqual(answered(5000, 90));
  // Every tenure is full.
  const block_limit = { read_count: 1, read_length: 1, write_count: 1, write_length: 1, runtime: 1 };
  node.answer('/v2/pox', () => Response.json({ epochs: [{ block_limit }] }));
  expect(await ask({ feeEstimator: 'true' }, events)).toEqual(answered(5000, 350));
});
