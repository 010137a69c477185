/** Makes the indexes of decoded values that the operator asks for, in slices between the events of the node. */
import type { Clock } from '../../base/clock.ts';
import { StoreUnavailableError } from '../files/store-failure.ts';
import type { ValueIndex } from '../model/value-index.ts';
import { type LocalWrite, slices } from './slices.ts';
import type { ValueIndexStep } from './value-indexes.ts';

interface ValueIndexName {
  of: ValueIndex['subject'];
  contract: string;
  /** Null for all. */
  field: string | null;
}

/** What is said of the work. */
export type ValueIndexEvent =
  | ({ event: 'value_index_complete' } & ValueIndexName)
  | ({ event: 'value_index_removed' } & ValueIndexName)
  | { event: 'value_index_failed'; cause: unknown };

export interface ValueIndexingOptions {
  write: LocalWrite;
  step: () => ValueIndexStep | null;
  clock: Clock;
  log: (event: ValueIndexEvent) => void;
}

/** Milliseconds until the work goes on where the database was unavailable. */
const RETRY_MS = 1_000;

const nameOf = ({ subject, contract, scope }: ValueIndex): ValueIndexName => ({
  of: subject,
  contract,
  field: scope === '' ? null : scope,
});

/** Starts the work. @returns a function that ends it, and resolves when the slice in hand is done */
export function startValueIndexing({ write, step, clock, log }: ValueIndexingOptions): () => Promise<void> {
  let stopped = false;
  let cancelRetry = () => {};
  /** What the steps of a slice ended: told once it is committed. */
  let ended: ValueIndex[] = [];
  const takeSlice = slices(write, clock);

  /** @returns whether nothing is left to do */
  async function slice(): Promise<boolean> {
    ended = [];
    const done = await takeSlice(
      () => {
        const taken = step();
        if (taken?.ended === true) ended.push(taken.index);
        return taken === null;
      },
      (_, cause) => {
        ended = [];
        log({ event: 'value_index_failed', cause });
      },
    );
    for (const index of ended) {
      log({ event: index.wanted ? 'value_index_complete' : 'value_index_removed', ...nameOf(index) });
    }
    return done;
  }

  async function run(): Promise<void> {
    try {
      await clock.turn();
      while (!stopped && !(await slice())) await clock.turn();
    } catch (cause) {
      if (!(cause instanceof StoreUnavailableError)) log({ event: 'value_index_failed', cause });
      if (!stopped) cancelRetry = clock.after(RETRY_MS, again);
    }
  }

  let running = run();
  function again(): void {
    running = run();
  }
  return async () => {
    stopped = true;
    cancelRetry();
    await running;
  };
}
