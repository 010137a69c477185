/** Routes of balances, balance changes, transfers, contracts and tokens: their parameters and answers. */

import { describe, expect, test } from 'bun:test';
import { RULES } from '../../src/api/shared/identifiers.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { nodeEvent } from '../support/events/handmade.ts';
import { ADDRESS, CONTRACT, chainBlock, hash, idAt, MISTYPED, NFT, OTHER, SUPPLY, TOKEN } from './sample-chain.ts';
import { emptyIndex, testApp } from './test-app.ts';

interface List {
  total: number;
  cursor: { current: string | null };
  results: unknown[];
}

/** An empty page has only a cursor to itself. */
const EMPTY =
  /^\{"total":0,"limit":20,"cursor":\{"next":null,"previous":null,"current":"[A-Za-z0-9_-]+"\},"results":\[\]\}$/;
const TX_ID_RULE = `must be ${RULES.txId}`;
const CHECKSUM = 'its checksum is wrong, so a character may be mistyped';
const COIN = encodeURIComponent(TOKEN);

const app = testApp();

const pathOf = (principal: string, tail: string) => `/extended/v3/principals/${principal}/${tail}`;
const body = async (path: string) => (await app.json(path)).body as unknown;
const list = async (path: string) => (await body(path)) as List;
const text = async (path: string) => (await app.request(path)).text();

async function refusal(path: string): Promise<string> {
  const { status, body } = await app.json(path);
  expect([path, status]).toEqual([path, 400]);
  expect(body).toMatchObject({ statusCode: 400, code: 'VALIDATION', error: 'Bad Request' });
  return (body as { message: string }).message;
}

describe.each([
  pathOf(OTHER, 'balances/ft'),
  pathOf(OTHER, 'balances/nft'),
  pathOf(OTHER, `balances/nft?asset_identifier=${NFT}`),
  pathOf(ADDRESS, `balances/nft?asset_identifier=${COIN}`),
  pathOf(ADDRESS, `transactions/${hash(0x99)}/balance-changes`),
  pathOf(OTHER, `transactions/${hash(0x31)}/balance-changes`),
  pathOf(ADDRESS, `balance-changes?tx_id=${hash(0x99)}`),
  pathOf(OTHER, `balance-changes?tx_id=${hash(0x31)}`),
  pathOf(OTHER, 'mempool/transactions'),
  pathOf(OTHER, 'transfers/stx/inbound'),
  pathOf(OTHER, 'transfers/stx/outbound'),
  pathOf(OTHER, `transfers/ft/${COIN}`),
  pathOf(ADDRESS, `transfers/ft/${NFT}`),
  `/extended/v3/tokens/ft/${NFT}/holders`,
  `/extended/v3/tokens/nft/${NFT}/4/history`,
])('%s', (path) => {
  test('returns an empty page', async () => {
    const { status, body } = await app.json(path);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toMatch(EMPTY);
  });
});

test.each([
  [`tokens/ft/${COIN}/supply`, `{"asset_identifier":"${TOKEN}","total":"50"}`],
  [`tokens/ft/${NFT}/supply`, `{"asset_identifier":"${NFT}","total":"0"}`],
  [`principals/${ADDRESS}/balances/ft/${COIN}`, `{"asset_identifier":"${TOKEN}","balance":"30"}`],
  [`principals/${OTHER}/balances/ft/${COIN}`, `{"asset_identifier":"${TOKEN}","balance":"0"}`],
  ['tokens/stx/supply', `{"total":"${SUPPLY}","projected_total_2050":"2318000000000000"}`],
])('GET /extended/v3/%s', async (path, answer) => {
  expect(await text(`/extended/v3/${path}`)).toBe(answer);
});

test('the STX supply before the first block is zero and has Cache-Control: no-store', async () => {
  const { json } = testApp(emptyIndex());
  const { headers, body } = await json('/extended/v3/tokens/stx/supply');
  expect(body).toEqual({ total: '0', projected_total_2050: '2318000000000000' });
  expect([headers.get('etag'), headers.get('cache-control')]).toEqual([null, 'no-store']);
});

