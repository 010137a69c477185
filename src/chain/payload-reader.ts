/** Reads what a node posted: checks that an event's payload has every field that Stackside needs. */
import type { Static, TSchema } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler, type ValueError } from '@sinclair/typebox/compiler';
import {
  AttachmentsPayload,
  BlockPayload,
  BurnBlockPayload,
  DroppedPayload,
  type EventPayload,
  type EventType,
  eventBodies,
  MempoolPayload,
  MicroblocksPayload,
} from './payload-schemas.ts';

/** A payload that can't be understood. Its message names the field and the rule, for the node's log. */
export class PayloadError extends Error {
  override readonly name: string = 'PayloadError';
}

/** An integer of 16 digits or more may not fit a double; a digit before it would be part of the number. */
const LARGE_INTEGER = /[:,[\s-]\d{16}/;

const losslessInteger = (_key: string, value: unknown, context: { source: string }): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source)
    ? BigInt(context.source)
    : value;

type LosslessParse = (
  text: string,
  reviver: (key: string, value: unknown, context: { source: string }) => unknown,
) => unknown;

/**
 * JSON text to a value. Integers beyond 2^53 (amounts of Bitcoin operations are u128 JSON numbers) become bigints;
 * the slower parse that keeps them is used only for texts that hold one.
 */
export function parseJson(text: string): unknown {
  try {
    return LARGE_INTEGER.test(text) ? (JSON.parse as LosslessParse)(text, losslessInteger) : JSON.parse(text);
  } catch (cause) {
    throw new PayloadError('The body is not valid JSON', { cause });
  }
}

const compiled = {
  block: TypeCompiler.Compile(BlockPayload),
  microblocks: TypeCompiler.Compile(MicroblocksPayload),
  burnBlock: TypeCompiler.Compile(BurnBlockPayload),
  mempool: TypeCompiler.Compile(MempoolPayload),
  dropped: TypeCompiler.Compile(DroppedPayload),
  attachments: TypeCompiler.Compile(AttachmentsPayload),
};
const compiledBodies = new Map<string, TypeCheck<TSchema>>(
  Object.entries(eventBodies).map(([type, schema]) => [type, TypeCompiler.Compile(schema)]),
);

const fieldName = (path: string): string => path.slice(1).replaceAll('/', '.');

/** The most specific error: inside a union, the error of the field itself or of a field inside it. */
function telling(error: ValueError): ValueError {
  if (error.schema.description !== undefined) return error;
  for (const variant of error.errors) {
    const first = variant.First();
    const inner = first === undefined ? undefined : telling(first);
    if (inner !== undefined && (inner.path !== error.path || inner.schema.description !== undefined)) return inner;
  }
  return error;
}

function refusal(found: ValueError | undefined, prefix = ''): PayloadError {
  if (found === undefined) return new PayloadError(`${prefix}does not have the expected form`);
  const error = telling(found);
  const field = `${prefix}${fieldName(error.path)}` || 'body';
  if (error.value === undefined) return new PayloadError(`Missing field ${field}`);
  const { description } = error.schema;
  return new PayloadError(
    `Field ${field}: ${description === undefined ? error.message.toLowerCase() : `expected ${description}`}`,
  );
}

function checked<T extends TSchema>(check: TypeCheck<T>, value: unknown): Static<T> {
  if (check.Check(value)) return value;
  throw refusal(check.Errors(value).First());
}

function checkEvents(events: readonly EventPayload[]): void {
  for (const [index, event] of events.entries()) {
    const check = compiledBodies.get(event.type);
    if (check === undefined) throw new PayloadError(`Field events.${index}.type: unknown event type ${event.type}`);
    const body: unknown = (event as Record<string, unknown>)[event.type];
    if (!check.Check(body)) throw refusal(check.Errors(body).First(), `events.${index}.${event.type}.`);
  }
}

/** The body of an event whose payload passed {@link readPayload}. */
export const eventBody = <T extends EventType>(event: EventPayload, type: T) =>
  (event as unknown as Record<T, Static<(typeof eventBodies)[T]>>)[type];

export type NodePayload =
  | { kind: 'block'; block: BlockPayload }
  | { kind: 'microblocks'; microblocks: MicroblocksPayload }
  | { kind: 'burn_block'; burnBlock: BurnBlockPayload }
  | { kind: 'mempool'; rawTransactions: MempoolPayload }
  | { kind: 'dropped'; dropped: DroppedPayload }
  | { kind: 'attachments'; attachments: AttachmentsPayload }
  /** An event that a chain index doesn't need; `journaled` says whether the journal keeps it. */
  | { kind: 'other'; journaled: boolean };

type Parse = (value: unknown) => NodePayload;

const paths: Record<string, Parse> = {
  '/new_block': (value) => {
    const block = checked(compiled.block, value);
    checkEvents(block.events);
    return { kind: 'block', block };
  },
  '/new_microblocks': (value) => {
    const microblocks = checked(compiled.microblocks, value);
    checkEvents(microblocks.events);
    return { kind: 'microblocks', microblocks };
  },
  '/new_burn_block': (value) => ({ kind: 'burn_block', burnBlock: checked(compiled.burnBlock, value) }),
  '/new_mempool_tx': (value) => ({ kind: 'mempool', rawTransactions: checked(compiled.mempool, value) }),
  '/drop_mempool_tx': (value) => ({ kind: 'dropped', dropped: checked(compiled.dropped, value) }),
  '/attachments/new': (value) => ({ kind: 'attachments', attachments: checked(compiled.attachments, value) }),
  '/stackerdb_chunks': () => ({ kind: 'other', journaled: true }),
  '/proposal_response': () => ({ kind: 'other', journaled: true }),
  '/mined_block': () => ({ kind: 'other', journaled: false }),
  '/mined_microblock': () => ({ kind: 'other', journaled: false }),
  '/mined_nakamoto_block': () => ({ kind: 'other', journaled: false }),
};

/** Whether a node posts events to this path. */
export const isEventPath = (path: string): boolean => Object.hasOwn(paths, path);

/**
 * The payload of an event.
 * @param path the path it was posted to, one for which {@link isEventPath} holds
 * @param text its JSON
 * @throws PayloadError when the text isn't JSON, or lacks a field that is needed
 */
export function readPayload(path: string, text: string): NodePayload {
  const parse = Object.hasOwn(paths, path) ? paths[path] : undefined;
  if (parse === undefined) throw new PayloadError(`No event is posted to ${path}`);
  return parse(parseJson(text));
}
