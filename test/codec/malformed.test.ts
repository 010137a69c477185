import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DecodeError } from '../../src/codec/bytes-reader.ts';
import { decodeArguments, decodeClarity } from '../../src/codec/clarity.ts';
import { encodeArguments } from '../../src/codec/clarity-encode.ts';
import { clarityRepr } from '../../src/codec/clarity-text.ts';
import { fromHex, toHex } from '../../src/codec/hex.ts';
import { decodePostConditions } from '../../src/codec/post-conditions.ts';
import { decodeTransaction } from '../../src/codec/transaction.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { bytesOf, clarityValue } from './arbitraries.ts';
import { chainTransactions } from './chain-transactions.ts';
import { hash160, rawTransaction, singleCondition, transferPayload } from './raw-transaction.ts';

const everyPayload = [
  transferPayload,
  '06020361626300000002' + '2829',
  `0216${hash160}036162630166000000020a030c00000001016109`,
  `03${'11'.repeat(264)}`,
  `04${'cb'.repeat(32)}`,
  `05${'cb'.repeat(32)}0516${hash160}`,
  `08${'cb'.repeat(32)}0a0616${hash160}0161${'ee'.repeat(80)}`,
  `07${'11'.repeat(92)}0000000500${'55'.repeat(20)}`,
];

const wholeTransactions = [
  ...everyPayload.map((payload) => rawTransaction({ payload })),
  rawTransaction({ auth: '05', conditions: singleCondition + singleCondition }),
  rawTransaction({ postConditions: `0200000002040130${`0203${`16${hash160}`}0161${`16${hash160}`}016101620310`}` }),
  ...chainTransactions.map(({ raw }) => fromHex(raw)),
];

test('a truncated transaction is rejected at or before the cut', () => {
  for (const raw of wholeTransactions) {
    expect(decodeTransaction(raw).ok).toBe(true);
    for (let length = 0; length < raw.length; length++) {
      const cut = decodeTransaction(raw.subarray(0, length));
      if (cut.ok) throw new Error(`${length} bytes of ${toHex(raw)} decoded`);
      expect(cut.error).toBeInstanceOf(DecodeError);
      expect(cut.error.offset).toBeLessThanOrEqual(length);
    }
  }
});

test('bytes after a transaction are rejected', () => {
  for (const raw of wholeTransactions) {
    const longer = decodeTransaction(Uint8Array.of(...raw, 0));
    expect(longer).toMatchObject({ ok: false, error: { expected: 'the end of the transaction', offset: raw.length } });
  }
});

test('a truncated value is rejected', () => {
  assertProperty(
    fc.property(clarityValue(), (sample) => {
      const bytes = bytesOf(sample);
      for (let length = 0; length < bytes.length; length++) {
        expect(decodeClarity(bytes.subarray(0, length)).ok).toBe(false);
        expect(clarityRepr(bytes.subarray(0, length))).toBe(toHex(bytes.subarray(0, length)));
      }
    }),
    { always: 'each value is cut everywhere' },
  );
});

describe('rejects an unknown value of', () => {
  test.each([
    ['an auth type', rawTransaction({ auth: '06' }), 5],
    ['a hash mode', rawTransaction({ conditions: `04${singleCondition.slice(2)}` }), 6],
    ['a hash mode', rawTransaction({ conditions: `06${singleCondition.slice(2)}` }), 6],
    ['a hash mode', rawTransaction({ conditions: `08${singleCondition.slice(2)}` }), 6],
    ['a key encoding', rawTransaction({ conditions: `${singleCondition.slice(0, 74)}02${'00'.repeat(65)}` }), 43],
    ['a key encoding', rawTransaction({ conditions: `02${singleCondition.slice(2, 74)}01${'00'.repeat(65)}` }), 43],
    ['an anchor mode', rawTransaction({ anchorMode: '00' }), 109],
    ['an anchor mode', rawTransaction({ anchorMode: '04' }), 109],
    ['a post-condition mode', rawTransaction({ postConditions: '0000000000' }), 110],
    ['a post-condition mode', rawTransaction({ postConditions: '0400000000' }), 110],
    ['a payload type', rawTransaction({ payload: '09' }), 115],
    ['a recipient', rawTransaction({ payload: transferPayload.replace('0005', '0004') }), 116],
    ['a principal', rawTransaction({ payload: transferPayload.replace('000516', '000520') }), 117],
    ['a tenure change cause', rawTransaction({ payload: `07${'11'.repeat(96)}07${'55'.repeat(20)}` }), 212],
    ['an optional recipient', rawTransaction({ payload: `08${'cb'.repeat(32)}0b${'ee'.repeat(80)}` }), 148],
    ['a recipient', rawTransaction({ payload: `08${'cb'.repeat(32)}0a03${'ee'.repeat(80)}` }), 149],
  ])('%s', (expected, raw, offset) => {
    const decoded = decodeTransaction(raw);
    if (decoded.ok) throw new Error('decoded');
    expect(decoded.error.expected).toStartWith(expected);
    expect(decoded.error.offset).toBe(offset);
    expect(decoded.error.message).toContain(`at offset ${offset}`);
  });
});

