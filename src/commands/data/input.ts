/**
 * Reads the lines of a recording from a file or stdin, plain or compressed, with one line in memory at a time; and parses them
 * as rows in the detected format.
 */
import { closeSync, createReadStream, openSync, readSync, statSync } from 'node:fs';
import { MAX_SEGMENT_BYTES } from '../../archive/segment.ts';
import { OperatorError } from '../../base/errors.ts';
import { discard } from '../../base/garbage.ts';
import { onFile, operatorErrorOf } from '../../base/system-errors.ts';
import { PayloadError } from '../../chain/payload-reader.ts';
import {
  FormatError,
  formatOfLine,
  type RecordedEvent,
  type RecordingFormat,
  type RowFormat,
  recordingReader,
} from '../../chain/recording.ts';
import { strictText } from '../../codec/utf8.ts';

export interface Input {
  /** Yields each line without its end. @throws OperatorError if the file can't be read to its end */
  lines(): AsyncGenerator<Buffer>;
  /** The size of the file on disk in bytes; null for stdin and pipes, which can't be read twice. */
  size: number | null;
  /** Bytes read so far, before decompression. */
  bytesRead(): number;
}

/** The file argument for stdin. */
const STDIN = '-';

type Bytes = Uint8Array<ArrayBuffer>;

const NEWLINE = 0x0a;
/** Bytes of a read. A decompressor expands a whole read before any of it is used. */
const READ_BYTES = 1 << 16;

/** @throws OperatorError for a line that is longer than the maximum */
async function* linesOf(file: string, stream: AsyncIterable<Bytes>, maxBytes: number): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let row = 1;
  let bytesOfParts = 0;
  for await (const bytes of stream) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const last = chunk.subarray(start, end);
      const line = parts.length === 0 ? last : Buffer.concat([...parts, last]);
      // Before the line is used: the longest has 80 MB, and its parts have as much again.
      parts.forEach(discard);
      parts = [];
      bytesOfParts = 0;
      yield line;
      row += 1;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    parts.push(chunk.subarray(start));
    bytesOfParts += chunk.length - start;
    if (bytesOfParts > maxBytes) throw tooLongRow(file, row, maxBytes);
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}

const tooLongRow = (file: string, row: number, maxBytes: number): OperatorError =>
  new OperatorError(
    `Row ${row} of ${file} has more than ${maxBytes} bytes, so it is not an event.`,
    'Get a correct recording and repeat the command: imported rows are not imported twice.',
  );

type Compression = 'gzip' | 'zstd';

/** First bytes of compressed files; the name doesn't matter. */
const MAGIC: readonly (readonly [Compression, readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
];
const MAX_MAGIC_BYTES = 4;

/** The compression of a file; null for none. */
const detectCompression = (beginning: Bytes): Compression | null =>
  MAGIC.find(([, magic]) => magic.every((byte, index) => beginning[index] === byte))?.[0] ?? null;

/** Returns the compression of a file; null for none. */
export function fileCompression(file: string): Compression | null {
  const fd = openSync(file, 'r');
  try {
    const beginning = new Uint8Array(MAX_MAGIC_BYTES);
    return detectCompression(beginning.subarray(0, readSync(fd, beginning)));
  } finally {
    closeSync(fd);
  }
}

/** The chunks of a stream, of which the first is long enough to detect the kind of file. */
async function* withBeginning(stream: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
  let beginning: Bytes | null = new Uint8Array();
  for await (const chunk of stream) {
    if (beginning === null) {
      yield chunk;
      continue;
    }
    beginning = beginning.length === 0 ? chunk : Buffer.concat([beginning, chunk]);
    if (beginning.length < MAX_MAGIC_BYTES) continue;
    yield beginning;
    beginning = null;
  }
  if (beginning !== null) yield beginning;
}

/** The bytes of a file, in chunks. @throws OperatorError if it can't be read */
async function* chunksOf(file: string, stream: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
  try {
    yield* withBeginning(stream);
  } catch (error) {
    throw operatorErrorOf(error, file) ?? error;
  }
}

/** A stream of a generator's chunks, read on demand. */
const streamOf = (chunks: AsyncGenerator<Bytes>): ReadableStream<Bytes> =>
  new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });

