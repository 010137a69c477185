/** Schemas and serializers of the chainhook routes: bodies, hooks, deliveries and backfills. Times are Unix seconds. */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { RULES } from '../../api/shared/identifiers.ts';
import { toHex } from '../../codec/hex.ts';
import { List } from '../../http/pagination.ts';
import type { Attempt, Backfill, Delivery, HookRecord } from '../../store/hooks/model.ts';
import { isEnabled } from '../../store/hooks/records.ts';
import { backfillStates, deliveryStates, hookStatuses, reasons } from '../../store/rows/enums.ts';
import { isOpen } from '../commands/deliveries.ts';
import { Definition, definitionOf } from '../definition/definition.ts';
import { type InterfaceOf, warningsOf } from '../definition/warnings.ts';

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const words = <const W extends readonly string[]>(list: W) =>
  Type.Union(list.map((word) => Type.Literal(word as W[number])));

export const Uuid = Type.String({
  pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
  rule: 'a UUID, such as 00000000-0000-4000-8000-000000000001',
  description: 'Id of the resource (UUID); upper and lower case are equal',
  examples: ['00000000-0000-4000-8000-000000000001'],
});
const UnixTime = Type.Integer({ description: 'Time in Unix seconds' });
const Height = Type.Integer({ minimum: 0 });
const Count = Type.Integer({ minimum: 0 });

/** Reasons why deliveries of a hook wait though its receiver answers. */
const pausedReasons = ['secret_unreadable', 'log_restored'] as const;
export type PausedReason = (typeof pausedReasons)[number];

export const HookResponse = Type.Object(
  {
    uuid: Uuid,
    definition: Type.Unsafe<object>(Definition),
    status: Type.Object(
      {
        status: words(hookStatuses),
        enabled: Type.Boolean(),
        created_at: UnixTime,
        last_evaluated_at: nullable(UnixTime),
        last_evaluated_block_height: nullable(Height),
        last_occurrence_at: nullable(UnixTime),
        last_occurrence_block_height: nullable(Height),
        evaluated_block_count: Count,
        occurrence_count: Count,
        pending_deliveries: Count,
        oldest_pending_at: nullable(UnixTime),
        last_delivery_at: nullable(UnixTime),
        last_delivery_status_code: nullable(Type.Integer()),
        consecutive_failures: Count,
        failing_delivery: Type.Union([Type.String(), Type.Null()], {
          description:
            'Id of the delivery that failed and holds up those behind it, or that was given up last; null where the last attempt succeeded',
        }),
        last_error: Type.Union([Type.String(), Type.Null()], {
          description:
            "Why that delivery's last attempt failed: the receiver's status with the beginning of its answer, or why it was not reached",
        }),
        last_failed_at: nullable(UnixTime),
        next_attempt_at: Type.Union([Type.Integer(), Type.Null()], {
          description: 'Time of its next attempt, in Unix seconds; null where none is planned',
        }),
        interrupted_reason: nullable(Type.String()),
        paused_reason: Type.Union([words(pausedReasons), Type.Null()], {
          description:
            "Why deliveries wait; null if they go. `secret_unreadable`: the server can't read your signing secret; a new one, or none, resumes them. Of several hosts, the one that delivers knows it. `log_restored`: the log was restored to an earlier point; enable the chainhook to continue",
        }),
        lag_blocks: Type.Integer({
          minimum: 0,
          description: 'Number of blocks that the chainhook has not evaluated yet',
        }),
        warnings: Type.Array(Type.String(), {
          description:
            'Parts of the definition that are valid but probably a mistake, such as a filter that can never match. Functions and tokens are looked up in up to 200 contracts.',
        }),
      },
      { $id: 'ChainhookStatus' },
    ),
  },
  { $id: 'Chainhook' },
);

export const HookPage = Type.Object(
  { ...List.properties, results: Type.Array(HookResponse) },
  { $id: 'ChainhookList', extends: List },
);

const NotifiedBlocks = Type.Array(
  Type.Object({ height: Height, index_block_hash: Type.String(), tx_count: Count }, { $id: 'NotifiedBlock' }),
);

const DeliveryAttempt = Type.Object(
  {
    at: UnixTime,
    duration_ms: Count,
    url_host: Type.String(),
    status_code: nullable(Type.Integer()),
    error: nullable(Type.String()),
    response_excerpt: nullable(Type.String()),
  },
  { $id: 'DeliveryAttempt' },
);

