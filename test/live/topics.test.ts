import { describe, expect, test } from 'bun:test';
import { Message, principalTopic, topicNamed } from '../../src/live/subscriptions.ts';

const ADDRESS = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';

describe('a topic name', () => {
  const examples: [name: string, key: string][] = [
    ['block', 'block'],
    ['nft-event', 'nft-event'],
    ['transaction:0xABCD', 'transaction:0xabcd'],
    ['transaction:abcd', 'transaction:0xabcd'],
    [`address-transaction:${ADDRESS}`, `address-transaction:${ADDRESS}`],
    [`address-transaction:${ADDRESS.toLowerCase()}`, `address-transaction:${ADDRESS}`],
    [`address-stx-balance:${ADDRESS}.pool`, `address-stx-balance:${ADDRESS}.pool`],
    [`nft-asset-event:${ADDRESS}.nft::a+b+0x0A`, `nft-asset-event:${ADDRESS}.nft::a+b+0x0a`],
    [`nft-collection-event:${ADDRESS}.nft::card`, `nft-collection-event:${ADDRESS}.nft::card`],
  ];
  const longest: [name: string, key: string][] = [
    [`transaction:${'ab'.repeat(32)}`, `transaction:0x${'ab'.repeat(32)}`],
    [`address-transaction:${ADDRESS}.${'a'.repeat(128)}`, `address-transaction:${ADDRESS}.${'a'.repeat(128)}`],
    [
      `nft-asset-event:${ADDRESS}.${'a'.repeat(128)}::${'b'.repeat(128)}+0x${'00'.repeat(2047)}`,
      `nft-asset-event:${ADDRESS}.${'a'.repeat(128)}::${'b'.repeat(128)}+0x${'00'.repeat(2047)}`,
    ],
  ];
  test.each([...examples, ...longest])('%s is parsed', (name, expected) => {
    const parsed = topicNamed(name);
    expect(parsed?.longName ?? parsed?.key).toBe(expected);
    expect(parsed?.key.length).toBeLessThanOrEqual(400);
  });

  test.each([
    '',
    'blocks',
    'block:1',
    'transaction',
    'transaction:',
    'transaction:0x123',
    'transaction:0xzz',
    'address-transaction:ST123',
    `address-stx-balance:${ADDRESS}.`,
    `nft-asset-event:${ADDRESS}.nft::card`,
    `nft-asset-event:${ADDRESS}.nft::card+`,
    `nft-asset-event:${ADDRESS}::card+0x01`,
    `nft-collection-event:${ADDRESS}.nft`,
    'nft-collection-event:x.y::z',
    `transaction:0x${'ab'.repeat(33)}`,
    `address-transaction:${ADDRESS}.${'a'.repeat(129)}`,
    `nft-collection-event:${ADDRESS}.nft::${'a'.repeat(300)}`,
    `nft-asset-event:${ADDRESS}.nft::card+0x${'00'.repeat(2048)}`,
    `nft-asset-event:${ADDRESS}.nft::${'a'.repeat(100_000)}+0x00`,
    'x'.repeat(1_000_000),
  ])('%p is rejected', (name) => expect(topicNamed(name)).toBeNull());
});

describe('a message', () => {
  const topic = principalTopic('address-stx-balance', ADDRESS);

  test('in JSON-RPC is a notification with its extra members before the object', () => {
    const message = new Message({ topic, text: '{"balance":"1"}', members: { address: ADDRESS } });
    expect(JSON.parse(message.rpc())).toEqual({
      jsonrpc: '2.0',
      method: 'address_balance_update',
      params: { address: ADDRESS, balance: '1' },
    });
    const empty = new Message({ topic, text: '{}', members: { address: ADDRESS } });
    expect(JSON.parse(empty.rpc()).params).toEqual({ address: ADDRESS });
  });

  test("in Socket.IO is an event in each client's spelling", () => {
    const message = new Message({ topic, text: '{"balance":"1"}', leading: [ADDRESS] });
    for (const spelled of ['a"b', 'c', 'a"b']) {
      const text = message.socketIo(spelled);
      expect(text[0]).toBe('2');
      expect(JSON.parse(text.slice(1))).toEqual([spelled, ADDRESS, { balance: '1' }]);
    }
  });
});
