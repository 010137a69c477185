import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { RowError, recordingReader, recordingRow } from '../../src/chain/recording.ts';
import { assertProperty } from '../support/property.ts';

/** JSON with every character that a row writes differently, between its values too. */
const jsonText = fc
  .tuple(fc.jsonValue(), fc.array(fc.constantFrom('\\', '\b', '\t', '\n', '\v', '\f', '\r', '"', '☕', '\\n', 'N')))
  .chain(([value, parts]) =>
    fc.constantFrom('', '\t', '\n').map((gap) => JSON.stringify([value, parts.join('')], null, gap)),
  );
const path = fc.constantFrom('/new_block', '/new_burn_block', '/attachments/new');

test('any event comes back from its row as it was', () => {
  assertProperty(
    fc.property(
      fc.record({ id: fc.nat(), receivedAt: fc.integer({ min: 0, max: 4_000_000_000_000_000 }), path, text: jsonText }),
      (event) => {
        const row = recordingRow(event);
        expect(row).not.toContain('\n');
        expect(recordingReader()(row)).toEqual(event);
      },
    ),
    { cases: 500 },
  );
});

test('a row is written as PostgreSQL exports it', () => {
  const event = { id: 8, receivedAt: 1_663_027_947_103_000, path: '/new_block', text: '{"a": "tab \\t, quote \\""}' };
  expect(recordingRow(event)).toBe('8\t2022-09-13 00:12:27.103+00\t/new_block\t{"a": "tab \\\\t, quote \\\\""}');
});

test('zeros at the end of a fraction are left out, and a whole second has none', () => {
  const at = (receivedAt: number) => recordingRow({ id: 1, receivedAt, path: '/p', text: '1' }).split('\t')[1];
  expect(at(1_000_000)).toBe('1970-01-01 00:00:01+00');
  expect(at(1_000_001)).toBe('1970-01-01 00:00:01.000001+00');
  expect(at(1_500_000)).toBe('1970-01-01 00:00:01.5+00');
});

test('the escapes of COPY that JSON can hold are read, and a backslash before any other character stands for the character', () => {
  const text = recordingReader()('1\t2022-09-13 00:12:27+00\t/p\t["a\\\\nb",\\n\\t\\r\\1]')?.text;
  expect(text).toBe('["a\\nb",\n\t\r1]');
});

test('from the first row on that is JSON only as it stands, rows are taken as they stand', () => {
  const read = recordingReader();
  const row = (text: string) => read(`1\t2022-09-13 00:12:27+00\t/p\t${text}`)?.text;
  expect(row('{"a":"\\\\n"}')).toBe('{"a":"\\n"}');
  expect(row('{"a":"say \\"hello\\""}')).toBe('{"a":"say \\"hello\\""}');
  expect(row('{"a":"\\\\n"}')).toBe('{"a":"\\\\n"}');
});

for (const [text, microseconds] of [
  ['2022-09-13 00:12:27.103+00', 1_663_027_947_103_000],
  ['2022-09-13 00:12:27+00', 1_663_027_947_000_000],
  ['2022-09-13 00:12:27.000001+00:00', 1_663_027_947_000_001],
  ['2025-10-16T16:10:40.482Z', 1_760_631_040_482_000],
  ['2025-10-16T16:10:40Z', 1_760_631_040_000_000],
] as const) {
  test(`the time ${text} is read to the microsecond`, () => {
    expect(recordingReader()(`1\t${text}\t/p\t1`)?.receivedAt).toBe(microseconds);
  });
}

for (const [what, row, message] of [
  ['fewer than four columns', '1\t2022-09-13 00:12:27+00\t/new_block', 'four columns'],
  ['an id that is no number', 'x\t2022-09-13 00:12:27+00\t/p\t1', 'id "x"'],
  ['no id', '\t2022-09-13 00:12:27+00\t/p\t1', 'id ""'],
  ['a time of another zone', '1\t2022-09-13 00:12:27+02\t/p\t1', 'receive_timestamp "2022-09-13 00:12:27+02"'],
  ['a month that does not exist', '1\t2022-13-13 00:12:27+00\t/p\t1', 'receive_timestamp'],
  [
    'a payload that is JSON neither escaped nor as it stands',
    '1\t2022-09-13 00:12:27+00\t/p\t{"a\\":',
    'payload is not JSON',
  ],
] as const) {
  test(`a row with ${what} is refused`, () => {
    const read = () => recordingReader()(row);
    expect(read).toThrow(RowError);
    expect(read).toThrow(message);
  });
}

test('an empty line and the end mark of COPY hold no event', () => {
  expect(recordingReader()('')).toBeNull();
  expect(recordingReader()('\\.')).toBeNull();
});
