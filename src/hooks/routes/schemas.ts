/** Schemas and serializers of the chainhook routes: bodies, hooks, deliveries and backfills. Times are Unix seconds. */
import { Type } from '@sinclair/typebox';
import { named, nullable, object, words } from '../../api/shared/fields.ts';
import { RULES } from '../../api/shared/identifiers.ts';
import { toHex } from '../../codec/hex.ts';
import { List } from '../../http/pagination.ts';
import type { Attempt, Backfill, Delivery, HookRecord } from '../../store/hooks/model.ts';
import { isEnabled, isSendable } from '../../store/hooks/records.ts';
import { backfillStates, deliveryStates, hookStatuses, reasons } from '../../store/rows/enums.ts';
import { isOpen } from '../commands/deliveries.ts';
import { Definition, type HookDefinition, parseDefinition } from '../definition/definition.ts';
import { findWarnings } from '../definition/warnings.ts';
import { failureOf } from '../delivery/failure.ts';

export const Uuid = Type.String({
  pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
  rule: 'a UUID, such as 00000000-0000-4000-8000-000000000001',
  description: 'Id of the resource (UUID), in upper or lower case',
  examples: ['00000000-0000-4000-8000-000000000001'],
});
const UnixTime = Type.Integer({ description: 'Time in Unix seconds' });
const Height = Type.Integer({ minimum: 0 });
const Count = Type.Integer({ minimum: 0 });

/** Reasons why deliveries of a hook wait though its receiver answers. */
const pausedReasons = ['secret_unreadable', 'log_restored'] as const;
export type PausedReason = (typeof pausedReasons)[number];

const MILLISECONDS = 1000;
const seconds = (milliseconds: number): number => Math.floor(milliseconds / MILLISECONDS);
const maybeSeconds = (milliseconds: number | null): number | null =>
  milliseconds === null ? null : seconds(milliseconds);

interface WaitingCount {
  count: number;
  oldest: number | null;
}

/** The delivery that makes a hook fail, with its last attempt. */
interface FailingDelivery {
  delivery: Delivery;
  attempt: Attempt | undefined;
}

/** Why an attempt failed, with the first line of the receiver's answer: `status 503: database is locked`. */
function errorOf(attempt: Attempt): string {
  const [firstLine] = (attempt.excerpt ?? '').trim().split('\n');
  return failureOf(attempt, firstLine);
}

/** A chainhook with all that its status is computed from. */
interface HookView {
  record: HookRecord;
  definition: HookDefinition;
  waiting: WaitingCount;
  /** Null if the last attempt succeeded and no delivery waits for a retry. */
  failing: FailingDelivery | null;
  /** Blocks from the hook's cursor to the tip. */
  lag: number;
  /** Why its deliveries wait; null if they don't. */
  pausedReason: PausedReason | null;
}

const hookStatus = object<HookView>('ChainhookStatus')({
  status: [words(...hookStatuses), ({ record }) => record.status],
  enabled: [Type.Boolean(), ({ record }) => isEnabled(record)],
  created_at: [UnixTime, ({ record }) => seconds(record.createdAt)],
  last_evaluated_at: [nullable(UnixTime), ({ record }) => maybeSeconds(record.lastEvaluatedAt)],
  last_evaluated_block_height: [nullable(Height), ({ record }) => record.lastEvaluatedHeight],
  last_occurrence_at: [nullable(UnixTime), ({ record }) => maybeSeconds(record.lastOccurrenceAt)],
  last_occurrence_block_height: [nullable(Height), ({ record }) => record.lastOccurrenceHeight],
  evaluated_block_count: [Count, ({ record }) => record.evaluated],
  occurrence_count: [Count, ({ record }) => record.occurrences],
  pending_deliveries: [
    Type.Integer({ minimum: 0, description: 'Waiting deliveries, with the one that interrupted the chainhook' }),
    ({ waiting }) => waiting.count,
  ],
  oldest_pending_at: [nullable(UnixTime), ({ waiting }) => maybeSeconds(waiting.oldest)],
  last_delivery_at: [nullable(UnixTime), ({ record }) => maybeSeconds(record.lastDeliveryAt)],
  last_delivery_status_code: [nullable(Type.Integer()), ({ record }) => record.lastDeliveryStatus],
  consecutive_failures: [
    Type.Integer({ minimum: 0, description: 'Failed attempts since the last success in any queue' }),
    ({ record }) => record.consecutiveFailures,
  ],
  failing_delivery: [
    nullable(Type.String(), {
      description:
        'Id of the failed delivery that holds up its queue, or of the last delivery that was given up; null if the last attempt succeeded and no queue waits for a retry',
    }),
    ({ failing }) => failing?.delivery.webhookId ?? null,
  ],
  last_error: [
    nullable(Type.String(), {
      description:
        "Why the last attempt of that delivery failed: the receiver's status with the start of its response, or why it couldn't be reached",
    }),
    ({ failing }) => (failing?.attempt === undefined ? null : errorOf(failing.attempt)),
  ],
  last_failed_at: [
    nullable(UnixTime),
    ({ failing }) => (failing?.attempt === undefined ? null : seconds(failing.attempt.at + failing.attempt.durationMs)),
  ],
  next_attempt_at: [
    nullable(Type.Integer(), { description: 'Time of its next attempt, in Unix seconds; null if none is planned' }),
    ({ record, failing, pausedReason }) =>
      failing === null || pausedReason !== null || !isSendable(record, failing.delivery.queue)
        ? null
        : maybeSeconds(failing.delivery.nextAttemptAt),
  ],
  interrupted_reason: [nullable(Type.String()), ({ record }) => record.interruptedReason],
  paused_reason: [
    nullable(words(...pausedReasons), {
      description:
        "Why deliveries wait; null if they are sent. `secret_unreadable`: the server can't read your signing secret; replace or delete the secret to resume them. In a cluster, the host that delivers reports this. `log_restored`: the log was restored to an earlier point; enable the chainhook to continue",
    }),
    ({ pausedReason }) => pausedReason,
  ],
  lag_blocks: [
    Type.Integer({ minimum: 0, description: 'Number of blocks that the chainhook has not evaluated yet' }),
    ({ lag }) => lag,
  ],
  warnings: [
    Type.Array(Type.String(), {
      description:
        'Parts of the definition that are valid but probably a mistake, such as an address of another network. The response to a registration or a change also names the ignored keys.',
    }),
    ({ definition }) => findWarnings(definition),
  ],
});

