/** The forms in which rows of a query leave the program. */
import { exactJson } from '../../codec/exact-number.ts';
import { type CsvValue, csvLine } from '../../http/csv.ts';
import type { ResultColumn, SqlValue } from '../../store/sql/result.ts';
import { printableText } from '../cli/printable.ts';
import type { Format } from './options.ts';
import { parquet } from './parquet.ts';
import { tableText } from './table.ts';
import { distinctNames, shown } from './values.ts';

/** Makes parts of an output from rows, which are read as the parts are taken. */
export type Encode = (columns: readonly ResultColumn[], rows: Iterable<SqlValue[]>) => Generator<string | Uint8Array>;

/** An amount below zero: a number, so that its minus is not taken for a formula's. */
const NEGATIVE = /^-[1-9]\d*$/;

const field = (value: SqlValue): CsvValue =>
  typeof value === 'string' && NEGATIVE.test(value) ? BigInt(value) : shown(value);

function* csv(columns: readonly ResultColumn[], rows: Iterable<SqlValue[]>): Generator<string> {
  yield csvLine(columns.map(({ name }) => name));
  for (const row of rows) yield csvLine(row.map(field));
}

/** The text of a row as a JSON object. */
function objectText(columns: readonly ResultColumn[]): (row: SqlValue[]) => string {
  const keys = distinctNames(columns).map((name) => JSON.stringify(name));
  return (row) => `{${row.map((value, i) => `${keys[i]}:${exactJson(shown(value))}`).join(',')}}`;
}

function* ndjson(columns: readonly ResultColumn[], rows: Iterable<SqlValue[]>): Generator<string> {
  const textOf = objectText(columns);
  for (const row of rows) yield `${textOf(row)}\n`;
}

function* json(columns: readonly ResultColumn[], rows: Iterable<SqlValue[]>): Generator<string> {
  const textOf = objectText(columns);
  let before = '[';
  for (const row of rows) {
    yield `${before}\n${textOf(row)}`;
    before = ',';
  }
  yield before === '[' ? '[]\n' : '\n]\n';
}

function* table(columns: readonly ResultColumn[], rows: Iterable<SqlValue[]>): Generator<string> {
  yield* tableText(
    columns.map(({ name }) => name),
    rows,
    shown,
  );
}

const encoders: Readonly<Record<Format, Encode>> = { table, csv, ndjson, json, parquet };

/** @param printable whether control characters become question marks, since a terminal would obey them */
export function encoderOf(format: Format, printable: boolean): Encode {
  const encode = encoders[format];
  if (!printable) return encode;
  return function* (columns, rows) {
    for (const part of encode(columns, rows)) yield typeof part === 'string' ? printableText(part) : part;
  };
}

/** Bytes of a part that is handed on. */
const PART_BYTES = 1 << 16;

/** Puts small parts together. */
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
