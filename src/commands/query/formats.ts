/** Output formats for rows of a query: tables for people, CSV, JSON, and Parquet, which is written one row group at a time. */
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { exactJson } from '../../base/json.ts';
import { toHex } from '../../codec/hex.ts';
import { type CsvValue, csvLine } from '../../http/csv.ts';
import type { Form, ResultColumn, SqlValue } from '../../store/sql/result.ts';
import { printableText } from '../cli/output.ts';
import type { Format } from './options.ts';

/** A value in text and JSON; bytes become hex. */
const plainValue = (value: SqlValue): CsvValue => (value instanceof Uint8Array ? toHex(value) : value);

/** Column names; repeated ones get the number of their column as a suffix. */
function distinctNames(columns: readonly ResultColumn[]): string[] {
  const seen = new Set<string>();
  return columns.map(({ name }, i) => {
    const distinct = seen.has(name) ? `${name}:${i + 1}` : name;
    seen.add(distinct);
    return distinct;
  });
}

/** Number of rows that are read to determine the widths of columns. */
const ROWS_FOR_WIDTHS = 200;
/** Maximum width of a cell before its text is cut; transaction ids and contract identifiers fit. */
const MAX_CELL = 84;

/** The columns that a text takes on a terminal. A control character takes one, because a question mark replaces it there. */
const widthOf = (text: string): number => Bun.stringWidth(printableText(text));

const graphemes = new Intl.Segmenter();

function cut(text: string): string {
  if (widthOf(text) <= MAX_CELL) return text;
  let [start, width] = ['', 1];
  for (const { segment } of graphemes.segment(text)) {
    width += widthOf(segment);
    if (width > MAX_CELL) break;
    start += segment;
  }
  return `${start}…`;
}

interface Cell {
  text: string;
  isNumber: boolean;
}

function toCell(value: SqlValue): Cell {
  const plain = plainValue(value);
  const isNumber = typeof plain === 'number' || typeof plain === 'bigint';
  return { text: cut(String(plain ?? '').replaceAll(/[\t\r\n]/g, ' ')), isNumber };
}

function pad({ text, isNumber }: Cell, width: number): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(text)));
  return isNumber ? `${blanks}${text}` : `${text}${blanks}`;
}

const lineOf = (cells: readonly Cell[], widths: readonly number[]): string =>
  `${cells
    .map((cell, i) => pad(cell, widths[i] ?? 0))
    .join('  ')
    .trimEnd()}\n`;

/** A table for people, with the widths of the first rows. */
function* table(columns: readonly ResultColumn[], rows: Iterable<SqlValue[]>): Generator<string> {
  const head = columns.map(({ name }): Cell => ({ text: name, isNumber: false }));
  const first: Cell[][] = [];
  let widths: number[] = [];

  function* start(): Generator<string> {
    widths = head.map(({ text }, i) => Math.max(widthOf(text), ...first.map((cells) => widthOf(cells[i]?.text ?? ''))));
    yield lineOf(head, widths);
    yield lineOf(
      widths.map((width): Cell => ({ text: '-'.repeat(width), isNumber: false })),
      widths,
    );
    for (const cells of first) yield lineOf(cells, widths);
  }

  for (const row of rows) {
    const cells = row.map(toCell);
    if (widths.length > 0) {
      yield lineOf(cells, widths);
      continue;
    }
    first.push(cells);
    if (first.length === ROWS_FOR_WIDTHS) yield* start();
  }
  if (widths.length === 0) yield* start();
}

/** Maximum size of a row group. */
interface GroupSize {
  rows: number;
  /** Bytes of values. */
  bytes: number;
}

const DEFAULT_GROUP: GroupSize = { rows: 10_000, bytes: 8_000_000 };

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];
type Element = Schema[number];
type Value = bigint | number | boolean | string | Uint8Array | Date | null;

interface Kind {
  element: Omit<Element, 'name'>;
  convert(value: Exclude<SqlValue, null>): Value;
}

const text: Kind = {
  element: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  convert: (value) => (typeof value === 'string' ? value : String(plainValue(value))),
};

/** The Parquet type of each form. Amounts are texts: token amounts have up to 39 digits, and DECIMAL allows 38. */
const kinds: Readonly<Record<Form, Kind>> = {
  integer: { element: { type: 'INT64' }, convert: (value) => BigInt(value as bigint) },
  boolean: { element: { type: 'BOOLEAN' }, convert: (value) => Number(value) === 1 },
  real: { element: { type: 'DOUBLE' }, convert: Number },
  time: {
    element: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MILLIS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    },
    convert: (value) => new Date(String(value)),
  },
  bytes: { element: { type: 'BYTE_ARRAY' }, convert: (value) => value as Uint8Array },
  text,
  hex: text,
  amount: text,
  mixed: text,
};

/** Collects the parts that the writer makes. */
class Parts extends ByteWriter {
  drain(): Uint8Array {
    const part = this.getBytes().slice();
    this.index = 0;
    return part;
  }
}

const sizeOf = (value: Value): number => (typeof value === 'string' || value instanceof Uint8Array ? value.length : 8);

/** The rows of a group, by columns. */
class Group {
  rows = 0;
  bytes = 0;
  readonly columns: Value[][];
  constructor(private readonly shape: readonly Kind[]) {
    this.columns = shape.map(() => []);
  }

