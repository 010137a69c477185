/**
 * No delivery goes to an address that isn't public, however the address is written or a name resolves to it. Here the ranges
 * of public addresses are compared with the runtime's own parser, and with the bytes that the text was made from.
 */
import { expect, test } from 'bun:test';
import { BlockList } from 'node:net';
import fc from 'fast-check';
import { type Address, TargetRefused, targetGuard } from '../../src/http/outgoing.ts';
import { assertProperty, Seen } from '../support/property.ts';

/** First and last address of each range that IANA doesn't assign for the Internet (RFC 6890 and its successors). */
const notGlobal4 = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  // The address at which a cloud answers its own machines.
  ['168.63.129.16', '168.63.129.16'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '255.255.255.255'],
] as const;
/** IANA assigns only 2000::/3 of IPv6, without these ranges. */
const notGlobal6 = [
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
] as const;
/** Prefixes of IPv4 addresses in IPv6: mapped addresses, and the well-known prefix of NAT64. */
const MAPPED = '00000000000000000000ffff';
const NAT64 = '0064ff9b0000000000000000';
/** Prefixes of IPv6 addresses that embed an IPv4 address, and its offset. A connection may lead to that address. */
const embedding: readonly (readonly [prefix: string, offset: number])[] = [
  ['000000000000000000000000', 12],
  [MAPPED, 12],
  ['0000000000000000ffff0000', 12],
  [NAT64, 12],
  ['0064ff9b0001000000000000', 12],
  ['2002', 2],
];

const blocked = new BlockList();
for (const [first, last] of notGlobal4) blocked.addRange(first, last, 'ipv4');
for (const [first, last] of notGlobal6) blocked.addRange(first, last, 'ipv6');

const groupsOf = (bytes: Uint8Array): string[] =>
  Array.from({ length: 8 }, (_, index) => ((bytes[2 * index]! << 8) | bytes[2 * index + 1]!).toString(16));

/** Reports from the bytes whether a connection to an address may leave the operator's network. */
function isPublic(bytes: Uint8Array): boolean {
  if (bytes.length === 4) return !blocked.check(bytes.join('.'), 'ipv4');
  // These two prefixes can lead to public addresses.
  if ([NAT64, MAPPED].some((prefix) => bytes.toHex().startsWith(prefix))) return isPublic(bytes.subarray(12));
  for (const [prefix, offset] of embedding) {
    if (!bytes.toHex().startsWith(prefix)) continue;
    if (!isPublic(bytes.subarray(offset, offset + 4))) return false;
  }
  const isGivenOut = bytes[0]! >> 5 === 0b001;
  return isGivenOut && !blocked.check(groupsOf(bytes).join(':'), 'ipv6');
}

const octet = fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 10, 64, 127, 168, 169, 172, 192, 198, 254, 255));
const bytes4 = fc.oneof(
  fc.tuple(octet, octet, octet, octet).map((bytes) => Uint8Array.from(bytes)),
  // Addresses near the ends of the ranges that aren't public.
  fc.tuple(fc.constantFrom(...notGlobal4.flat()), fc.integer({ min: -1, max: 1 })).map(([end, step]) => {
    const bytes = Buffer.from(end.split('.').map(Number));
    bytes.writeUInt32BE((bytes.readUInt32BE() + step) >>> 0);
    return new Uint8Array(bytes);
  }),
);
const bytes6 = fc.oneof(
  fc.uint8Array({ minLength: 16, maxLength: 16 }),
  fc.tuple(fc.constantFrom(...embedding), bytes4).map(([[prefix, offset], inner]) => {
    const bytes = new Uint8Array(16);
    bytes.set(Uint8Array.fromHex(prefix));
    bytes.set(inner, offset);
    return bytes;
  }),
  fc
    .tuple(
      fc.constantFrom('2001:0db8', '3fff0000', '2001:0000', '2600:0000', 'fe80', 'fc00', 'fdff', 'fec0', 'ff02'),
      bytes4,
    )
    .map(([start, inner]) => {
      const bytes = new Uint8Array(16);
      bytes.set(Uint8Array.fromHex(start.replace(':', '')));
      bytes.set(inner, 12);
      return bytes;
    }),
);

