/**
 * Results of deliveries: delivered, to be retried later, or dead. They are written as commands with many results each, so that
 * a delivery costs only a part of a sync. If a result is lost before it is written, its delivery is sent again.
 */

import { type Clock, pause, type RandomSource } from '../../base/clock.ts';
import { unavailable } from '../../base/system-errors.ts';
import { LogUnavailableError } from '../../cluster/shared-log.ts';
import type { Attempt, Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { DeliveryResult, DeliveryResults } from '../commands/deliveries.ts';
import type { HookCounters, HookLog } from '../reporting.ts';
import { type AttemptResult, type DeliveryRules, isSuccess, retryWait } from './attempt.ts';
import { failureOf } from './failure.ts';

const MAX_RESULTS_PER_COMMAND = 200;
/** Maximum wait of a result for others, in milliseconds. */
const MAX_BATCH_MS = 20;
/** Milliseconds until results are written again after the log of a cluster refused them. */
const RETRY_MS = 500;

interface ResultWriterOptions {
  /** Writes all results or none. @returns for each whether it counts */
  write: (results: DeliveryResults) => Promise<boolean[]>;
  /** Whether requests are running. Their results may share a command with the waiting ones. */
  areMoreComing: () => boolean;
  clock: Clock;
}

interface WaitingResult {
  result: DeliveryResult;
  resolve: (counts: boolean) => void;
  reject: (error: unknown) => void;
}

type ResultWriter = ReturnType<typeof resultWriter>;

/**
 * Writes delivery results in order, many in a command: {@link MAX_RESULTS_PER_COMMAND}, the results of {@link MAX_BATCH_MS}, or
 * all if no request is running. Writes only after `start`.
 */
export function resultWriter({ write, areMoreComing, clock }: ResultWriterOptions) {
  const waiting: WaitingResult[] = [];
  let epoch = 0;
  let stopping = new AbortController();
  let working: Promise<void> | null = null;
  /** Ends the wait for more results; null if nothing waits. */
  let cancel: (() => void) | null = null;

  /**
   * Writes results in one command. If the command fails, writes each result alone, so that a result that can't be written
   * doesn't delay the others.
   * @returns the results that aren't written, because the log is unavailable
   */
  async function writeBatch(batch: readonly WaitingResult[]): Promise<readonly WaitingResult[]> {
    try {
      const counts = await write({ epoch, marks: batch.map(({ result }) => result) });
      for (const [index, { resolve }] of batch.entries()) resolve(counts[index] === true);
      return [];
    } catch (error) {
      if (error instanceof LogUnavailableError) return batch;
      if (batch.length > 1 && unavailable(error) === null) return writeEach(batch);
      for (const { reject } of batch) reject(error);
      return [];
    }
  }

  async function writeEach(batch: readonly WaitingResult[]): Promise<readonly WaitingResult[]> {
    for (const [index, result] of batch.entries()) {
      const unwritten = await writeBatch([result]);
      if (unwritten.length > 0) return batch.slice(index);
    }
    return [];
  }

  /** Whether the waiting results are written now, without more. */
  const isDue = (): boolean =>
    waiting.length >= MAX_RESULTS_PER_COMMAND || (waiting.length > 0 && (stopping.signal.aborted || !areMoreComing()));

  async function work(): Promise<void> {
    const { signal } = stopping;
    do {
      const unwritten = await writeBatch(waiting.splice(0, MAX_RESULTS_PER_COMMAND));
      if (signal.aborted) {
        // The next holder of the lease sends these deliveries again.
        for (const { resolve } of unwritten) resolve(false);
      } else if (unwritten.length > 0) {
        waiting.unshift(...unwritten);
        await pause(clock, RETRY_MS, signal);
      }
    } while (isDue());
    working = null;
    if (waiting.length > 0) cancel = clock.after(MAX_BATCH_MS, begin);
  }

  function begin(): void {
    cancel?.();
    cancel = null;
    working ??= work();
  }

  return {
    /** @param leaseEpoch number of the lease under which this host delivers from now on */
    start(leaseEpoch: number): void {
      epoch = leaseEpoch;
      stopping = new AbortController();
    },

    /**
     * Writes a result.
     * @returns whether the result counts; false if the delivery or its hook is gone, or the log failed until the lease ended
     */
    write: (result: DeliveryResult): Promise<boolean> =>
      new Promise((resolve, reject) => {
        waiting.push({ result, resolve, reject });
        if (working !== null) return;
        if (isDue()) begin();
        else cancel ??= clock.after(MAX_BATCH_MS, begin);
      }),

    /** Resolves when all results are written; each is retried once if the log is unavailable. */
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
  random: RandomSource;
}

/** Status of a receiver that will never accept the delivery. */
const GONE = 410;

// Only these members enter the journal.
const attemptOf = ({ at, durationMs, urlHost, statusCode, error, excerpt }: AttemptResult): Attempt => ({
  at,
  durationMs,
  urlHost,
  statusCode,
  error,
  excerpt,
});

const identityOf = ({ id, webhookId, attempts }: Delivery) => ({ delivery: id, webhookId, attempts });

export type Results = ReturnType<typeof deliveryResults>;

/** Writes the result of each attempt, with the consequence for the delivery and its hook. */
export function deliveryResults({ writer, rules, counters, log, clock, random }: ResultOptions) {
  function failureResult(delivery: Delivery, attempts: number, result: AttemptResult): DeliveryResult {
    const { webhookId, triedSince } = delivery;
    const fields = { ...identityOf(delivery), attempt: attemptOf(result) };
    if (result.statusCode !== GONE && clock.now() - (triedSince ?? result.at) < rules.budgetMs) {
      const wait = Math.max(retryWait(attempts, rules.retryCapMs, random.number), result.retryAfterMs ?? 0);
      return { ...fields, outcome: 'failed', nextAt: clock.now() + wait };
    }
    const times = attempts === 1 ? 'once' : `${attempts} times`;
    const reason = `delivery ${webhookId} to ${result.urlHost} failed ${times}: ${failureOf(result)}`;
    return { ...fields, outcome: 'dead', reason };
  }

  async function writeFailure({ uuid }: HookRecord, delivery: Delivery, result: AttemptResult): Promise<void> {
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
    async recordAttempt(record: HookRecord, delivery: Delivery, result: AttemptResult): Promise<void> {
      if (!isSuccess(result)) {
        await writeFailure(record, delivery, result);
        return;
      }
      const counts = await writer.write({ ...identityOf(delivery), outcome: 'delivered', attempt: attemptOf(result) });
      if (counts) counters.delivered += 1;
    },

    /** A delivery can't be signed for now; the wait doesn't count towards its budget. */
    async recordPause(delivery: Delivery): Promise<void> {
      await writer.write({ ...identityOf(delivery), outcome: 'paused' });
    },

    /** Interrupts the hook as after a failed delivery, since the delivery lacks a body and can't be sent. */
    async recordLostBody(delivery: Delivery): Promise<void> {
      await writer.write({ ...identityOf(delivery), outcome: 'lost' });
    },
  };
}
