/** Leases in memory that behave like leases behind a network: calls take time, get lost, or arrive late. */
import type { LeaseEngine, LeaseHolder, LeaseOptions } from '../../../src/cluster/leases.ts';
import { LogUnavailableError, LogUnknownOutcomeError } from '../../../src/cluster/shared-log.ts';
import type { Way } from './memory-log.ts';

interface Row {
  holder: string;
  epoch: number;
  until: number;
}

export class MemoryLeases {
  readonly rows = new Map<string, Row>();
  readonly #now: () => number;
  readonly #isAway: () => boolean;

  /** @param now the engine's clock, in milliseconds @param isAway whether nobody reaches the engine */
  constructor(now: () => number, isAway: () => boolean) {
    this.#now = now;
    this.#isAway = isAway;
  }

  /** Returns the holder of a lease by the engine's clock, or null if nobody holds it. */
  holder(name: string): string | null {
    const row = this.rows.get(name);
    return row !== undefined && row.until > this.#now() ? row.holder : null;
  }

  #give({ name, holder, seconds, epochSeen }: LeaseOptions): { newEpoch: number } | LeaseHolder {
    const row = this.rows.get(name);
    const other = this.holder(name);
    if (row !== undefined && other !== null && other !== holder) return { holder: other, epoch: row.epoch };
    const epoch = Math.max(row?.epoch ?? 0, epochSeen) + 1;
    this.rows.set(name, { holder, epoch, until: this.#now() + seconds * 1000 });
    return { newEpoch: epoch };
  }

  /** Returns a host's client. @param isAlive whether the host's process runs: calls of an ended process never arrive */
  client(way: Way, isAlive = (): boolean => true): LeaseEngine {
    const isCutOff = () => this.#isAway() || !isAlive();
    const run = async <T>(call: () => T): Promise<T> => {
      const fate = way.fate('lease');
      if (isCutOff() || fate === 'unavailable') throw new LogUnavailableError('the engine is away');
      if (fate === 'late') void way.late().then(() => (isCutOff() ? undefined : call()));
      await way.travel();
      if (fate === 'late' || fate === 'never' || isCutOff()) throw new LogUnknownOutcomeError('the answer was lost');
      const answer = call();
      await way.travel();
      if (fate === 'lost' || isCutOff()) throw new LogUnknownOutcomeError('the answer was lost');
      return answer;
    };
    return {
      give: (lease) => run(() => this.#give(lease)),
      setUntil: ({ name, holder, epoch }, seconds) =>
        run(() => {
          const row = this.rows.get(name);
          if (row === undefined || this.holder(name) !== holder || row.epoch !== epoch) return false;
          row.until = this.#now() + seconds * 1000;
          return true;
        }),
    };
  }
}
