import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { memoText } from '../../src/codec/memo.ts';
import { assertProperty } from '../support/property.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);

test.each([
  ['', ''],
  ['\0\0\0', ''],
  ['stacking reward\0\0\0\0', 'stacking reward'],
  ['\0\0paid', 'paid'],
  ['paid\0\0\0twice', 'paid twice'],
  [' a \t\r\n b ', 'a b'],
  ['a\x7fb\x1bc', 'a b c'],
  ['\ufeffhi', 'hi'],
  ['a\u200bb\u00a0c\u2028d', 'a b c d'],
  ['e\u0301', 'e\u0301'],
  ['👩‍👩‍👧‍👦 hello ⭐', '👩‍👩‍👧‍👦 hello ⭐'],
  ['🇳🇱\u2003🇳🇱', '🇳🇱 🇳🇱'],
  ['\ue000x\u{10ffff}y', 'x y'],
])('the memo %j reads %j', (memo, text) => {
  expect(memoText(utf8(memo))).toBe(text);
});

test('invalid UTF-8 in a memo becomes a blank', () => {
  expect(memoText(Uint8Array.of(0x61, 0xff, 0xc3, 0x62, 0x80))).toBe('a b');
});

test('an ASCII memo reads the same by the rule for all memos', () => {
  // A lone invalid byte takes the memo off the short way; alone at the end it adds nothing.
  assertProperty(
    fc.property(fc.array(fc.nat({ max: 127 }), { maxLength: 34 }), (codes) => {
      expect(memoText(Uint8Array.from(codes))).toBe(memoText(Uint8Array.of(...codes, 0xff)));
    }),
    { always: 'any memo is cut' },
  );
});

test('the text of any bytes has no blank at an end and no two in a row', () => {
  assertProperty(
    fc.property(fc.uint8Array({ maxLength: 34 }), (bytes) => {
      expect(memoText(bytes)).not.toMatch(/^ | $| {2}|\ufffd/);
    }),
    { always: 'any memo is read' },
  );
});
