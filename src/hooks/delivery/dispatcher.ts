/**
 * Sends what is queued. Each lane of each hook goes in order, one request at a time; lanes take turns, so that a receiver
 * that is slow or gone holds up nobody else. Nothing of it lives in memory alone: after a crash what was under way is
 * sent again, under the same id.
 */
import type { Chance } from '../../base/chance.ts';
import type { Delivery, HookRecord, Lane, Reason } from '../../store/hooks/model.ts';
import { isSendable } from '../../store/hooks/records.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import { definitionOf } from '../active-hook.ts';
import type { HookCounters, HookTimers } from '../counters.ts';
import { type HookLog, logTaskFailure } from '../log-event.ts';
import { attempt, type Outgoing, type Result } from './attempt.ts';
import { secretHeaders } from './signature.ts';

export interface DeliveryRules {
  /** For one request. */
  timeoutMs: number;
  /** Of it, until the connection stands. */
  connectTimeoutMs: number;
  /** How long a delivery is tried before its hook is interrupted. */
  budgetMs: number;
  /** The longest wait between two attempts, unless the receiver asks for a longer one. */
  retryCapMs: number;
  /** Requests under way at once. */
  concurrency: number;
}

export interface DispatcherOptions extends Outgoing {
  store: HookStore;
  /** Runs in a transaction, all or nothing. */
  write: <T>(change: () => T) => T;
  interrupt: (record: HookRecord, reason: string, stuckDelivery: number | null) => void;
  /** What is committed by now, and when that is on the disk: nothing is sent that a loss of power could take back. */
  position: () => number;
  durable: (position: number) => Promise<void>;
  /** A backfill, or a hook that catches up, may have room for more. */
  roomMade: () => void;
  rules: DeliveryRules;
  counters: HookCounters;
  timers: HookTimers;
  log: HookLog;
  userAgent: string;
  chance: Chance;
}

const FIRST_WAIT_MS = 2_000;
const JITTER = 0.2;
/** The receiver will never want it again. */
const GONE = 410;
const PAYLOAD_TOO_LARGE = 413;

/** Milliseconds to wait after so many failed attempts, with some chance in it so that hooks don't come back together. */
export function backoff(attempts: number, capMs: number, random: () => number): number {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, 30), capMs);
  return Math.round(wait * (1 - JITTER + 2 * JITTER * random()));
}

/** Receivers that hang must not take every place: a quarter is left to what is tried for the first time. */
const mostRetries = (concurrency: number): number => Math.max(1, Math.floor(concurrency * 0.75));

interface LaneState {
  hookId: number;
  lane: Lane;
  /** `waiting` for the time of its head, `held`, if it is the live one, until a request of another has ended. */
  phase: 'ready' | 'sending' | 'waiting' | 'held';
  /** Ends the wait; null where it doesn't wait. */
  cancel: (() => void) | null;
  /** How often in a row something failed here: the database, not the receiver. */
  faults: number;
}

/** Timers hold no longer times. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const isSuccess = ({ statusCode }: Result): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300;

/** Why an attempt failed, in a sentence without a name. */
export function failureOf({ statusCode, error }: Result): string {
  if (statusCode === null) return error ?? 'no answer';
  if (statusCode === PAYLOAD_TOO_LARGE) return 'status 413: the receiver takes no body this large';
  if (statusCode >= 300 && statusCode < 400) return `status ${statusCode}: redirects are not followed`;
  return `status ${statusCode}`;
}

/** What the headers tell of a delivery. */
export interface Sent extends Pick<Delivery, 'webhookId' | 'sequence' | 'attempts'> {
  lane: Lane | 'test';
  reason: Reason | 'test';
}

export type Dispatcher = ReturnType<typeof dispatcher>;

