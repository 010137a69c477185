/** IP addresses are parsed into bytes in any notation. `faults/delivery-targets.test.ts` tests which ones are public. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isLoopback, parseAddress, parseNetwork } from '../../src/http/hosts.ts';
import { assertProperty } from '../support/property.ts';

const groups = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 });
const hex = (numbers: readonly number[]): string => numbers.map((number) => number.toString(16)).join(':');
const bytesOf = (text: string): Uint8Array => {
  const bytes = parseAddress(text);
  if (bytes === null) throw new Error(`${text} was not read`);
  return bytes;
};

test('an IPv6 address gives the bytes of its groups, in any short form', () => {
  assertProperty(
    fc.property(groups, (numbers) => {
      const expected = Uint8Array.from(numbers.flatMap((number) => [number >> 8, number & 0xff]));
      expect(parseAddress(hex(numbers))).toEqual(expected);
      // The URL parser writes the shortest form.
      expect(parseAddress(new URL(`http://[${hex(numbers)}]/`).hostname.slice(1, -1))).toEqual(expected);
    }),
    { always: 'each address is written and read back' },
  );
});

test('an IPv6 address may end with an IPv4 address', () => {
  expect(parseAddress('64:ff9b::192.0.2.1')).toEqual(parseAddress('64:ff9b::c000:201'));
  // Some parsers read this address as ::ffff:192.0.2.1, which is another one.
  expect(parseAddress('::192.0.2.1')).toEqual(parseAddress('::c000:201'));
  expect(parseAddress('1:2:3:4:5:6:192.0.2.1')).toEqual(parseAddress('1:2:3:4:5:6:c000:201'));
});

test('rejects names, zones, and IPv4 addresses in octal, hex or with fewer parts', () => {
  const others = ['', 'example.org', 'fe80::1%lo', '0127.0.0.1', '127.1', '0x7f.0.0.1', '256.0.0.1', '1.2.3.4::'];
  for (const text of [...others, '1:2:3:4:5:6:7::8:9', '::1.2.3.4:5', ' ::1']) expect(parseAddress(text)).toBeNull();
});

test('parses networks, and rejects invalid ones', () => {
  expect(parseNetwork('10.0.0.0/8')).toEqual({ bytes: Uint8Array.of(10, 0, 0, 0), bits: 8 });
  for (const text of ['', '/8', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/1.5', '::/0x8']) {
    expect(parseNetwork(text)).toBeNull();
  }
});

test('loopback includes IPv4-mapped addresses', () => {
  for (const text of ['127.0.0.1', '127.255.255.255', '::1', '::ffff:127.0.0.1']) {
    expect(isLoopback(bytesOf(text))).toBe(true);
  }
  for (const text of ['126.255.255.255', '128.0.0.1', '0.0.0.0', '::', '::2', '::ffff:10.0.0.1', '::127.0.0.1']) {
    expect(isLoopback(bytesOf(text))).toBe(false);
  }
});