describe('an asset identifier', () => {
  const paths: [string, (asset: string) => string][] = [
    ['params', (asset) => pathOf(ADDRESS, `balances/ft/${asset}`)],
    ['querystring', (asset) => pathOf(ADDRESS, `balances/nft?asset_identifier=${asset}`)],
    ['params', (asset) => pathOf(ADDRESS, `transfers/ft/${asset}`)],
    ['params', (asset) => `/extended/v3/tokens/ft/${asset}/supply`],
    ['params', (asset) => `/extended/v3/tokens/ft/${asset}/holders`],
    ['params', (asset) => `/extended/v3/tokens/nft/${asset}/3/history`],
  ];

  describe.each(paths)('in the %s of %p', (place, path) => {
    test.each([
      ['stx'],
      ['x'],
      [ADDRESS],
      [CONTRACT],
      [`${CONTRACT}::`],
      [`${CONTRACT}::1a`],
      [`${CONTRACT}:a`],
      [`${CONTRACT}::a::b`],
      [`${CONTRACT}::a b`],
      [`${CONTRACT}::a\n`],
      [`${CONTRACT}::${'a'.repeat(129)}`],
      [`${ADDRESS}::a`],
      [`${ADDRESS}-x::a`],
      [`${ADDRESS}.1a::a`],
      [`${ADDRESS}.${'a'.repeat(129)}::a`],
      [`${ADDRESS.toLowerCase()}.a::a`],
      [COIN],
    ])('rejects %p', async (asset) => {
      const message = await refusal(path(encodeURIComponent(asset)));
      expect(message).toStartWith(`${place}/asset_identifier must be ${RULES.asset}`);
    });

    test('rejects a contract with a mistyped address', async () => {
      expect(await refusal(path(`${MISTYPED}.pool::a`))).toBe(
        `invalid STX address in ${place}/asset_identifier: ${CHECKSUM}`,
      );
    });

    test.each([`${CONTRACT}::a`, `${ADDRESS}.${'a'.repeat(40)}::${'a'.repeat(128)}`, `${CONTRACT}::a-_!?+<>=/*z`])(
      'accepts %s, percent-encoded',
      async (asset) => {
        expect((await app.json(path(encodeURIComponent(asset)))).status).toBe(200);
      },
    );
  });

  test('as a filter, returns only the instances of one asset', async () => {
    expect(await list(pathOf(ADDRESS, `balances/nft?asset_identifier=${NFT}-b`))).toMatchObject({
      total: 2,
      results: [{ asset_identifier: `${NFT}-b` }, { asset_identifier: `${NFT}-b` }],
    });
  });
});

describe('the tx_id parameter of balance-changes', () => {
  const path = (query: string) => pathOf(ADDRESS, `balance-changes${query}`);
  const [a, b] = [hash(0x31), hash(0x30)];

  test.each([
    `?tx_id=${a},${b}`,
    `?tx_id=${a}&tx_id=${b}`,
    `?tx_id=${a}%2C${b}&tx_id=${a}`,
    `?tx_id=${a.slice(2)}&tx_id=${b.slice(2).toUpperCase()},${a}`,
    `?tx_id=${hash(0x99)},${b},${a}`,
  ])('returns the changes of both transactions for %s', async (query) => {
    const { total, results } = await list(path(query));
    expect(total).toBe(6);
    expect(results.map((row) => (row as { tx_id: string }).tx_id)).toEqual([a, a, a, b, b, b]);
  });

  test.each([
    ['', "querystring must have required property 'tx_id'"],
    ['?limit=5', "querystring must have required property 'tx_id'"],
    ['?tx_id=', `querystring/tx_id/0 ${TX_ID_RULE}`],
    ['?tx_id=0x', `querystring/tx_id/0 ${TX_ID_RULE}`],
    [`?tx_id=${a},`, `querystring/tx_id/1 ${TX_ID_RULE}`],
    [`?tx_id=${a},${b}&tx_id=${a},${a}0`, `querystring/tx_id/3 ${TX_ID_RULE}`],
    [`?tx_id=${a}%20`, `querystring/tx_id/0 ${TX_ID_RULE}`],
    [`?tx_id=${Array(21).fill(a)}`, 'querystring/tx_id must NOT have more than 20 items'],
    [`?${Array(21).fill(`tx_id=${a}`).join('&')}`, 'querystring/tx_id must NOT have more than 20 items'],
  ])('rejects %s', async (query, message) => {
    expect(await refusal(path(query))).toBe(message);
  });

  test('accepts twenty ids', async () => {
    expect((await list(path(`?tx_id=${Array(20).fill(a)}`))).total).toBe(3);
  });
});

