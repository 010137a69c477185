/** The v2 routes: parameters, answers and 404s. */

import { describe, expect, test } from 'bun:test';
import { RULES } from '../../src/api/shared/identifiers.ts';
import { fees } from '../../src/api/v2/mempool.ts';
import type { OfferedFee } from '../../src/store/model/transaction.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { announcement, bob, deployment, receipt } from '../support/events/handmade.ts';
import {
  CONTRACT,
  chainBlock,
  chainBlocks,
  HOLDER,
  hash,
  idAt,
  MISTYPED,
  OTHER,
  sampleEvents,
} from './sample-chain.ts';
import { emptyIndex, NOW, testApp } from './test-app.ts';

const sampleApp = testApp();

const ask = async (path: string) => {
  const { status, body } = await sampleApp.json(`/extended/v2/${path}`);
  return { status, body: body as Record<string, unknown> & { results: Record<string, unknown>[] } };
};

describe('rejects with 400 and the name of the parameter:', () => {
  const OWN_CURSOR = 'a cursor that this list returned; omit it to get the first page';
  const STATUS = 'smart-contracts/status?contract_id=';
  const cursors = (path: string, reach: number, item: string) => [
    [`${path}?offset=${reach + 1}`, `querystring/offset must be <= ${reach}`],
    [`${path}?cursor=1:2`, `querystring/cursor must be a cursor from an earlier response, unchanged, or ${item}`],
    [`${path}?cursor=0x12`, `querystring/cursor must be ${OWN_CURSOR}`],
  ];
  test.each([
    ...cursors('blocks', 300, 'the index block hash of a block'),
    ...cursors('block-tenures/7/blocks', 300, 'the index block hash of a block'),
    ...cursors(
      `smart-contracts/${CONTRACT}/logs`,
      1000,
      'block height, microblock sequence (2147483647 if there is none), index of the transaction and index of the event, with colons between them',
    ),
    ...['-1', '1.5', 'tip', hash(1).slice(0, -1)].map((id) => [
      `blocks/${id}`,
      `params/height_or_hash must be ${RULES.block}`,
    ]),
    ['smart-contracts/status', "querystring must have required property 'contract_id'"],
    [`${STATUS}${CONTRACT}&contract_id=nonsense`, `querystring/contract_id/1 must be ${RULES.contract}`],
    [`${STATUS}${CONTRACT},${CONTRACT}`, `querystring/contract_id/0 must be ${RULES.contract}`],
  ])('%s', async (path, message) => {
    expect(await ask(path!)).toMatchObject({ status: 400, body: { code: 'VALIDATION', message: message! } });
  });
});

describe('returns 404:', () => {
  test.each([
    ['blocks/0', 'Block not found'],
    ['blocks/4', 'Block not found'],
    [`blocks/${'9'.repeat(400)}`, 'Block not found'],
    [`blocks/${'a'.repeat(64)}`, 'Block not found'],
    [`blocks/${hash(0x77)}`, 'Block not found'],
    ['blocks/4/signer-signatures', 'Block not found'],
    ['blocks/by-block-time/999', 'No block found at or before the given timestamp'],
    ['burn-blocks/101', 'Burn block not found'],
    [`burn-blocks/${hash(1)}`, 'Burn block not found'],
    ['burn-blocks/101/blocks', 'Burn block not found'],
    [`blocks?cursor=${hash(0x77)}`, 'Cursor not found'],
    [`blocks?cursor=${hash(0xc3)}&offset=3`, 'Cursor not found'],
    [`block-tenures/7/blocks?cursor=${hash(0xc3)}`, 'Cursor not found'],
    [`block-tenures/9/blocks?cursor=${hash(0xc3)}`, 'Cursor not found'],
    [`smart-contracts/${CONTRACT}/logs?cursor=0:0:0:0`, 'Cursor not found'],
    [`smart-contracts/${OTHER}.none/logs?cursor=9:0:0:0`, 'Cursor not found'],
  ])('%s', async (path, message) => {
    expect(await ask(path)).toEqual({ status: 404, body: { statusCode: 404, error: 'Not Found', message } } as never);
  });
});

