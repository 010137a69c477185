import { describe, expect, test } from 'bun:test';
import { bech32m } from '@scure/base';
import fc from 'fast-check';
import {
  bitcoinToStacks,
  isBitcoinAddress,
  nodeSpelling,
  type PoxAddress,
  parseBitcoinAddress,
  poxAddressOf,
  poxAddressRaw,
  poxAddressText,
  poxTuple,
  stacksToBitcoin,
} from '../../src/codec/bitcoin-address.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { fromHex } from '../../src/codec/hex.ts';
import { decodedValue } from '../support/events/clarity-values.ts';
import { assertProperty } from '../support/property.ts';

test.each([
  ['SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7', '1FzTxL9Mxnm2fdmnQEArfhzJHevwbvcH6d'],
  ['SM2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQVX8X0G', '3GgUssdoWh5QkoUDXKqT6LMESBDf8aqp2y'],
  ['ST2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQYAC0RQ', 'mvWRFPELmpCHSkFQ7o9EVdCd9eXeUTa9T8'],
])('%s and %s have the same hash', (stacks, bitcoin) => {
  expect(stacksToBitcoin(stacks)).toBe(bitcoin);
  expect(bitcoinToStacks(bitcoin)).toBe(stacks);
});

test('an address without a counterpart converts to null', () => {
  expect(stacksToBitcoin('SP123')).toBeNull();
  expect(bitcoinToStacks('bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4')).toBeNull();
  expect(bitcoinToStacks('LVg2kJoFNg45Nbpy53h7Fe1wKyeXVRhMH9')).toBeNull();
});

test('a Stacks version that no network uses stays unchanged', () => {
  expect(stacksToBitcoin('SO2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKPVKG2CE')).toBe('1FzTxL9Mxnm2fdmnQEArfhzJHevwbvcH6d');
});

const SCRIPT = '1863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262';
const TAPROOT = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
// From BIP-173 and BIP-350 if they contain the address.
const addresses: [text: string, version: number, hash: string][] = [
  ['1FzTxL9Mxnm2fdmnQEArfhzJHevwbvcH6d', 0, 'a46ff88886c2ef9762d970b4d2c63678835bd39d'],
  ['mvWRFPELmpCHSkFQ7o9EVdCd9eXeUTa9T8', 0, 'a46ff88886c2ef9762d970b4d2c63678835bd39d'],
  ['3GgUssdoWh5QkoUDXKqT6LMESBDf8aqp2y', 1, 'a46ff88886c2ef9762d970b4d2c63678835bd39d'],
  ['2N74VLxyT79VGHiBK2zEg3a9HJG7rEc5F3o', 1, '978a0121f9a24de65a13bab0c43c3a48be074eae'],
  ['bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', 4, '751e76e8199196d454941c45d1b3a323f1433bd6'],
  ['BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4', 4, '751e76e8199196d454941c45d1b3a323f1433bd6'],
  ['tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7', 5, SCRIPT],
  ['bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0', 6, TAPROOT],
];

test.each(addresses)('%s is version %d of a PoX tuple', (text, version, hash) => {
  expect(parseBitcoinAddress(text)).toEqual({ version, hashBytes: fromHex(hash) });
  expect(isBitcoinAddress(text)).toBe(true);
});

