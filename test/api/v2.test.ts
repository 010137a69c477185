/** The routes of v2: their parameters, answers and 404s. */
import { describe, expect, test } from 'bun:test';
import { bytes, CONTRACT, hash, MISTYPED, NOW, OTHER, testApp } from './samples.ts';

/** For whoever changes nothing of its chain and doesn't look at its log. */
const usual = testApp();

const BLOCK = '^(latest|(0x)?[a-fA-F0-9]{64}|[0-9]+)$';
const CONTRACT_ID = '^[0123456789ABCDEFGHJKMNPQRSTVWXYZ]{28,41}(\\.[a-zA-Z][a-zA-Z0-9_-]{0,39})?$';

const ask = async (path: string) => {
  const { status, body } = await usual.json(`/extended/v2/${path}`);
  return { status, body: body as Record<string, unknown> & { results: Record<string, unknown>[] } };
};

describe('is refused, by name:', () => {
  const limits = (path: string, maximum: number): string[][] => [
    [`${path}?limit=-1`, 'querystring/limit must be >= 0'],
    [`${path}?limit=${maximum + 1}`, `querystring/limit must be <= ${maximum}`],
    [`${path}?limit=x`, 'querystring/limit must be integer'],
    [`${path}?limit=`, 'querystring/limit must be integer'],
    [`${path}?limit=1&limit=1`, 'querystring/limit must be given once, not 2 times'],
    [`${path}?offset=1.5`, 'querystring/offset must be integer'],
  ];
  const offsets = (path: string, maximum: number) => [
    ...limits(path, maximum),
    [`${path}?offset=-1`, 'querystring/offset must be >= 0'],
  ];
  const cursors = (path: string, maximum: number, reach: number, pattern: string) => [
    ...limits(path, maximum),
    [`${path}?offset=${reach + 1}`, `querystring/offset must be <= ${reach}`],
    [`${path}?offset=${-reach - 1}`, `querystring/offset must be >= ${-reach}`],
    [`${path}?cursor=`, `querystring/cursor must match pattern "${pattern}"`],
    [`${path}?cursor=0x12`, `querystring/cursor must match pattern "${pattern}"`],
  ];
  const HASH = '^0x[a-fA-F0-9]{64}$';
  const ids = (before: string, after = '') =>
    ['-1', '1.5', 'tip', hash(1).slice(0, -1)].map((id) => [
      `${before}/${id}${after}`,
      `params/height_or_hash must match pattern "${BLOCK}"`,
    ]);

  test.each([
    ...cursors('blocks', 30, 300, HASH),
    ...cursors('block-tenures/7/blocks', 30, 300, HASH),
    ...cursors(`smart-contracts/${CONTRACT}/logs`, 100, 1000, '^\\d+:\\d+:\\d+:\\d+$'),
    ...offsets('blocks/3/signer-signatures', 1000),
    ...offsets('burn-blocks', 30),
    ...offsets('burn-blocks/102/blocks', 30),
    ...ids('blocks'),
    ...ids('blocks', '/signer-signatures'),
    ...ids('burn-blocks'),
    ...ids('burn-blocks', '/blocks'),
    ['block-tenures/x/blocks', 'params/tenure_height must be integer'],
    ['block-tenures/-1/blocks', 'params/tenure_height must be >= 0'],
    ['blocks/by-block-time/x', 'params/timestamp must be integer'],
    ['blocks/by-block-time/-1', 'params/timestamp must be >= 0'],
    ['smart-contracts/status', "querystring must have required property 'contract_id'"],
    ['smart-contracts/status?contract_id=', `querystring/contract_id/0 must match pattern "${CONTRACT_ID}"`],
    [
      `smart-contracts/status?contract_id=${CONTRACT}&contract_id=nonsense`,
      `querystring/contract_id/1 must match pattern "${CONTRACT_ID}"`,
    ],
    [
      `smart-contracts/status?contract_id=${CONTRACT},${CONTRACT}`,
      `querystring/contract_id/0 must match pattern "${CONTRACT_ID}"`,
    ],
  ])('%s', async (path, message) => {
    expect(await ask(path!)).toMatchObject({ status: 400, body: { code: 'VALIDATION', message: message! } } as never);
  });
});