export function dispatcher(options: DispatcherOptions) {
  const {
    store,
    write,
    interrupt,
    position,
    durable,
    roomMade,
    guard,
    rules,
    counters,
    timers,
    log,
    userAgent,
    clock,
    post,
    chance,
  } = options;
  const { records, deliveries, secrets, backfills } = store;
  const states = new Map<string, LaneState>();
  const ready: LaneState[] = [];
  /** Lanes whose heads failed before, while as many of those are under way as may be. */
  const postponed: LaneState[] = [];
  let retrying = 0;
  /** Deliveries that a request is under way of, by id. */
  const underWay = new Map<number, Delivery>();
  const stopping = new AbortController();
  /** When something was queued last. */
  let queuedAt = 0;
  let sending = 0;
  let running = false;
  let pumping = false;
  let idle: (() => void) | null = null;

  const keyOf = (hookId: number, lane: Lane): string => `${hookId}/${lane}`;

  /** Something was queued or became sendable. */
  function wake(hookId: number, lane: Lane): void {
    if (!running) return;
    queuedAt = position();
    const key = keyOf(hookId, lane);
    const known = states.get(key);
    if (known === undefined) {
      const state: LaneState = { hookId, lane, phase: 'ready', cancel: null, faults: 0 };
      states.set(key, state);
      ready.push(state);
    } else if (known.phase === 'waiting' || known.phase === 'held') {
      makeReady(known);
    }
    pumpSoon();
  }

  /** Whoever wakes a lane has something else to do: a node waits for its answer. */
  function pumpSoon(): void {
    if (pumping) return;
    pumping = true;
    void clock.turn().then(() => {
      pumping = false;
      pump();
    });
  }

  function makeReady(state: LaneState): void {
    state.cancel?.();
    state.cancel = null;
    state.phase = 'ready';
    ready.push(state);
  }

  function drop(state: LaneState): void {
    states.delete(keyOf(state.hookId, state.lane));
  }

  function wait(state: LaneState, ms: number): void {
    state.phase = 'waiting';
    state.cancel = clock.after(Math.min(Math.max(0, ms), LONGEST_TIMER_MS), () => {
      makeReady(state);
      pump();
    });
  }

  function pump(): void {
    while (running && sending < rules.concurrency) {
      const state = ready.shift();
      if (state === undefined) return;
      try {
        serve(state);
      } catch (error) {
        recover(state, error);
      }
    }
  }

  /** Sends the head of a lane, where there is one and its time has come. */
  function serve(state: LaneState): void {
    const record = records.get(state.hookId);
    const head = record === undefined ? undefined : deliveries.head(state.hookId, state.lane);
    if (record === undefined || head === undefined || (state.lane === 'live' && !isSendable(record))) {
      drop(state);
      return;
    }
    const due = (head.nextAttemptAt ?? 0) - clock.now();
    if (due > 0) {
      wait(state, due);
      return;
    }
    if (state.lane === 'live' && isOvertaking(head)) {
      state.phase = 'held';
      return;
    }
    const again = head.attempts > 0;
    if (again && retrying >= mostRetries(rules.concurrency)) {
      postponed.push(state);
      return;
    }
    sending += 1;
    if (again) retrying += 1;
    state.phase = 'sending';
    underWay.set(head.id, head);
    void send(head, state);
  }

  /** Whether it takes back a block that a request under way tells of: that one could arrive after it. */
  function isOvertaking({ hookId, blocks }: Delivery): boolean {
    const taken = new Set(blocks.rollback.map(({ index_block_hash }) => index_block_hash));
    if (taken.size === 0) return false;
    return underWay
      .values()
      .some((one) => one.hookId === hookId && one.blocks.apply.some((block) => taken.has(block.index_block_hash)));
  }

  /** Has a live lane that is held look again whether it still must be. */
  function release(hookId: number): void {
    const live = states.get(keyOf(hookId, 'live'));
    if (running && live?.phase === 'held') makeReady(live);
  }

  /** What failed was ours: the lane stands as it stood, and is looked at again. */
  function recover(state: LaneState, error: unknown): void {
    logTaskFailure(log, error);
    state.faults += 1;
    if (running) wait(state, backoff(state.faults, rules.retryCapMs, chance.number));
  }

  async function send(delivery: Delivery, state: LaneState): Promise<void> {
    try {
      await deliver(delivery);
      state.faults = 0;
      if (running) makeReady(state);
    } catch (error) {
      recover(state, error);
    } finally {
      underWay.delete(delivery.id);
      release(delivery.hookId);
      sending -= 1;
      if (delivery.attempts > 0) {
        retrying -= 1;
        ready.push(...postponed.splice(0, 1));
      }
      settle();
    }
    pump();
  }

  async function deliver({ id, hookId }: Delivery): Promise<void> {
    await durable(queuedAt);
    const delivery = deliveries.get(id);
    // As it is now: the hook may have been changed, disabled or deleted meanwhile.
    const record = records.get(hookId);
    // Cancelled meanwhile, or it never was: what could not be rolled back at once is by now.
    if (delivery === undefined || delivery.hookId !== hookId || !isOpen(delivery)) return;
    if (record === undefined || (delivery.lane === 'live' && !isSendable(record))) return;
    if (stopping.signal.aborted) return;
    const text = deliveries.body(delivery.id);
    if (text === undefined) {
      giveUp(record, delivery);
      return;
    }
    const result = await request(record, delivery, text);
    // Ended by us: whether it arrived isn't known, and it goes again at the next start.
    if (stopping.signal.aborted) return;
    timers.attempted(result.durationMs);
    note(delivery, result);
    if (delivery.backfillId !== null || delivery.reason === 'catch_up') roomMade();
  }

  /** Its body is gone: it can't be sent, and the hook says so. */
  function giveUp(record: HookRecord, delivery: Delivery): void {
    write(() => {
      deliveries.setState(delivery.id, 'dead');
      if (delivery.backfillId !== null) backfills.settle(delivery.backfillId, { delivered: 0, dead: 1 });
      if (delivery.lane === 'live') interrupt(record, `the body of delivery ${delivery.webhookId} is lost`, null);
    });
  }

  function settle(): void {
    if (sending === 0) idle?.();
  }

  /** The request of a delivery, as it is made now: with the URL and the secret of this moment. */
  async function request(record: HookRecord, delivery: Sent, text: string): Promise<Result> {
    const { url } = definitionOf(record).action;
    const body = Buffer.from(text);
    const at = clock.now();
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      'user-agent': userAgent,
      'webhook-id': delivery.webhookId,
      'webhook-timestamp': String(Math.floor(at / 1000)),
      ...secretHeaders(secrets.find(record.consumer), delivery.webhookId, body, at),
      'x-chainhook-uuid': record.uuid,
      ...(delivery.lane === 'live' ? { 'x-chainhook-sequence': String(delivery.sequence) } : {}),
      'x-chainhook-reason': delivery.reason,
      'x-chainhook-attempt': String(delivery.attempts + 1),
    };
    const { timeoutMs, connectTimeoutMs } = rules;
    return attempt(
      { url, headers, body, timeoutMs, connectTimeoutMs, signal: stopping.signal },
      { guard, clock, post },
    );
  }

  /** Writes down what came of an attempt. */
  function note(delivery: Delivery, result: Result): void {
    write(() => {
      const current = deliveries.get(delivery.id);
      const record = records.get(delivery.hookId);
      // Cancelled or deleted meanwhile.
      if (current === undefined || record === undefined || !isOpen(current)) return;
      if (isSuccess(result)) {
        deliveries.tried(delivery.id, result, 'delivered', null);
        records.delivered(record.id, clock.now(), result.statusCode);
        if (current.backfillId !== null) backfills.settle(current.backfillId, { delivered: 1, dead: 0 });
        counters.delivered += 1;
        return;
      }
      counters.failed += 1;
      if (result.blocked) counters.blockedTargets += 1;
      fail(record, current, result);
    });
  }

  const isOpen = ({ state }: Delivery): boolean => state === 'pending' || state === 'failed';

  function fail(record: HookRecord, delivery: Delivery, result: Result): void {
    const reason = failureOf(result);
    const attempts = delivery.attempts + 1;
    const triedSince = delivery.triedSince ?? result.at;
    records.failed(record.id, result.statusCode);
    const host = result.urlHost;
    log({
      event: 'hook_delivery_failed',
      uuid: record.uuid,
      webhook_id: delivery.webhookId,
      host,
      attempt: attempts,
      reason,
    });
    if (result.statusCode !== GONE && clock.now() - triedSince < rules.budgetMs) {
      const wait = Math.max(backoff(attempts, rules.retryCapMs, chance.number), result.retryAfterMs ?? 0);
      deliveries.tried(delivery.id, result, 'failed', clock.now() + wait);
      return;
    }
    deliveries.tried(delivery.id, result, 'dead', null);
    if (delivery.backfillId !== null) backfills.settle(delivery.backfillId, { delivered: 0, dead: 1 });
    if (delivery.lane !== 'live') return;
    interrupt(record, `delivery ${delivery.webhookId} to ${host} failed ${attempts} times: ${reason}`, delivery.id);
  }

  function wakeAll(): void {
    for (const { hookId, lane } of deliveries.openLanes()) wake(hookId, lane);
  }

  return {
    wake,
    /** Wakes every lane that has something to send. */
    wakeAll,
    /** Whether a request of the delivery is under way. */
    isUnderWay: (id: number): boolean => underWay.has(id),
    /** A request outside the queue, that is written down nowhere. */
    request,

    /** Begins to send what is queued. */
    start(): void {
      running = true;
      wakeAll();
    },
    /** Ends requests under way; what they carried goes again at the next start. */
    async stop(): Promise<void> {
      running = false;
      for (const { cancel } of states.values()) cancel?.();
      const ended = new Promise<void>((resolve) => {
        idle = resolve;
      });
      stopping.abort();
      if (sending > 0) await ended;
      states.clear();
      ready.length = 0;
      postponed.length = 0;
    },
  };
}