const bitcoinBlock = {
  burn_block_time: 1030,
  burn_block_time_iso: '1970-01-01T00:17:10.000Z',
  burn_block_hash: hash(103),
  burn_block_height: 103,
};
const block3 = {
  ...bitcoinBlock,
  canonical: true,
  height: 3,
  hash: hash(0xb3),
  block_time: 3000,
  block_time_iso: '1970-01-01T00:50:00.000Z',
  tenure_height: 8,
  index_block_hash: hash(0xc3),
  parent_block_hash: hash(0xb2),
  parent_index_block_hash: hash(0xc2),
  miner_txid: hash(0xd3),
  tx_count: 2,
  execution_cost_read_count: 1,
  execution_cost_read_length: 2,
  execution_cost_runtime: 3,
  execution_cost_write_count: 4,
  execution_cost_write_length: 5,
};

describe('a block', () => {
  test.each(['latest', '3', '003', hash(0xb3), hash(0xc3), hash(0xb3).slice(2).toUpperCase(), hash(0xb3).slice(2)])(
    'is found by %s',
    async (id) => {
      expect(await ask(`blocks/${id}`)).toEqual({ status: 200, body: block3 } as never);
    },
  );

  test.each([
    ['1000', 1],
    ['2999', 2],
    ['3000', 3],
    ['9007199254740991', 3],
  ])('at the time %s is the newest one until then', async (time, height) => {
    expect((await ask(`blocks/by-block-time/${time}`)).body.height).toBe(height);
  });

  test('keeps costs beyond 2^53 exact', async () => {
    const cost = { runtime: 2n ** 63n - 1n, read_count: 0, read_length: 0, write_count: 0, write_length: 0 };
    const { request } = testApp(memoryIndex([chainBlock(null, { anchored_cost: cost }).event]));
    const body = await (await request('/extended/v2/blocks/latest')).text();
    expect(body).toContain('"execution_cost_runtime":9223372036854775807');
  });
});

const [second, third] = [hash(0xc2), hash(0xc1)];
const CURSOR = /^[A-Za-z0-9_-]+$/;
const heightsOf = ({ results }: { results: Record<string, unknown>[] }) => results.map(({ height }) => height);

describe('blocks', () => {
  test('return the whole envelope', async () => {
    const { body } = await ask('blocks?limit=1');
    expect(body).toEqual({
      limit: 1,
      offset: 0,
      total: 3,
      next_cursor: null,
      prev_cursor: expect.stringMatching(CURSOR),
      cursor: expect.stringMatching(CURSOR),
      results: [block3],
    });
  });

  // The query, the expected heights, and the heights of the newer and the older page.
  test.each([
    ['', [3, 2, 1], null, null],
    ['limit=0', [3, 2, 1], null, null],
    ['limit=2', [3, 2], null, [1]],
    ['limit=1&offset=1', [2], [3], [1]],
    [`limit=1&cursor=${second}`, [2], [3], [1]],
    [`limit=2&cursor=${second}`, [2, 1], [3], null],
    [`limit=2&cursor=${third}`, [1], [3, 2], null],
    ['offset=3', [], null, null],
  ])('return the page ?%s', async (query, heights, newer, older) => {
    const { body } = await ask(`blocks?${query}`);
    const limit = new URLSearchParams(query).get('limit') ?? '';
    const neighbour = async (cursor: unknown) =>
      cursor === null ? null : heightsOf((await ask(`blocks?limit=${limit}&cursor=${cursor}`)).body);
    expect([heightsOf(body), body.total]).toEqual([heights, 3]);
    expect([await neighbour(body.next_cursor), await neighbour(body.prev_cursor)]).toEqual([newer, older]);
  });

  test('return 20 by default', async () => {
    expect((await ask('blocks')).body.limit).toBe(20);
    expect((await ask('blocks?limit=0')).body.limit).toBe(20);
  });

  test.each([
    ['7', [2, 1]],
    ['8', [3]],
    ['0', []],
    ['9007199254740991', []],
  ])('of tenure %s are its canonical blocks', async (tenure, heights) => {
    const { status, body } = await ask(`block-tenures/${tenure}/blocks`);
    expect(status).toBe(200);
    expect(body.results.map(({ height }) => height)).toEqual(heights);
    expect(body.total).toBe(heights.length);
  });

  test('have average times over windows that end now', async () => {
    const ago = (seconds: number) => ({ block_time: NOW / 1000 - seconds });
    const first = chainBlock(null, ago(90_000));
    const second = chainBlock(first, ago(5000));
    const three = chainBlock(second, ago(600));
    const { json } = testApp(memoryIndex([first.event, second.event, three.event]));
    const { body } = await json('/extended/v2/blocks/average-times');
    // Two blocks of the last day, each with the interval since the block before it.
    const daily = (90_000 - 600) / 2;
    expect(body).toEqual({ last_1h: 5000 - 600, last_24h: daily, last_7d: daily, last_30d: daily });
  });
});