describe('is not found:', () => {
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
    [`blocks?cursor=${hash(0xc3)}&offset=-1`, 'Cursor not found'],
    [`block-tenures/7/blocks?cursor=${hash(0xc3)}`, 'Cursor not found'],
    [`block-tenures/9/blocks?cursor=${hash(0xc3)}`, 'Cursor not found'],
    [`smart-contracts/${CONTRACT}/logs?cursor=0:0:0:0`, 'Cursor not found'],
    [`smart-contracts/${OTHER}.none/logs?cursor=9:0:0:0`, 'Cursor not found'],
  ])('%s', async (path, message) => {
    expect(await ask(path)).toEqual({ status: 404, body: { statusCode: 404, error: 'Not Found', message } } as never);
  });
});

const block3 = {
  canonical: true,
  height: 3,
  hash: hash(0xb3),
  block_time: 3000,
  block_time_iso: '1970-01-01T00:50:00.000Z',
  tenure_height: 8,
  index_block_hash: hash(0xc3),
  parent_block_hash: hash(0xb2),
  parent_index_block_hash: hash(0xc2),
  burn_block_time: 1030,
  burn_block_time_iso: '1970-01-01T00:17:10.000Z',
  burn_block_hash: hash(103),
  burn_block_height: 103,
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
    'by %s',
    async (id) => {
      expect(await ask(`blocks/${id}`)).toEqual({ status: 200, body: block3 } as never);
    },
  );

  test.each([
    ['1000', 1],
    ['2999', 2],
    ['3000', 3],
    ['9007199254740991', 3],
  ])('at the time %s', async (time, height) => {
    expect((await ask(`blocks/by-block-time/${time}`)).body.height).toBe(height);
  });

  test('with costs beyond 2^53 has them in full', async () => {
    const { request } = testApp(({ blocks }) => {
      blocks[0]!.cost.runtime = 2n ** 64n - 1n;
    });
    const body = await (await request('/extended/v2/blocks/latest')).text();
    expect(body).toContain('"execution_cost_runtime":18446744073709551615');
  });
});

const [first, second, third] = [hash(0xc3), hash(0xc2), hash(0xc1)];

describe('blocks', () => {
  test('have the whole envelope', async () => {
    const { body } = await ask('blocks?limit=1');
    expect(body).toEqual({
      limit: 1,
      offset: 0,
      total: 3,
      next_cursor: null,
      prev_cursor: second,
      cursor: first,
      results: [block3],
    } as never);
  });

  // The query, its heights, and the cursors of the newer and the older page.
  test.each([
    ['', [3, 2, 1], null, null],
    ['limit=0', [3, 2, 1], null, null],
    ['limit=2', [3, 2], null, third],
    ['limit=1&offset=1', [2], first, third],
    [`limit=1&cursor=${second}`, [2], first, third],
    [`limit=2&cursor=${second}`, [2, 1], first, null],
    [`limit=2&cursor=${third}`, [1], first, null],
    [`limit=1&cursor=${third}&offset=-1`, [2], first, third],
    ['offset=3', [], null, null],
    ['offset=-1', [], null, null],
  ])('?%s', async (query, heights, newer, older) => {
    const { body } = await ask(`blocks?${query}`);
    expect(body.results.map(({ height }) => height)).toEqual(heights);
    expect([body.next_cursor, body.prev_cursor, body.total]).toEqual([newer, older, 3]);
  });

  test('by default are 20', async () => {
    expect((await ask('blocks')).body.limit).toBe(20);
    expect((await ask('blocks?limit=0')).body.limit).toBe(20);
  });

  test.each([
    ['7', [2, 1]],
    ['8', [3]],
    ['0', []],
    ['9007199254740991', []],
  ])('of tenure %s', async (tenure, heights) => {
    const { status, body } = await ask(`block-tenures/${tenure}/blocks`);
    expect(status).toBe(200);
    expect(body.results.map(({ height }) => height)).toEqual(heights);
    expect(body.total).toBe(heights.length);
  });

  test('have average times over windows that end now', async () => {
    const { json } = testApp(({ blocks }) => blocks.splice(0));
    const { body } = await json('/extended/v2/blocks/average-times');
    const since = (seconds: number) => Math.round((NOW / 1000 - seconds) / 10) / 100;
    expect(body).toEqual({
      last_1h: since(3600),
      last_24h: since(86_400),
      last_7d: since(604_800),
      last_30d: since(2_592_000),
    } as never);
  });
});

