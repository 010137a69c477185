/** Why no events come: what `/ready` says, and what the log says of it now and then. */
import type { Clock } from '../../base/clock.ts';

export type TroubleEvent =
  /** `failures` counts the attempts since the trouble began. */
  | { event: 'snp_failing'; reason: string; remedy: string; failures: number }
  | { event: 'snp_resumed'; failures: number };

/** The least time between two lines about trouble. */
const SAID_EVERY_MS = 60_000;

interface Reason {
  reason: string;
  remedy: string;
}

/** Remembers what is wrong now. A trouble that comes and goes is logged at its bounded rate, too. */
export class Trouble {
  readonly #log: (event: TroubleEvent) => void;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #current: Reason | null = null;
  #failures = 0;
  /** When a line was last written, on the monotonic clock. */
  #saidAt = Number.NEGATIVE_INFINITY;
  /** Whether this trouble was told of, so that its end is. */
  #isSaid = false;
  #total = 0;

  constructor(log: (event: TroubleEvent) => void, clock: Pick<Clock, 'monotonic'>) {
    this.#log = log;
    this.#clock = clock;
  }

  failed(current: Reason): void {
    this.#current = current;
    this.#failures += 1;
    this.#total += 1;
    const now = this.#clock.monotonic();
    if (now - this.#saidAt < SAID_EVERY_MS) return;
    this.#saidAt = now;
    this.#isSaid = true;
    this.#log({ event: 'snp_failing', ...current, failures: this.#failures });
  }

  resolved(): void {
    if (this.#current === null) return;
    if (this.#isSaid) this.#log({ event: 'snp_resumed', failures: this.#failures });
    this.#current = null;
    this.#failures = 0;
    this.#isSaid = false;
  }

  /** What is wrong now; null where nothing is. */
  reason(): string | null {
    return this.#current?.reason ?? null;
  }

  /** Attempts that failed since the start. */
  total(): number {
    return this.#total;
  }
}
