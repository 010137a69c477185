/** What a transaction did to the hooks, held back until it is committed: only then may the rest of the process act on it. */
import type { Lane } from '../../store/rows/hook-words.ts';
import type { HookCounters } from '../counters.ts';
import type { HookEvent, HookLog } from '../log-event.ts';

/** A hook that was enabled and is no more, though nobody switched it off. */
export interface HookEnd {
  type: 'chainhook.interrupted' | 'chainhook.expired';
  uuid: string;
  consumer: string;
  name: string;
  reason: string;
  /** Unix milliseconds. */
  at: number;
}

/** Who learns of a committed transaction. */
export interface OutcomeListeners {
  /** Takes what is said of it. */
  log: HookLog;
  /** A lane has more to send. */
  queued: (hookId: number, lane: Lane) => void;
  /** Some hooks don't stand at the tip, or a backfill has room for more. */
  behind: () => void;
  /** A hook ended. */
  ended: (end: HookEnd) => void;
}

type Counted = 'matches' | 'evaluatedBlocks' | 'queued' | 'rollbacks' | 'interrupted';

export type Outcome = ReturnType<typeof transactionOutcome>;

/** @param counters the totals since the process began, to which a committed transaction adds its own */
export function transactionOutcome(counters: HookCounters, { log, queued, behind, ended }: OutcomeListeners) {
  const counted = new Map<Counted, number>();
  let lanes: [hookId: number, lane: Lane][] = [];
  let ends: HookEnd[] = [];
  let isBehind = false;
  let said: HookEvent[] = [];

  function forget(): void {
    counted.clear();
    lanes = [];
    ends = [];
    isBehind = false;
    said = [];
  }

  return {
    count(name: Counted): void {
      counted.set(name, (counted.get(name) ?? 0) + 1);
    },
    say(event: HookEvent): void {
      said.push(event);
    },
    queued(hookId: number, lane: Lane): void {
      lanes.push([hookId, lane]);
    },
    behind(): void {
      isBehind = true;
    },
    ended(end: HookEnd): void {
      ends.push(end);
    },

    /** The transaction is committed: everybody learns of it. */
    publish(): void {
      for (const [name, count] of counted) counters[name] += count;
      const [wokenLanes, endedHooks, wasBehind, events] = [lanes, ends, isBehind, said];
      forget();
      for (const event of events) log(event);
      for (const [hookId, lane] of wokenLanes) queued(hookId, lane);
      if (wasBehind) behind();
      for (const end of endedHooks) ended(end);
    },
    /** The transaction was undone: nothing of it happened. */
    forget,
  };
}
