/** Lines of a recording, from a file or stdin, plain or compressed; never more than a line in memory. */
import { createReadStream, existsSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { OperatorError } from '../errors.ts';

export interface Input {
  lines(): AsyncGenerator<Buffer>;
  /** Bytes of the file, as it is on disk; null for stdin. */
  size: number | null;
  /** Bytes read of it so far. */
  bytesRead(): number;
}

const NEWLINE = 0x0a;

async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const last = chunk.subarray(start, end);
      const line = parts.length === 0 ? last : Buffer.concat([...parts, last]);
      // Before the line is used: the longest has 80 MB, and its parts as much again.
      parts = [];
      yield line;
      start = end + 1;
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}

const decompressor = (file: string) =>
  file.endsWith('.gz') ? createGunzip() : file.endsWith('.zst') ? createZstdDecompress() : null;

/** @param file a path, or `-` for stdin, which is plain */
export function openInput(file: string): Input {
  if (file !== '-' && !existsSync(file)) {
    throw new OperatorError(`File does not exist: ${file}`, 'Give the path of an event recording, or - for stdin.');
  }
  const opened = file === '-' ? null : createReadStream(file, { highWaterMark: 1 << 18 });
  const source: Readable = opened ?? process.stdin;
  const unpacked = decompressor(file);
  return {
    async *lines() {
      if (unpacked === null) {
        yield* linesOf(source);
        return;
      }
      source.on('error', (error) => unpacked.destroy(error));
      source.pipe(unpacked);
      yield* linesOf(unpacked);
    },
    size: file === '-' ? null : statSync(file).size,
    bytesRead: () => opened?.bytesRead ?? 0,
  };
}
