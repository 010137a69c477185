import { describe, expect, test } from 'bun:test';
import { MAX_TEXT } from '../../src/live/connection.ts';
import { type Perform, rpcAnswer } from '../../src/live/websocket.ts';

const ADDRESS = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';
const POOL = `${ADDRESS}.pool`;
const ID = 'AB'.repeat(32);

/** Returns the response, and the requested operations. */
function ask(message: unknown, refuse: string | null = null) {
  const done: unknown[] = [];
  const perform: Perform = (method, { topic }) => {
    done.push([method, topic.key]);
    return refuse;
  };
  const text = rpcAnswer(typeof message === 'string' ? message : JSON.stringify(message), perform, () => {});
  return { answer: text === null ? null : JSON.parse(text), done };
}
const subscribe = (params: unknown, id: unknown = 1) => ({ jsonrpc: '2.0', id, method: 'subscribe', params });

describe('subscribing', () => {
  const asset = { asset_identifier: 'A.b::c' };
  const cases: [params: Record<string, string>, topic: string, result: Record<string, string>][] = [
    [{ event: 'block' }, 'block', {}],
    [{ event: 'microblock' }, 'microblock', {}],
    [{ event: 'mempool' }, 'mempool', {}],
    [{ event: 'tx_update', tx_id: ID }, `transaction:0x${ID.toLowerCase()}`, { tx_id: `0x${ID.toLowerCase()}` }],
    [{ event: 'tx_update', tx_id: `0x${ID}` }, `transaction:0x${ID.toLowerCase()}`, { tx_id: `0x${ID.toLowerCase()}` }],
    [{ event: 'address_tx_update', address: ADDRESS }, `address-transaction:${ADDRESS}`, { address: ADDRESS }],
    [{ event: 'address_balance_update', address: POOL }, `address-stx-balance:${POOL}`, { address: POOL }],
    [{ event: 'nft_event' }, 'nft-event', {}],
    [{ event: 'nft_asset_event', ...asset, value: '0X0A' }, 'nft-asset-event:A.b::c+0x0a', { ...asset, value: '0x0a' }],
    [{ event: 'nft_collection_event', ...asset }, 'nft-collection-event:A.b::c', asset],
  ];
  test.each(cases)('and unsubscribing succeed with %o', (params, topic, result) => {
    expect(ask(subscribe(params, 'x'))).toEqual({
      answer: { jsonrpc: '2.0', id: 'x', result },
      done: [['subscribe', topic]],
    });
    expect(ask({ ...subscribe(params), method: 'unsubscribe' })).toEqual({
      answer: { jsonrpc: '2.0', id: 1, result },
      done: [['unsubscribe', topic]],
    });
  });
});

