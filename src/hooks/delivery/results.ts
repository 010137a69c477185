/**
 * What comes of deliveries: delivered, to be tried again after a while, or dead. It is written down as commands, each with the
 * results of many deliveries, so that a delivery costs a part of a sync. A result that is lost before it is written has its
 * delivery sent again.
 */
import type { Chance } from '../../base/chance.ts';
import { type Clock, pause } from '../../base/clock.ts';
import { unavailable } from '../../store/files/store-failure.ts';
import type { Delivery, HookRecord } from '../../store/hooks/model.ts';
import { LogUnavailableError } from '../../store/log/shared-log.ts';
import type { DeliveryResult, DeliveryResults } from '../commands/deliveries.ts';
import type { HookCounters } from '../counters.ts';
import type { HookLog } from '../log-event.ts';
import { type AttemptResult, backoff, type DeliveryRules, failureOf, isSuccess } from './attempt.ts';

/** Maximum results in one command. */
const MOST = 200;
/** How long a result may wait for others, in milliseconds. */
const LONGEST_MS = 20;
/** Milliseconds until results are written again that the log of a cluster did not accept. */
const RETRY_MS = 500;

interface ResultWriterOptions {
  /** Writes results, all or none. @returns for each whether it counts */
  write: (results: DeliveryResults) => Promise<boolean[]>;
  /** Whether requests are under way, whose results may share a command with those that wait. */
  areMoreComing: () => boolean;
  clock: Clock;
}

interface Waiting {
  result: DeliveryResult;
  resolve: (counts: boolean) => void;
  reject: (error: unknown) => void;
}

type ResultWriter = ReturnType<typeof resultWriter>;

/**
 * Writes delivery results in the order in which they came: {@link MOST} in one command, those of {@link LONGEST_MS}, or all
 * there are where no more can come. Writes nothing before `start`.
 */
export function resultWriter({ write, areMoreComing, clock }: ResultWriterOptions) {
  const waiting: Waiting[] = [];
  let epoch = 0;
  let stopping = new AbortController();
  let working: Promise<void> | null = null;
  /** Ends the waiting for others; null where nothing waits for them. */
  let cancel: (() => void) | null = null;
  /** The first so many of those that wait go each by itself. */
  let alone = 0;

  function next(): Waiting[] {
    if (alone === 0) return waiting.splice(0, MOST);
    alone -= 1;
    return waiting.splice(0, 1);
  }

  /** @param signal aborted where nobody may wait any more */
  async function failed(batch: Waiting[], error: unknown, signal: AbortSignal): Promise<void> {
    if (error instanceof LogUnavailableError) {
      // Whoever delivers next sends these deliveries again.
      if (signal.aborted) {
        for (const { resolve } of batch) resolve(false);
        return;
      }
      waiting.unshift(...batch);
      await pause(clock, RETRY_MS, signal);
    } else if (batch.length === 1 || unavailable(error) !== null) {
      for (const { reject } of batch) reject(error);
    } else {
      // What can't be written down must not hold up the others.
      waiting.unshift(...batch);
      alone = batch.length;
    }
  }

  /** Whether those that wait wait for no others. */
  const isDue = (): boolean =>
    waiting.length >= MOST || (waiting.length > 0 && (alone > 0 || stopping.signal.aborted || !areMoreComing()));

  async function work(): Promise<void> {
    const { signal } = stopping;
    do {
      const batch = next();
      try {
        const counts = await write({ epoch, marks: batch.map(({ result }) => result) });
        for (const [index, { resolve }] of batch.entries()) resolve(counts[index] === true);
      } catch (error) {
        await failed(batch, error, signal);
      }
    } while (isDue());
    working = null;
    if (waiting.length > 0) cancel = clock.after(LONGEST_MS, begin);
  }

  function begin(): void {
    cancel?.();
    cancel = null;
    working ??= work();
  }

  return {
    /** @param of the lease by which deliveries are sent from now on */
    start(of: number): void {
      epoch = of;
      stopping = new AbortController();
    },

    /**
     * Writes a result.
     * @returns whether it counts: not where the delivery was cancelled or its hook deleted meanwhile, and not where the log
     *   could not be reached before the lease ended
     */
    write: (result: DeliveryResult): Promise<boolean> =>
      new Promise((resolve, reject) => {
        waiting.push({ result, resolve, reject });
        if (working !== null) return;
        if (isDue()) begin();
        else cancel ??= clock.after(LONGEST_MS, begin);
      }),

    /** Resolves when all results are written; each is tried once more where the log can't be reached. */
    async stop(): Promise<void> {
      stopping.abort();
      if (waiting.length > 0) begin();
      await working;
    },
  };
}

interface ResultOptions {
  writer: Pick<ResultWriter, 'write'>;
  rules: DeliveryRules;
  counters: HookCounters;
  log: HookLog;
  clock: Clock;
  chance: Chance;
}

/** The receiver will never want it again. */
const GONE = 410;

const attemptOf = ({ at, durationMs, urlHost, statusCode, error, excerpt }: AttemptResult) => ({
  at,
  durationMs,
  urlHost,
  statusCode,
  error,
  excerpt,
});

const subjectOf = ({ id, webhookId, attempts }: Delivery) => ({ delivery: id, webhookId, attempts });

export type Results = ReturnType<typeof deliveryResults>;

/** Has the result of each attempt written down, with what follows from it for the delivery and its hook. */
export function deliveryResults({ writer, rules, counters, log, clock, chance }: ResultOptions) {
  function failureResult(delivery: Delivery, attempts: number, result: AttemptResult): DeliveryResult {
    const { webhookId, triedSince } = delivery;
    const of = { ...subjectOf(delivery), attempt: attemptOf(result) };
    if (result.statusCode !== GONE && clock.now() - (triedSince ?? result.at) < rules.budgetMs) {
      const wait = Math.max(backoff(attempts, rules.retryCapMs, chance.number), result.retryAfterMs ?? 0);
      return { ...of, outcome: 'failed', nextAt: clock.now() + wait };
    }
    const reason = `delivery ${webhookId} to ${result.urlHost} failed ${attempts} times: ${failureOf(result)}`;
    return { ...of, outcome: 'dead', reason };
  }

  async function failed({ uuid }: HookRecord, delivery: Delivery, result: AttemptResult): Promise<void> {
    const attempts = delivery.attempts + 1;
    if (!(await writer.write(failureResult(delivery, attempts, result)))) return;
    counters.failed += 1;
    if (result.blocked) counters.blockedTargets += 1;
    const { webhookId: webhook_id } = delivery;
    const reason = failureOf(result);
    log({ event: 'hook_delivery_failed', uuid, webhook_id, host: result.urlHost, attempt: attempts, reason });
  }

  return {
    /** @param delivery as it was before the attempt */
    async attempted(record: HookRecord, delivery: Delivery, result: AttemptResult): Promise<void> {
      if (!isSuccess(result)) {
        await failed(record, delivery, result);
        return;
      }
      const counts = await writer.write({ ...subjectOf(delivery), outcome: 'delivered', attempt: attemptOf(result) });
      if (counts) counters.delivered += 1;
    },

    /** A delivery that was tried can't be signed for now: what it waits until then is no part of the time it is tried. */
    async paused(delivery: Delivery): Promise<void> {
      await writer.write({ ...subjectOf(delivery), outcome: 'paused' });
    },

    /** The body of a delivery is gone: it can't be sent, and its hook says so; as for one that was attempted. */
    async bodyLost(delivery: Delivery): Promise<void> {
      await writer.write({ ...subjectOf(delivery), outcome: 'lost' });
    },
  };
}