describe('signatures of a block', () => {
  const [first, second] = [0x51, 0x52].map((value) => hash(value, 65));
  test.each([
    ['', 500, 0, [first, second]],
    ['?limit=1', 1, 0, [first]],
    ['?offset=1', 500, 1, [second]],
    ['?offset=2', 500, 2, []],
    ['?limit=0', 0, 0, []],
  ])('return the page "%s"', async (query, limit, offset, results) => {
    const { body } = await ask(`blocks/3/signer-signatures${query}`);
    expect(body).toEqual({ limit, offset, total: 2, results } as never);
  });
});

describe('burn blocks', () => {
  const newest = { ...bitcoinBlock, stacks_blocks: [hash(0xb3)], avg_block_time: 0, total_tx_count: 2 };

  test.each(['latest', '103', hash(103), hash(103).slice(2)])('are found by %s', async (id) => {
    expect(await ask(`burn-blocks/${id}`)).toEqual({ status: 200, body: newest } as never);
  });

  test('have the average time between their blocks in whole seconds', async () => {
    const first = chainBlock(null, { block_time: 1000 });
    const second = chainBlock(first, { block_time: 1012 });
    const three = chainBlock(second, { block_time: 1025, burn_block_hash: hash(102), burn_block_height: 102 });
    const { json } = testApp(memoryIndex([first.event, second.event, three.event]));
    expect((await json('/extended/v2/burn-blocks/102')).body).toMatchObject({ avg_block_time: 12 });
  });
});

describe('fees', () => {
  const feeLevels = (no: number, low: number, medium: number, high: number) => ({
    no_priority: no,
    low_priority: low,
    medium_priority: medium,
    high_priority: high,
  });
  const feesOf = (offered: [type: string, fee: number, transactions: number][]) => {
    const offers = offered.map(
      ([type, fee, transactions]): OfferedFee => ({ type: type as 'coinbase', fee: BigInt(fee), transactions }),
    );
    return JSON.parse(JSON.stringify(fees(offers))) as unknown;
  };

  test('come from the pending transactions', async () => {
    expect((await ask('mempool/fees')).body).toEqual({
      all: feeLevels(75, 75, 75, 75),
      token_transfer: feeLevels(75, 75, 75, 75),
    } as never);
  });

  test('are zero for an empty mempool', async () => {
    const { json } = testApp(emptyIndex());
    expect((await json('/extended/v2/mempool/fees')).body).toEqual({ all: feeLevels(0, 0, 0, 0) });
  });

  test('are percentiles over all types and for each type', () => {
    const counts = { contract_call: 3, smart_contract: 3, token_transfer: 4 };
    const types = Object.entries(counts).flatMap(([type, count]) => Array<string>(count).fill(type));
    expect(feesOf(types.map((type, index) => [type, index * 100_000, 1]))).toEqual({
      all: feeLevels(225_000, 450_000, 675_000, 855_000),
      contract_call: feeLevels(50_000, 100_000, 150_000, 190_000),
      smart_contract: feeLevels(350_000, 400_000, 450_000, 490_000),
      token_transfer: feeLevels(675_000, 750_000, 825_000, 885_000),
    });
  });

  test('count repeated fees, and round halves to even', () => {
    const transfersOf = (...counts: [fee: number, transactions: number][]) =>
      feesOf(counts.map(([fee, transactions]) => ['token_transfer', fee, transactions]));
    expect(transfersOf([1, 1], [2, 1])).toMatchObject({ all: feeLevels(1, 2, 2, 2) });
    expect(transfersOf([2, 1], [3, 1])).toMatchObject({ all: feeLevels(2, 2, 3, 3) });
    expect(transfersOf([1, 9], [5, 1])).toMatchObject({ all: feeLevels(1, 1, 1, 3) });
  });

  test('count a transaction of an unlisted type only in the total', () => {
    expect(feesOf([['poison_microblock', 7, 1]])).toEqual({ all: feeLevels(7, 7, 7, 7) });
  });
});