describe('a request is rejected', () => {
  const invalid = (data: string) => ({ message: 'Invalid params', code: -32602, data });
  const request = (data: unknown) => ({ message: 'Invalid request', code: -32600, data });
  const noName = invalid('subscription requests must include an event name');
  const noId = request('"id" must be provided, a string or an integer.');
  const cases: [message: unknown, id: unknown, error: object][] = [
    [{ jsonrpc: '2.0', id: 1, method: 'nope' }, 1, { message: 'Method not found', code: -32601 }],
    [{ jsonrpc: '2.0', id: 1, method: 'subscribe' }, 1, noName],
    [subscribe(['block']), 1, noName],
    [subscribe({ event: '' }), 1, noName],
    [subscribe({ event: 'nope' }), 1, invalid('subscription request must use a valid event name')],
    [subscribe({ event: 'tx_update' }), 1, invalid('invalid tx_id')],
    [subscribe({ event: 'tx_update', tx_id: '0x12' }), 1, invalid('invalid tx_id')],
    [subscribe({ event: 'tx_update', tx_id: `0x${'g'.repeat(64)}` }), 1, invalid('invalid tx_id')],
    [subscribe({ event: 'address_tx_update', address: `${ADDRESS}Q` }), 1, invalid('invalid address')],
    [subscribe({ event: 'address_balance_update' }), 1, invalid('invalid address')],
    ['{"jsonrpc"', null, { message: 'Parse error', code: -32700, data: '{"jsonrpc"' }],
    [{ id: 1, method: 'subscribe' }, null, request({ id: 1, method: 'subscribe' })],
    [[], null, request([])],
    [7, null, request(7)],
    [{ jsonrpc: '2.0', id: 1 }, null, request({ jsonrpc: '2.0', id: 1 })],
    [subscribe({ event: 'block' }, null), null, noId],
    [subscribe({ event: 'block' }, 1.5), null, noId],
    [{ jsonrpc: '2.0', id: 1, result: {} }, null, request('unexpected success msg from client')],
    [{ jsonrpc: '2.0', id: 1, error: {} }, null, request('unexpected error msg from client')],
  ];
  test.each(cases)('for %o', (message, id, error) => {
    expect(ask(message)).toEqual({ answer: { jsonrpc: '2.0', id, error }, done: [] });
  });

  test('for values longer than any on a chain, with the rule', () => {
    const asset = { asset_identifier: `${ADDRESS}.nft::${'a'.repeat(300)}` };
    const tooLong = 'asset_identifier must NOT have more than 300 characters';
    const value = `0x${'00'.repeat(2048)}`;
    for (const [params, problem] of [
      [{ event: 'nft_collection_event', ...asset }, tooLong],
      [{ event: 'nft_asset_event', ...asset, value: '0x01' }, tooLong],
      [
        { event: 'nft_asset_event', asset_identifier: 'A.b::c', value },
        'value must NOT have more than 4096 characters',
      ],
      [{ event: 'tx_update', tx_id: 'ab'.repeat(40_000) }, 'invalid tx_id'],
      [{ event: 'address_tx_update', address: 'S'.repeat(90_000) }, 'invalid address'],
    ] as const)
      expect(ask(subscribe(params)).answer.error).toEqual(invalid(problem));
    expect(ask(subscribe({ event: 'block' }, 'x'.repeat(129)))).toEqual({
      answer: { jsonrpc: '2.0', id: null, error: request('id must NOT have more than 128 characters') },
      done: [],
    });
  });

  test('for a message with too many levels or requests', () => {
    const nested = (levels: number) => ask(`${'['.repeat(levels)}1${']'.repeat(levels)}`);
    expect(nested(17).answer.error).toEqual(request('a message must NOT be nested deeper than 16 levels'));
    expect(nested(16).answer.length).toBe(1);
    expect(ask(JSON.stringify(['\\"[[[[[[[[[[[[[[[[[['])).answer.length).toBe(1);
    const batch = (size: number) => ask(Array(size).fill(subscribe({ event: 'block' })));
    expect(batch(1001)).toEqual({
      answer: { jsonrpc: '2.0', id: null, error: request('a batch must NOT have more than 1000 requests') },
      done: [],
    });
    expect(batch(1000).done.length).toBe(1000);
  });

  test('with a shortened copy of a long message', () => {
    const long = 'x'.repeat(90_000);
    for (const message of [long, JSON.stringify(long), JSON.stringify({ long }), JSON.stringify([long])]) {
      const { answer } = ask(message);
      const { error } = Array.isArray(answer) ? answer[0] : answer;
      expect(error.data).toHaveLength(1001);
      expect(error.data).toEndWith('x…');
    }
  });

  test('by its length, before parsing', () => {
    expect(ask(`"${'x'.repeat(MAX_TEXT - 1)}"`).answer.error.data).toBe(
      `a message must NOT have more than ${MAX_TEXT} characters`,
    );
    expect(ask(`"${'x'.repeat(MAX_TEXT - 2)}"`).answer.error.data).toEndWith('x…');
  });

  test('with the reason of the connection', () => {
    expect(ask(subscribe({ event: 'block' }), 'too many').answer.error).toEqual(invalid('too many'));
  });
});

test("a notification does nothing and isn't answered", () => {
  const { answer, done } = ask({ jsonrpc: '2.0', method: 'subscribe', params: { event: 'block' } });
  expect([answer, done]).toEqual([null, []]);
});

test('a batch is answered in order, without its notifications', () => {
  const notification = { jsonrpc: '2.0', method: 'subscribe', params: { event: 'block' } };
  const { answer, done } = ask([subscribe({ event: 'mempool' }, 2), notification, 5, subscribe({ event: 'block' }, 3)]);
  expect(answer.map(({ id }: { id: unknown }) => id)).toEqual([2, null, 3]);
  expect(done).toEqual([
    ['subscribe', 'mempool'],
    ['subscribe', 'block'],
  ]);
  expect(ask([notification]).answer).toBeNull();
});
