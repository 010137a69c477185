import { expect, test } from 'bun:test';
import { DecodeError } from '../../src/codec/bytes-reader.ts';
import { fromHex, toHex } from '../../src/codec/hex.ts';

test('hex is written with 0x in lower case', () => {
  expect(toHex(Uint8Array.of(0, 0xab, 0xff))).toBe('0x00abff');
  expect(toHex(new Uint8Array())).toBe('0x');
});

test('hex is read with or without 0x, in either case', () => {
  for (const text of ['0x00abff', '00abff', '0x00ABFF', '00aBFf']) {
    expect(fromHex(text)).toEqual(Uint8Array.of(0, 0xab, 0xff));
  }
  expect(fromHex('')).toEqual(new Uint8Array());
  expect(fromHex('0x')).toEqual(new Uint8Array());
});

test('an odd number of digits, a foreign character and a blank are rejected with their offset', () => {
  for (const [text, offset] of [
    ['0xabc', 5],
    ['0xzz', 2],
    ['abxd', 2],
    ['0x ab ', 2],
    ['0xé0', 2],
  ] as const) {
    try {
      fromHex(text);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(DecodeError);
      expect((error as DecodeError).offset).toBe(offset);
    }
  }
});
