/** Hooks, deliveries and backfills as callers see them. Times are Unix seconds. */
import type { Static } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import type { Attempt, Backfill, Delivery, HookRecord } from '../../store/hooks/model.ts';
import { isOpen } from '../commands/deliveries.ts';
import { definitionOf, warningsOf } from '../definition/definition.ts';
import type { BackfillResponse, DeliverySummary, HookResponse, PausedReason } from './schemas.ts';

const MILLISECONDS = 1000;
const seconds = (milliseconds: number): number => Math.floor(milliseconds / MILLISECONDS);
const maybeSeconds = (milliseconds: number | null): number | null =>
  milliseconds === null ? null : seconds(milliseconds);

/** What waits for a hook. */
export interface Waiting {
  count: number;
  oldest: number | null;
}

/** @param lag blocks from the hook's cursor to the tip @param pausedReason why its deliveries wait; null where they go */
export function serializedHook(
  record: HookRecord,
  waiting: Waiting,
  lag: number,
  pausedReason: PausedReason | null,
): Static<typeof HookResponse> {
  const definition = definitionOf(record);
  return {
    uuid: record.uuid,
    definition,
    status: {
      status: record.status,
      enabled: record.stage !== 'idle',
      created_at: seconds(record.createdAt),
      last_evaluated_at: maybeSeconds(record.lastEvaluatedAt),
      last_evaluated_block_height: record.lastEvaluatedHeight,
      last_occurrence_at: maybeSeconds(record.lastOccurrenceAt),
      last_occurrence_block_height: record.lastOccurrenceHeight,
      evaluated_block_count: record.evaluated,
      occurrence_count: record.occurrences,
      pending_deliveries: waiting.count,
      oldest_pending_at: maybeSeconds(waiting.oldest),
      last_delivery_at: maybeSeconds(record.lastDeliveryAt),
      last_delivery_status_code: record.lastDeliveryStatus,
      consecutive_failures: record.consecutiveFailures,
      interrupted_reason: record.interruptedReason,
      paused_reason: pausedReason,
      lag_blocks: lag,
      warnings: warningsOf(definition),
    },
  };
}

const serializedAttempt = ({ at, durationMs, urlHost, statusCode, error, excerpt }: Attempt) => ({
  at: seconds(at),
  duration_ms: durationMs,
  url_host: urlHost,
  status_code: statusCode,
  error,
  response_excerpt: excerpt,
});

/** @param underWay whether a request of it is being made */
export function serializedDelivery(
  delivery: Delivery,
  lastAttempt: Attempt | undefined,
  underWay: boolean,
): Static<typeof DeliverySummary> {
  return {
    id: delivery.webhookId,
    sequence: delivery.lane === 'live' ? delivery.sequence : null,
    reason: delivery.reason,
    // Its request goes on for a moment once what came of it is written down.
    state: underWay && isOpen(delivery) ? 'in_flight' : delivery.state,
    apply: delivery.blocks.apply,
    rollback: delivery.blocks.rollback,
    body_bytes: delivery.bodyBytes,
    body_sha256: toHex(delivery.bodySha256).slice(2),
    created_at: seconds(delivery.createdAt),
    next_attempt_at: maybeSeconds(delivery.nextAttemptAt),
    delivered_at: maybeSeconds(delivery.deliveredAt),
    attempt_count: delivery.attempts,
    last_attempt: lastAttempt === undefined ? null : serializedAttempt(lastAttempt),
    problem: delivery.problem,
  };
}

/** Attempts as the delivery log shows them, in the order given. */
export const serializedAttempts = (attempts: readonly Attempt[]) => attempts.map(serializedAttempt);

/** A backfill as the API shows it. */
export const serializedBackfill = (job: Backfill): Static<typeof BackfillResponse> => ({
  id: job.uuid,
  state: job.state,
  dry_run: job.dryRun,
  from_height: job.fromHeight,
  to_height: job.toHeight,
  next_height: job.nextHeight,
  matched_blocks: job.matchedBlocks,
  matched_transactions: job.matchedTransactions,
  deliveries: { queued: job.queued, delivered: job.delivered, dead: job.dead },
  created_at: seconds(job.createdAt),
  finished_at: maybeSeconds(job.finishedAt),
  error: job.error,
});
