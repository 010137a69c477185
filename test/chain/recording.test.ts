import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { MAX_FOREIGN_DEPTH } from '../../src/base/json.ts';
import { PayloadError } from '../../src/chain/payload-reader.ts';
import {
  FormatError,
  formatOfLine,
  recordingFormats,
  recordingReader,
  recordingRow,
} from '../../src/chain/recording.ts';
import { assertProperty, Seen } from '../support/property.ts';

/** JSON with every character that a row writes differently, between its values too. */
const jsonText = fc
  .tuple(fc.jsonValue(), fc.array(fc.constantFrom('\\', '\b', '\t', '\n', '\v', '\f', '\r', '"', '☕', '\\n', 'N')))
  .chain(([value, parts]) =>
    fc.constantFrom('', '\t', '\n').map((gap) => JSON.stringify([value, parts.join('')], null, gap)),
  );
/** The text between the quotes of a string. */
const jsonPart = fc.constantFrom('\\\\', '\\"', '\\n', '\\t', '\\/', '\\u0001', '\\u005c', 'n', 'new', ',', '☕', 'C:');
const readOne = (row: string) => recordingReader().read(row, 1);
const path = fc.constantFrom('/new_block', '/new_burn_block', '/attachments/new');

test('any event decodes from its row unchanged', () => {
  assertProperty(
    fc.property(
      fc.record({ id: fc.nat(), receivedAt: fc.integer({ min: 0, max: 4_000_000_000_000_000 }), path, text: jsonText }),
      (event) => {
        const row = recordingRow(event);
        expect(row).not.toContain('\n');
        expect(readOne(row)).toEqual(event);
      },
    ),
    { always: 'each event is written and read back', cases: 500 },
  );
});

test('a row has the format of a PostgreSQL export', () => {
  const event = { id: 8, receivedAt: 1_663_027_947_103_000, path: '/new_block', text: '{"a": "tab \\t, quote \\""}' };
  expect(recordingRow(event)).toBe('8\t2022-09-13 00:12:27.103+00\t/new_block\t{"a": "tab \\\\t, quote \\\\""}');
});

test('trailing zeros of a fraction are omitted, and a whole second is written without a fraction', () => {
  const timeOf = (receivedAt: number) => recordingRow({ id: 1, receivedAt, path: '/p', text: '1' }).split('\t')[1];
  expect(timeOf(1_000_000)).toBe('1970-01-01 00:00:01+00');
  expect(timeOf(1_000_001)).toBe('1970-01-01 00:00:01.000001+00');
  expect(timeOf(1_500_000)).toBe('1970-01-01 00:00:01.5+00');
});

test('COPY escapes are decoded, and a backslash before any other character is removed', () => {
  const text = readOne('1\t2022-09-13 00:12:27+00\t/p\t["a\\\\nb",\\n\\t\\r\\1]')?.text;
  expect(text).toBe('["a\\nb",\n\t\r1]');
});

/** Reads rows with these columns through one reader. */
function readAll(columns: readonly string[], reader = recordingReader()): (string | undefined)[] {
  return columns.map((column, index) => reader.read(line(column), index + 1)?.text);
}
const line = (column: string): string => `1\t2022-09-13 00:12:27+00\t/p\t${column}`;
const QUOTED_RAW = '{"a":"say \\"hello\\""}';
const QUOTED_COPY = '{"a":"say \\\\"hello\\\\""}';
/** A path as it is, or with COPY's escapes a line end. */
const EITHER = '{"a":"C:\\\\new"}';

test('a recording with a row that is only valid without escapes is read without escapes', () => {
  expect(readAll([QUOTED_RAW, EITHER, '"a\\u0001b"', '"a\\/b"'])).toEqual([
    QUOTED_RAW,
    EITHER,
    '"a\\u0001b"',
    '"a\\/b"',
  ]);
});

test('a recording with a row that is only valid with escapes is read with escapes', () => {
  expect(readAll([QUOTED_COPY, EITHER])).toEqual([QUOTED_RAW, '{"a":"C:\\new"}']);
});

test('a single backslash that COPY never writes means a row without escapes', () => {
  for (const column of ['"a\\u0001b"', '"\\ud83d\\ude00"', '"a\\/b"', '["a\\",\\"b"]'])
    expect(formatOfLine(line(column))).toBe('raw');
  expect(formatOfLine(line(EITHER))).toBeNull();
  expect(formatOfLine(line('{"a":1}'))).toBeNull();
});

test('an ambiguous row is rejected, and read once a later row shows the format', () => {
  for (const [format, text] of [
    ['raw', EITHER],
    ['copy', '{"a":"C:\\new"}'],
  ] as const) {
    const reader = recordingReader();
    expect(() => readAll(['{}', EITHER], reader)).toThrow(new FormatError(2, null));
    reader.decide({ format, row: 9 });
    expect(reader.read(line(EITHER), 2)?.text).toBe(text);
  }
});

