/**
 * The chainhook engine: applies blocks and commands to the tables of chainhooks, which are a function of both. Live hooks share
 * a cursor at the tip and are evaluated inside the transaction of each block, from every source: a node, an import, a
 * rebuild, or the log that hosts share. A hook that was disabled or interrupted catches up from its own cursor, block by block,
 * and then becomes live. In both cases the engine takes steps along the chain (`evaluation/steps.ts`), collects the
 * notifications of each hook, and queues one delivery per hook (`evaluation/notifications.ts`).
 *
 * Only the cursor decides which blocks a hook has seen: even after a crash or a rebuild, no block below the cursor is sent
 * again, and no block above it is skipped.
 *
 * The engine starts no work by itself. The dispatcher and the other parts listen to it and send it commands.
 */
import type { Block } from '../chain/block.ts';
import type { Network } from '../chain/network.ts';
import type { Cursor, HookRecord } from '../store/hooks/model.ts';
import { isEnabled, isSendable } from '../store/hooks/records.ts';
import type { HookStore } from '../store/hooks/store.ts';
import type { ChainChange } from '../store/ingest/chain-writer.ts';
import type { ChainFollower, ChainHistory } from '../store/ingest/ingest.ts';
import type { MachineParts } from '../store/ingest/state-machine.ts';
import type { QueueName } from '../store/rows/enums.ts';
import {
  type ActiveHook,
  activeHook,
  evaluationsLeft,
  type HookDefinition,
  type Options,
  reachedLimit,
} from './definition/definition.ts';
import { liveHooks } from './evaluation/live-hooks.ts';
import { type Counted, type EngineTransaction, Notifications } from './evaluation/notifications.ts';
import { chainSteps, type Step, stepOfChange } from './evaluation/steps.ts';
import { type FindMatches, matchesOf } from './matching/matching.ts';
import { type HookEvent, type HookLog, type HookTimers, newCounters } from './reporting.ts';

/** A hook that was interrupted or has expired. A hook that its consumer disabled is not reported. */
export interface HookStopped {
  type: 'chainhook.interrupted' | 'chainhook.expired';
  uuid: string;
  consumer: string;
  name: string;
  /** URL for alerts in the hook's options; null if it has none. */
  alertUrl: string | null;
  reason: string;
  /** Unix milliseconds. */
  stoppedAt: number;
}

/** Listeners of the engine, notified after a transaction commits. */
interface EngineListeners extends Pick<HookTimers, 'evaluated'> {
  /** A queue has new deliveries. */
  queued: (hookId: number, queue: QueueName) => void;
  /** A hook has to catch up, or a backfill may queue more. */
  tasksReady: () => void;
  hookStopped: (stop: HookStopped) => void;
  /** Writes succeed again after failures: any queue may have deliveries, and any hook may have to catch up. */
  recovered: () => void;
}

const noListeners: EngineListeners = { queued() {}, tasksReady() {}, hookStopped() {}, recovered() {}, evaluated() {} };

/** What the open transaction counts, logs and reports to the listeners after its commit. */
const nothingPending = () => ({
  counted: new Map<Counted, number>(),
  events: [] as HookEvent[],
  queues: [] as [hookId: number, queue: QueueName][],
  areTasksReady: false,
  stops: [] as HookStopped[],
});

/** In each transaction, the writer calls `changed`, or commands that call the functions of hooks; then `committed` or `undone`. */
export class HookEngine implements ChainFollower, EngineTransaction {
  readonly store: HookStore;
  readonly history: ChainHistory;
  /** Null until a signed transaction names the chain. */
  readonly network: () => Network | null;
  /** Counters since the process began. */
  readonly counters = newCounters();
  readonly #log: HookLog;
  readonly #live: ReturnType<typeof liveHooks>;
  readonly #steps: ReturnType<typeof chainSteps>;
  #listeners = noListeners;
  /** Unix milliseconds of the entry that is being applied; null between entries. */
  #time: number | null = null;
  #pending = nothingPending();

  constructor({ store, history, network }: MachineParts, log: HookLog) {
    this.store = store;
    this.history = history;
    this.network = network;
    this.#log = log;
    this.#live = liveHooks(store.records);
    this.#steps = chainSteps(history, (event) => this.logEvent(event));
  }

  listen(listeners: EngineListeners): void {
    this.#listeners = listeners;
  }

  // ── Blocks ──

  /** The chain changed: evaluates the live hooks on the step, and queues their deliveries. */
  changed(change: ChainChange, time: number): void {
    const step = stepOfChange(change);
    if (step === null) return;
    const started = performance.now();
    this.during(time, () => {
      this.#live.load();
      this.#evaluate(step);
    });
    this.#listeners.evaluated(performance.now() - started);
  }

  /** The transaction is committed: counts, logs, and notifies the listeners. */
  committed(): void {
    this.#live.committed();
    const { counted, events, queues, areTasksReady, stops } = this.#pending;
    this.#pending = nothingPending();
    for (const [name, count] of counted) this.counters[name] += count;
    for (const event of events) this.#log(event);
    for (const [hookId, queue] of queues) this.#listeners.queued(hookId, queue);
    if (areTasksReady) this.#listeners.tasksReady();
    for (const stop of stops) this.#listeners.hookStopped(stop);
  }