/** Notations of an IPv4 address in URLs (WHATWG, "IPv4 parser"). */
const ways4: readonly ((bytes: Uint8Array) => string)[] = [
  (bytes) => bytes.join('.'),
  (bytes) => `${bytes.join('.')}.`,
  (bytes) => String(Buffer.from(bytes).readUInt32BE()),
  (bytes) => `0x${bytes.toHex()}`,
  (bytes) => `0${Buffer.from(bytes).readUInt32BE().toString(8)}`,
  (bytes) => [...bytes].map((byte) => `0x${byte.toString(16)}`).join('.'),
  (bytes) => [...bytes].map((byte) => `0${byte.toString(8)}`).join('.'),
  (bytes) => `${bytes[0]}.${(bytes[1]! << 16) | (bytes[2]! << 8) | bytes[3]!}`,
  (bytes) => `${bytes[0]}.${bytes[1]}.${(bytes[2]! << 8) | bytes[3]!}`,
  (bytes) => bytes.join('.').replaceAll('.', '%2e'),
  (bytes) => bytes.join('。'),
  (bytes) => bytes.join('.').replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
];
const compress = (bytes: Uint8Array): string => {
  const whole = groupsOf(bytes).join(':');
  const zeros = whole.match(/(?:^|:)0(?::0)+(?=:|$)/)?.[0];
  if (zeros === undefined) return whole;
  const [before = '', after = ''] = [
    whole.slice(0, whole.indexOf(zeros)),
    whole.slice(whole.indexOf(zeros) + zeros.length),
  ];
  return `${before}::${after.replace(/^:/, '')}`;
};
const ways6: readonly ((bytes: Uint8Array) => string)[] = [
  (bytes) => groupsOf(bytes).join(':'),
  (bytes) => groupsOf(bytes).join(':').toUpperCase(),
  (bytes) =>
    groupsOf(bytes)
      .map((group) => group.padStart(4, '0'))
      .join(':'),
  (bytes) => `${groupsOf(bytes).slice(0, 6).join(':')}:${bytes.subarray(12).join('.')}`,
  compress,
];

interface Written {
  bytes: Uint8Array;
  text: string;
}
const writtenAddress = (bytes: fc.Arbitrary<Uint8Array>, ways: readonly ((bytes: Uint8Array) => string)[]) =>
  fc.tuple(bytes, fc.constantFrom(...ways)).map(([drawn, way]): Written => ({ bytes: drawn, text: way(drawn) }));
const literal = fc.oneof(
  writtenAddress(bytes4, ways4),
  writtenAddress(bytes6, ways6).map(({ bytes, text }) => ({ bytes, text: `[${text}]` })),
);
/** As a resolver gives it. */
const resolved = fc.oneof(writtenAddress(bytes4, ways4.slice(0, 1)), writtenAddress(bytes6, ways6));

/** Returns the reason why a URL is refused, or `null` if it may be called. */
async function refusalOf(url: string, addresses: readonly Written[] = []): Promise<string | null> {
  const targets = addresses.map(({ bytes, text }): Address => ({ address: text, family: bytes.length === 4 ? 4 : 6 }));
  try {
    await targetGuard({ allowed: [], plainHttp: false }, async () => targets).check(url);
    return null;
  } catch (error) {
    if (error instanceof TargetRefused) return error.message;
    throw error;
  }
}

/** Addresses that must be accepted if they are public. Of IPv6, protocol assignments and relays are also refused. */
const isOrdinary = (bytes: Uint8Array): boolean =>
  bytes.length === 4 || bytes[0] === 0x26 || [NAT64, MAPPED].some((prefix) => bytes.toHex().startsWith(prefix));

test('an address in a URL is rejected unless it is public, however it is written', async () => {
  const seen = new Seen({ 'not public': 200, public: 50 });
  await assertProperty(
    fc.asyncProperty(literal, async ({ bytes, text }) => {
      const refusal = await refusalOf(`https://${text}/x`);
      if (isPublic(bytes) && !isOrdinary(bytes)) return;
      seen.add(isPublic(bytes) ? 'public' : 'not public');
      expect({ text, refusal }).toEqual({ text, refusal: isPublic(bytes) ? null : expect.any(String) });
    }),
    { seen, cases: 3_000 },
  );
});

test('a name is rejected if any of its addresses is not public', async () => {
  const seen = new Seen({ 'not public': 200 });
  await assertProperty(
    fc.asyncProperty(fc.array(resolved, { minLength: 1, maxLength: 3 }), async (addresses) => {
      const refusal = await refusalOf('https://example.org/x', addresses);
      if (!addresses.every(({ bytes }) => isPublic(bytes))) {
        seen.add('not public');
        expect({ addresses, refusal }).toEqual({ addresses, refusal: expect.any(String) });
      }
    }),
    { seen, cases: 2_000 },
  );
});

test('a name of this machine or network is rejected in upper or lower case, and with a final dot', async () => {
  const local = fc.constantFrom('localhost', 'a.localhost', 'printer.local', 'x.internal', 'nas.home.arpa');
  const spelled = fc
    .tuple(local, fc.boolean(), fc.constantFrom('', '.'))
    .map(([name, upper, end]) => `${upper ? name.toUpperCase() : name}${end}`);
  const somewhere = { bytes: Uint8Array.of(93, 184, 216, 34), text: '93.184.216.34' };
  await assertProperty(
    fc.asyncProperty(spelled, async (name) => {
      expect({ name, refusal: await refusalOf(`https://${name}/x`, [somewhere]) }).toEqual({
        name,
        refusal: expect.any(String),
      });
    }),
    { always: 'each name is refused' },
  );
});
