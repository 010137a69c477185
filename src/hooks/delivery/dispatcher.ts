/**
 * The dispatcher sends the deliveries of the outbox. Each queue of each hook goes in order, with one request at a time; queues
 * take turns, so that a slow or unreachable receiver delays only its own hooks. A queue continues once the result of its
 * delivery is written. All state is stored: after a crash, unfinished deliveries are sent again, with the same id.
 */

import type { Clock, RandomSource } from '../../base/clock.ts';
import type { Delivery, HookRecord } from '../../store/hooks/model.ts';
import { isSendable } from '../../store/hooks/records.ts';
import type { HookReads } from '../../store/hooks/store.ts';
import type { QueueName } from '../../store/rows/enums.ts';
import { type HookLog, type HookTimers, logTaskFailure } from '../reporting.ts';
import {
  type AttemptResult,
  type DeliveryRequest,
  type DeliveryRules,
  maxRetries,
  maxWait,
  retryWait,
} from './attempt.ts';
import type { Results } from './results.ts';

interface DispatcherOptions {
  store: HookReads;
  rules: DeliveryRules;
  timers: Pick<HookTimers, 'attempted'>;
  log: HookLog;
  clock: Clock;
  random: RandomSource;
  request: DeliveryRequest;
  results: Results;
  /** Notified when a backfill, or a hook that catches up, may queue more. */
  roomMade: () => void;
  /** Whether this host has the lease. If it lost the lease, the dispatcher is stopped before this returns. */
  hasLease: () => boolean;
  /** Whether the deliveries of a consumer can be signed; while they can't, they wait. */
  canSign: (consumer: string) => boolean;
}

const isRetry = ({ attempts }: Delivery): boolean => attempts > 0;

/** Whether a delivery rolls back a block that a request under way applies: that request could arrive after the rollback. */
function isOvertaking({ hookId, blocks }: Delivery, requests: Iterable<Delivery>): boolean {
  const reverted = new Set(blocks.rollback.map(({ index_block_hash }) => index_block_hash));
  if (reverted.size === 0) return false;
  return Iterator.from(requests).some(
    (request) =>
      request.hookId === hookId && request.blocks.apply.some((block) => reverted.has(block.index_block_hash)),
  );
}

export type Dispatcher = ReturnType<typeof dispatcher>;

/** Sends nothing before `start`; can start again after `stop`. */
export function dispatcher(options: DispatcherOptions) {
  const { store, rules, timers, log, clock, random, request, results, roomMade, hasLease, canSign } = options;
  const { records, deliveries } = store;
  const queues = hookQueues(clock, pump);
  /** The deliveries that are being sent, or that wait until their results are written. */
  const underWay = new Set<Delivery>();
  /** The deliveries of `underWay` with running requests. */
  const requests = new Set<Delivery>();
  /** Aborted before `start` and by `stop`. */
  let stopping = new AbortController();
  stopping.abort();
  let pumping = false;
  let idle: (() => void) | null = null;

  const countRetries = (): number => Array.from(requests).filter(isRetry).length;

  const isRunning = (): boolean => !stopping.signal.aborted;

  function wake(hookId: number, queue: QueueName): void {
    if (!isRunning()) return;
    queues.wake(hookId, queue);
    void pumpSoon();
  }

  /** Sends after the caller's turn, since the node waits for its answer. */
  async function pumpSoon(): Promise<void> {
    if (pumping) return;
    pumping = true;
    await clock.turn();
    pumping = false;
    pump();
  }

  function pump(): void {
    while (isRunning() && requests.size < rules.concurrency) {
      const state = queues.next();
      if (state === undefined) return;
      try {
        serve(state);
      } catch (error) {
        recover(state, error);
      }
    }
  }

  /** Sends the head of a queue, if there is one and it is due. */
  function serve(state: QueueState): void {
    const hook = records.get(state.hookId);
    const head = hook === undefined ? undefined : deliveries.head(state.hookId, state.queue);
    if (hook === undefined || head === undefined || !isSendable(hook, state.queue)) {
      queues.drop(state);
      return;
    }
    if (!canSign(hook.consumer)) {
      queues.drop(state);
      if (head.triedSince !== null) void pause(head);
      return;
    }
    const wait = Math.min((head.nextAttemptAt ?? 0) - clock.now(), maxWait(rules));
    if (wait > 0 && state.waitedUntil !== head.nextAttemptAt) queues.wait(state, wait, head.nextAttemptAt);
    else if (state.queue === 'live' && isOvertaking(head, requests)) queues.hold(state);
    else if (isRetry(head) && countRetries() >= maxRetries(rules.concurrency)) queues.postpone(state);
    else void send(hook, head, state);
  }

  async function pause(head: Delivery): Promise<void> {
    try {
      await results.recordPause(head);
    } catch (error) {
      logTaskFailure(log, error);
    }
  }

  async function send(hook: HookRecord, head: Delivery, state: QueueState): Promise<void> {
    state.phase = 'sending';
    underWay.add(head);
    requests.add(head);
    try {
      await deliver(hook, head, stopping.signal);
      state.faults = 0;
      if (isRunning()) queues.makeReady(state);
    } catch (error) {
      recover(state, error);
    } finally {
      releaseRequest(head);
      underWay.delete(head);
      if (underWay.size === 0) idle?.();
    }
    pump();
  }

  /** The request of a delivery has ended, or was not made; another may begin. */
  function releaseRequest(head: Delivery): void {
    if (!requests.delete(head)) return;
    if (isRunning()) queues.release(head.hookId);
    if (isRetry(head)) queues.resumePostponed();
    pump();
  }

  /** @param signal aborted when the dispatcher stops */
  async function deliver(hook: HookRecord, delivery: Delivery, signal: AbortSignal): Promise<void> {
    if (!hasLease() || signal.aborted) return;
    const result = await sendBody(hook, delivery, signal);
    // We ended the request, and it may have arrived or not: the delivery is sent again at the next start.
    if (signal.aborted) return;
    if (result === null) {
      await results.recordLostBody(delivery);
      return;
    }
    releaseRequest(delivery);
    timers.attempted(result.durationMs);
    await results.recordAttempt(hook, delivery, result);
    if (delivery.backfillId !== null || delivery.reason === 'catch_up') roomMade();
  }

  /** Sends a delivery, in a separate function so that the body is freed afterwards. @returns null if the body is lost */
  async function sendBody(hook: HookRecord, delivery: Delivery, signal: AbortSignal): Promise<AttemptResult | null> {
    const text = deliveries.body(delivery.id);
    return text === undefined ? null : request(hook, delivery, text, signal);
  }

  /** The failure is this host's, for example of its database: the queue does not change, and is tried again. */
  function recover(state: QueueState, error: unknown): void {
    logTaskFailure(log, error);
    state.faults += 1;
    if (isRunning()) queues.wait(state, retryWait(state.faults, rules.retryCapMs, random.number));
  }

  function wakeAll(): void {
    for (const { hookId, queue } of deliveries.openQueues()) wake(hookId, queue);
  }

  return {
    wake,
    wakeAll,
    /** Returns the row ids of deliveries that are being sent, or that wait until their results are written. */
    underWay: (): number[] => Array.from(underWay, ({ id }) => id),
    /** Whether requests are under way, and results will follow. */
    hasRequests: (): boolean => requests.size > 0,

    start(): void {
      stopping = new AbortController();
      wakeAll();
    },
    /** Ends requests under way; their deliveries are sent again at the next start. */
    async stop(): Promise<void> {
      const ended = new Promise<void>((resolve) => {
        idle = resolve;
      });
      stopping.abort();
      if (underWay.size > 0) await ended;
      queues.clear();
    },
  };
}

