/**
 * Rows of event recordings, a format in which deployments export and exchange raw events. A row has four columns,
 * separated by tabs: `id`, `receive_timestamp`, `event_path`, `payload`. Most recordings use the escapes of
 * PostgreSQL's COPY text format (`copy`), some have no escapes (`raw`), and a recording doesn't declare its format:
 * `"C:\\new"` is a path in one format and contains a line break in the other. Each payload with a backslash is
 * therefore parsed both ways. If JSON or COPY's rules allow only one format, the row shows the format of the whole
 * recording. If they allow both, Stackside doesn't guess.
 */
import { parsedJson } from '../base/json.ts';
import { utcMicroseconds } from '../base/utc-time.ts';
import { PayloadError } from './payload-reader.ts';

export interface RecordedEvent {
  id: number;
  /** Time of receipt, in Unix microseconds. */
  receivedAt: number;
  path: string;
  /** The payload, as JSON. */
  text: string;
}

/** The formats of a recording: with COPY's escapes, or without escapes. */
export const recordingFormats = ['copy', 'raw'] as const;
export type RecordingFormat = (typeof recordingFormats)[number];

/** The format of a recording, and the number of the row that shows it. The first row is 1. */
export interface RowFormat {
  format: RecordingFormat;
  row: number;
}

/**
 * Thrown if a row is a valid event in both formats and no earlier row shows the format, or if a row is valid only in
 * another format than the format that earlier rows show.
 */
export class FormatError extends Error {
  override readonly name = 'FormatError';
  constructor(
    readonly row: number,
    /** Null if no row shows the format. */
    readonly rowFormat: RowFormat | null,
  ) {
    super(
      rowFormat === null
        ? `row ${row} can be read with and without the escapes of COPY`
        : `row ${row} is not written in the format that row ${rowFormat.row} shows, ${rowFormat.format}`,
    );
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
};
const UNESCAPED: Readonly<Record<string, string>> = { b: '\b', t: '\t', n: '\n', v: '\v', f: '\f', r: '\r' };

const escapeText = (text: string): string =>
  text.replace(/[\\\b\t\n\v\f\r]/g, (character) => ESCAPES[character] ?? character);
const unescapeText = (text: string): string =>
  text.replace(/\\(.)/gs, (_, character: string) => UNESCAPED[character] ?? character);

const MICROSECONDS = 1_000_000;

/** Formats a time in UTC, without trailing zeros of the fraction: `2022-09-13 00:12:27.103+00`. */
function timestampText(microseconds: number): string {
  const seconds = Math.floor(microseconds / MICROSECONDS);
  const clock = new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const fraction = String(microseconds - seconds * MICROSECONDS)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return `${clock}${fraction === '' ? '' : `.${fraction}`}+00`;
}

const TIMESTAMP = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|\+00(?::?00)?)$/;

function parseTimestamp(text: string): number {
  const time = TIMESTAMP.test(text) ? utcMicroseconds(text) : null;
  if (time === null) {
    throw new PayloadError(`receive_timestamp "${text.slice(0, 40)}" is not a time such as 2022-09-13 00:12:27.103+00`);
  }
  return time;
}

const isJson = (text: string): boolean => parsedJson(text) !== undefined;

/**
 * Writes a payload in COPY's format. If the result were also valid JSON without COPY's rules, its first bracket or
 * quote gets a backslash, which COPY ignores. The row can then be read in only one way.
 */
function payloadColumn(text: string): string {
  const column = escapeText(text);
  return column.includes('\\') && isJson(column) ? column.replace(/[{["]/, '\\$&') : column;
}

/** Returns a row in COPY's format without its line end. @param event its text must be JSON */
export const recordingRow = ({ id, receivedAt, path, text }: RecordedEvent): string =>
  `${id}\t${timestampText(receivedAt)}\t${path}\t${payloadColumn(text)}`;

/**
 * Returns the formats in which a payload is valid. COPY doubles every backslash of JSON, so a single backslash excludes
 * COPY.
 */
function formatsOf(column: string): readonly RecordingFormat[] {
  const text = unescapeText(column);
  const raw = isJson(column);
  const copy = (!raw || escapeText(text) === column) && isJson(text);
  return recordingFormats.filter((format) => (format === 'copy' ? copy : raw));
}

const TAB = 0x09;

/** The line that COPY may write after the last row. */
const END_MARK = '\\.';

const MAX_ID = 15;
const parseId = (text: string): number | null => (/^\d+$/.test(text) && text.length <= MAX_ID ? Number(text) : null);

/** Returns the id of a row in bytes; null if the row doesn't begin with an id. */
export function rowId(line: Uint8Array): number | null {
  const end = line.subarray(0, MAX_ID + 1).indexOf(TAB);
  return end < 0 ? null : parseId(String.fromCharCode(...line.subarray(0, end)));
}

/** Returns the offsets at which the second to the fourth column of a line start. */
function columnStarts(line: string): [timestamp: number, path: number, payload: number] {
  const first = line.indexOf('\t');
  const second = line.indexOf('\t', first + 1);
  const third = line.indexOf('\t', second + 1);
  if (first < 0 || second < 0 || third < 0) {
    throw new PayloadError('a row has four columns between tabs: id, receive_timestamp, event_path, payload');
  }
  return [first + 1, second + 1, third + 1];
}

/**
 * Returns the format that a line shows; null if the line is valid in both formats or in neither.
 * @throws PayloadError if it doesn't have four columns
 */
export function formatOfLine(line: string): RecordingFormat | null {
  if (!line.includes('\\') || line === END_MARK) return null;
  const [, , payload] = columnStarts(line);
  const formats = formatsOf(line.slice(payload));
  return formats.length === 1 ? (formats[0] ?? null) : null;
}

/** Makes a reader of a recording's lines. @param fixedFormat the format; null if it is unknown */
export function recordingReader(fixedFormat: RecordingFormat | null = null) {
  let rowFormat: RowFormat | null = null;

  function parsePayload(column: string, row: number): string {
    if (!column.includes('\\')) return column;
    if (fixedFormat !== null) {
      const text = fixedFormat === 'raw' ? column : unescapeText(column);
      if (!isJson(text)) throw new PayloadError(`payload is not JSON in the format ${fixedFormat}`);
      return text;
    }
    const formats = formatsOf(column);
    const [firstFormat] = formats;
    if (firstFormat === undefined) throw new PayloadError('payload is not JSON');
    if (formats.length === 1) rowFormat ??= { format: firstFormat, row };
    if (rowFormat === null || !formats.includes(rowFormat.format)) throw new FormatError(row, rowFormat);
    return rowFormat.format === 'raw' ? column : unescapeText(column);
  }

  return {
    /**
     * Reads the next line, without its end.
     * @param row its number in the recording; the first row is 1
     * @returns its event; null for an empty line and COPY's end mark
     * @throws PayloadError, FormatError (call `decide` to continue)
     */
    read(line: string, row: number): RecordedEvent | null {
      if (line === '' || line === END_MARK) return null;
      const [timestamp, path, payload] = columnStarts(line);
      const idText = line.slice(0, timestamp - 1);
      const id = parseId(idText);
      if (id === null) throw new PayloadError(`id "${idText.slice(0, 40)}" is not a number`);
      const receivedAt = parseTimestamp(line.slice(timestamp, path - 1));
      const text = parsePayload(line.slice(payload), row);
      return { id, receivedAt, path: line.slice(path, payload - 1), text };
    },
    /** Sets the format that a later row shows. The unreadable line can then be read again. */
    decide(shownFormat: RowFormat): void {
      rowFormat = shownFormat;
    },
  };
}