const [HookResponse, hookResponse] = object<HookView>('Chainhook')({
  uuid: [Uuid, ({ record }) => record.uuid],
  definition: [Type.Unsafe<object>(Definition), ({ definition }) => definition],
  status: hookStatus,
});

export { HookResponse };

export const serializedHook = (hook: Omit<HookView, 'definition'>) =>
  hookResponse({ ...hook, definition: parseDefinition(hook.record) });

export const HookPage = Type.Object(
  { ...List.properties, results: Type.Array(HookResponse) },
  { $id: 'ChainhookList', extends: List },
);

const NotifiedBlocks = Type.Array(
  named('NotifiedBlock', { height: Height, index_block_hash: Type.String(), tx_count: Count }),
);

const [DeliveryAttempt, deliveryAttempt] = object<Attempt>('DeliveryAttempt')({
  at: [UnixTime, ({ at }) => seconds(at)],
  duration_ms: [Count, ({ durationMs }) => durationMs],
  url_host: [Type.String(), ({ urlHost }) => urlHost],
  status_code: [nullable(Type.Integer()), ({ statusCode }) => statusCode],
  error: [nullable(Type.String()), ({ error }) => error],
  response_excerpt: [nullable(Type.String()), ({ excerpt }) => excerpt],
});

/** Attempts as the delivery log shows them, in the given order. */
export const serializedAttempts = (attempts: readonly Attempt[]) => attempts.map(deliveryAttempt);

const serializedStates = [...deliveryStates, 'in_flight'] as const;

/** The state of a delivery's attempts. */
interface Progress {
  lastAttempt: Attempt | undefined;
  underWay: boolean;
}

/** A delivery without its attempts and body. */
export const [DeliverySummary, serializedDelivery] = object<Delivery, [Progress]>('DeliverySummary')({
  id: [
    Type.String({ description: 'Id of the delivery, which is sent as the header `webhook-id`' }),
    ({ webhookId }) => webhookId,
  ],
  sequence: [
    nullable(Type.Integer(), {
      description: 'Number of a live delivery, which a redelivery keeps; null for other deliveries',
    }),
    ({ sequence }) => sequence,
  ],
  reason: [words(...reasons), ({ reason }) => reason],
  // The request may still be under way for a moment after its result is written.
  state: [
    {
      ...words(...serializedStates),
      description:
        '`failed`: waits for a retry. `dead`: given up; if it interrupted the chainhook, it is sent again once the chainhook is enabled',
    },
    (delivery, { underWay }) => (underWay && isOpen(delivery) ? 'in_flight' : delivery.state),
  ],
  apply: [NotifiedBlocks, ({ blocks }) => blocks.apply],
  rollback: [NotifiedBlocks, ({ blocks }) => blocks.rollback],
  body_bytes: [Count, ({ bodyBytes }) => bodyBytes],
  body_sha256: [Type.String(), ({ bodySha256 }) => toHex(bodySha256).slice(2)],
  created_at: [UnixTime, ({ createdAt }) => seconds(createdAt)],
  next_attempt_at: [nullable(UnixTime), ({ nextAttemptAt }) => maybeSeconds(nextAttemptAt)],
  delivered_at: [nullable(UnixTime), ({ deliveredAt }) => maybeSeconds(deliveredAt)],
  attempt_count: [Count, ({ attempts }) => attempts],
  last_attempt: [
    nullable(DeliveryAttempt),
    (_, { lastAttempt }) => (lastAttempt === undefined ? null : deliveryAttempt(lastAttempt)),
  ],
  problem: [
    nullable(Type.String({ description: 'Reason why the body of the delivery is missing' })),
    ({ problem }) => problem,
  ],
});
export const DeliveryDetail = Type.Object(
  {
    ...DeliverySummary.properties,
    attempts: Type.Array(DeliveryAttempt, { description: 'Attempts to deliver, newest first, 50 at most' }),
    payload: nullable(Type.Unsafe<object>(Type.Record(Type.String(), Type.Unknown()))),
  },
  { $id: 'Delivery', extends: DeliverySummary },
);

