/** The options of `stackside sql`. */
import type { Format } from './formats.ts';

export interface SqlOptions {
  format: Format;
  /** Seconds after which a query is given up. */
  timeout: number;
  /** Megabytes of memory above which a query is given up. */
  maxMemory: number;
  /** Rows after which a result is cut. */
  maxRows: number;
}
