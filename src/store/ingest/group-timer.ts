/**
 * Decides when the writer commits a group of entries to the index. Each commit stalls the writer's thread and writes every
 * changed page, and the next block changes many of these pages again. So if nobody waits for a commit, a group lasts longer.
 */
import type { Clock } from '../../base/clock.ts';

/** Milliseconds without an event after which a group is committed. */
const QUIET_MS = 20;
/** Maximum milliseconds from a group's first event to its commit, if somebody waits for the commit. */
const AWAITED_MS = 100;
/** Maximum milliseconds from a group's first event to its commit. */
const WINDOW_MS = 1_000;
/** Pause before the next commit within the window, as a multiple of the last commit's duration. */
const REST = 10;

interface GroupTimerOptions {
  clock: Pick<Clock, 'after' | 'monotonic'>;
  /** Whether somebody waits for the next commit. */
  isAwaited: () => boolean;
  commit: () => void;
}

type Cancel = () => void;

export class GroupTimer {
  readonly #options: GroupTimerOptions;
  /** Time of the group's first event, on the monotonic clock; null if no group is pending. */
  #startedAt: number | null = null;
  /** The earliest time of the next commit. */
  #restsUntil = Number.NEGATIVE_INFINITY;
  #cancelQuiet: Cancel | null = null;
  /** The timer of the window, and the window's end on the monotonic clock; null if no group is pending. */
  #window: { end: number; cancel: Cancel } | null = null;

  constructor(options: GroupTimerOptions) {
    this.#options = options;
  }

  /** Schedules the commit after an event joined the pending group. */
  schedule(): void {
    const { clock, commit, isAwaited } = this.#options;
    const now = clock.monotonic();
    this.#startedAt ??= now;
    const last = this.#startedAt + WINDOW_MS;
    const end = isAwaited() ? Math.min(last, Math.max(this.#startedAt + AWAITED_MS, this.#restsUntil)) : last;
    this.#cancelQuiet?.();
    this.#cancelQuiet = clock.after(Math.max(QUIET_MS, this.#restsUntil - now), commit);
    // If every event restarted the timer, it would never fire.
    if (this.#window?.end === end) return;
    this.#window?.cancel();
    this.#window = { end, cancel: clock.after(Math.max(0, end - now), commit) };
  }

  /** Ends the wait, since the group is committed or lost. */
  cancel(): void {
    this.#cancelQuiet?.();
    this.#window?.cancel();
    this.#startedAt = null;
    this.#cancelQuiet = null;
    this.#window = null;
  }

  /** Runs a commit, and measures how long the writer rests after it. @throws errors of `commit` */
  measure(commit: () => void): void {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    try {
      commit();
    } finally {
      const ended = clock.monotonic();
      this.#restsUntil = ended + REST * (ended - startedAt);
    }
  }
}