const serializedStates = [...deliveryStates, 'in_flight'] as const;

export const DeliverySummary = Type.Object(
  {
    id: Type.String({ description: 'Id of the delivery, which is sent as the header `webhook-id`' }),
    sequence: nullable(Type.Integer()),
    reason: words(reasons),
    state: words(serializedStates),
    apply: NotifiedBlocks,
    rollback: NotifiedBlocks,
    body_bytes: Count,
    body_sha256: Type.String(),
    created_at: UnixTime,
    next_attempt_at: nullable(UnixTime),
    delivered_at: nullable(UnixTime),
    attempt_count: Count,
    last_attempt: nullable(DeliveryAttempt),
    problem: nullable(Type.String({ description: 'Reason why the delivery has no body' })),
  },
  { $id: 'DeliverySummary' },
);

export const DeliveryDetail = Type.Object(
  {
    ...DeliverySummary.properties,
    attempts: Type.Array(DeliveryAttempt, { description: 'Attempts to deliver, newest first, 50 at most' }),
    payload: nullable(Type.Unsafe<object>(Type.Record(Type.String(), Type.Unknown()))),
  },
  { $id: 'Delivery', extends: DeliverySummary },
);

export const BackfillResponse = Type.Object(
  {
    id: Uuid,
    state: words(backfillStates),
    dry_run: Type.Boolean(),
    from_height: Height,
    to_height: Height,
    next_height: Height,
    matched_blocks: Count,
    matched_transactions: Count,
    deliveries: Type.Object({ queued: Count, delivered: Count, dead: Count }),
    created_at: UnixTime,
    finished_at: nullable(UnixTime),
    error: nullable(Type.String()),
  },
  { $id: 'Backfill' },
);

export const PreviewResponse = Type.Object(
  {
    matched_blocks: Count,
    matched_transactions: Count,
    payloads: Type.Array(Type.Unsafe<object>(Type.Record(Type.String(), Type.Unknown())), {
      description: 'Payloads of the first 5 matching blocks',
    }),
  },
  { $id: 'ChainhookPreview' },
);

export const TestResponse = Type.Object(
  {
    ok: Type.Boolean(),
    status_code: nullable(Type.Integer()),
    duration_ms: Count,
    error: nullable(Type.String()),
    response_excerpt: nullable(Type.String()),
    webhook_id: Type.String(),
    searched_from_height: nullable(
      Type.Integer({
        description:
          'Lowest block that was searched for a match; pass it as `before_height` to continue below it. Null if no block was searched.',
      }),
    ),
    payload: Type.Unsafe<object>(Type.Record(Type.String(), Type.Unknown())),
  },
  { $id: 'ChainhookTest' },
);

export const SecretResponse = Type.Object(
  {
    secret: nullable(Type.String()),
    signing_secret: nullable(
      Type.String({ description: 'The secret in the form that Standard Webhooks libraries take' }),
    ),
  },
  { $id: 'ConsumerSecret' },
);

const closed = { additionalProperties: false };

export const EnabledBody = Type.Object(
  {
    enabled: Type.Boolean(),
    resume_from: Type.Optional(
      Type.Union([Type.Literal('tip'), Type.Literal('last_evaluated'), Height], {
        description: 'Where the chainhook resumes: at the `tip`, after the last block it evaluated, or at a height',
      }),
    ),
  },
  { $id: 'EnabledRequest', ...closed },
);

export const BulkBody = Type.Object(
  {
    enabled: Type.Boolean(),
    filters: Type.Object(
      {
        uuids: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: 200, uniqueItems: true })),
        webhook_url: Type.Optional(Type.String({ minLength: 1 })),
        statuses: Type.Optional(Type.Array(words(hookStatuses), { minItems: 1, uniqueItems: true })),
        paused: Type.Optional(
          Type.Literal(true, {
            description:
              'Chainhooks that a restore to an earlier point paused; one that was disabled before stays disabled',
          }),
        ),
      },
      { ...closed, minProperties: 1 },
    ),
  },
  { $id: 'BulkEnabledRequest', ...closed },
);

export const EvaluateBody = Type.Object(
  {
    index_block_hash: Type.Optional(Type.String({ pattern: '^(0x)?[0-9a-fA-F]{64}$', rule: RULES.hash })),
    block_height: Type.Optional(Height),
  },
  { $id: 'EvaluationRequest', ...closed, minProperties: 1 },
);