test('a row valid only in another format than earlier rows is rejected with both row numbers', () => {
  for (const columns of [
    [QUOTED_RAW, '{}', QUOTED_COPY],
    [QUOTED_COPY, '{}', QUOTED_RAW],
    [QUOTED_COPY, '{}', '"a\\u0001b"'],
  ]) {
    let error: unknown;
    try {
      readAll(columns);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(FormatError);
    expect(error).toMatchObject({ row: 3, rowFormat: { row: 1 } });
  }
});

test('a format set by the operator applies to every row', () => {
  expect(readAll([QUOTED_RAW, EITHER], recordingReader('raw'))).toEqual([QUOTED_RAW, EITHER]);
  expect(readAll([EITHER, QUOTED_COPY], recordingReader('copy'))).toEqual(['{"a":"C:\\new"}', QUOTED_RAW]);
  for (const [format, column] of [
    ['raw', QUOTED_COPY],
    ['copy', QUOTED_RAW],
  ] as const) {
    expect(() => readAll([column], recordingReader(format))).toThrow(PayloadError);
  }
});

/** JSON as nodes write it: no characters that a row must escape. */
const compactJson = fc.array(jsonPart, { maxLength: 6 }).map((parts) => `["${parts.join('')}"]`);

test('events of any text read back from their recording, separately and together', () => {
  assertProperty(
    fc.property(fc.array(fc.oneof(compactJson, jsonText), { minLength: 1, maxLength: 8 }), (texts) => {
      const rows = texts.map((text, index) => recordingRow({ id: index, receivedAt: 0, path: '/p', text }));
      const reader = recordingReader();
      expect(rows.map((row, index) => reader.read(row, index + 1)?.text)).toEqual(texts);
    }),
    { always: 'each text is written and read back', cases: 500 },
  );
});

test('a recording without escapes is read unchanged or rejected', () => {
  const seen = new Seen({ 'read unescaped': 50 });
  assertProperty(
    fc.property(fc.array(compactJson, { minLength: 1, maxLength: 8 }), (texts) => {
      const reader = recordingReader();
      for (const [index, text] of texts.entries()) {
        try {
          expect(reader.read(line(text), index + 1)?.text).toBe(text);
          seen.add('read unescaped');
        } catch (error) {
          if (!(error instanceof FormatError)) throw error;
          return;
        }
      }
    }),
    { seen, cases: 500 },
  );
});

test('a row with COPY escapes that would also be valid without them gets a backslash that COPY drops', () => {
  const row = recordingRow({ id: 1, receivedAt: 0, path: '/p', text: '{"a":"C:\\new"}' });
  expect(row).toEndWith('\t/p\t\\{"a":"C:\\\\new"}');
  expect(recordingFormats.filter((format) => format === formatOfLine(row))).toEqual(['copy']);
});

for (const [text, microseconds] of [
  ['2022-09-13 00:12:27.103+00', 1_663_027_947_103_000],
  ['2022-09-13 00:12:27+00', 1_663_027_947_000_000],
  ['2022-09-13 00:12:27.000001+00:00', 1_663_027_947_000_001],
  ['2025-10-16T16:10:40.482Z', 1_760_631_040_482_000],
  ['2025-10-16T16:10:40Z', 1_760_631_040_000_000],
] as const) {
  test(`the time ${text} is read to the microsecond`, () => {
    expect(readOne(`1\t${text}\t/p\t1`)?.receivedAt).toBe(microseconds);
  });
}

for (const [title, row, message] of [
  ['fewer than four columns', '1\t2022-09-13 00:12:27+00\t/new_block', 'four columns'],
  ['an id that is no number', 'x\t2022-09-13 00:12:27+00\t/p\t1', 'id "x"'],
  ['no id', '\t2022-09-13 00:12:27+00\t/p\t1', 'id ""'],
  ['a time of another zone', '1\t2022-09-13 00:12:27+02\t/p\t1', 'receive_timestamp "2022-09-13 00:12:27+02"'],
  ['a month that does not exist', '1\t2022-13-13 00:12:27+00\t/p\t1', 'receive_timestamp'],
  [
    'a payload that is JSON neither escaped nor unescaped',
    '1\t2022-09-13 00:12:27+00\t/p\t{"a\\":',
    'payload is not JSON',
  ],
] as const) {
  test(`a row with ${title} is rejected`, () => {
    const read = () => readOne(row);
    expect(read).toThrow(PayloadError);
    expect(read).toThrow(message);
  });
}

test("an empty line and COPY's end mark contain no event", () => {
  expect(readOne('')).toBeNull();
  expect(readOne('\\.')).toBeNull();
});

test('a payload nested too deeply is rejected in every format', () => {
  const deep = (levels: number) => `${'{"a\\\\":'.repeat(levels)}1${'}'.repeat(levels)}`;
  for (const reader of [recordingReader(), recordingReader('copy'), recordingReader('raw')]) {
    expect(() => readAll([deep(1_000_000)], reader)).toThrow(PayloadError);
  }
  expect(readAll([deep(MAX_FOREIGN_DEPTH)], recordingReader('raw'))).toHaveLength(1);
});