  /** Whether deliveries, hooks that catch up or notices wait for the commit. */
  awaitsCommit(): boolean {
    const { queues, areTasksReady, stops } = this.#pending;
    return queues.length > 0 || areTasksReady || stops.length > 0;
  }

  /** The transaction is rolled back: drops what it would have counted, logged and reported. */
  undone(): void {
    this.#live.undone();
    this.#pending = nothingPending();
  }

  recovered(): void {
    this.#listeners.recovered();
  }

  #evaluate(step: Step): void {
    const cursor = this.#live.progress().cursor;
    const notifications = new Notifications(this);
    for (const leaving of step.leaving) {
      for (const { hookId, txIndexes } of this.store.ledger.ofBlock(leaving.hash)) {
        const hook = this.#notifiedHook(hookId);
        if (hook !== undefined) notifications.rollback(hook, leaving, txIndexes, step);
      }
    }
    for (const block of step.joining) this.#evaluateLive(block, notifications);
    notifications.queue('live', cursor);
  }

  /** Returns a hook that was notified of a block if it is also notified when the block leaves: a live or an expired hook. */
  #notifiedHook(hookId: number): ActiveHook | undefined {
    const liveHook = this.#live.get(hookId);
    if (liveHook !== undefined) return liveHook;
    const record = this.store.records.get(hookId);
    return record?.status === 'expired' && !isEnabled(record) ? activeHook(record) : undefined;
  }

  #evaluateLive(block: Block, notifications: Notifications): void {
    const live = this.#live;
    const { records } = this.store;
    // By id: deliveries are numbered in this order, and the order of hooks in memory differs between processes.
    const matches = [...live.match(block)].sort(([a], [b]) => a - b);
    live.advance(block, this.now());
    this.count('evaluatedBlocks');
    const usedUp = new Set(records.usedUp(live.progress().evaluated));
    for (const [id, txIndexes] of matches) {
      const hook = live.get(id);
      if (hook === undefined) continue;
      notifications.apply(hook, block, txIndexes);
      if (hook.options.expire_after_occurrences) usedUp.add(id);
    }
    for (const id of usedUp) {
      const [hook, record] = [live.get(id), records.get(id)];
      if (hook !== undefined && record !== undefined) this.#expireAtLimit(record, hook.options);
    }
  }

  // ── Hooks that catch up ──

  /**
   * Moves a hook that catches up one step.
   * @returns true if no step is left
   */
  catchUp(id: number): boolean {
    this.#live.load();
    const record = this.store.records.get(id);
    if (record === undefined || record.stage !== 'catching_up') return true;
    const hook = activeHook(record);
    const step = this.#steps.next(record.cursor);
    if (step === null) {
      this.#notifyOfOrphans(hook, record.cursor);
      // A body that can't be made interrupts the hook.
      if (this.#isCatchingUp(id)) this.#join(record, hook);
      return true;
    }
    const notifications = new Notifications(this);
    this.#rollBackOrphans(hook, notifications);
    const findMatches = matchesOf(hook.conditions);
    const isDone = step.joining.some((block) => this.#evaluateOne(hook, block, findMatches, notifications));
    notifications.queue('catch_up', record.cursor);
    return isDone || !this.#isCatchingUp(id);
  }

  /** @returns whether the hook has reached the limits in its options */
  #evaluateOne(hook: ActiveHook, block: Block, findMatches: FindMatches, notifications: Notifications): boolean {
    const { records } = this.store;
    const txIndexes = findMatches(block);
    records.advance(hook.id, { height: block.height, hash: block.indexBlockHash }, this.now());
    if (txIndexes !== undefined) notifications.apply(hook, block, txIndexes);
    const record = records.get(hook.id);
    return record !== undefined && this.#expireAtLimit(record, hook.options);
  }

  /** Rolls back blocks that left the chain after the hook was notified of them. */
  #rollBackOrphans(hook: ActiveHook, notifications: Notifications): void {
    for (const { indexBlockHash, height, txIndexes } of this.store.ledger.orphansOf(hook.id)) {
      const step = this.#steps.awayFrom(indexBlockHash);
      const orphan = step.leaving.find((leaving) => leaving.height === height);
      if (orphan !== undefined) notifications.rollback(hook, orphan, txIndexes, step);
    }
  }

  #notifyOfOrphans(hook: ActiveHook, cursor: Cursor): void {
    const notifications = new Notifications(this);
    this.#rollBackOrphans(hook, notifications);
    notifications.queue('catch_up', cursor);
  }

  #isCatchingUp = (id: number): boolean => this.store.records.get(id)?.stage === 'catching_up';

  #join(record: HookRecord, hook: ActiveHook): void {
    this.store.records.goLive(record.id, this.#expiresAt(record, hook.options));
    this.#live.include(hook);
  }

  /** Returns the value of `progress.hooks_evaluated` that makes a live hook expire; null if it never expires. */
  #expiresAt(record: HookRecord, options: Options): number | null {
    const remaining = evaluationsLeft(record, options);
    return remaining === null ? null : this.#live.progress().evaluated + remaining;
  }

  // ── Changes of a hook's status ──

  /** Makes a hook live from the next block on, after it was notified of the blocks that have left the chain. */
  enableAtTip(record: HookRecord): void {
    const { records } = this.store;
    this.#live.load();
    const hook = activeHook(record);
    this.#notifyOfOrphans(hook, record.cursor);
    const updated = records.get(record.id);
    if (updated === undefined || updated.status === 'interrupted') return;
    records.setCursor(record.id, this.#steps.tipCursor());
    this.#join(updated, hook);
  }

  /** The hook catches up from its cursor on. */
  enableFromCursor({ id }: HookRecord): void {
    this.store.records.catchUp(id);
    this.wake();
  }

  disable(record: HookRecord): void {
    this.#live.load();
    if (record.stage !== 'idle') this.store.records.leaveLive(record.id);
    this.#live.exclude(record.id);
  }

  /**
   * Pauses all hooks after the log was restored to an earlier point, since it lacks the deliveries after that point. A hook
   * stays paused until somebody enables or disables it.
   */
  identityChanged(): void {
    const { records, deliveries, backfills } = this.store;
    this.#live.load();
    for (const id of [...records.live().map((live) => live.id), ...records.catchingUp()]) {
      records.pause(id, true);
      this.#live.exclude(id);
    }
    const waiting = deliveries.openQueues().filter(({ hookId, queue }) => {
      const record = records.get(hookId);
      return record !== undefined && isSendable(record, queue);
    });
    const running = backfills.next().flatMap((id) => backfills.get(id) ?? []);
    for (const id of new Set([...waiting, ...running].map(({ hookId }) => hookId))) {
      if (records.get(id)?.stage === 'idle') records.pause(id, false);
    }
  }

  /** Stores another definition of a hook, which counts from the next block on. */
  redefine(record: HookRecord, definition: HookDefinition): void {
    this.#live.load();
    const text = JSON.stringify(definition);
    const hook = activeHook({ ...record, definition: text });
    const isLive = record.stage === 'live';
    const expiresAt = isLive ? this.#expiresAt(record, hook.options) : null;
    this.store.records.setDefinition(record.id, text, definition.action.url, expiresAt);
    if (isLive) this.#live.include(hook);
  }

  /** Expires a hook that has reached a limit in its options. @returns whether it expired */
  #expireAtLimit(record: HookRecord, options: Options): boolean {
    const limit = reachedLimit(record, options);
    if (limit === null) return false;
    const { records } = this.store;
    records.leaveLive(record.id);
    records.setStatus(record.id, 'expired');
    this.#live.exclude(record.id);
    this.#stop(record, 'chainhook.expired', `it reached ${limit} (${options[limit]})`);
    return true;
  }

  /**
   * Interrupts a hook that can't continue.
   * @param stuckDelivery row of the delivery that failed for good; null without one
   */
  interrupt(record: HookRecord, reason: string, stuckDelivery: number | null): void {
    const { records } = this.store;
    this.#live.load();
    const { id, uuid } = record;
    if (isEnabled(record)) records.leaveLive(id);
    records.setStatus(id, 'interrupted', reason, stuckDelivery);
    this.#live.exclude(id);
    this.count('interrupted');
    this.logEvent({ event: 'hook_interrupted', uuid, name: activeHook(record).name, reason });
    this.#stop(record, 'chainhook.interrupted', reason);
  }

  #stop(record: HookRecord, type: HookStopped['type'], reason: string): void {
    const { uuid, consumer } = record;
    const { name, options } = activeHook(record);
    const { alert_url: alertUrl = null } = options;
    this.#pending.stops.push({ type, consumer, uuid, name, alertUrl, reason, stoppedAt: this.now() });
  }

  // ── For the listeners, after the commit ──

  count(name: Counted): void {
    const { counted } = this.#pending;
    counted.set(name, (counted.get(name) ?? 0) + 1);
  }

  logEvent(event: HookEvent): void {
    this.#pending.events.push(event);
  }

  /** A queue has new deliveries. */
  queued(hookId: number, queue: QueueName): void {
    this.#pending.queues.push([hookId, queue]);
  }

  /** A hook has to catch up, or a backfill may queue more. */
  wake(): void {
    this.#pending.areTasksReady = true;
  }

  // ── Time ──

  /** Time of the entry that is being applied, in Unix milliseconds. Hooks use no other time. */
  now(): number {
    if (this.#time === null) throw new Error('nothing is being applied');
    return this.#time;
  }

  /** Runs `work` at a given time, in Unix milliseconds. */
  during<T>(time: number, work: () => T): T {
    const previous = this.#time;
    this.#time = time;
    try {
      return work();
    } finally {
      this.#time = previous;
    }
  }
}
