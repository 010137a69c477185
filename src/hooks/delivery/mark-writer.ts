/**
 * Writes down what came of deliveries. Marks that come while others are being written go together in the next command, in the
 * order in which they came.
 */
import { type Clock, pause } from '../../base/clock.ts';
import { unavailable } from '../../store/files/store-failure.ts';
import { LogUnavailableError } from '../../store/log/shared-log.ts';
import type { Mark, Marks } from '../commands/marks.ts';

/** Marks that one command holds at most. */
const MOST = 200;
/** Milliseconds until marks are written again that the log of a cluster did not take. */
const RETRY_MS = 500;

export interface MarkWriterOptions {
  /** Writes marks down, all or none. @returns for each whether it counts */
  write: (marks: Marks) => Promise<boolean[]>;
  clock: Clock;
}

interface Waiting {
  mark: Mark;
  resolve: (counts: boolean) => void;
  reject: (error: unknown) => void;
}

/** Writes nothing before `start`. */
export function markWriter({ write, clock }: MarkWriterOptions) {
  const waiting: Waiting[] = [];
  let epoch = 0;
  let stopping = new AbortController();
  let working: Promise<void> | null = null;
  /** The first so many of those that wait go each by itself. */
  let alone = 0;

  function next(): Waiting[] {
    if (alone === 0) return waiting.splice(0, MOST);
    alone -= 1;
    return waiting.splice(0, 1);
  }

  /** @param signal aborted where nobody may wait any more */
  async function failed(batch: Waiting[], error: unknown, signal: AbortSignal): Promise<void> {
    if (error instanceof LogUnavailableError) {
      // Whoever delivers next sends these deliveries again.
      if (signal.aborted) {
        for (const { resolve } of batch) resolve(false);
        return;
      }
      waiting.unshift(...batch);
      await pause(clock, RETRY_MS, signal);
    } else if (batch.length === 1 || unavailable(error) !== null) {
      for (const { reject } of batch) reject(error);
    } else {
      // What can't be written down must not hold up the others.
      waiting.unshift(...batch);
      alone = batch.length;
    }
  }

  async function work(): Promise<void> {
    const { signal } = stopping;
    while (waiting.length > 0) {
      const batch = next();
      try {
        const counts = await write({ epoch, marks: batch.map(({ mark }) => mark) });
        for (const [index, { resolve }] of batch.entries()) resolve(counts[index] === true);
      } catch (error) {
        await failed(batch, error, signal);
      }
    }
    working = null;
  }

  return {
    /** @param of the lease by which deliveries are sent from now on */
    start(of: number): void {
      epoch = of;
      stopping = new AbortController();
    },

    /**
     * Writes a mark down.
     * @returns whether it counts: not where the delivery was cancelled or its hook deleted meanwhile, and not where the log
     *   could not be reached before the lease ended
     */
    write: (mark: Mark): Promise<boolean> =>
      new Promise((resolve, reject) => {
        waiting.push({ mark, resolve, reject });
        working ??= work();
      }),

    /** Resolves when all marks are written; each is tried once more where the log can't be reached. */
    async stop(): Promise<void> {
      stopping.abort();
      await working;
    },
  };
}