test.each([
  ['no bytes', ''],
  ['an unknown prefix', '0f'],
  ['the last prefix', 'ff'],
  ['a cut integer', '0100'],
  ['a cut buffer', '0200000005aabb'],
  ['a cut list', '0b0000000203'],
  ['some of nothing', '0a'],
  ['a key above 128 bytes', `0c0000000181${'61'.repeat(129)}03`],
  ['a key that is not UTF-8', '0c0000000101ff03'],
  ['a contract name above 128 bytes', `0616${hash160}81${'61'.repeat(129)}`],
  ['a contract name that is not UTF-8', `0616${hash160}02c328`],
  ['an address of version 32', `0520${hash160}`],
])('a value with %s is rejected', (_, hex) => {
  const bytes = fromHex(hex);
  expect(decodeClarity(bytes).ok).toBe(false);
  expect(decodeArguments(encodeArguments([bytes])).ok).toBe(false);
  expect(clarityRepr(bytes)).toBe(toHex(bytes));
});

test('an empty name and a name that breaks the grammar are decoded', () => {
  expect(clarityRepr(fromHex(`0616${hash160}00`))).toEndWith('.');
  expect(clarityRepr(fromHex('0c00000002000302c3a909'))).toBe('(tuple ( true) (é none))');
});

describe('sizes', () => {
  const valueOfSize = (prefix: number, length: number, present: number) => {
    const bytes = new Uint8Array(5 + present).fill(0x03, 5);
    bytes[0] = prefix;
    new DataView(bytes.buffer).setUint32(1, length);
    return bytes;
  };

  test.each([0x02, 0x0b, 0x0d, 0x0e])('prefix %d holds up to 1,048,576 bytes or items', (prefix) => {
    expect(decodeClarity(valueOfSize(prefix, 1_048_576, 1_048_576)).ok).toBe(true);
    expect(decodeClarity(valueOfSize(prefix, 1_048_577, 1_048_577)).ok).toBe(false);
  });

  test('a forged count or length of 2^32 - 1 is rejected at once', () => {
    const before = process.cpuUsage();
    for (const prefix of [0x02, 0x0b, 0x0c, 0x0d, 0x0e]) {
      expect(decodeClarity(valueOfSize(prefix, 0xffffffff, 100)).ok).toBe(false);
      expect(decodeArguments(encodeArguments([valueOfSize(prefix, 0xffffffff, 100)])).ok).toBe(false);
    }
    for (const raw of [
      rawTransaction({ postConditions: '02ffffffff' }),
      rawTransaction({ conditions: `01${singleCondition.slice(2, 74)}ffffffff` }),
      rawTransaction({ payload: `0216${hash160}01610162ffffffff` }),
      rawTransaction({ payload: '010161ffffffff' }),
    ]) {
      expect(decodeTransaction(raw).ok).toBe(false);
    }
    // A decoder that believes one of these lengths takes seconds, or all memory.
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });
});

test.each([0x07, 0x08, 0x0a])('two million levels of prefix %d are rejected at level 65', (prefix) => {
  const bomb = new Uint8Array(2_000_000).fill(prefix);
  expect(decodeClarity(bomb)).toMatchObject({ ok: false, error: { offset: 64 } });
  expect(decodeArguments(encodeArguments([bomb]))).toMatchObject({ ok: false, error: { offset: 68 } });
});

test('nested lists and nested tuples are rejected at level 65', () => {
  const lists = fromHex('0b00000001'.repeat(10_000));
  const tuples = fromHex('0c000000010161'.repeat(10_000));
  for (const bomb of [lists, tuples]) {
    expect(decodeClarity(bomb)).toMatchObject({ ok: false, error: { expected: 'at most 64 levels of nesting' } });
    expect(decodeArguments(encodeArguments([bomb])).ok).toBe(false);
    expect(clarityRepr(bomb)).toBe(toHex(bomb));
  }
});

describe('no decoder throws for', () => {
  const decodeAll = (bytes: Uint8Array) => {
    decodeTransaction(bytes);
    decodePostConditions(bytes);
    decodeArguments(bytes);
    // If a value can be walked, it can also be decoded. Otherwise both fail.
    const value = decodeClarity(bytes);
    expect(decodeArguments(encodeArguments([bytes])).ok).toBe(value.ok);
    if (!value.ok) expect(clarityRepr(bytes)).toBe(toHex(bytes));
  };

  test('random bytes', () => {
    assertProperty(fc.property(fc.uint8Array({ maxLength: 300, size: 'max' }), decodeAll), {
      always: 'all bytes are decoded, and none may throw',
      cases: 800,
    });
  });

  test('random bytes that look like Clarity', () => {
    const likely = fc.array(fc.oneof(fc.nat({ max: 15 }), fc.constantFrom(0, 0, 0, 1, 2, 22, 97)), { maxLength: 80 });
    assertProperty(
      fc.property(likely, (bytes) => decodeAll(Uint8Array.from(bytes))),
      { always: 'all bytes are decoded, and none may throw', cases: 800 },
    );
  });

  test('changed transactions, and the spans of decoded ones are readable', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
    const seen = new Seen({ decoded: 100, calls: 20 });
    assertProperty(
      fc.property(fc.constantFrom(...wholeTransactions), changes, (raw, edits) => {
        const changed = Uint8Array.from(raw);
        for (const [index, byte] of edits) changed[index % changed.length] = byte;
        const decoded = decodeTransaction(changed);
        if (!decoded.ok) return;
        seen.add('decoded');
        const { postConditions, payload } = decoded.value;
        expect(decodePostConditions(postConditions).ok).toBe(true);
        if (payload.type !== 'contract_call') return;
        seen.add('calls');
        expect(decodeArguments(payload.functionArgs).ok).toBe(true);
      }),
      { seen, cases: 800 },
    );
  });
});