describe('the status of contracts', () => {
  test('is returned by contract name', async () => {
    const failed = deployment(bob, 0, 100, 'failed');
    const waits = deployment(bob, 1, 100, 'waits');
    const [, , tip] = chainBlocks();
    const four = chainBlock(tip, { transactions: [receipt(failed, 0, { status: 'abort_by_response' })] });
    const { json } = testApp(memoryIndex([...sampleEvents(), four.event, announcement([waits])]));
    const ids = [CONTRACT, `${HOLDER}.waits`, `${HOLDER}.failed`, `${OTHER}.none`, OTHER, `${MISTYPED}.a`, CONTRACT];
    const { body } = await json(`/extended/v2/smart-contracts/status?contract_id=${ids.join('&contract_id=')}`);
    const found = (contract_id: string, status: string, tx_id: string, more: object = {}) => ({
      [contract_id]: { found: true, result: { status, tx_id, contract_id, ...more } },
    });
    expect(body).toEqual({
      ...found(CONTRACT, 'success', idAt(1, 1), { block_height: 1 }),
      ...found(`${HOLDER}.waits`, 'pending', waits.id),
      ...found(`${HOLDER}.failed`, 'abort_by_response', failed.id, { block_height: 4 }),
      [`${OTHER}.none`]: { found: false },
      [OTHER]: { found: false },
      [`${MISTYPED}.a`]: { found: false },
    });
  });
});

describe('logs of a contract', () => {
  test('return the whole envelope', async () => {
    const { body } = await ask(`smart-contracts/${CONTRACT}/logs?limit=1&offset=1`);
    expect(body).toEqual({
      limit: 1,
      offset: 1,
      total: 3,
      next_cursor: expect.stringMatching(CURSOR),
      prev_cursor: expect.stringMatching(CURSOR),
      cursor: expect.stringMatching(CURSOR),
      results: [
        {
          event_index: 0,
          event_type: 'smart_contract_log',
          tx_id: idAt(2, 0),
          contract_log: { contract_id: CONTRACT, topic: 'print', value: { hex: '0x03', repr: 'true' } },
        },
      ],
    });
  });

  test('accept a made-up cursor', async () => {
    const { body } = await ask(`smart-contracts/${CONTRACT}/logs?cursor=${'9'.repeat(25)}:2147483647:0:0`);
    expect([body.results.length, body.next_cursor, body.limit]).toEqual([3, null, 20]);
  });

  test.each([`${OTHER}.none`, 'anything', '%3Ctext%3E'])('are empty for %s', async (id) => {
    const { status, body } = await ask(`smart-contracts/${id}/logs`);
    expect([status, body]).toEqual([
      200,
      { limit: 20, offset: 0, total: 0, next_cursor: null, prev_cursor: null, cursor: null, results: [] },
    ]);
  });
});

test.each(['blocks', 'burn-blocks', 'block-tenures/1/blocks'])('%s is empty before the first block', async (path) => {
  const { json } = testApp(emptyIndex());
  expect(await json(`/extended/v2/${path}`)).toMatchObject({ status: 200, body: { total: 0, results: [] } });
});
