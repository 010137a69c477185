/**
 * What chainhooks make of the chain and of commands: their tables are a function of both. Live hooks stand together at the tip
 * and are evaluated inside the transaction of each block, whoever applies it: a node, an import, a rebuild, a host that
 * follows. A hook that was away catches up from its own cursor, block by block, until it can join them. Both take steps along
 * the chain (`evaluation/steps.ts`), gather what each hook is notified of, and queue one delivery for it
 * (`evaluation/notifications.ts`).
 *
 * A cursor is the truth of what a hook has seen: whatever happens to the process or the index, nothing below it is sent
 * again and nothing above it is left out.
 *
 * The engine acts on nothing by itself. Whoever delivers, and whatever else runs beside it, listens to it and sends it
 * commands.
 */
import type { Block } from '../chain/block.ts';
import type { Network } from '../chain/network.ts';
import type { Cursor, HookRecord } from '../store/hooks/model.ts';
import type { HookStore } from '../store/hooks/store.ts';
import type { ChainChange } from '../store/ingest/chain-writer.ts';
import type { ChainFollower, ChainHistory } from '../store/ingest/ingest.ts';
import type { MachineParts } from '../store/ingest/state-machine.ts';
import type { QueueName } from '../store/rows/enums.ts';
import { type HookTimers, newCounters } from './counters.ts';
import { type ActiveHook, activeHook, evaluationsLeft, isUsedUp } from './definition/definition.ts';
import { type Counted, type EngineTransaction, Notifications } from './evaluation/notifications.ts';
import { chainSteps, liveHooks, type Step, stepOfChange } from './evaluation/steps.ts';
import type { HookEvent, HookLog } from './log-event.ts';
import { Matcher } from './matching/matching.ts';

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

/** Listeners of the engine, notified once a transaction is committed. */
interface EngineListeners extends Pick<HookTimers, 'evaluated'> {
  /** A queue has more to send. */
  queued: (hookId: number, queue: QueueName) => void;
  /** A hook has to catch up, or a backfill has room for more. */
  behind: () => void;
  /** A hook ended. */
  ended: (end: HookEnd) => void;
  /** Writes failed and succeed again: anything may be queued, and anything to catch up on. */
  recovered: () => void;
}

const nobody: EngineListeners = { queued() {}, behind() {}, ended() {}, recovered() {}, evaluated() {} };

/** What the open transaction did to the hooks. Only once it is committed may the rest of the process act on it. */
const nothingDone = () => ({
  counted: new Map<Counted, number>(),
  said: [] as HookEvent[],
  queues: [] as [hookId: number, queue: QueueName][],
  isBehind: false,
  ends: [] as HookEnd[],
});

/**
 * Whoever writes calls `changed` for a block, and the functions of hooks for a command, each in a transaction; and then what
 * became of the transaction.
 */
export class HookEngine implements ChainFollower, EngineTransaction {
  readonly store: HookStore;
  readonly history: ChainHistory;
  /** Null until a block came. */
  readonly network: () => Network | null;
  /** What was done since the process began. */
  readonly counters = newCounters();
  readonly #log: HookLog;
  readonly #live: ReturnType<typeof liveHooks>;
  readonly #steps: ReturnType<typeof chainSteps>;
  #listeners = nobody;
  /** Unix milliseconds of the entry that is being applied; null while none is. */
  #at: number | null = null;
  #done = nothingDone();

  constructor({ store, history, network }: MachineParts, log: HookLog) {
    this.store = store;
    this.history = history;
    this.network = network;
    this.#log = log;
    this.#live = liveHooks(store.records);
    this.#steps = chainSteps(history, (event) => this.say(event));
  }

  /** Sets the listeners; those before are notified no more. */
  listen(one: EngineListeners): void {
    this.#listeners = one;
  }

  // ── Blocks ──

  /** The chain changed: live hooks take the step, and what they are notified of is queued. */
  changed(change: ChainChange, at: number): void {
    const [first] = change.applied;
    if (first === undefined) return;
    const started = performance.now();
    this.during(at, () => {
      this.#live.begin();
      this.#evaluate(stepOfChange(change, first));
    });
    this.#listeners.evaluated(performance.now() - started);
  }

