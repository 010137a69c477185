/** What the chainhook routes take and answer, for the check of bodies and for the description of the API. */
import { type TSchema, Type } from '@sinclair/typebox';
import { List } from '../../http/offset-pagination.ts';
import { backfillStates, deliveryStates, hookStatuses, reasons } from '../../store/rows/words.ts';
import { Definition } from '../definition/definition.ts';

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const words = <const W extends readonly string[]>(list: W) =>
  Type.Union(list.map((word) => Type.Literal(word as W[number])));

export const Uuid = Type.String({
  pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
  description: 'Id of the resource (UUID); upper and lower case are equal',
  examples: ['00000000-0000-4000-8000-000000000001'],
});
const UnixTime = Type.Integer({ description: 'Time in Unix seconds' });
const Height = Type.Integer({ minimum: 0 });
const Count = Type.Integer({ minimum: 0 });

/** Why deliveries of a hook wait, though nobody disabled it and its receiver answers. */
const pausedReasons = ['secret_unreadable'] as const;
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
        interrupted_reason: nullable(Type.String()),
        paused_reason: Type.Union([words(pausedReasons), Type.Null()], {
          description:
            'Reason for which deliveries wait; null if they go. `secret_unreadable`: the server can not read your signing secret; a new secret, or none, resumes them. Of several hosts, the one that delivers knows it',
        }),
        lag_blocks: Type.Integer({
          minimum: 0,
          description: 'Number of blocks that the chainhook has not evaluated yet',
        }),
        warnings: Type.Array(Type.String(), {
          description: 'Parts of the definition that are valid but probably a mistake',
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
      },
      { ...closed, minProperties: 1 },
    ),
  },
  { $id: 'BulkEnabledRequest', ...closed },
);

export const EvaluateBody = Type.Object(
  {
    index_block_hash: Type.Optional(Type.String({ pattern: '^(0x)?[0-9a-fA-F]{64}$' })),
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

/** `filters` and `options` are read as those of a definition. */
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
    index_block_hash: Type.Optional(Type.String({ pattern: '^(0x)?[0-9a-fA-F]{64}$' })),
    from_height: Type.Optional(Height),
    to_height: Type.Optional(Height),
  },
  { $id: 'ChainhookPreviewRequest', ...closed },
);