describe('a cursor', () => {
  const cursorOf = async (path: string) => (await list(path)).cursor.current;
  const [a, b] = [hash(0x31), hash(0x30)];
  const changes = (query: string) => pathOf(ADDRESS, `balance-changes?${query}`);

  test('is valid for the same ids in any order and notation', async () => {
    const cursor = await cursorOf(changes(`tx_id=${a},${b}`));
    const repeated = `tx_id=${b.slice(2).toUpperCase()}&tx_id=${a},${b}&cursor=${cursor}`;
    expect((await list(changes(repeated))).total).toBe(6);
  });

  test('is valid for an instance in either notation of its value', async () => {
    const history = (value: string) => `/extended/v3/tokens/nft/${NFT}/${value}/history?`;
    const cursor = await cursorOf(history('3'));
    expect((await list(`${history(`0x01${'0'.repeat(31)}3`)}cursor=${cursor}`)).total).toBe(2);
  });
});

describe('the value of an instance', () => {
  const path = (value: string) => `/extended/v3/tokens/nft/${NFT}/${value}/history`;
  const hex = `01${'0'.repeat(31)}3`;

  test.each(['3', '0003', `0x${hex}`])('finds the history for %s', async (value) => {
    expect(await list(path(value))).toMatchObject({ total: 2, results: [{ sender: ADDRESS }, { sender: null }] });
  });

  test.each([
    ['an instance that there is not', '4'],
    ['unprefixed hex that has only digits', hex],
    ['unprefixed hex', `0c${hex}`],
    ['the greatest number', String(2n ** 128n - 1n)],
    ['a number too great', String(2n ** 128n)],
    ['a number far too great', '9'.repeat(1024)],
    ['no digits', '0x'],
    ['half a byte', '0x013'],
    ['what is no value', '0xffff'],
    ['a value cut short', '0x0100'],
  ])('returns an empty page for %s', async (_, value) => {
    expect(await text(path(value))).toMatch(EMPTY);
  });

  test.each(['u3', '-3', '3.0', '0xzz', `0X${hex}`, '1_000', '%20', '%3F', 'stx'])('rejects %s', async (value) => {
    expect(await refusal(path(value))).toBe(
      'params/value must be decimal digits, or 0x and the hexadecimal digits of a serialized Clarity value',
    );
  });

  test("on Stackside's own route, an integer is accepted as its repr shows it, and hex only with 0x", async () => {
    const values = [clarity.uint(7n), clarity.int(-7n), clarity.uint(2n ** 128n - 1n), clarity.int(-(2n ** 127n))];
    const events = values.map((value, event_index) => ({
      txid: idAt(1, 0),
      event_index,
      committed: true,
      type: 'nft_mint_event',
      nft_mint_event: { asset_identifier: NFT, recipient: ADDRESS, raw_value: toHex(value) },
    }));
    const { json } = testApp(memoryIndex([chainBlock(null, { events }).event]));
    const answer = (value: string) => json(`/stackside/v1/tokens/nft/${NFT}/${value}`);
    for (const value of ['7', 'u7', '007', '-7', `u${2n ** 128n - 1n}`, String(-(2n ** 127n)), toHex(values[0]!)]) {
      const { status, body } = await answer(value);
      expect([value, status, body]).toMatchObject([value, 200, { owner: ADDRESS }]);
    }
    expect((await answer('-7')).body).toMatchObject({ value: { hex: toHex(values[1]!), repr: '-7' } });
    for (const value of ['u8', '-8', '-0', `u${2n ** 128n}`, String(-(2n ** 127n) - 1n), '0x', '0x013'])
      expect([value, (await answer(value)).status]).toEqual([value, 404]);
    for (const value of ['abc', '7f', 'u', '-', 'u-7', '-u7', '7.0', 'U7', '0xzz'])
      expect([value, await answer(value)]).toMatchObject([
        value,
        {
          status: 400,
          body: {
            message:
              'params/value must be an integer, such as 7, u7 or -7, or 0x and the hexadecimal digits of a serialized Clarity value',
          },
        },
      ]);
  });

  test('returns the history of the longest (string-utf8 256)', async () => {
    const value = toHex(clarity.utf8('\u{1f980}'.repeat(256)));
    const mint = { asset_identifier: NFT, recipient: ADDRESS, raw_value: value };
    const minted = chainBlock(null, { events: [nodeEvent(idAt(1, 0), 0, 'nft_mint_event', mint)] });
    const { json } = testApp(memoryIndex([minted.event]));
    const { status, body } = await json(`/extended/v3/tokens/nft/${NFT}/${value}/history`);
    expect([status, (body as { total: number }).total]).toEqual([200, 1]);
  });

  test('returns 404 without a value', async () => {
    expect((await app.json(`/extended/v3/tokens/nft/${NFT}/history`)).status).toBe(404);
  });
});