/** Decompresses a stream. @throws OperatorError for damaged or truncated data */
async function* decompress(
  file: string,
  compression: Compression,
  chunks: AsyncGenerator<Bytes>,
): AsyncGenerator<Bytes> {
  try {
    // Not node:zlib, whose streams accept truncated zstd data.
    yield* streamOf(chunks).pipeThrough(new DecompressionStream(compression));
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new OperatorError(
      `${file} is truncated or damaged: its ${compression} data can't be read to the end.`,
      'Get the complete file and repeat the command: imported rows are not imported twice.',
      { cause },
    );
  }
}

async function* prepend(first: Bytes, rest: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
  yield first;
  yield* rest;
}

async function* unpack(file: string, stream: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
  const chunks = chunksOf(file, stream);
  try {
    const beginning = await chunks.next();
    if (beginning.done === true) return;
    const compression = detectCompression(beginning.value);
    const all = prepend(beginning.value, chunks);
    yield* compression === null ? all : decompress(file, compression, all);
  } finally {
    await chunks.return(undefined);
  }
}

function sizeOf(file: string): number | null {
  const stats = onFile(file, () => statSync(file));
  if (stats.isFile()) return stats.size;
  if (!stats.isDirectory()) return null;
  throw new OperatorError(`${file} is a directory.`, 'Give the path of an event recording, or - for stdin.');
}

/** @throws OperatorError if there is no such file */
export function requireInput(file: string): void {
  if (file !== STDIN) sizeOf(file);
}

/**
 * Opens a recording. Its compression is detected by its first bytes, not by its name.
 * @param file a path, or {@link STDIN}
 * @param maxBytes maximum bytes of a row
 * @throws OperatorError if there is no such file
 */
export function openInput(file: string, maxBytes = MAX_SEGMENT_BYTES): Input {
  if (file === STDIN) {
    const lines = () => linesOf('stdin', unpack('stdin', process.stdin), maxBytes);
    return { lines, size: null, bytesRead: () => 0 };
  }
  const size = sizeOf(file);
  const source = createReadStream(file, { highWaterMark: READ_BYTES });
  return { lines: () => linesOf(file, unpack(file, source), maxBytes), size, bytesRead: () => source.bytesRead };
}

const BACKSLASH = 0x5c;

/** Decodes a row. @throws PayloadError for invalid UTF-8, since replacement characters would alter the event */
function textOf(bytes: Uint8Array): string {
  const text = strictText(bytes);
  if (text === null) throw new PayloadError('it is not UTF-8');
  return text;
}

const REMEDY =
  "Choose the format: --format copy (with the escapes of PostgreSQL's COPY) or --format raw (without them).";

/** Returns the format that a row shows; null if it shows none, or can't be read, which the import reports. */
function detectFormat(bytes: Uint8Array): RecordingFormat | null {
  if (!bytes.includes(BACKSLASH)) return null;
  try {
    return formatOfLine(textOf(bytes));
  } catch (error) {
    if (error instanceof PayloadError) return null;
    throw error;
  }
}

/** Finds the first row of a recording that shows its format; null if none does. */
async function findFormat(file: string): Promise<RowFormat | null> {
  let row = 0;
  for await (const bytes of openInput(file).lines()) {
    row += 1;
    const format = detectFormat(bytes);
    if (format !== null) return { format, row };
  }
  return null;
}

/**
 * Reads rows one by one. If a row is valid in both formats, and no row before it shows which one is meant, the whole file is
 * searched for a row that does.
 * @param canReread whether the file can be read twice
 * @param fixedFormat the format that the operator named
 * @returns a function from a row and its number to its event; null for a row without one. It throws PayloadError, and
 *   OperatorError if rows disagree on the format or none shows it
 */
export function rowReader(file: string, canReread: boolean, fixedFormat: RecordingFormat | null) {
  const reader = recordingReader(fixedFormat);

  async function decideFormat(cause: FormatError): Promise<void> {
    const { row, rowFormat: earlier } = cause;
    if (earlier !== null) {
      const format = `the format that row ${earlier.row} shows, ${earlier.format}`;
      throw new OperatorError(`Row ${row} of ${file} is not written in ${format}.`, REMEDY, { cause });
    }
    const match = canReread ? await findFormat(file) : null;
    if (match !== null) return reader.decide(match);
    const problem = `Row ${row} of ${file} can be read in two ways`;
    const reason = canReread ? 'no row shows which is meant' : 'no row before it shows which is meant';
    throw new OperatorError(`${problem}, and ${reason}.`, REMEDY, { cause });
  }

  return async (bytes: Uint8Array, row: number): Promise<RecordedEvent | null> => {
    const line = textOf(bytes);
    try {
      return reader.read(line, row);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      await decideFormat(error);
      return reader.read(line, row);
    }
  };
}
