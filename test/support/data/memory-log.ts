/** A shared log in memory that behaves like one behind a network: calls take time, get lost, or arrive late. */
import { systemClock } from '../../../src/base/clock.ts';
import {
  type AppendResult,
  LogUnavailableError,
  LogUnknownOutcomeError,
  type SharedLog,
} from '../../../src/cluster/shared-log.ts';
import { type Entry, type Head, LOG_START, sameChain } from '../../../src/store/log/entry.ts';
import { MemoryLeases } from './memory-leases.ts';

export type Call = 'append' | 'read' | 'head' | 'wait' | 'lease';

/**
 * Outcome of a call. `unavailable`: it never arrives. `lost`: its answer gets lost. `late`: it arrives when nobody
 * waits for its answer any more. `never`: it doesn't arrive, and the caller can't tell. `refused`: an append that fails with a
 * conflict though there is none. `cut`: a read that stops after one entry. A waiter that is `lost` isn't notified of entries.
 */
export type Fate = 'done' | 'unavailable' | 'lost' | 'late' | 'never' | 'refused' | 'cut';

/** How a host reaches the log. */
export interface Way {
  /** Draws the outcome of a call. */
  fate(call: Call): Fate;
  /** Waits for the time that a call or its answer travels. */
  travel(): Promise<void>;
  /** Time after which a late call arrives. */
  late(): Promise<void>;
  /** Waits until a waiter for entries polls without a notification. */
  look(): Promise<void>;
}

/** A connection that loses nothing and takes no time. */
export const directWay: Way = {
  fate: () => 'done',
  travel: async () => {},
  late: async () => {},
  look: () => new Promise(() => {}),
};

export class MemoryLog {
  entries: Entry[] = [];
  /** Nobody reaches it. */
  isAway = false;
  chainId: number | null = null;
  readonly leases: MemoryLeases;
  readonly #waiting = new Set<() => void>();
  /** Grows with each failover, which drops late calls. */
  #life = 0;

  get head(): Head {
    const newest = this.entries.at(-1);
    return newest === undefined ? LOG_START : { id: newest.id, chain: newest.chain };
  }

  /** @param now the engine's clock, in milliseconds */
  constructor(now: () => number = systemClock.now) {
    this.leases = new MemoryLeases(now, () => this.isAway);
  }

  add(entry: Entry, head: Head): AppendResult {
    return this.addTogether([entry], head);
  }

  /** Accepts entries as the engine does: only if their predecessor matches and their numbers are free. */
  addTogether(entries: readonly Entry[], { id, chain }: Head): AppendResult {
    const index = this.entries.findLastIndex((entry) => entry.id === id);
    const previous = index < 0 ? LOG_START : this.entries[index]!;
    const next = this.entries[index + 1]?.id ?? Number.POSITIVE_INFINITY;
    const isFree = (entries.at(-1)?.id ?? id) < next;
    if (previous.id !== id || !sameChain(previous.chain, chain) || !isFree) return 'conflict';
    this.entries.splice(index + 1, 0, ...entries.map((entry) => ({ ...entry })));
    this.wake();
    return 'appended';
  }

  /** Another server takes over, which lacks the last entries. */
  lose(count: number): void {
    this.#life += 1;
    this.entries.splice(Math.max(0, this.entries.length - count));
    this.wake();
  }

  wake(): void {
    for (const call of this.#waiting) call();
    this.#waiting.clear();
  }

  /** Returns a host's client. */
  client(way: Way = directWay): SharedLog {
    const aborts = new AbortController();
    const requireReach = (): void => {
      if (this.isAway || aborts.signal.aborted) throw new LogUnavailableError('the log is away');
    };

    async function request<T>(call: Call, answer: () => T): Promise<{ fate: Fate; answer: T }> {
      const fate = way.fate(call);
      requireReach();
      await way.travel();
      requireReach();
      if (fate !== 'done' && fate !== 'cut') throw new LogUnavailableError(`the ${call} was lost`);
      const answered = answer();
      await way.travel();
      requireReach();
      return { fate, answer: answered };
    }

    const append = async (entries: readonly Entry[], head: Head): Promise<AppendResult> => {
      const fate = way.fate('append');
      const life = this.#life;
      requireReach();
      if (fate === 'unavailable') throw new LogUnavailableError('the append was lost');
      if (fate === 'late') {
        void way.late().then(() => life === this.#life && this.addTogether(entries, head));
      }
      await way.travel();
      if (fate === 'refused') return 'conflict';
      const unknown = () => new LogUnknownOutcomeError('the answer was lost');
      if (fate === 'late' || fate === 'never' || this.isAway) throw unknown();
      const outcome = this.addTogether(entries, head);
      await way.travel();
      if (fate === 'lost' || this.isAway || aborts.signal.aborted) throw unknown();
      return outcome;
    };

    return {
      append,
      read: async (after, limit, maxBytes = Number.POSITIVE_INFINITY) => {
        const { fate, answer } = await request('read', () => {
          const entries: Entry[] = [];
          let bytes = 0;
          for (const entry of this.entries.filter(({ id }) => id > after)) {
            if (entries.length === limit || (entries.length > 0 && bytes >= maxBytes)) break;
            entries.push({ ...entry });
            bytes += entry.text.length;
          }
          return entries;
        });
        return fate === 'cut' ? answer.slice(0, 1) : answer;
      },
      head: async () => (await request('head', () => this.head)).answer,
      chain: async (named) => {
        requireReach();
        this.chainId ??= named;
        return this.chainId;
      },
      wait: (after, signal) =>
        new Promise((resolve) => {
          const done = () => resolve();
          if (signal.aborted || aborts.signal.aborted || this.isAway || this.head.id > after) return done();
          if (way.fate('wait') !== 'lost') this.#waiting.add(done);
          void way.look().then(done);
          for (const source of [signal, aborts.signal]) source.addEventListener('abort', done, { once: true });
        }),
      close: async () => aborts.abort(),
    };
  }
}

/** Wraps a client so that it sends nothing after its process has ended. */
export function whileAlive({ append, read, head, chain, wait, close }: SharedLog, isAlive: () => boolean): SharedLog {
  const guard =
    <A extends unknown[], T>(call: (...values: A) => Promise<T>) =>
    async (...values: A): Promise<T> => {
      if (!isAlive()) throw new LogUnavailableError('the process has ended');
      return call(...values);
    };
  return { append: guard(append), read: guard(read), head: guard(head), chain: guard(chain), wait, close };
}