describe('GET /extended/v3/smart-contracts/{contract_id}', () => {
  const path = (rest: string) => `/extended/v3/smart-contracts/${rest}`;

  test.each([
    ['', undefined],
    ['?include=source_code', '(begin)'],
    ['?include=source_code&include=source_code', '(begin)'],
    ['?include=source_code,%20source_code', '(begin)'],
  ])('returns the contract for the query "%s"', async (query, source) => {
    const contract = (await body(path(CONTRACT + query))) as { contract_id: string; source_code?: string };
    expect([contract.contract_id, contract.source_code]).toEqual([CONTRACT, source]);
  });

  test.each([
    ['include=', 'querystring/include/0 must be equal to one of the allowed values (source_code)'],
    ['include=abi', 'querystring/include/0 must be equal to one of the allowed values (source_code)'],
    ['include=source_code,abi', 'querystring/include/1 must be equal to one of the allowed values (source_code)'],
  ])('rejects ?%s', async (query, message) => {
    expect(await refusal(path(`${CONTRACT}?${query}`))).toBe(message);
  });

  test.each([ADDRESS, 'x', `${ADDRESS}.`, `${ADDRESS}.1a`, `${CONTRACT}::a`, `${ADDRESS}.${'a'.repeat(129)}`])(
    'rejects %s',
    async (id) => {
      expect(await refusal(path(id))).toStartWith(`params/contract_id must be ${RULES.contract}`);
    },
  );

  test('returns 404 for an unknown contract', async () => {
    const { status, body } = await app.json(path(`${ADDRESS}.none`));
    expect([status, body]).toEqual([404, { statusCode: 404, error: 'Not Found', message: 'Smart contract not found' }]);
  });
});

test.each(['balance-changes', 'balances/ft'])('rejects malformed percent-encoding in the path of %s', async (tail) => {
  const { status } = await app.json(`/extended/v3/principals/%zz/${tail}`);
  expect(status).toBe(400);
});

test.each([
  pathOf(ADDRESS, 'transactions/0xzz/balance-changes'),
  pathOf(ADDRESS, 'transactions/latest/balance-changes'),
])('rejects %s', async (path) => {
  expect(await refusal(path)).toBe(`params/tx_id ${TX_ID_RULE}`);
});
