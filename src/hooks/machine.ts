/**
 * What chainhooks make of the chain and of commands: their tables are a function of both. Whoever delivers, and whatever
 * else runs beside it, listens to the machine and sends it commands.
 */
import type { Network } from '../chain/network.ts';
import type { HookStore } from '../store/hooks/store.ts';
import type { ChainFollower, ChainHistory } from '../store/ingest/ingest.ts';
import { commandTime } from './command-time.ts';
import { hookCommands } from './commands/registry.ts';
import { type HookTimers, newCounters } from './counters.ts';
import { hookEvaluator } from './evaluation/evaluator.ts';
import type { OutcomeListeners } from './evaluation/outcome.ts';
import { lifecycle } from './lifecycle.ts';
import type { HookLog } from './log-event.ts';

/** What a machine works with. */
export interface MachineOptions {
  store: HookStore;
  history: ChainHistory;
  /** Null until a block came. */
  network: () => Network | null;
  timers: HookTimers;
  log: HookLog;
  /** The clock, in Unix milliseconds, for what has no time of its own. */
  now: () => number;
}

/** Who is told of what a machine did, once it is committed. */
export interface MachineListeners extends OutcomeListeners {
  /** Writes failed and succeed again: anything may be queued, and anything to catch up on. */
  recovered: () => void;
}

/** Nobody listens. */
const nobody: MachineListeners = { queued() {}, behind() {}, ended() {}, recovered() {} };

export type HookMachine = ReturnType<typeof hookMachine>;

/** Takes part in nothing by itself: whoever writes calls its follower and its commands. */
export function hookMachine({ store, history, network, timers, log, now }: MachineOptions) {
  const time = commandTime(now);
  const counters = newCounters();
  let listeners = nobody;
  const evaluator = hookEvaluator({
    ...{ store, history, network, counters, timers, log },
    now: time.now,
    queued: (hookId, lane) => listeners.queued(hookId, lane),
    behind: () => listeners.behind(),
    ended: (end) => listeners.ended(end),
    recovered: () => listeners.recovered(),
  });
  const hooks = lifecycle(store, history, evaluator, time.now);
  const follower: ChainFollower = evaluator.follower;
  return {
    evaluator,
    follower,
    commands: hookCommands({ store, history, network, evaluator, lifecycle: hooks }, time),
    counters,
    /** Tells nobody else from now on. */
    listen(one: MachineListeners): void {
      listeners = one;
    },
  };
}