  /** The transaction is committed: everybody learns of it. */
  committed(): void {
    this.#live.committed();
    const { counted, said, queues, isBehind, ends } = this.#done;
    this.#done = nothingDone();
    for (const [name, count] of counted) this.counters[name] += count;
    for (const event of said) this.#log(event);
    for (const [hookId, queue] of queues) this.#listeners.queued(hookId, queue);
    if (isBehind) this.#listeners.behind();
    for (const end of ends) this.#listeners.ended(end);
  }

  /** The transaction was undone: nothing of it happened. */
  undone(): void {
    this.#live.undone();
    this.#done = nothingDone();
  }

  recovered(): void {
    this.#listeners.recovered();
  }

  #evaluate(step: Step): void {
    const before = this.#live.progress().cursor;
    const notifications = new Notifications(this);
    for (const leaving of step.leaving) {
      for (const { hookId, txIndexes } of this.store.ledger.ofBlock(leaving.hash)) {
        const hook = this.#audience(hookId);
        if (hook !== undefined) notifications.rollback(hook, leaving, txIndexes, step);
      }
    }
    for (const block of step.joining) this.#evaluateLive(block, notifications);
    notifications.queue('live', before);
  }

  /** Who learns that a block left the chain: live hooks, and those that expired after they were notified of it. */
  #audience(hookId: number): ActiveHook | undefined {
    const known = this.#live.get(hookId);
    if (known !== undefined) return known;
    const record = this.store.records.get(hookId);
    return record?.status === 'expired' && record.stage === 'idle' ? activeHook(record) : undefined;
  }

  #evaluateLive(block: Block, notifications: Notifications): void {
    const live = this.#live;
    const { records } = this.store;
    // By id: the order in which hooks came into memory is this process's own, and deliveries are numbered in this order.
    const matches = [...live.match(block)].sort(([one], [other]) => one - other);
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
      if (hook !== undefined && record !== undefined && isUsedUp(record, hook.options)) this.#expire(record, hook);
    }
  }

  // ── Hooks that catch up ──

  /**
   * Moves a hook that catches up one step.
   * @returns whether there is nothing more to do for it
   */
  catchUp(id: number): boolean {
    this.#live.begin();
    const record = this.store.records.get(id);
    if (record === undefined || record.stage !== 'catching_up') return true;
    const hook = activeHook(record);
    const step = this.#steps.next(record.cursor);
    if (step === null) {
      this.#notifyOfOrphans(hook, record.cursor);
      // The payload may have failed.
      if (this.#isCatchingUp(id)) this.#join(record, hook);
      return true;
    }
    const notifications = new Notifications(this);
    this.#rollBackOrphans(hook, notifications);
    const matcher = new Matcher();
    matcher.set(id, hook.conditions);
    const isUp = step.joining.some((block) => this.#evaluateOne(hook, block, matcher, notifications));
    notifications.queue('catch_up', record.cursor);
    return isUp || !this.#isCatchingUp(id);
  }

  /** @returns whether the hook has used up what its options allow */
  #evaluateOne(hook: ActiveHook, block: Block, matcher: Matcher, notifications: Notifications): boolean {
    const { records } = this.store;
    const txIndexes = matcher.match(block).get(hook.id);
    records.advance(hook.id, { height: block.height, hash: block.indexBlockHash }, this.now());
    if (txIndexes !== undefined) notifications.apply(hook, block, txIndexes);
    const record = records.get(hook.id);
    if (record === undefined || !isUsedUp(record, hook.options)) return false;
    this.#expire(record, hook);
    return true;
  }

  /** Blocks that the hook was notified of and that left the chain while the hook was away. */
  #rollBackOrphans(hook: ActiveHook, notifications: Notifications): void {
    for (const { indexBlockHash, height, txIndexes } of this.store.ledger.orphansOf(hook.id)) {
      const step = this.#steps.awayFrom(indexBlockHash);
      const own = step.leaving.find((leaving) => leaving.height === height);
      if (own !== undefined) notifications.rollback(hook, own, txIndexes, step);
    }
  }

  #notifyOfOrphans(hook: ActiveHook, before: Cursor): void {
    const notifications = new Notifications(this);
    this.#rollBackOrphans(hook, notifications);
    notifications.queue('catch_up', before);
  }

  #isCatchingUp = (id: number): boolean => this.store.records.get(id)?.stage === 'catching_up';

  #join(record: HookRecord, hook: ActiveHook): void {
    const left = evaluationsLeft(record, hook.options);
    this.store.records.goLive(record.id, left === null ? null : this.#live.progress().evaluated + left);
    this.#live.include(hook);
  }

  // ── What becomes of a hook ──

  /** The hook takes part from the next block on, after it was notified of what left the chain meanwhile. */
  enableAtTip(record: HookRecord): void {
    const { records } = this.store;
    this.#live.begin();
    const hook = activeHook(record);
    this.#notifyOfOrphans(hook, record.cursor);
    const after = records.get(record.id);
    if (after === undefined || after.status === 'interrupted') return;
    records.setCursor(record.id, this.#steps.tipCursor());
    this.#join(after, hook);
  }

  /** The hook catches up from its cursor on. */
  enableFromCursor({ id }: HookRecord): void {
    this.store.records.catchUp(id);
    this.wake();
  }

  disable(record: HookRecord): void {
    this.#live.begin();
    if (record.stage !== 'idle') this.store.records.leaveLive(record.id);
    this.#live.exclude(record.id);
  }

  /** The filters or limits of a hook changed; called after its definition was stored. */
  redefined(record: HookRecord): void {
    this.#live.begin();
    if (record.stage === 'live') this.#live.include(activeHook(record));
  }

  /** `hook_progress.evaluated` at which a live hook is used up; null for none. */
  expiresAt(record: HookRecord, hook: ActiveHook): number | null {
    this.#live.load();
    const left = evaluationsLeft(record, hook.options);
    return record.stage !== 'live' || left === null ? null : this.#live.progress().evaluated + left;
  }

  /** The hook has used up what its options allow. */
  #expire(record: HookRecord, { uuid, name }: ActiveHook): void {
    const { records } = this.store;
    records.leaveLive(record.id);
    records.setStatus(record.id, 'expired');
    this.#live.exclude(record.id);
    this.say({ event: 'hook_expired', uuid, name });
    this.#end(record, 'chainhook.expired', 'it has used up what its options allow');
  }

  /**
   * Something failed that keeps the hook from going on.
   * @param stuckDelivery the row of the delivery that failed for good; null where there is none
   */
  interrupt(record: HookRecord, reason: string, stuckDelivery: number | null): void {
    const { records } = this.store;
    this.#live.begin();
    const { id, uuid } = record;
    if (record.stage !== 'idle') records.leaveLive(id);
    records.setStatus(id, 'interrupted', reason, stuckDelivery);
    this.#live.exclude(id);
    this.count('interrupted');
    this.say({ event: 'hook_interrupted', uuid, name: activeHook(record).name, reason });
    this.#end(record, 'chainhook.interrupted', reason);
  }

  #end(record: HookRecord, type: HookEnd['type'], reason: string): void {
    const { uuid, consumer } = record;
    this.#done.ends.push({ type, consumer, uuid, name: activeHook(record).name, reason, at: this.now() });
  }

  // ── What others learn once the transaction is committed ──

  count(name: Counted): void {
    const { counted } = this.#done;
    counted.set(name, (counted.get(name) ?? 0) + 1);
  }

  say(event: HookEvent): void {
    this.#done.said.push(event);
  }

  /** A queue has something to send. */
  queued(hookId: number, queue: QueueName): void {
    this.#done.queues.push([hookId, queue]);
  }

  /** A hook has to catch up, or a backfill has room for more. */
  wake(): void {
    this.#done.isBehind = true;
  }

  // ── Time ──

  /** The time of the entry that is being applied, in Unix milliseconds: there is no other time for hooks. */
  now(): number {
    if (this.#at === null) throw new Error('nothing is being applied');
    return this.#at;
  }

  /** Runs `work` at a time, in Unix milliseconds. */
  during<T>(at: number, work: () => T): T {
    const before = this.#at;
    this.#at = at;
    try {
      return work();
    } finally {
      this.#at = before;
    }
  }
}
