/** The STX supply, block times and fee rate of v1. */
import { describe, expect, test } from 'bun:test';
import { stxText } from '../../src/api/v1/tokens.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { alice, block, nodeEvent, receipt, transfer } from '../support/events/handmade.ts';
import { testApp } from './test-app.ts';

const transaction = transfer(alice, 0, 0);
const mint = (index: number, amount: string) =>
  nodeEvent(transaction.id, index, 'stx_mint_event', { recipient: alice.address, amount });
const first = block(null, 'first', [receipt(transaction, 0)], { events: [mint(0, '42')] });
const later = transfer(alice, 1, 0);
const tip = block(first, 'tip', [receipt(later, 0)], { events: [{ ...mint(0, '1234567890123414'), txid: later.id }] });
const TIP = tip.height;

const { request, logged } = testApp(memoryIndex([first.event, tip.event]));
const get = (path: string, init: RequestInit = {}) => request(`/extended/v1/${path}`, init);

const whole = { total_stx_year_2050: '2318000000.000000', unlocked_percent: '100.00' };
const old = { totalStacksYear2050: '2318000000.000000', totalStacksYear2050Formatted: '2,318,000,000.000000' };

describe('returns 200:', () => {
  const supply = (stx: string, height: number) => ({
    ...whole,
    total_stx: stx,
    unlocked_stx: stx,
    block_height: height,
  });
  test.each<[string, unknown]>([
    ['stx_supply', supply('1234567890.123456', TIP)],
    ['stx_supply?unanchored=true', supply('1234567890.123456', TIP + 1)],
    ['stx_supply?height=1', supply('0.000042', 1)],
    ['stx_supply?height=1&unanchored=true', supply('0.000042', 1)],
    ['stx_supply?height=1000000', supply('1234567890.123456', 1_000_000)],
    ['stx_supply?height=0', { ...supply('0.000000', 0), unlocked_percent: '0.00' }],
    [
      'stx_supply/legacy_format',
      {
        ...old,
        unlockedPercent: '100.00',
        totalStacks: '1234567890.123456',
        totalStacksFormatted: '1,234,567,890.123456',
        unlockedSupply: '1234567890.123456',
        unlockedSupplyFormatted: '1,234,567,890.123456',
        blockHeight: String(TIP),
      },
    ],
    ['info/network_block_times', { mainnet: { target_block_time: 600 }, testnet: { target_block_time: 120 } }],
    ['info/network_block_time/mainnet', { target_block_time: 600 }],
    ['info/network_block_time/testnet', { target_block_time: 120 }],
  ])('%s', async (path, body) => {
    const response = await get(path);
    expect([response.status, await response.json()]).toEqual([200, body]);
    expect(response.headers.get('warning')).toStartWith('299 - ');
    expect(response.headers.get('link')).toEndWith('; rel="successor-version"');
  });

  test.each(['stx_supply/total/plain', 'stx_supply/circulating/plain'])('%s returns only the text', async (path) => {
    // Later answers come from the cache.
    for (let time = 0; time < 3; time++) {
      const response = await get(path);
      expect(await response.text()).toBe('1234567890.123456');
      expect(response.headers.get('content-type')).toBe('text/plain');
      expect(response.headers.get('etag')).toBeString();
    }
  });
});

describe('the fee rate', () => {
  const post = async (
    body: string | null,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ) => {
    const response = await get('fee_rate', { method: 'POST', headers, body });
    return { status: response.status, headers: response.headers, body: (await response.json()) as { message: string } };
  };

  test('is returned for a transaction, with a link to its successor', async () => {
    const { status, headers, body } = await post('{"transaction":"0x00"}');
    expect([status, body]).toEqual([200, { fee_rate: 400 } as never]);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('link')).toBe('</v2/fees/transaction>; rel="successor-version"');
  });

  test.each<[string | null, number, RegExp]>([
    ['{}', 400, /transaction/],
    ['{"transaction":1}', 400, /transaction/],
    ['{"transaction":', 400, /JSON/],
    [null, 400, /body/i],
  ])('rejects the body %j', async (body, status, message) => {
    const answer = await post(body);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toMatch(message);
  });
});

test.each([
  ['0', '0.000000'],
  ['1', '0.000001'],
  ['1000000', '1.000000'],
  ['-1500000', '-1.500000'],
])('%s micro-STX are %s STX', (microStx, stx) => {
  expect(stxText(microStx)).toBe(stx);
});

test('none of these requests logs an error', () => expect(logged).toEqual([]));