describe('signatures of a block', () => {
  const [one, two] = [0x51, 0x52].map((value) => `0x${bytes(value, 65).toHex()}`);
  test.each([
    ['', 500, 0, [one, two]],
    ['?limit=1', 1, 0, [one]],
    ['?offset=1', 500, 1, [two]],
    ['?offset=2', 500, 2, []],
    ['?limit=0', 0, 0, []],
  ])('%s', async (query, limit, offset, results) => {
    const { body } = await ask(`blocks/3/signer-signatures${query}`);
    expect(body).toEqual({ limit, offset, total: 2, results } as never);
  });
});

describe('burn blocks', () => {
  const newest = {
    burn_block_time: 1030,
    burn_block_time_iso: '1970-01-01T00:17:10.000Z',
    burn_block_hash: hash(103),
    burn_block_height: 103,
    stacks_blocks: [hash(0xb3)],
    avg_block_time: 12,
    total_tx_count: 2,
  };

  test.each(['latest', '103', hash(103), hash(103).slice(2)])('by %s', async (id) => {
    expect(await ask(`burn-blocks/${id}`)).toEqual({ status: 200, body: newest } as never);
  });

  test.each([
    ['', 20, 0, [103, 102]],
    ['?limit=1', 1, 0, [103]],
    ['?offset=1', 20, 1, [102]],
    ['?offset=9007199254740991', 20, 9007199254740991, []],
    ['?limit=0', 0, 0, []],
  ])('%s', async (query, limit, offset, heights) => {
    const { results, ...envelope } = (await ask(`burn-blocks${query}`)).body;
    expect(envelope).toEqual({ limit, offset, total: 2 });
    expect(results.map(({ burn_block_height }) => burn_block_height)).toEqual(heights);
  });

  test.each([
    ['102/blocks', 20, 0, [2, 1]],
    ['102/blocks?limit=1&offset=1', 1, 1, [1]],
    ['102/blocks?limit=0', 0, 0, []],
    [`${hash(102)}/blocks?offset=2`, 20, 2, []],
  ])('%s', async (path, limit, offset, heights) => {
    const { results, ...envelope } = (await ask(`burn-blocks/${path}`)).body;
    expect(envelope).toEqual({ limit, offset, total: 2 });
    expect(results.map(({ height }) => height)).toEqual(heights);
  });
});

describe('fees', () => {
  const shown = (no: number, low: number, medium: number, high: number) => ({
    no_priority: no,
    low_priority: low,
    medium_priority: medium,
    high_priority: high,
  });
  const feesOf = async (offered: [type: string, fee: number, transactions: number][]) => {
    const { json } = testApp((chain) => {
      chain.fees = offered.map(([type, fee, transactions]) => ({
        type: type as 'coinbase',
        fee: BigInt(fee),
        transactions,
      }));
    });
    return (await json('/extended/v2/mempool/fees')).body as unknown;
  };

  test('of an empty mempool are zero', async () => {
    expect(await feesOf([])).toEqual({ all: shown(0, 0, 0, 0) });
  });

  test('are percentiles, of all types and of each', async () => {
    const types = [
      ...Array(3).fill('contract_call'),
      ...Array(3).fill('smart_contract'),
      ...Array(4).fill('token_transfer'),
    ];
    expect(await feesOf(types.map((type, index) => [type, index * 100_000, 1]))).toEqual({
      all: shown(225_000, 450_000, 675_000, 855_000),
      contract_call: shown(50_000, 100_000, 150_000, 190_000),
      smart_contract: shown(350_000, 400_000, 450_000, 490_000),
      token_transfer: shown(675_000, 750_000, 825_000, 885_000),
    });
  });

  test('count what is offered several times, and round halves to the even one', async () => {
    expect(
      await feesOf([
        ['token_transfer', 1, 1],
        ['token_transfer', 2, 1],
      ]),
    ).toMatchObject({
      all: shown(1, 2, 2, 2),
    });
    expect(
      await feesOf([
        ['token_transfer', 2, 1],
        ['token_transfer', 3, 1],
      ]),
    ).toMatchObject({
      all: shown(2, 2, 3, 3),
    });
    expect(
      await feesOf([
        ['token_transfer', 1, 9],
        ['token_transfer', 5, 1],
      ]),
    ).toMatchObject({
      all: shown(1, 1, 1, 3),
    });
  });

  test('of types that nobody sends count among all', async () => {
    expect(await feesOf([['poison_microblock', 7, 1]])).toEqual({ all: shown(7, 7, 7, 7) });
  });
});

