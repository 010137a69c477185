/**
 * What chainhooks make of the chain and of commands: their tables are a function of both. Whoever delivers, and whatever
 * else runs beside it, listens to the machine and sends it commands.
 */
import type { ChainFollower } from '../store/ingest/ingest.ts';
import type { ComposeMachine, MachineParts, StateMachine } from '../store/ingest/state-machine.ts';
import { commandTime } from './command-time.ts';
import { hookCommands } from './commands/registry.ts';
import { type HookTimers, newCounters } from './counters.ts';
import { hookEvaluator } from './evaluation/evaluator.ts';
import type { OutcomeListeners } from './evaluation/outcome.ts';
import { lifecycle } from './lifecycle.ts';
import type { HookLog } from './log-event.ts';

/** What is around a machine. */
export interface MachineSurroundings {
  log: HookLog;
}

/** Who is told of what a machine did, once it is committed. */
export interface MachineListeners extends Omit<OutcomeListeners, 'log'>, Pick<HookTimers, 'evaluated'> {
  /** Writes failed and succeed again: anything may be queued, and anything to catch up on. */
  recovered: () => void;
}

/** Nobody listens. */
const nobody: MachineListeners = { queued() {}, behind() {}, ended() {}, recovered() {}, evaluated() {} };

export type HookMachine = ReturnType<typeof hookMachine>;

/** Takes part in nothing by itself: whoever writes calls its follower and its commands. */
export function hookMachine({ store, history, network, log }: MachineParts & MachineSurroundings) {
  const time = commandTime();
  const counters = newCounters();
  let listeners = nobody;
  const evaluator = hookEvaluator({
    ...{ store, history, network, counters, log },
    timers: { evaluated: (milliseconds) => listeners.evaluated(milliseconds) },
    now: time.now,
    queued: (hookId, lane) => listeners.queued(hookId, lane),
    behind: () => listeners.behind(),
    ended: (end) => listeners.ended(end),
    recovered: () => listeners.recovered(),
  });
  const hooks = lifecycle(store, history, evaluator, time.now);
  const follower: ChainFollower = {
    ...evaluator.follower,
    changed: (change, at) => time.at(at, () => evaluator.follower.changed(change, at)),
  };
  const machine = {
    evaluator,
    follower,
    commands: hookCommands({ store, history, network, evaluator, lifecycle: hooks }, time),
    counters,
    /** Tells nobody else from now on. */
    listen(one: MachineListeners): void {
      listeners = one;
    },
  };
  return machine satisfies StateMachine;
}

/** Makes a machine that brings tables up to a journal's entries, and tells nobody. */
export const silentMachine: ComposeMachine = (parts) => hookMachine({ ...parts, log: () => {} });
