/**
 * Sends what is queued. Each lane of each hook goes in order, one request at a time; lanes take turns, so that a receiver
 * that is slow or gone holds up nobody else. Nothing of it lives in memory alone: after a crash what was under way is
 * sent again, under the same id.
 */
import type { Delivery } from '../../store/hooks/model.ts';
import { isSendable } from '../../store/hooks/records.ts';
import type { Lane } from '../../store/rows/hook-words.ts';
import { logTaskFailure } from '../log-event.ts';
import { type DeliverOptions, deliverer } from './deliver.ts';
import { type LaneState, lanes } from './lanes.ts';
import { backoff, mostRetries } from './rules.ts';

const isRetry = ({ attempts }: Delivery): boolean => attempts > 0;

/** Whether a delivery takes back a block that a request under way tells of: that request could arrive after it. */
function isOvertaking({ hookId, blocks }: Delivery, underWay: Iterable<Delivery>): boolean {
  const taken = new Set(blocks.rollback.map(({ index_block_hash }) => index_block_hash));
  if (taken.size === 0) return false;
  return Iterator.from(underWay).some(
    (one) => one.hookId === hookId && one.blocks.apply.some((block) => taken.has(block.index_block_hash)),
  );
}

/** Sends nothing until `start`, and can be started again once it has stopped. */
export function dispatcher(options: DeliverOptions) {
  const { store, rules, log, clock, chance, canSign } = options;
  const { records, deliveries } = store;
  const deliver = deliverer(options);
  const queue = lanes(clock, pump);
  /** The delivery of each lane whose request is under way. */
  const underWay = new Map<LaneState, Delivery>();
  let retrying = 0;
  let running = false;
  /** Aborted when it stops. */
  let stopping = new AbortController();
  let pumping = false;
  let idle: (() => void) | null = null;

  function wake(hookId: number, lane: Lane): void {
    if (!running) return;
    queue.wake(hookId, lane);
    void pumpSoon();
  }

  /** Whoever wakes a lane has something else to do: a node waits for its answer. */
  async function pumpSoon(): Promise<void> {
    if (pumping) return;
    pumping = true;
    await clock.turn();
    pumping = false;
    pump();
  }

  function pump(): void {
    while (running && underWay.size < rules.concurrency) {
      const state = queue.next();
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
    const hook = records.get(state.hookId);
    const head = hook === undefined ? undefined : deliveries.head(state.hookId, state.lane);
    const isIdle = hook === undefined || head === undefined || (state.lane === 'live' && !isSendable(hook));
    if (isIdle || !canSign(hook.consumer)) {
      queue.drop(state);
      return;
    }
    const due = (head.nextAttemptAt ?? 0) - clock.now();
    if (due > 0) queue.wait(state, due);
    else if (state.lane === 'live' && isOvertaking(head, underWay.values())) queue.hold(state);
    else if (isRetry(head) && retrying >= mostRetries(rules.concurrency)) queue.postpone(state);
    else void send(head, state);
  }

  async function send(delivery: Delivery, state: LaneState): Promise<void> {
    state.phase = 'sending';
    underWay.set(state, delivery);
    if (isRetry(delivery)) retrying += 1;
    try {
      await deliver(delivery, stopping.signal);
      state.faults = 0;
      if (running) queue.makeReady(state);
    } catch (error) {
      recover(state, error);
    } finally {
      underWay.delete(state);
      if (running) queue.release(delivery.hookId);
      if (isRetry(delivery)) {
        retrying -= 1;
        queue.resumePostponed();
      }
      if (underWay.size === 0) idle?.();
    }
    pump();
  }

  /** What failed was ours, such as the database: the lane stands as it stood, and is looked at again. */
  function recover(state: LaneState, error: unknown): void {
    logTaskFailure(log, error);
    state.faults += 1;
    if (running) queue.wait(state, backoff(state.faults, rules.retryCapMs, chance.number));
  }

  function wakeAll(): void {
    for (const { hookId, lane } of deliveries.openLanes()) wake(hookId, lane);
  }

  return {
    /** A lane has something to send, or what it has became sendable. */
    wake,
    /** Wakes every lane that has something to send. */
    wakeAll,
    /** The row ids of the deliveries whose requests are under way. */
    underWay: (): number[] => Array.from(underWay.values(), ({ id }) => id),

    /** Begins to send what is queued. */
    start(): void {
      stopping = new AbortController();
      running = true;
      wakeAll();
    },
    /** Ends requests under way; what they carried goes again at the next start. */
    async stop(): Promise<void> {
      running = false;
      queue.cancelWaits();
      const ended = new Promise<void>((resolve) => {
        idle = resolve;
      });
      stopping.abort();
      if (underWay.size > 0) await ended;
      queue.clear();
    },
  };
}