  add(row: readonly SqlValue[]): void {
    this.rows += 1;
    for (const [i, { convert }] of this.shape.entries()) {
      const stored = row[i] ?? null;
      const value = stored === null ? null : convert(stored);
      this.columns[i]?.push(value);
      this.bytes += sizeOf(value);
    }
  }

  isFull({ rows, bytes }: GroupSize): boolean {
    return this.rows >= rows || this.bytes >= bytes;
  }
}

/** Makes the parts of a Parquet file, compressed with zstd. Every column may be null. @param size smaller in tests */
export function* parquet(
  columns: readonly ResultColumn[],
  rows: Iterable<SqlValue[]>,
  size: GroupSize = DEFAULT_GROUP,
): Generator<Uint8Array> {
  const names = distinctNames(columns);
  const shape = columns.map(({ form }) => kinds[form]);
  const schema: Schema = [
    { name: 'root', num_children: columns.length },
    ...shape.map(({ element }, i): Element => ({ name: names[i] ?? '', repetition_type: 'OPTIONAL', ...element })),
  ];
  const parts = new Parts();
  const writer = new ParquetWriter({
    writer: parts,
    schema,
    codec: 'ZSTD',
    compressors: { ZSTD: (bytes) => Bun.zstdCompressSync(bytes) },
    createdBy: 'stackside',
  });

  function write(group: Group): Uint8Array {
    const columnData = group.columns.map((data, i) => ({ name: names[i] ?? '', data, offsetIndex: false }));
    writer.write({ columnData, rowGroupSize: group.rows });
    return parts.drain();
  }

  let group = new Group(shape);
  for (const row of rows) {
    group.add(row);
    if (!group.isFull(size)) continue;
    yield write(group);
    group = new Group(shape);
  }
  if (group.rows > 0) yield write(group);
  writer.finish();
  yield parts.drain();
}

/** Makes the parts of an output; rows are read as the parts are consumed. */
export type Encode = (columns: readonly ResultColumn[], rows: Iterable<SqlValue[]>) => Generator<string | Uint8Array>;

/** A negative amount: stays a number, though texts that begin with a minus may be formulas in spreadsheets. */
const NEGATIVE = /^-[1-9]\d*$/;

const field = (value: SqlValue): CsvValue =>
  typeof value === 'string' && NEGATIVE.test(value) ? BigInt(value) : plainValue(value);

function* csv(columns: readonly ResultColumn[], rows: Iterable<SqlValue[]>): Generator<string> {
  yield csvLine(columns.map(({ name }) => name));
  for (const row of rows) yield csvLine(row.map(field));
}

function objectText(columns: readonly ResultColumn[]): (row: SqlValue[]) => string {
  const keys = distinctNames(columns).map((name) => JSON.stringify(name));
  return (row) => `{${row.map((value, i) => `${keys[i]}:${exactJson(plainValue(value))}`).join(',')}}`;
}

function* ndjson(columns: readonly ResultColumn[], rows: Iterable<SqlValue[]>): Generator<string> {
  const textOf = objectText(columns);
  for (const row of rows) yield `${textOf(row)}\n`;
}

function* json(columns: readonly ResultColumn[], rows: Iterable<SqlValue[]>): Generator<string> {
  const textOf = objectText(columns);
  let separator = '[';
  for (const row of rows) {
    yield `${separator}\n${textOf(row)}`;
    separator = ',';
  }
  yield separator === '[' ? '[]\n' : '\n]\n';
}

/** An integer as JSON; a text if a program that reads JSON would round it. */
const safeInteger = (value: CsvValue): CsvValue =>
  typeof value === 'bigint' && !Number.isSafeInteger(Number(value)) ? String(value) : value;

/** The columns, and each row as an array: JSON of an object without its closing brace, so that the API can continue it. */
function* rowArrays(columns: readonly ResultColumn[], rows: Iterable<SqlValue[]>): Generator<string> {
  yield `{"columns":${JSON.stringify(columns.map(({ name }) => name))},"rows":[`;
  let separator = '\n';
  for (const row of rows) {
    yield `${separator}[${row.map((value) => exactJson(safeInteger(plainValue(value)))).join(',')}]`;
    separator = ',\n';
  }
  yield ']';
}

const encoders = { table, csv, ndjson, json, parquet, rows: rowArrays } satisfies Record<Format | 'rows', Encode>;
/** How rows are written: in a format of the command line, or as the API has them. */
export type Encoding = keyof typeof encoders;

/** @param printable whether to replace control characters, which a terminal would obey */
export function encoderOf(format: Encoding, printable: boolean): Encode {
  const encode: Encode = encoders[format];
  if (!printable) return encode;
  return function* (columns, rows) {
    for (const part of encode(columns, rows)) yield typeof part === 'string' ? printableText(part) : part;
  };
}

/** Minimum bytes of a part that is passed on. */
const PART_BYTES = 1 << 16;

/** Joins small parts. */
export function* inLargeParts(parts: Iterable<string | Uint8Array>): Generator<Uint8Array> {
  let text = '';
  for (const part of parts) {
    if (typeof part !== 'string') {
      yield part;
      continue;
    }
    text += part;
    if (text.length < PART_BYTES) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}
