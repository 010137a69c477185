/** IP addresses are parsed into bytes and checked as bytes, in any notation. */

import { describe, expect, test } from 'bun:test';
import { BlockList } from 'node:net';
import fc from 'fast-check';
import { isLoopback, parseAddress, parseNetwork } from '../../src/http/hosts.ts';
import { notPublic } from '../../src/http/outgoing.ts';
import { assertProperty, Seen } from '../support/property.ts';

/** The IPv4 registry, written with Node's block lists. */
const registry = new BlockList();
for (const text of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32'],
]) {
  const [network = '', bits] = text.split('/');
  registry.addSubnet(network, Number(bits), 'ipv4');
}

const specialStarts = [0, 10, 100, 127, 168, 169, 172, 192, 198, 203, 224, 240, 255];
/** Any IPv4 address, with more addresses near the special ranges. */
const ipv4 = fc
  .tuple(
    fc.oneof(fc.constantFrom(...specialStarts), fc.nat(255)),
    fc.oneof(fc.constantFrom(0, 16, 18, 51, 63, 64, 88, 168, 254), fc.nat(255)),
    fc.oneof(fc.constantFrom(0, 2, 99, 100, 113, 129), fc.nat(255)),
    fc.nat(255),
  )
  .map((bytes) => bytes.join('.'));
const groups = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 });
const hex = (numbers: readonly number[]): string => numbers.map((number) => number.toString(16)).join(':');
const bytesOf = (text: string): Uint8Array => {
  const bytes = parseAddress(text);
  if (bytes === null) throw new Error(`${text} was not read`);
  return bytes;
};
const isSpecial = (text: string): boolean => notPublic(bytesOf(text)) !== null;
/** Two groups of an IPv6 address. */
const asGroups = (address: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return hex([a * 256 + b, c * 256 + d]);
};

describe('parsing', () => {
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
});

describe('the addresses that are not public', () => {
  test('include IPv4 ranges of the registry, in every form that a URL allows', () => {
    const seen = new Seen({ special: 10, public: 10 });
    assertProperty(
      fc.property(ipv4, (address) => {
        seen.add(registry.check(address) ? 'special' : 'public');
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
        const number = ((a * 256 + b) * 256 + c) * 256 + d;
        const forms = [
          String(number),
          `0x${number.toString(16)}`,
          `0${number.toString(8)}`,
          `${a}.${(b * 256 + c) * 256 + d}`,
          `0x${a.toString(16)}.0${b.toString(8)}.${c}.${d}.`,
        ];
        for (const form of forms) {
          expect(isSpecial(new URL(`http://${form}/`).hostname)).toBe(registry.check(address));
        }
      }),
      { seen },
    );
  });
  test('include IPv6 forms of special IPv4 addresses, and all addresses in abandoned notations', () => {
    const seen = new Seen({ special: 10, public: 10 });
    assertProperty(
      fc.property(ipv4, fc.nat(0xffff), (address, port) => {
        const inner = asGroups(address);
        seen.add(registry.check(address) ? 'special' : 'public');
        for (const prefix of ['::ffff:', '64:ff9b::']) {
          expect(isSpecial(`${prefix}${address}`)).toBe(registry.check(address));
          expect(isSpecial(`${prefix}${inner}`)).toBe(registry.check(address));
        }
        const tunnels = [
          `::${address}`,
          `::ffff:0:${address}`,
          `64:ff9b:1::${address}`,
          `2002:${inner}::${hex([port])}`,
        ];
        for (const text of [...tunnels, `2001:0:${inner}::${hex([port])}`]) expect(isSpecial(text)).toBe(true);
      }),
      { seen },
    );
  });
  test('include all IPv6 ranges that are not assigned for the Internet', () => {
    assertProperty(
      fc.property(groups, (numbers) => {
        fc.pre((numbers[0] ?? 0) >> 13 !== 1);
        const text = hex(numbers);
        // Except for addresses that lead to a public IPv4 address.
        fc.pre(!text.startsWith('64:ff9b:0:0:0:0:') && !text.startsWith('0:0:0:0:0:ffff:'));
        expect(isSpecial(text)).toBe(true);
      }),
      { always: 'other addresses are drawn again' },
    );
    for (const text of ['2606:2800:220:1::1', '2a00:1450:4001::8a', '2400:cb00::1'])
      expect(isSpecial(text)).toBe(false);
  });
});

test('loopback includes IPv4-mapped addresses', () => {
  for (const text of ['127.0.0.1', '127.255.255.255', '::1', '::ffff:127.0.0.1']) {
    expect(isLoopback(bytesOf(text))).toBe(true);
  }
  for (const text of ['126.255.255.255', '128.0.0.1', '0.0.0.0', '::', '::2', '::ffff:10.0.0.1', '::127.0.0.1']) {
    expect(isLoopback(bytesOf(text))).toBe(false);
  }
});