interface QueueState {
  readonly hookId: number;
  readonly queue: QueueName;
  /**
   * `waiting` until its head is due; `held` (live queues only) until a request of another queue ends; `postponed` while the
   * maximum number of retries is under way.
   */
  phase: 'ready' | 'sending' | 'waiting' | 'held' | 'postponed';
  /** Ends the wait; null while the queue doesn't wait. */
  cancel: (() => void) | null;
  /** The `nextAttemptAt` until which the queue waited to the end: a clock that was set back makes no delivery wait again. */
  waitedUntil: number | null;
  /** Number of failures of this host (not of the receiver) in a row. */
  faults: number;
}

const keyOf = (hookId: number, queue: QueueName): string => `${hookId}/${queue}`;

/** The queues of all hooks. @param waitEnded called when the wait of a queue ends */
function hookQueues(clock: Clock, waitEnded: () => void) {
  const states = new Map<string, QueueState>();
  const ready: QueueState[] = [];
  const postponed: QueueState[] = [];

  function makeReady(state: QueueState): void {
    state.cancel?.();
    state.cancel = null;
    state.phase = 'ready';
    ready.push(state);
  }

  return {
    makeReady,

    wake(hookId: number, queue: QueueName): void {
      const key = keyOf(hookId, queue);
      const queueState = states.get(key);
      if (queueState === undefined) {
        const state: QueueState = { hookId, queue, phase: 'ready', cancel: null, waitedUntil: null, faults: 0 };
        states.set(key, state);
        ready.push(state);
      } else if (queueState.phase === 'waiting' || queueState.phase === 'held') {
        makeReady(queueState);
      }
    },

    next: (): QueueState | undefined => ready.shift(),

    /** @param until the time that the head has to wait for; null for a wait of the queue itself */
    wait(state: QueueState, ms: number, until: number | null = null): void {
      state.phase = 'waiting';
      state.cancel = clock.after(ms, () => {
        state.waitedUntil = until;
        makeReady(state);
        waitEnded();
      });
    },

    hold(state: QueueState): void {
      state.phase = 'held';
    },
    /** A request of the hook has ended: makes its held live queue ready, which then checks again whether it must wait. */
    release(hookId: number): void {
      const live = states.get(keyOf(hookId, 'live'));
      if (live?.phase === 'held') makeReady(live);
    },

    postpone(state: QueueState): void {
      state.phase = 'postponed';
      postponed.push(state);
    },
    /** A retry has ended: the first postponed queue is ready. */
    resumePostponed(): void {
      const state = postponed.shift();
      if (state !== undefined) makeReady(state);
    },

    drop({ hookId, queue }: QueueState): void {
      states.delete(keyOf(hookId, queue));
    },

    clear(): void {
      for (const { cancel } of states.values()) cancel?.();
      states.clear();
      ready.length = 0;
      postponed.length = 0;
    },
  };
}
