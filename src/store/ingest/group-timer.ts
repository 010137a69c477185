/**
 * Decides when the writer commits a group of entries to the index. Each commit stalls the writer's thread and writes every
 * changed page, many of which the next block changes again. So while nobody waits for a commit, a group lasts longer.
 */
import type { Clock } from '../../base/clock.ts';

/** Milliseconds without an event after which a group is committed. */
const QUIET_MS = 20;
/** Milliseconds after a group's first event at which it is committed, if somebody waits for the commit. */
const AWAITED_MS = 100;
/** Milliseconds after a group's first event at which it is committed in any case. */
const WINDOW_MS = 1_000;
/** Times the duration of a commit that must pass before the next one, within the window. */
const REST = 10;

export interface GroupTimerOptions {
  clock: Pick<Clock, 'after' | 'monotonic'>;
  /** Whether somebody waits for the next commit. */
  isAwaited: () => boolean;
  /** Commits the group. */
  commit: () => void;
}

type Cancel = () => void;

export class GroupTimer {
  readonly #options: GroupTimerOptions;
  /** Time of the group's first event, on the monotonic clock; null if no group is pending. */
  #began: number | null = null;
  /** The earliest time of the next commit. */
  #rested = Number.NEGATIVE_INFINITY;
  #cancelQuiet: Cancel | null = null;
  #cancelWindow: Cancel | null = null;
  /** Time at which the window ends. */
  #end = 0;

  constructor(options: GroupTimerOptions) {
    this.#options = options;
  }

  /** Notes that an event joined the pending group. */
  joined(): void {
    const { clock, commit, isAwaited } = this.#options;
    const now = clock.monotonic();
    this.#began ??= now;
    const last = this.#began + WINDOW_MS;
    const end = isAwaited() ? Math.min(last, Math.max(this.#began + AWAITED_MS, this.#rested)) : last;
    this.#cancelQuiet?.();
    this.#cancelQuiet = clock.after(Math.max(QUIET_MS, this.#rested - now), commit);
    // A timer that began again with every event would never end.
    if (this.#cancelWindow !== null && end === this.#end) return;
    this.#cancelWindow?.();
    this.#end = end;
    this.#cancelWindow = clock.after(Math.max(0, end - now), commit);
  }

  /** Ends the wait, since the group is committed or lost. */
  end(): void {
    this.#cancelQuiet?.();
    this.#cancelWindow?.();
    this.#began = null;
    this.#cancelQuiet = null;
    this.#cancelWindow = null;
  }

  /** Runs a commit, and measures how long the writer rests after it. @throws what `commit` throws */
  measured(commit: () => void): void {
    const { clock } = this.#options;
    const begun = clock.monotonic();
    try {
      commit();
    } finally {
      const ended = clock.monotonic();
      this.#rested = ended + REST * (ended - begun);
    }
  }
}