test.each([
  ['nothing', ''],
  ['a wrong base58 checksum', '1FzTxL9Mxnm2fdmnQEArfhzJHevwbvcH6e'],
  ['a wrong bech32 checksum', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5'],
  ['mixed case', 'Bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'],
  ['a blank in front', ' 1FzTxL9Mxnm2fdmnQEArfhzJHevwbvcH6d'],
  ['another coin', 'LVg2kJoFNg45Nbpy53h7Fe1wKyeXVRhMH9'],
  ['another segwit prefix', 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9'],
  ['version 0 with the checksum of version 1', 'bc1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd'],
  ['version 1 with 40 bytes', 'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y'],
  ['a Stacks address', 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7'],
  ['an endless text', '1'.repeat(1_000_000)],
])('a Bitcoin address with %s is rejected', (_, text) => {
  expect(isBitcoinAddress(text)).toBe(false);
  expect(parseBitcoinAddress(text)).toBeNull();
});

test('witness versions 2 to 16 are valid addresses without a PoX form', () => {
  for (const version of [2, 16]) {
    const text = bech32m.encode('bc', [version, ...bech32m.toWords(new Uint8Array(32))]);
    expect(isBitcoinAddress(text)).toBe(true);
    expect(parseBitcoinAddress(text)).toBeNull();
  }
  expect(isBitcoinAddress(bech32m.encode('bc', [17, ...bech32m.toWords(new Uint8Array(32))]))).toBe(false);
});

test("a taproot address is rejected if its program isn't on the curve (vector of BIP-340)", () => {
  const hashBytes = fromHex('eefdea4cdb677750a420fee807eacf21eb9898ae79b9768766e4faa04a2d4a34');
  expect(isBitcoinAddress(poxAddressText({ version: 6, hashBytes }, 'mainnet')!)).toBe(false);
});

describe('PoX addresses', () => {
  const poxAddress = () =>
    fc.nat({ max: 6 }).chain((version) => {
      const length = version < 5 ? 20 : 32;
      return fc
        .uint8Array({ minLength: length, maxLength: length })
        .map((hashBytes): PoxAddress => ({ version, hashBytes }));
    });

  test("every version's text decodes on every network, with script versions as 1", () => {
    assertProperty(
      fc.property(poxAddress(), fc.constantFrom('mainnet', 'testnet', 'regtest'), (address, network) => {
        const expected = address.version === 2 || address.version === 3 ? 1 : address.version;
        const text = poxAddressText(address, network)!;
        // Half of all 32-byte values are not a valid key of a taproot output.
        if (address.version !== 6) expect(isBitcoinAddress(text)).toBe(true);
        const parsed = parseBitcoinAddress(text)!;
        expect({ version: parsed.version, hashBytes: parsed.hashBytes.toHex() }).toEqual({
          version: expected,
          hashBytes: address.hashBytes.toHex(),
        });
      }),
      { always: 'each address is written and read back' },
    );
  });

  test('segwit addresses have one form per network, and legacy addresses two', () => {
    const segwit = { version: 4, hashBytes: fromHex('751e76e8199196d454941c45d1b3a323f1433bd6') };
    expect(poxAddressText(segwit, 'mainnet')).toStartWith('bc1q');
    expect(poxAddressText(segwit, 'testnet')).toStartWith('tb1q');
    expect(poxAddressText(segwit, 'regtest')).toStartWith('bcrt1q');
    const legacy = { ...segwit, version: 0 };
    expect(poxAddressText(legacy, 'regtest')).toBe(poxAddressText(legacy, 'testnet'));
  });

  test('nodes spell the segwit addresses of regtest as those of testnet, in lower case', () => {
    const [key, script] = [new Uint8Array(20).fill(7), new Uint8Array(32).fill(7)];
    for (const address of [
      { version: 4, hashBytes: key },
      { version: 5, hashBytes: script },
      { version: 6, hashBytes: script },
    ]) {
      const textOn = (network: 'mainnet' | 'testnet' | 'regtest') => poxAddressText(address, network)!;
      expect(nodeSpelling(textOn('regtest'))).toBe(textOn('testnet'));
      expect(nodeSpelling(textOn('regtest').toUpperCase())).toBe(textOn('testnet'));
      expect(nodeSpelling(textOn('testnet').toUpperCase())).toBe(textOn('testnet'));
      expect(nodeSpelling(textOn('mainnet').toUpperCase())).toBe(textOn('mainnet'));
    }
    for (const text of ['mhYeZXrSEuyf2wbJ14qZ2apG7ofMLDj9Ss', 'NONSENSE', '']) expect(nodeSpelling(text)).toBe(text);
  });

  test('an unknown version and a hash of the wrong length give only a raw form', () => {
    const unknown = { version: 7, hashBytes: new Uint8Array(32) };
    expect(poxAddressText(unknown, 'mainnet')).toBeNull();
    expect(poxAddressText({ version: 0, hashBytes: new Uint8Array(32) }, 'mainnet')).toBeNull();
    expect(poxAddressText({ version: 6, hashBytes: new Uint8Array(20) }, 'mainnet')).toBeNull();
    expect(poxAddressRaw(unknown)).toBe(`0x07${'00'.repeat(32)}`);
  });

  test('a tuple with the address decodes, bare or in a some', () => {
    assertProperty(
      fc.property(poxAddress(), (address) => {
        const tuple = poxTuple(address);
        expect(poxAddressOf(decodedValue(tuple))).toEqual(address);
        expect(poxAddressOf(decodedValue(clarity.some(tuple)))).toEqual(address);
      }),
      { always: 'each address is written and read back' },
    );
  });

  test('none, other values and tuples with other fields give no address', () => {
    const buffer = clarity.buffer(new Uint8Array(1));
    for (const bytes of [
      clarity.none(),
      clarity.uint(1),
      clarity.tuple({ version: buffer }),
      clarity.tuple({ hashbytes: buffer, version: clarity.uint(0) }),
      clarity.tuple({ hashbytes: buffer, version: clarity.buffer(new Uint8Array(2)) }),
    ]) {
      expect(poxAddressOf(decodedValue(bytes))).toBeNull();
    }
  });
});
