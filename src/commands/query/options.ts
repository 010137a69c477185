/** The options of `stackside sql`, and of `stackside export` for rows. */
import { extname } from 'node:path';
import { OperatorError } from '../../base/errors.ts';

export const formats = ['table', 'csv', 'ndjson', 'json', 'parquet'] as const;
export type Format = (typeof formats)[number];
export const exportFormats = ['csv', 'ndjson', 'parquet'] as const satisfies readonly Format[];
export type ExportFormat = (typeof exportFormats)[number];

export const BYTES_PER_MEGABYTE = 1_000_000;

export interface SqlOptions {
  format: Format;
  json: boolean;
  /** Seconds after which a query is cancelled. */
  timeout: number;
  /** Megabytes of memory above which a query is cancelled. */
  maxMemory: number;
  /** Maximum rows of a result; the rest is omitted. */
  maxRows: number;
  /** Whether stdin has a request of the server. */
  request: boolean;
}

export interface ExportOptions {
  /** The file to write; undefined for stdout. */
  output?: string;
  overwrite: boolean;
  table?: string;
  query?: string;
  /** Default: the format of the file name's suffix. */
  format?: ExportFormat;
  fromHeight?: number;
  toHeight?: number;
}

/** The ending of a file name in lower case without its dot, and the compression after it, such as `.gz`; empty without one. */
export function endingOf(file: string): { ending: string; compression: string } {
  const compression = /\.(gz|zst)$/.exec(file)?.[0] ?? '';
  const name = file.slice(0, file.length - compression.length);
  return { ending: extname(name).slice(1).toLowerCase(), compression };
}

/** @throws OperatorError if a terminal would get binary data */
export function requireReadable(format: Format, isTerminal: boolean): void {
  if (format !== 'parquet' || !isTerminal) return;
  throw new OperatorError(
    'Parquet is binary, and a terminal would show it as noise.',
    'Redirect the output to a file, or write a file with stackside export --output.',
  );
}
