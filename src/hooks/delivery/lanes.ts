/** The lanes that have something to send, each in its phase; those that are ready take turns. */
import type { Clock } from '../../base/clock.ts';
import type { Lane } from '../../store/rows/words.ts';

/** A lane of a hook and where it stands in its turn. */
export interface LaneState {
  readonly hookId: number;
  readonly lane: Lane;
  /**
   * `waiting` for the time of its head; `held`, a live one, until a request of another lane has ended; `postponed` while
   * as many retries as may be are under way.
   */
  phase: 'ready' | 'sending' | 'waiting' | 'held' | 'postponed';
  /** Ends the wait; null where it doesn't wait. */
  cancel: (() => void) | null;
  /** How often in a row something failed here: the database, not the receiver. */
  faults: number;
}

/** A timer holds no longer time. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const keyOf = (hookId: number, lane: Lane): string => `${hookId}/${lane}`;

/** The lanes of all hooks. @param look called when the wait of a lane has ended */
export function lanes(clock: Clock, look: () => void) {
  const states = new Map<string, LaneState>();
  const ready: LaneState[] = [];
  const postponed: LaneState[] = [];

  function makeReady(state: LaneState): void {
    state.cancel?.();
    state.cancel = null;
    state.phase = 'ready';
    ready.push(state);
  }

  return {
    makeReady,

    /** A lane has something to send, or what it has became sendable. */
    wake(hookId: number, lane: Lane): void {
      const key = keyOf(hookId, lane);
      const known = states.get(key);
      if (known === undefined) {
        const state: LaneState = { hookId, lane, phase: 'ready', cancel: null, faults: 0 };
        states.set(key, state);
        ready.push(state);
      } else if (known.phase === 'waiting' || known.phase === 'held') {
        makeReady(known);
      }
    },

    /** Takes the next lane whose turn it is. */
    next: (): LaneState | undefined => ready.shift(),

    wait(state: LaneState, ms: number): void {
      state.phase = 'waiting';
      state.cancel = clock.after(Math.min(Math.max(0, ms), LONGEST_TIMER_MS), () => {
        makeReady(state);
        look();
      });
    },

    hold(state: LaneState): void {
      state.phase = 'held';
    },
    /** A request of the hook has ended: its live lane, if it is held, looks again whether it still must be. */
    release(hookId: number): void {
      const live = states.get(keyOf(hookId, 'live'));
      if (live?.phase === 'held') makeReady(live);
    },

    postpone(state: LaneState): void {
      state.phase = 'postponed';
      postponed.push(state);
    },
    /** A retry has ended: the first lane that was postponed is ready. */
    resumePostponed(): void {
      const state = postponed.shift();
      if (state !== undefined) makeReady(state);
    },

    /** The lane has nothing to send. */
    drop({ hookId, lane }: LaneState): void {
      states.delete(keyOf(hookId, lane));
    },

    /** Ends every wait, so that no lane becomes ready by itself. */
    cancelWaits(): void {
      for (const { cancel } of states.values()) cancel?.();
    },
    clear(): void {
      states.clear();
      ready.length = 0;
      postponed.length = 0;
    },
  };
}
