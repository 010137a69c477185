import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { compareUtf8, lossyText, memoText, strictText, utf8Bytes } from '../../src/codec/utf8.ts';
import { assertProperty, character } from '../support/property.ts';

test('texts are ordered like their UTF-8 bytes', () => {
  const text = () =>
    fc.string({ unit: fc.constantFrom('a', 'B', 'é', '\ud7ff', '\ue000', '\uffff', '😀'), maxLength: 4 });
  assertProperty(
    fc.property(text(), text(), (a, b) => {
      expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
    { always: 'any two texts have an order', cases: 1000 },
  );
});

test('any text decodes to the same text, with or without a byte-order mark', () => {
  assertProperty(
    fc.property(fc.string({ unit: character }), (text) => {
      for (const marked of [text, `\ufeff${text}`]) {
        expect(strictText(utf8Bytes(marked))).toBe(marked);
        expect(lossyText(utf8Bytes(marked))).toBe(marked);
      }
    }),
    { always: 'any text is written and read back' },
  );
});

test('the strict decoder returns null for invalid bytes, and then continues to work', () => {
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf5, 0x80, 0x80, 0x80]]) {
    expect(strictText(Uint8Array.from(bytes))).toBeNull();
    expect(strictText(utf8Bytes('é'))).toBe('é');
  }
});

test('each maximal invalid sequence becomes one replacement character', () => {
  const parts: [number[], number][] = [
    [[0xff, 0xff], 2],
    [[0xf0, 0x9f, 0x98], 1],
    [[0xe2, 0xad], 1],
    [[0xed, 0xa0, 0x80], 3],
    [[0xc0, 0x80], 2],
  ];
  for (const [bytes, count] of parts) expect(lossyText(Uint8Array.from(bytes))).toBe('\ufffd'.repeat(count));
});

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
])('the memo %j is shown as %j', (memo, text) => {
  expect(memoText(utf8(memo))).toBe(text);
});

test('invalid UTF-8 in a memo becomes a blank', () => {
  expect(memoText(Uint8Array.of(0x61, 0xff, 0xc3, 0x62, 0x80))).toBe('a b');
});

test('an ASCII memo gives the same text on the fast path as on the general path', () => {
  // A single invalid byte takes the memo off the fast path. At the end, the byte adds no text.
  assertProperty(
    fc.property(fc.array(fc.nat({ max: 127 }), { maxLength: 34 }), (codes) => {
      expect(memoText(Uint8Array.from(codes))).toBe(memoText(Uint8Array.of(...codes, 0xff)));
    }),
    { always: 'any memo is cut' },
  );
});

test('the text of any memo lacks outer and repeated blanks', () => {
  assertProperty(
    fc.property(fc.uint8Array({ maxLength: 34 }), (bytes) => {
      expect(memoText(bytes)).not.toMatch(/^ | $| {2}|\ufffd/);
    }),
    { always: 'any memo is read' },
  );
});
