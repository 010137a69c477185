/**
 * The rows of an event recording: what deployments export their raw events to and exchange. Four columns between tabs,
 * `id`, `receive_timestamp`, `event_path`, `payload`, with the escapes of PostgreSQL's COPY text format.
 */

export interface RecordedEvent {
  id: number;
  /** Unix microseconds. */
  receivedAt: number;
  path: string;
  /** JSON. */
  text: string;
}

/** A row that can't be read. */
export class RowError extends Error {
  override readonly name = 'RowError';
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

const escaped = (text: string): string =>
  text.replace(/[\\\b\t\n\v\f\r]/g, (character) => ESCAPES[character] ?? character);
const unescaped = (text: string): string =>
  text.replace(/\\(.)/gs, (_, character: string) => UNESCAPED[character] ?? character);

const MICROSECONDS = 1_000_000;

/** `2022-09-13 00:12:27.103+00`: UTC, trailing zeros of the fraction cut. */
function timestampText(microseconds: number): string {
  const seconds = Math.floor(microseconds / MICROSECONDS);
  const clock = new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const fraction = String(microseconds - seconds * MICROSECONDS)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return `${clock}${fraction === '' ? '' : `.${fraction}`}+00`;
}

const TIMESTAMP = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00(?::?00)?)$/;

function timestampOf(text: string): number {
  const match = TIMESTAMP.exec(text);
  const milliseconds = match === null ? Number.NaN : Date.parse(`${match[1]}T${match[2]}Z`);
  if (Number.isNaN(milliseconds)) {
    throw new RowError(`receive_timestamp "${text.slice(0, 40)}" is not a time such as 2022-09-13 00:12:27.103+00`);
  }
  return milliseconds * 1000 + Number((match?.[3] ?? '').slice(0, 6).padEnd(6, '0'));
}

/** A row without its line end. */
export const recordingRow = ({ id, receivedAt, path, text }: RecordedEvent): string =>
  `${id}\t${timestampText(receivedAt)}\t${path}\t${escaped(text)}`;

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/**
 * Reads rows one after the other. Some recordings were written without escapes: from the first row on that is JSON only
 * as it stands, rows are taken as they stand.
 * @returns a function from a line to its event; null for an empty line and COPY's end mark
 */
export function recordingReader(): (line: string) => RecordedEvent | null {
  let verbatim = false;
  const payloadOf = (column: string): string => {
    if (verbatim || !column.includes('\\')) return column;
    const text = unescaped(column);
    if (isJson(text)) return text;
    if (isJson(column)) {
      verbatim = true;
      return column;
    }
    throw new RowError('payload is not JSON');
  };
  return (line) => {
    if (line === '' || line === '\\.') return null;
    const first = line.indexOf('\t');
    const second = line.indexOf('\t', first + 1);
    const third = line.indexOf('\t', second + 1);
    if (first < 0 || second < 0 || third < 0) {
      throw new RowError('a row has four columns between tabs: id, receive_timestamp, event_path, payload');
    }
    const idText = line.slice(0, first);
    if (!/^\d{1,15}$/.test(idText)) throw new RowError(`id "${idText.slice(0, 40)}" is not a number`);
    return {
      id: Number(idText),
      receivedAt: timestampOf(line.slice(first + 1, second)),
      path: line.slice(second + 1, third),
      text: payloadOf(line.slice(third + 1)),
    };
  };
}
