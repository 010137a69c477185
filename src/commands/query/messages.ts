/** What a thread that runs a query and the main thread say to each other. */
import type { AskedHeights, ExportedBlocks } from '../../store/sql/view-rows.ts';
import type { Format } from './options.ts';

/** The rows that are wanted: those of a query, or those of a view and some blocks. */
export type QuerySource = { sql: string } | { view: string; heights: AskedHeights };

/** The data that the thread starts with. */
export interface QueryStart {
  directory: string;
  source: QuerySource;
  format: Format;
  /** Whether a terminal shows the output. */
  printable: boolean;
  /** Rows after which the result is cut; null for any number. */
  maxRows: number | null;
}

/** What became of a query. */
export interface QueryEnd {
  rows: number;
  /** Whether the result has more rows than were asked for. */
  cut: boolean;
  /** The blocks that the rows are of; null where they belong to none. */
  blocks: ExportedBlocks | null;
}

/** A message from the thread. It waits for an answer to each part. */
export type FromQuery =
  | { kind: 'part'; bytes: Uint8Array }
  | { kind: 'end'; end: QueryEnd }
  /** An OperatorError of the thread. */
  | { kind: 'refused'; problem: string; remedy: string; exitCode: number };