describe('what became of contracts', () => {
  test('is told by their names', async () => {
    const { json } = testApp(({ deployments }) => {
      deployments.set(`${OTHER}.waits`, { status: 'pending', txId: bytes(9) });
      deployments.set(`${OTHER}.failed`, { status: 'abort_by_response', txId: bytes(8), height: 2 });
    });
    const ids = [CONTRACT, `${OTHER}.waits`, `${OTHER}.failed`, `${OTHER}.none`, OTHER, `${MISTYPED}.a`, CONTRACT];
    const { body } = await json(`/extended/v2/smart-contracts/status?contract_id=${ids.join('&contract_id=')}`);
    expect(body).toEqual({
      [CONTRACT]: {
        found: true,
        result: { status: 'success', tx_id: hash(0x31), contract_id: CONTRACT, block_height: 3 },
      },
      [`${OTHER}.waits`]: { found: true, result: { status: 'pending', tx_id: hash(9), contract_id: `${OTHER}.waits` } },
      [`${OTHER}.failed`]: {
        found: true,
        result: { status: 'abort_by_response', tx_id: hash(8), contract_id: `${OTHER}.failed`, block_height: 2 },
      },
      [`${OTHER}.none`]: { found: false },
      [OTHER]: { found: false },
      [`${MISTYPED}.a`]: { found: false },
    } as never);
  });
});

describe('logs of a contract', () => {
  test('have the whole envelope', async () => {
    const { body } = await ask(`smart-contracts/${CONTRACT}/logs?limit=1&offset=1`);
    expect(body).toEqual({
      limit: 1,
      offset: 1,
      total: 3,
      next_cursor: '3:2147483647:0:3',
      prev_cursor: '1:2147483647:0:1',
      cursor: '2:2147483647:0:2',
      results: [
        {
          event_index: 2,
          event_type: 'smart_contract_log',
          tx_id: hash(0x20),
          contract_log: { contract_id: CONTRACT, topic: 'print', value: { hex: '0x03', repr: 'true' } },
        },
      ],
    } as never);
  });

  test('may start at a cursor that somebody made up', async () => {
    const { body } = await ask(`smart-contracts/${CONTRACT}/logs?cursor=${'9'.repeat(25)}:2147483647:0:0`);
    expect([body.cursor, body.limit]).toEqual(['3:2147483647:0:3', 20]);
  });

  test.each([`${OTHER}.none`, 'anything', '%3Ctext%3E'])('of %s are none', async (id) => {
    const { status, body } = await ask(`smart-contracts/${id}/logs`);
    expect([status, body]).toEqual([
      200,
      { limit: 20, offset: 0, total: 0, next_cursor: null, prev_cursor: null, cursor: null, results: [] },
    ] as never);
  });
});

test.each(['blocks', 'burn-blocks', 'block-tenures/1/blocks'])('%s before the first block are none', async (path) => {
  const { json } = testApp((chain) => Object.assign(chain, { tip: null, blocks: [], burnBlocks: [] }));
  const { status, body } = await json(`/extended/v2/${path}`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ total: 0, results: [] } as never);
});
