import { expect, test } from 'bun:test';
import { addressFromVersionHash, addressToString, createAddress } from '@stacks/transactions';
import fc from 'fast-check';
import {
  BOOT_ADDRESS,
  c32Decode,
  c32Encode,
  canonicalPrincipal,
  isPrincipal,
  parseStacksAddress,
  principalBytes,
  stacksAddress,
} from '../../src/codec/address.ts';
import { DecodeError } from '../../src/codec/bytes-reader.ts';
import { fromHex, toHex } from '../../src/codec/hex.ts';
import { assertProperty } from '../support/property.ts';

/** The text stacks.js gives. */
const oracle = (version: number, hash160: Uint8Array) =>
  addressToString(addressFromVersionHash(version, hash160.toHex()));

const hash = fromHex('a46ff88886c2ef9762d970b4d2c63678835bd39d');
const canonical = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7';

/** Random hashes, with up to 20 leading zero bytes, which change the length of the text. */
const anyHash = () =>
  fc.tuple(fc.nat({ max: 20 }), fc.uint8Array({ minLength: 20, maxLength: 20 })).map(([zeros, bytes]) => {
    const copy = Uint8Array.from(bytes);
    return copy.fill(0, 0, zeros);
  });

test('the four versions of the networks have their letters', () => {
  expect(stacksAddress(22, hash)).toBe(canonical);
  expect(stacksAddress(20, hash)).toBe('SM2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQVX8X0G');
  expect(stacksAddress(26, hash)).toBe('ST2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQYAC0RQ');
  expect(stacksAddress(21, hash)).toStartWith('SN');
  expect(stacksAddress(22, new Uint8Array(20))).toBe(BOOT_ADDRESS.mainnet);
  expect(stacksAddress(26, new Uint8Array(20))).toBe(BOOT_ADDRESS.testnet);
});

test('an address of any version decodes again, with and without the cache, and equals stacks.js', () => {
  assertProperty(
    fc.property(fc.nat({ max: 31 }), anyHash(), (version, hash160) => {
      const text = stacksAddress(version, hash160);
      expect(stacksAddress(version, hash160)).toBe(text);
      expect(text).toBe(oracle(version, hash160));
      expect(createAddress(text)).toMatchObject({ version, hash160: hash160.toHex() });
      expect(parseStacksAddress(text)).toEqual({ version, hash160 });
      expect(canonicalPrincipal(text.toLowerCase())).toBe(text);
    }),
    { always: 'each address is written and read back' },
  );
});

test('addresses with the same cache slot are not mixed up', () => {
  const first = Uint8Array.from(hash);
  const second = Uint8Array.from(hash).fill(7, 0, 18);
  for (let round = 0; round < 3; round++) {
    expect(stacksAddress(22, first)).toBe(canonical);
    expect(stacksAddress(22, second)).toBe(oracle(22, second));
    expect(stacksAddress(22 ^ 1, hash.with(19, hash[19]! ^ 1))).toStartWith('SQ');
  }
});

/** Runs in a separate process and prints the bytes in memory after addresses were parsed out of many long texts. */
const heldBytes = `
  import { heapStats } from 'bun:jsc';
  import { parseStacksAddress, stacksAddress } from '${import.meta.dir}/../../src/codec/address.ts';
  const held = () => (Bun.gc(true), heapStats().extraMemorySize);
  const before = held();
  for (let number = 1; number <= 200; number++) {
    const address = stacksAddress(22, new Uint8Array(20).fill(number, 0, 1));
    for (const spelled of [address, address.toLowerCase()]) {
      const url = Buffer.from('/' + spelled + '?' + 'x'.repeat(100_000)).toString();
      if (parseStacksAddress(url.slice(1, 1 + spelled.length)) === null) throw new Error('it was not parsed');
    }
  }
  console.log(held() - before);
`;

test("a cached address doesn't keep the longer text in memory", () => {
  // Other tests in this process allocate and free memory at any time.
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, '--eval', heldBytes]);
  expect([exitCode, stderr.toString()]).toEqual([0, '']);
  // All texts would be 20 MB; the collector may take some values on the stack for texts.
  expect(Number(stdout.toString())).toBeLessThan(10_000_000);
});

