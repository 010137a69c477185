/** What a thread that runs a query and the main thread say to each other. */
import type { Format } from './formats.ts';

/** The data that the thread starts with. */
export interface QueryStart {
  directory: string;
  sql: string;
  format: Format;
  /** Whether a terminal shows the output. */
  printable: boolean;
  /** Rows after which the result is cut. */
  maxRows: number;
}

/** What became of a query. */
export interface QueryEnd {
  rows: number;
  /** Whether the result has more rows than were asked for. */
  cut: boolean;
}

/** A message from the thread. It waits for an answer to each part. */
export type FromQuery =
  | { kind: 'part'; bytes: Uint8Array }
  | { kind: 'end'; end: QueryEnd }
  /** An OperatorError of the thread. */
  | { kind: 'refused'; problem: string; remedy: string; exitCode: number };