export const BackfillBody = Type.Object(
  { from_height: Height, to_height: Type.Optional(Height), dry_run: Type.Optional(Type.Boolean()) },
  { $id: 'BackfillRequest', ...closed },
);

export const RedeliverBody = Type.Object(
  {
    state: Type.Optional(
      Type.Array(words(['dead', 'failed', 'delivered'] as const), { minItems: 1, uniqueItems: true }),
    ),
    from_height: Type.Optional(Height),
    to_height: Type.Optional(Height),
    since: Type.Optional(UnixTime),
    until: Type.Optional(UnixTime),
  },
  { $id: 'RedeliveryRequest', ...closed, minProperties: 1 },
);

export const TestBody = Type.Object(
  {
    block_height: Type.Optional(Height),
    before_height: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Height below which a match is searched (default: the tip)' }),
    ),
  },
  { $id: 'ChainhookTestRequest', ...closed },
);

/** `filters` and `options` are read like those of a definition. */
export const PreviewBody = Type.Object(
  {
    filters: Type.Optional(Type.Unknown()),
    options: Type.Optional(Type.Unknown()),
    name: Type.Optional(Type.String()),
    block_height: Type.Optional(
      Type.Union([Height, Type.Object({ from_height: Height, to_height: Height }, { $id: 'HeightRange', ...closed })], {
        description: 'A height or a range of heights',
      }),
    ),
    index_block_hash: Type.Optional(Type.String({ pattern: '^(0x)?[0-9a-fA-F]{64}$', rule: RULES.hash })),
    from_height: Type.Optional(Height),
    to_height: Type.Optional(Height),
  },
  { $id: 'ChainhookPreviewRequest', ...closed },
);

const MILLISECONDS = 1000;
const seconds = (milliseconds: number): number => Math.floor(milliseconds / MILLISECONDS);
const maybeSeconds = (milliseconds: number | null): number | null =>
  milliseconds === null ? null : seconds(milliseconds);

/** Waiting deliveries of a hook. */
interface Waiting {
  count: number;
  oldest: number | null;
}

/** The delivery that makes a hook fail, with its last attempt. */
interface Failing {
  delivery: Delivery;
  attempt: Attempt | undefined;
}

/** Why an attempt failed, with the first line of the receiver's answer: `status 503: database is locked`. */
function errorOf({ statusCode, error, excerpt }: Attempt): string {
  if (statusCode === null) return error ?? 'no answer';
  const [said = ''] = (excerpt ?? '').trim().split('\n');
  return said === '' ? `status ${statusCode}` : `status ${statusCode}: ${said}`;
}

/**
 * @param failing null where the last attempt succeeded
 * @param lag blocks from the hook's cursor to the tip
 * @param pausedReason why its deliveries wait; null if they don't
 * @param interfaceOf finds the interfaces of contracts that filters name
 */
export function serializedHook(
  record: HookRecord,
  waiting: Waiting,
  failing: Failing | null,
  lag: number,
  pausedReason: PausedReason | null,
  interfaceOf: InterfaceOf,
): Static<typeof HookResponse> {
  const definition = definitionOf(record);
  return {
    uuid: record.uuid,
    definition,
    status: {
      status: record.status,
      enabled: isEnabled(record),
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
      failing_delivery: failing?.delivery.webhookId ?? null,
      last_error: failing?.attempt === undefined ? null : errorOf(failing.attempt),
      last_failed_at: failing?.attempt === undefined ? null : seconds(failing.attempt.at + failing.attempt.durationMs),
      next_attempt_at: maybeSeconds(failing?.delivery.nextAttemptAt ?? null),
      interrupted_reason: record.interruptedReason,
      paused_reason: pausedReason,
      lag_blocks: lag,
      warnings: warningsOf(definition, interfaceOf),
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

/** @param underWay whether its request is under way */
export function serializedDelivery(
  delivery: Delivery,
  lastAttempt: Attempt | undefined,
  underWay: boolean,
): Static<typeof DeliverySummary> {
  return {
    id: delivery.webhookId,
    sequence: delivery.queue === 'live' ? delivery.sequence : null,
    reason: delivery.reason,
    // The request may still be under way for a moment after its result is written.
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

/** Attempts as the delivery log shows them, in the given order. */
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
