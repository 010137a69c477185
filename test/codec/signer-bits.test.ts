import { expect, test } from 'bun:test';
import { fromHex } from '../../src/codec/hex.ts';
import { signerBits } from '../../src/codec/signer-bits.ts';

test.each([
  ['000800000001ff', '11111111'],
  ['00080000000180', '10000000'],
  ['000a00000002a540', '1010010101'],
  ['000000000000', ''],
])('the bits of 0x%s are "%s", the highest of each byte first', (hex, bits) => {
  expect(signerBits(fromHex(hex))).toBe(bits);
});

test.each([
  ['no bytes', ''],
  ['a cut count', '000800'],
  ['fewer bytes than announced', '00080000000'.padEnd(12, '2')],
  ['a byte count of 2^32 - 1', '0008ffffffffff'],
  ['more bits than the bytes hold', '000900000001ff'],
  ['more bytes than the bits need', '000800000002ffff'],
  ['bytes after the vector', '000800000001ff00'],
])('%s is no signer bit vector', (_, hex) => {
  expect(signerBits(fromHex(hex))).toBeNull();
});