export const [BackfillResponse, serializedBackfill] = object<Backfill>('Backfill')({
  id: [Uuid, ({ uuid }) => uuid],
  state: [
    {
      ...words(...backfillStates),
      description:
        '`completed`: all matches are queued. `deliveries` shows how many were delivered. `cancelled`: somebody cancelled the backfill before it had delivered all.',
    },
    ({ state }) => state,
  ],
  dry_run: [Type.Boolean(), ({ dryRun }) => dryRun],
  from_height: [Height, ({ fromHeight }) => fromHeight],
  to_height: [Height, ({ toHeight }) => toHeight],
  next_height: [Height, ({ nextHeight }) => nextHeight],
  matched_blocks: [Count, ({ matchedBlocks }) => matchedBlocks],
  matched_transactions: [Count, ({ matchedTransactions }) => matchedTransactions],
  deliveries: object<Backfill>()({
    queued: [
      Type.Integer({ minimum: 0, description: 'All deliveries of the backfill, including delivered ones' }),
      ({ queued }) => queued,
    ],
    delivered: [Count, ({ delivered }) => delivered],
    dead: [
      Type.Integer({ minimum: 0, description: 'Deliveries that were given up, or whose block left the chain' }),
      ({ dead }) => dead,
    ],
  }),
  created_at: [UnixTime, ({ createdAt }) => seconds(createdAt)],
  finished_at: [nullable(UnixTime), ({ finishedAt }) => maybeSeconds(finishedAt)],
  error: [nullable(Type.String()), ({ error }) => error],
});

export const PreviewResponse = named('ChainhookPreview', {
  matched_blocks: Count,
  matched_transactions: Count,
  payloads: Type.Array(Type.Unsafe<object>(Type.Record(Type.String(), Type.Unknown())), {
    description: 'Payloads of the first 5 matching blocks',
  }),
});

export const TestResponse = named('ChainhookTest', {
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
});

export const SecretResponse = named('ConsumerSecret', {
  secret: nullable(Type.String()),
  signing_secret: nullable(
    Type.String({ description: 'The secret in the format that Standard Webhooks libraries expect' }),
  ),
});

const closed = { additionalProperties: false };

export const EnabledBody = Type.Object(
  {
    enabled: Type.Boolean(),
    resume_from: Type.Optional(
      Type.Union([Type.Literal('tip'), Type.Literal('last_evaluated'), Height], {
        rule: 'tip, last_evaluated or a height of 0 or more',
        description:
          'Start of the chainhook after it is enabled: at the `tip`, after the last block it evaluated, or at a height',
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
        statuses: Type.Optional(Type.Array(words(...hookStatuses), { minItems: 1, uniqueItems: true })),
        paused: Type.Optional(
          Type.Literal(true, {
            description:
              'Chainhooks that a restore to an earlier point paused; one that was disabled before stays disabled',
          }),
        ),
      },
      { ...closed, minProperties: 1, rule: 'an object with uuids, webhook_url, statuses or paused' },
    ),
  },
  { $id: 'BulkEnabledRequest', ...closed },
);

export const EvaluateBody = Type.Object(
  {
    index_block_hash: Type.Optional(Type.String({ pattern: '^(0x)?[0-9a-fA-F]{64}$', rule: RULES.hash })),
    block_height: Type.Optional(Height),
  },
  { $id: 'EvaluationRequest', ...closed, minProperties: 1, rule: 'an object with index_block_hash or block_height' },
);

export const BackfillBody = Type.Object(
  { from_height: Height, to_height: Type.Optional(Height), dry_run: Type.Optional(Type.Boolean()) },
  { $id: 'BackfillRequest', ...closed },
);

export const RedeliverBody = Type.Object(
  {
    state: Type.Optional(Type.Array(words('dead', 'failed', 'delivered'), { minItems: 1, uniqueItems: true })),
    from_height: Type.Optional(Height),
    to_height: Type.Optional(Height),
    since: Type.Optional(UnixTime),
    until: Type.Optional(UnixTime),
  },
  {
    $id: 'RedeliveryRequest',
    ...closed,
    minProperties: 1,
    rule: 'an object with state, from_height, to_height, since or until',
  },
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

/** `filters` and `options` are read as in a definition. */
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
