/** Changes of the name system by prints and calls. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChainEvent } from '../../src/chain/block.ts';
import {
  attachmentMetadata,
  changeOfCall,
  MAX_LIFETIME,
  nameChangeOf,
  nameOfToken,
  nameOperations,
  nameToken,
} from '../../src/chain/name-system.ts';
import { clarity, encodeArguments } from '../../src/codec/clarity-encode.ts';
import { utf8Bytes } from '../../src/codec/utf8.ts';
import { NAME_CONTRACTS } from '../support/events/names.ts';
import { assertProperty } from '../support/property.ts';

const ALICE = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7';
const buffer = (text: string) => clarity.buffer(utf8Bytes(text));
const log = (value: Uint8Array, contractId: string = NAME_CONTRACTS[0], topic = 'print'): ChainEvent => ({
  kind: 'contract_log',
  contractId,
  topic,
  value,
});

const metadata = (fields: Record<string, Uint8Array> = {}) =>
  clarity.tuple({
    name: buffer('alice'),
    namespace: buffer('btc'),
    op: clarity.ascii('name-register'),
    'tx-sender': clarity.principal(ALICE),
    ...fields,
  });
const print = (hash: Uint8Array, fields: Record<string, Uint8Array> = {}) =>
  clarity.tuple({
    attachment: clarity.tuple({
      'attachment-index': clarity.uint(1),
      hash: clarity.buffer(hash),
      metadata: metadata(fields),
    }),
  });
const HASH = new Uint8Array(20).fill(7);

const priceFunction = {
  base: clarity.uint(4),
  buckets: clarity.list(Array.from({ length: 16 }, (_, index) => clarity.uint(16 - index))),
  coeff: clarity.uint(250),
  'no-vowel-discount': clarity.uint(3),
  'nonalpha-discount': clarity.uint(2),
};
const price = {
  base: 4n,
  coefficient: 250n,
  exponents: Array.from({ length: 16 }, (_, index) => BigInt(16 - index)),
  nonalphaDiscount: 2n,
  noVowelDiscount: 3n,
};
const ready = (lifetime: bigint, fields: Record<string, Uint8Array> = {}) =>
  clarity.tuple({
    namespace: buffer('btc'),
    status: clarity.ascii('ready'),
    properties: clarity.tuple({
      lifetime: clarity.uint(lifetime),
      'price-function': clarity.tuple(priceFunction),
      ...fields,
    }),
  });

describe('a print', () => {
  const registered = {
    name: 'alice.btc',
    namespace: 'btc',
    operation: 'name-register' as const,
    sender: ALICE,
    zonefileHash: HASH,
  };

  test('gives the operation on a name, on either network', () => {
    for (const contract of NAME_CONTRACTS) {
      expect(nameChangeOf(log(print(HASH), contract))).toEqual({ kind: 'name', operation: registered });
    }
    for (const operation of nameOperations) {
      expect(nameChangeOf(log(print(HASH, { op: clarity.ascii(operation) })))).toMatchObject({
        operation: { operation },
      });
    }
  });

  test('without a hash gives no zonefile, and may have a contract as sender', () => {
    const contract = `${ALICE}.vault`;
    expect(nameChangeOf(log(print(new Uint8Array(0), { 'tx-sender': clarity.principal(contract) })))).toMatchObject({
      operation: { zonefileHash: null, sender: contract },
    });
  });

  test('opens a namespace, with the longest lease limited to 32 bits', () => {
    expect(nameChangeOf(log(ready(52_595n)))).toEqual({ kind: 'namespace', namespace: 'btc', lifetime: 52_595, price });
    expect(nameChangeOf(log(ready(2n ** 128n - 1n)))).toMatchObject({ lifetime: MAX_LIFETIME });
  });

  test.each<[string, ChainEvent]>([
    ['of another contract', log(print(HASH), `${ALICE}.bns`)],
    ['of another topic', log(print(HASH), NAME_CONTRACTS[0], 'note')],
    ['of another operation', log(print(HASH, { op: clarity.ascii('name-sale') }))],
    ["a name that isn't text", log(print(HASH, { name: clarity.buffer(Uint8Array.of(0xff)) }))],
    ['of no tuple', log(clarity.uint(1))],
    ['unreadable bytes', log(Uint8Array.of(0xff))],
    ['a namespace without prices', log(ready(1n, { 'price-function': clarity.none() }))],
    ['of another kind', { kind: 'stx', action: 'burn', sender: ALICE, recipient: null, amount: '1', memo: null }],
  ])('%s is ignored', (_, event) => {
    expect(nameChangeOf(event)).toBeNull();
  });

  test('is parsed or ignored if it has random bytes', () => {
    assertProperty(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => void nameChangeOf(log(bytes))),
      { always: 'all bytes are read, and none may throw' },
    );
  });
});

describe('a call', () => {
  const renewal = (zonefile: Uint8Array) =>
    encodeArguments([
      buffer('btc'),
      buffer('alice'),
      clarity.uint(1),
      clarity.some(clarity.principal(ALICE)),
      zonefile,
    ]);

  test('renews a name without a print only if it gives no zonefile', () => {
    expect(changeOfCall('name-renewal', renewal(clarity.none()), ALICE)).toEqual({
      kind: 'name',
      operation: { name: 'alice.btc', namespace: 'btc', operation: 'name-renewal', sender: ALICE, zonefileHash: null },
    });
    expect(changeOfCall('name-renewal', renewal(clarity.some(clarity.buffer(HASH))), ALICE)).toBeNull();
  });

  test('sets the prices of a namespace', () => {
    const numbers = [4, 250, ...Array.from({ length: 16 }, (_, index) => 16 - index), 2, 3];
    const args = encodeArguments([buffer('btc'), ...numbers.map((number) => clarity.uint(number))]);
    expect(changeOfCall('namespace-update-function-price', args, ALICE)).toEqual({
      kind: 'namespace',
      lifetime: null,
      namespace: 'btc',
      price,
    });
    const short = encodeArguments([buffer('btc'), ...numbers.slice(0, 19).map((number) => clarity.uint(number))]);
    expect(changeOfCall('namespace-update-function-price', short, ALICE)).toBeNull();
  });

  test('changes nothing if its function is another or its arguments are unreadable', () => {
    expect(changeOfCall('name-update', renewal(clarity.none()), ALICE)).toBeNull();
    expect(changeOfCall('name-renewal', Uint8Array.of(0, 0, 0, 9), ALICE)).toBeNull();
    expect(changeOfCall('name-renewal', encodeArguments([clarity.uint(1)]), ALICE)).toBeNull();
  });
});

test("an attachment's metadata equals its print", () => {
  expect(attachmentMetadata(metadata())).toEqual({
    name: 'alice.btc',
    namespace: 'btc',
    operation: 'name-register',
    sender: ALICE,
  });
  expect(attachmentMetadata(Uint8Array.of(3))).toBeNull();
});

test('a name converts to its token and back', () => {
  const label = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
  assertProperty(
    fc.property(label, label, (name, namespace) => {
      expect(nameOfToken(nameToken(`${name}.${namespace}`) ?? new Uint8Array(0))).toBe(`${name}.${namespace}`);
    }),
    { always: 'each name is written and read back' },
  );
  for (const name of ['alice', 'joe.alice.btc', '.btc', 'alice.', '']) expect(nameToken(name)).toBeNull();
  expect(nameOfToken(clarity.uint(1))).toBeNull();
});
