import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isEventPath, PayloadError, parseJson, readPayload } from '../../src/chain/payload-reader.ts';
import { jsonOf } from '../support/events/payload-text.ts';
import { assertProperty } from '../support/property.ts';

const MAX_U128 = 2n ** 128n - 1n;

const beyondDoubles = fc.oneof(
  fc.bigInt({ min: 2n ** 53n, max: MAX_U128 }),
  fc.bigInt({ min: -MAX_U128, max: -(2n ** 53n) }),
);
const { tree } = fc.letrec((tie) => ({
  leaf: fc.oneof(
    beyondDoubles,
    fc.maxSafeInteger(),
    fc.string(),
    fc.bigInt().map(String),
    fc.boolean(),
    fc.constant(null),
    // -0 is written as 0.
    fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }).filter((value) => !Object.is(value, -0)),
  ),
  tree: fc.oneof(
    { maxDepth: 4 },
    tie('leaf'),
    fc.array(tie('tree')),
    fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      tie('tree'),
      { noNullPrototype: true },
    ),
  ),
}));

test('integers beyond doubles are parsed as bigints, and everything else as by JSON.parse', () => {
  assertProperty(
    fc.property(tree, (value) => {
      const written = jsonOf([value]);
      expect(jsonOf(parseJson(written))).toBe(written);
      expect(parseJson(written)).toEqual([value]);
    }),
    { always: 'each value is written and read back', cases: 500 },
  );
});

test('the largest amounts are exact, and digits in strings stay strings', () => {
  const text = `{"max_amount":${MAX_U128},"stacked_ustx": 9007199254740993,"amount":"9007199254740993","small":9007199254740991}`;
  expect(parseJson(text)).toEqual({
    max_amount: MAX_U128,
    stacked_ustx: 9_007_199_254_740_993n,
    amount: '9007199254740993',
    small: 9_007_199_254_740_991,
  });
});

test('invalid JSON is rejected', () => {
  for (const text of ['', '{', '{"a":1}x', `{"a":${MAX_U128}`]) expect(() => parseJson(text)).toThrow(PayloadError);
});

test('only the event paths of node releases are accepted', () => {
  for (const path of ['/new_block', '/new_burn_block', '/new_mempool_tx', '/drop_mempool_tx', '/new_microblocks']) {
    expect(isEventPath(path)).toBe(true);
  }
  for (const path of ['/attachments/new', '/stackerdb_chunks', '/proposal_response', '/mined_nakamoto_block']) {
    expect(isEventPath(path)).toBe(true);
  }
  for (const path of ['/', '/new_block/', 'new_block', '/toString', '/__proto__'])
    expect(isEventPath(path)).toBe(false);
});

const reject = (path: string, value: unknown): string => {
  try {
    readPayload(path, jsonOf(value));
  } catch (error) {
    expect(error).toBeInstanceOf(PayloadError);
    return (error as Error).message;
  }
  return 'accepted';
};

const hash = `0x${'ab'.repeat(32)}`;

test('a drop may have ids without 0x and no new_txid', () => {
  expect(reject('/drop_mempool_tx', { dropped_txids: [hash.slice(2)], reason: 'TooExpensive' })).toBe('accepted');
  expect(reject('/drop_mempool_tx', { dropped_txids: [hash], reason: 'TooExpensive', new_txid: null })).toBe(
    'accepted',
  );
});

test('an invalid field is rejected with its name', () => {
  expect(reject('/drop_mempool_tx', { dropped_txids: ['0xab'], reason: 'x' })).toContain('dropped_txids.0');
  expect(reject('/drop_mempool_tx', { dropped_txids: [hash] })).toBe('Missing field reason');
  expect(reject('/new_mempool_tx', [1])).toContain('Field 0');
  expect(reject('/new_mempool_tx', {})).toContain('body');
  expect(reject('/new_burn_block', { burn_block_hash: hash })).toContain('burn_block_height');
});

test('a burn block in the old form and with any amount of satoshi is accepted', () => {
  const old = { burn_block_hash: hash, burn_block_height: 5, burn_amount: 0, reward_recipients: [] };
  expect(reject('/new_burn_block', old)).toBe('accepted');
  const payload = readPayload('/new_burn_block', jsonOf({ ...old, burn_amount: 2n ** 60n + 1n }));
  expect(payload).toMatchObject({ kind: 'burn_block', burnBlock: { burn_amount: 2n ** 60n + 1n } });
});

test('an event of an unknown type is accepted, and one without a field is rejected with its index', () => {
  const block = {
    block_hash: hash,
    index_block_hash: hash,
    parent_index_block_hash: hash,
    parent_block_hash: hash,
    block_height: 1,
    burn_block_hash: hash,
    burn_block_height: 1,
    burn_block_time: 1,
    miner_txid: hash,
    parent_microblock: hash,
    parent_microblock_sequence: 0,
    matured_miner_rewards: [],
    transactions: [],
  };
  const event = { txid: hash, event_index: 0, committed: true, type: 'stx_melt_event', stx_melt_event: {} };
  expect(reject('/new_block', { ...block, events: [event] })).toBe('accepted');
  const incomplete = { ...event, type: 'stx_burn_event', stx_burn_event: { sender: 'S' } };
  expect(reject('/new_block', { ...block, events: [incomplete] })).toBe('Missing field events.0.stx_burn_event.amount');
  expect(reject('/new_block', { ...block, events: [] })).toBe('accepted');
});

test('a text nested too deeply is rejected on every path', () => {
  const deep = `{"a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`;
  for (const path of ['/new_block', '/new_burn_block', '/mined_block', '/new_kind']) {
    expect(() => readPayload(path, deep)).toThrow(new PayloadError('The body is nested deeper than 512 levels'));
    // The events of long payloads are parsed one by one.
    expect(() => readPayload(path, deep, 1)).toThrow(PayloadError);
  }
});