test('a version without a letter and a hash of another length are rejected', () => {
  expect(() => stacksAddress(32, hash)).toThrow(DecodeError);
  expect(() => stacksAddress(255, hash)).toThrow(DecodeError);
  expect(() => stacksAddress(22, hash.subarray(1))).toThrow(DecodeError);
});

test.each([
  canonical.toLowerCase(),
  'SP2J6ZY48GVLEZ5V2V5RB9MP66SW86PYKKNRV9EJ7',
  'SP2J6ZY48GVIEZ5V2V5RB9MP66SW86PYKKNRV9EJ7',
  'sp2j6zy48gvlez5v2v5rb9mp66sw86pykknrv9ej7',
])('%s is normalized to the canonical address', (text) => {
  expect(canonicalPrincipal(text)).toBe(canonical);
  expect(canonicalPrincipal(`${text}.Pool-v1`)).toBe(`${canonical}.Pool-v1`);
});

test.each([
  ['nothing', ''],
  ['one letter', 'S'],
  ['five letters', 'SP123'],
  ['a wrong last character', `${canonical.slice(0, -1)}8`],
  ['a letter outside the alphabet', `${canonical.slice(0, -2)}U7`],
  ['a blank at the end', `${canonical} `],
  ['a zero byte too few', 'SP00000000000000000002Q6VF78'],
  ['a zero byte too many', 'SP0000000000000000000002Q6VF78'],
  ['another first letter', `X${canonical.slice(1)}`],
  ['a character beyond ASCII first', `é${canonical.slice(1)}`],
  ['a character beyond ASCII inside', `${canonical.slice(0, -1)}７`],
  ['an endless text', `S${'P'.repeat(100_000)}`],
  ['a dot without a name', `${canonical}.`],
  ['a name of 129', `${canonical}.${'a'.repeat(129)}`],
  ['a name that begins with a digit', `${canonical}.1a`],
  ['a name with another separator', `${canonical}_pool`],
  ['two names', `${canonical}.a.b`],
])('a principal with %s is rejected', (_, text) => {
  expect(isPrincipal(text)).toBe(false);
  expect(canonicalPrincipal(text)).toBeNull();
});

test('contract names of 1 to 128 characters make a valid principal', () => {
  for (const name of ['a', 'pox-4', 'Some_Name', 'a'.repeat(128)])
    expect(isPrincipal(`${canonical}.${name}`)).toBe(true);
});

test('the bytes of a principal are version, hash and, for contracts, length and name', () => {
  expect(toHex(principalBytes(canonical)!)).toBe(`0x16${hash.toHex()}`);
  expect(toHex(principalBytes(`${canonical}.abc`)!)).toBe(`0x16${hash.toHex()}03616263`);
  expect(toHex(principalBytes(`${canonical}.__transient`)!)).toEndWith(Buffer.from('__transient').toString('hex'));
  expect(principalBytes(`${canonical}.${'a'.repeat(129)}`)).toBeNull();
  expect(principalBytes('SP123')).toBeNull();
});

test('c32 of any bytes decodes to the same bytes', () => {
  assertProperty(
    fc.property(fc.nat({ max: 4 }), fc.uint8Array({ maxLength: 30 }), (zeros, bytes) => {
      const padded = Uint8Array.of(...new Uint8Array(zeros), ...bytes);
      expect(c32Decode(c32Encode(padded))).toEqual(padded);
    }),
    { always: 'any bytes are written and read back' },
  );
});

test.each([
  ['', ''],
  ['01', '1'],
  ['22', '12'],
  ['0001', '01'],
  ['0100', '80'],
  ['010000', '2000'],
  ['a46ff88886c2ef9762d970b4d2c63678835bd39d', 'MHQZH246RBQSERPSE2TD5HHPF21NQMWX'],
])('c32 of 0x%s is "%s"', (hex, text) => {
  expect(c32Encode(fromHex(hex))).toBe(text);
});
