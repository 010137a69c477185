/** What a rebuild of the index takes, estimated from a long import that was measured. */
import rates from './rebuild-rates.json' with { type: 'json' };

/** A part of a chain that grows. */
export interface Growth {
  /** Transactions at the end of the part. */
  transactions: number;
}

/**
 * The sum of what so many transactions cost, each as in the part of the chain that it belongs to.
 * @param parts in order; what comes after the last costs what that costs
 * @param cost of one transaction
 */
export function sumOverGrowth<Part extends Growth>(
  parts: readonly Part[],
  transactions: number,
  cost: (part: Part) => number,
): number {
  let [done, sum] = [0, 0];
  for (const part of parts) {
    const more = Math.max(0, Math.min(part.transactions, transactions) - done);
    sum += more * cost(part);
    done += more;
  }
  return sum + (transactions - done) * cost(parts.at(-1)!);
}

export interface RebuildCost {
  /** Processor time of one core. */
  seconds: number;
  /** Bytes of the new index. */
  indexBytes: number;
  /** Bytes of the write-ahead log at most, while the new index is written. */
  logBytes: number;
}

/** Estimates a rebuild from a journal of so many bytes. */
export function rebuildCost(journalBytes: number): RebuildCost {
  const transactions = journalBytes / rates.journal_bytes;
  return {
    seconds: sumOverGrowth(rates.parts, transactions, ({ microseconds }) => microseconds) / 1e6,
    indexBytes: transactions * rates.index_bytes,
    logBytes: LOG_BYTES,
  };
}

/** The log gathers 256 MB before it is copied into the file, and what one transaction writes. */
const LOG_BYTES = 500_000_000;
