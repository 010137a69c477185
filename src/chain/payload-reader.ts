/** Reads what a node posted: checks that an event's payload has every field that Stackside needs. */

import type { Static, TSchema } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler, type ValueError } from '@sinclair/typebox/compiler';
import { lazy } from '../base/cache.ts';
import { collecting } from '../base/garbage.ts';
import { isTooDeep, MAX_FOREIGN_DEPTH } from '../base/json.ts';
import { elementsOf, type JsonElements } from './json-elements.ts';
import {
  AttachmentsPayload,
  BlockPayload,
  BurnBlockPayload,
  DroppedPayload,
  EventPayload,
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

/** A check that is compiled for its first value: the start of a server doesn't wait for it. */
const lazyCheck = <T extends TSchema>(schema: T): (() => TypeCheck<T>) => lazy(() => TypeCompiler.Compile(schema));

const checks = {
  event: lazyCheck(EventPayload),
  block: lazyCheck(BlockPayload),
  microblocks: lazyCheck(MicroblocksPayload),
  burnBlock: lazyCheck(BurnBlockPayload),
  mempool: lazyCheck(MempoolPayload),
  dropped: lazyCheck(DroppedPayload),
  attachments: lazyCheck(AttachmentsPayload),
};
const bodyChecks = new Map<string, () => TypeCheck<TSchema>>(
  Object.entries(eventBodies).map(([type, schema]) => [type, lazyCheck<TSchema>(schema)]),
);

const fieldName = (path: string): string => path.slice(1).replaceAll('/', '.');

/** The most specific error: inside a union, the error of the field itself or of a field inside it. */
function innermost(error: ValueError): ValueError {
  if (error.schema.description !== undefined) return error;
  for (const variant of error.errors) {
    const first = variant.First();
    const inner = first === undefined ? undefined : innermost(first);
    if (inner !== undefined && (inner.path !== error.path || inner.schema.description !== undefined)) return inner;
  }
  return error;
}

function refusal(found: ValueError | undefined, prefix = ''): PayloadError {
  if (found === undefined) return new PayloadError(`${prefix}does not have the expected form`);
  const error = innermost(found);
  const field = `${prefix}${fieldName(error.path)}` || 'body';
  if (error.value === undefined) return new PayloadError(`Missing field ${field}`);
  const { description } = error.schema;
  return new PayloadError(
    `Field ${field}: ${description === undefined ? error.message.toLowerCase() : `expected ${description}`}`,
  );
}

function checked<T extends TSchema>(check: TypeCheck<T>, value: unknown, prefix = ''): Static<T> {
  if (check.Check(value)) return value;
  throw refusal(check.Errors(value).First(), prefix);
}

/** Checks the body of an event. @param index its place in the payload */
function checkBody(event: EventPayload, index: number): void {
  const check = bodyChecks.get(event.type)?.();
  // A newer node sends it: it is kept as it is.
  if (check === undefined) return;
  const body: unknown = (event as Record<string, unknown>)[event.type];
  if (!check.Check(body)) throw refusal(check.Errors(body).First(), `events.${index}.${event.type}.`);
}

/** Events after which the garbage of parsing them is collected. */
const EVENTS_OF_A_COLLECTION = 20_000;

/** The events of a long payload, each parsed when it is asked for. */
export class LazyEvents implements Iterable<EventPayload> {
  readonly #elements: JsonElements;

  /** @throws PayloadError where one lacks a field that is needed */
  constructor(elements: JsonElements) {
    this.#elements = elements;
    let index = 0;
    for (const event of this) {
      checkBody(checked(checks.event(), event, `events.${index}.`), index);
      index += 1;
    }
  }

  /** The JSON of an event, by its place in the payload. */
  textAt(index: number): string {
    return this.#elements.at(index);
  }

  *[Symbol.iterator](): Generator<EventPayload> {
    const collect = collecting(EVENTS_OF_A_COLLECTION);
    for (let index = 0; index < this.#elements.length; index++) {
      yield parseJson(this.textAt(index)) as EventPayload;
      collect();
    }
  }
}

/**
 * Characters of a payload from which on its events are parsed one by one. Parsed whole, they take some ten times as much
 * memory as the text. Only genesis blocks are that long.
 */
const LAZY_FROM = 16_000_000;

/** A block with its events, which were parsed whole or are parsed one by one. */
export type ReadBlock = Omit<BlockPayload, 'events'> & { events: EventPayloads };
export type EventPayloads = readonly EventPayload[] | LazyEvents;

function readBlock(text: string, lazyFrom: number): ReadBlock {
  const cut = text.length < lazyFrom ? null : elementsOf(text, 'events');
  const block = checked(checks.block(), parseJson(cut?.rest ?? text));
  if (cut !== null) return { ...block, events: new LazyEvents(cut.elements) };
  for (const [index, event] of block.events.entries()) checkBody(event, index);
  return block;
}

function readMicroblocks(text: string): MicroblocksPayload {
  const microblocks = checked(checks.microblocks(), parseJson(text));
  for (const [index, event] of microblocks.events.entries()) checkBody(event, index);
  return microblocks;
}

/** The body of an event whose payload passed {@link readPayload}. */
export const eventBody = <T extends EventType>(event: EventPayload, type: T) =>
  (event as unknown as Record<T, Static<(typeof eventBodies)[T]>>)[type];

export type NodePayload =
  | { kind: 'block'; block: ReadBlock }
  | { kind: 'microblocks'; microblocks: MicroblocksPayload }
  | { kind: 'burn_block'; burnBlock: BurnBlockPayload }
  | { kind: 'mempool'; rawTransactions: MempoolPayload }
  | { kind: 'dropped'; dropped: DroppedPayload }
  | { kind: 'attachments'; attachments: AttachmentsPayload }
  /** An event that a chain index doesn't need; `journaled` says whether the journal keeps it. */
  | { kind: 'other'; journaled: boolean };

type Read = (text: string, lazyFrom: number) => NodePayload;

const ignored =
  (journaled: boolean): Read =>
  (text) => {
    parseJson(text);
    return { kind: 'other', journaled };
  };

const paths: Record<string, Read> = {
  '/new_block': (text, lazyFrom) => ({ kind: 'block', block: readBlock(text, lazyFrom) }),
  '/new_microblocks': (text) => ({ kind: 'microblocks', microblocks: readMicroblocks(text) }),
  '/new_burn_block': (text) => ({ kind: 'burn_block', burnBlock: checked(checks.burnBlock(), parseJson(text)) }),
  '/new_mempool_tx': (text) => ({ kind: 'mempool', rawTransactions: checked(checks.mempool(), parseJson(text)) }),
  '/drop_mempool_tx': (text) => ({ kind: 'dropped', dropped: checked(checks.dropped(), parseJson(text)) }),
  '/attachments/new': (text) => ({ kind: 'attachments', attachments: checked(checks.attachments(), parseJson(text)) }),
  '/stackerdb_chunks': ignored(true),
  '/proposal_response': ignored(true),
  '/mined_block': ignored(false),
  '/mined_microblock': ignored(false),
  '/mined_nakamoto_block': ignored(false),
};

/** The paths to which a node posts events. */
export const eventPaths: readonly string[] = Object.keys(paths);

/** Whether a node posts events to this path. */
export const isEventPath = (path: string): boolean => Object.hasOwn(paths, path);

/**
 * The path of an entry for a message of stacks-node-publisher that the operator passed over: no node posts to it, and it
 * changes nothing. Its text is that of {@link SkippedMessage}.
 */
export const SKIPPED_PATH = '/stackside/skipped_message';

/** A message of stacks-node-publisher that the operator passed over. */
export interface SkippedMessage {
  /** Its id in Redis: `<sequence>-0`. */
  id: string;
  /** The path that the node posted it to. */
  path: string;
}

/**
 * The path of an entry that is withheld: no node posts to it, and it changes nothing. What the entry was is known by hashes
 * alone (`store/log/entry.ts`).
 */
export const WITHHELD_PATH = '';

/**
 * Whether an event may come by this path: one that this program knows, or one that a newer node may post to. Such an event is
 * stored in the journal and changes nothing.
 */
export const mayBeEventPath = (path: string): boolean =>
  isEventPath(path) || (!isHostPath(path) && /^\/[a-z][a-z0-9_]{1,63}(\/[a-z0-9_]{1,64})?$/.test(path));

/** Whether an entry came from a host itself: no node posts to this path, and no recording has it. */
export const isHostPath = (path: string): boolean => path.startsWith('/stackside/');

/**
 * The payload of an entry that a journal or a log holds. A newer program may have written it: an event of a path that this
 * one doesn't know is stored, and changes nothing. So a version may give a new path only to what changes nothing in any
 * version; an entry that older hosts must not pass over needs a form that they refuse.
 * @throws PayloadError as {@link readPayload}
 */
export const readEntry = (path: string, text: string): NodePayload =>
  isEventPath(path) ? readPayload(path, text) : { kind: 'other', journaled: true };

/**
 * The payload of an event.
 * @param path the path it was posted to, one for which {@link mayBeEventPath} holds, or {@link SKIPPED_PATH}
 * @param text its JSON
 * @param lazyFrom characters from which on the events of a block are parsed one by one
 * @throws PayloadError when the text isn't JSON, is nested too deep, or lacks a field that is needed
 */
export function readPayload(path: string, text: string, lazyFrom = LAZY_FROM): NodePayload {
  if (path === SKIPPED_PATH) return { kind: 'other', journaled: true };
  const read = Object.hasOwn(paths, path) ? paths[path] : undefined;
  if (read === undefined && !mayBeEventPath(path)) throw new PayloadError(`No event is posted to ${path}`);
  // To parse brackets alone takes a second for each megabyte, and forty times their memory; and what walks a value that is
  // as deep as they make it ends with the stack.
  if (isTooDeep(text, MAX_FOREIGN_DEPTH)) {
    throw new PayloadError(`The body is nested deeper than ${MAX_FOREIGN_DEPTH} levels`);
  }
  return (read ?? ignored(true))(text, lazyFrom);
}
