/** Parses the payloads that nodes post, and checks that they have all fields that Stackside needs. */

import type { Static, TSchema } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler, type ValueError } from '@sinclair/typebox/compiler';
import { lazy } from '../base/cache.ts';
import { makeCollector } from '../base/garbage.ts';
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
  StartingAccountPayload,
} from './payload-schemas.ts';

/** Thrown for an invalid payload. The message names the field and the rule, for the node's log. */
export class PayloadError extends Error {
  override readonly name: string = 'PayloadError';
}

/** Matches integers of 16 digits or more, which may not fit a double. */
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
 * Parses a JSON text. Integers above 2^53 (amounts of Bitcoin operations are u128 JSON numbers) become bigints. The
 * slower parser for them is used only for texts with such an integer.
 */
export function parseJson(text: string): unknown {
  try {
    return LARGE_INTEGER.test(text) ? (JSON.parse as LosslessParse)(text, losslessInteger) : JSON.parse(text);
  } catch (cause) {
    throw new PayloadError('The body is not valid JSON', { cause });
  }
}

/** Returns a check that is compiled at its first use, so that it doesn't delay the start of a server. */
const lazyCheck = <T extends TSchema>(schema: T): (() => TypeCheck<T>) => lazy(() => TypeCompiler.Compile(schema));

const checks = {
  event: lazyCheck(EventPayload),
  block: lazyCheck(BlockPayload),
  burnBlock: lazyCheck(BurnBlockPayload),
  mempool: lazyCheck(MempoolPayload),
  dropped: lazyCheck(DroppedPayload),
  attachments: lazyCheck(AttachmentsPayload),
  startingAccount: lazyCheck(StartingAccountPayload),
};
const bodyChecks = new Map<string, () => TypeCheck<TSchema>>(
  Object.entries(eventBodies).map(([type, schema]) => [type, lazyCheck<TSchema>(schema)]),
);

const fieldName = (path: string): string => path.slice(1).replaceAll('/', '.');

/** Returns the most specific error: in a union, the error of the field or of a field inside it. */
function innermost(error: ValueError): ValueError {
  if (error.schema.description !== undefined) return error;
  for (const variant of error.errors) {
    const first = variant.First();
    const inner = first === undefined ? undefined : innermost(first);
    if (inner !== undefined && (inner.path !== error.path || inner.schema.description !== undefined)) return inner;
  }
  return error;
}

function payloadError(valueError: ValueError | undefined, prefix = ''): PayloadError {
  if (valueError === undefined) return new PayloadError(`${prefix}does not have the expected form`);
  const error = innermost(valueError);
  const field = `${prefix}${fieldName(error.path)}` || 'body';
  if (error.value === undefined) return new PayloadError(`Missing field ${field}`);
  const { description } = error.schema;
  return new PayloadError(
    `Field ${field}: ${description === undefined ? error.message.toLowerCase() : `expected ${description}`}`,
  );
}

/** Returns a value that passes a check. @throws PayloadError */
function check<T extends TSchema>(compiled: TypeCheck<T>, value: unknown, prefix = ''): Static<T> {
  if (compiled.Check(value)) return value;
  throw payloadError(compiled.Errors(value).First(), prefix);
}

/** Checks the body of an event. @param index of the event in the payload */
function checkBody(event: EventPayload, index: number): void {
  const check = bodyChecks.get(event.type)?.();
  // An unsupported type of a newer node isn't checked.
  if (check === undefined) return;
  const body: unknown = (event as Record<string, unknown>)[event.type];
  if (!check.Check(body)) throw payloadError(check.Errors(body).First(), `events.${index}.${event.type}.`);
}

/** Events between two garbage collections. */
const EVENTS_OF_A_COLLECTION = 20_000;

/** The events of a long payload. Each event is parsed when it is used. */
export class LazyEvents implements Iterable<EventPayload> {
  readonly #elements: JsonElements;

  /** @throws PayloadError if an event lacks a required field */
  constructor(elements: JsonElements) {
    this.#elements = elements;
    let index = 0;
    for (const event of this) {
      checkBody(check(checks.event(), event, `events.${index}.`), index);
      index += 1;
    }
  }

  /** Returns the JSON of an event, by its index in the payload. */
  textAt(index: number): string {
    return this.#elements.at(index);
  }

  *[Symbol.iterator](): Generator<EventPayload> {
    const collect = makeCollector(EVENTS_OF_A_COLLECTION);
    for (let index = 0; index < this.#elements.length; index++) {
      yield parseJson(this.textAt(index)) as EventPayload;
      collect();
    }
  }
}

/**
 * Minimum characters of a payload for parsing its events one by one. Parsing the payload at once takes some ten times
 * the memory of the text. Only genesis blocks have this length.
 */
const MIN_LAZY_LENGTH = 16_000_000;

/** A block with its events, which are parsed at once or one by one. */
export type ParsedBlock = Omit<BlockPayload, 'events'> & { events: EventPayloads };
export type EventPayloads = readonly EventPayload[] | LazyEvents;

function readBlock(text: string, lazyFrom: number): ParsedBlock {
  const cut = text.length < lazyFrom ? null : elementsOf(text, 'events');
  const block = check(checks.block(), parseJson(cut?.rest ?? text));
  if (cut !== null) return { ...block, events: new LazyEvents(cut.elements) };
  for (const [index, event] of block.events.entries()) checkBody(event, index);
  return block;
}

/** Returns the body of an event whose payload passed {@link readPayload}. */
export const eventBody = <T extends EventType>(event: EventPayload, type: T) =>
  (event as unknown as Record<T, Static<(typeof eventBodies)[T]>>)[type];

export type NodePayload =
  | { kind: 'block'; block: ParsedBlock }
  | { kind: 'burn_block'; burnBlock: BurnBlockPayload }
  | { kind: 'mempool'; rawTransactions: MempoolPayload }
  | { kind: 'dropped'; dropped: DroppedPayload }
  | { kind: 'attachments'; attachments: AttachmentsPayload }
  | { kind: 'starting_account'; account: StartingAccountPayload }
  /** An event that the index doesn't need; `journaled`: whether the journal stores it. */
  | { kind: 'other'; journaled: boolean };

type PayloadParser = (text: string, lazyFrom: number) => NodePayload;

const parseIgnored =
  (journaled: boolean): PayloadParser =>
  (text) => {
    parseJson(text);
    return { kind: 'other', journaled };
  };

const paths: Record<string, PayloadParser> = {
  '/new_block': (text, lazyFrom) => ({ kind: 'block', block: readBlock(text, lazyFrom) }),
  // Unconfirmed microblocks, which no node has streamed since Stacks 3.0.
  '/new_microblocks': parseIgnored(true),
  '/new_burn_block': (text) => ({ kind: 'burn_block', burnBlock: check(checks.burnBlock(), parseJson(text)) }),
  '/new_mempool_tx': (text) => ({ kind: 'mempool', rawTransactions: check(checks.mempool(), parseJson(text)) }),
  '/drop_mempool_tx': (text) => ({ kind: 'dropped', dropped: check(checks.dropped(), parseJson(text)) }),
  '/attachments/new': (text) => ({ kind: 'attachments', attachments: check(checks.attachments(), parseJson(text)) }),
  '/stackerdb_chunks': parseIgnored(true),
  '/proposal_response': parseIgnored(true),
  '/mined_block': parseIgnored(false),
  '/mined_microblock': parseIgnored(false),
  '/mined_nakamoto_block': parseIgnored(false),
};

/** The path of entries with the node's answer about an account at the start of a partial history. */
export const STARTING_ACCOUNT_PATH = '/stackside/starting_account';

/**
 * Paths of entries with the node's answers to queries. Like events, they are data about the chain, and recordings
 * contain them.
 */
const queryPaths: Record<string, PayloadParser> = {
  [STARTING_ACCOUNT_PATH]: (text) => ({
    kind: 'starting_account',
    account: check(checks.startingAccount(), parseJson(text)),
  }),
};

/** Reports whether entries of this path contain the node's answers to queries. */
export const isNodeQueryPath = (path: string): boolean => Object.hasOwn(queryPaths, path);

/** Paths that a node posts events to. */
export const eventPaths: readonly string[] = Object.keys(paths);

/** Reports whether a node posts events to this path. */
export const isEventPath = (path: string): boolean => Object.hasOwn(paths, path);

/**
 * Path of an entry for a message of stacks-node-publisher that the operator skipped. No node posts to it, and it
 * changes nothing. Its text is a {@link SkippedMessage} as JSON.
 */
export const SKIPPED_PATH = '/stackside/skipped_message';

/** A message of stacks-node-publisher that the operator skipped. */
export interface SkippedMessage {
  /** Id in Redis: `<sequence>-0`. */
  id: string;
  /** Path that the node posted the message to. */
  path: string;
}

/**
 * Path of a withheld entry. No node posts to it, and it changes nothing. Only the hashes of the entry's path and text
 * are available (`store/log/entry.ts`).
 */
export const WITHHELD_PATH = '';

/**
 * Reports whether events may have this path: a supported path, or a path that a newer node may post to. The journal
 * stores events of unsupported paths, which change nothing.
 */
export const mayBeEventPath = (path: string): boolean =>
  isEventPath(path) || (!isHostPath(path) && /^\/[a-z][a-z0-9_]{1,63}(\/[a-z0-9_]{1,64})?$/.test(path));

/** Reports whether a host wrote the entry. No node posts to such a path. */
export const isHostPath = (path: string): boolean => path.startsWith('/stackside/');

/**
 * Reports whether a recording contains entries of this path: the node's events, and its answers. A recording omits
 * commands, which may be secret and matter only to the hosts that wrote them. It also omits withheld entries, because
 * their texts are unavailable.
 */
export const isRecordedPath = (path: string): boolean =>
  (!isHostPath(path) || isNodeQueryPath(path)) && path !== WITHHELD_PATH;

/**
 * Returns the payload of an entry of a journal or log. A newer program may have written the entry: an event of an
 * unsupported path is stored, and changes nothing. A version may therefore introduce a new path only for entries that
 * change nothing in any version. An entry that older hosts must not ignore needs a form that they reject.
 * @throws PayloadError as {@link readPayload}
 */
export const readEntry = (path: string, text: string): NodePayload =>
  isEventPath(path) || isNodeQueryPath(path) ? readPayload(path, text) : { kind: 'other', journaled: true };

/**
 * Returns the payload of a received event. Entries of the log may break its rule: older versions accepted them.
 * @param path as in {@link readPayload}
 * @throws PayloadError as {@link readPayload}, also if a block has a reward set and no cycle number
 */
export function readReceived(path: string, text: string): NodePayload {
  const payload = readPayload(path, text);
  if (payload.kind === 'block' && payload.block.reward_set != null && payload.block.cycle_number == null) {
    throw new PayloadError('Cycle number must be present if reward set is present');
  }
  return payload;
}

/**
 * Returns the payload of an event.
 * @param path the path of the event: {@link mayBeEventPath} or {@link isNodeQueryPath} must be true for it, or it is
 * {@link SKIPPED_PATH}
 * @param text its JSON
 * @param lazyFrom minimum characters of a block for parsing its events one by one
 * @throws PayloadError if the text isn't JSON, is nested too deep, or lacks a required field
 */
export function readPayload(path: string, text: string, lazyFrom = MIN_LAZY_LENGTH): NodePayload {
  if (path === SKIPPED_PATH) return { kind: 'other', journaled: true };
  if (isNodeQueryPath(path)) return queryPaths[path]!(text, lazyFrom);
  const parser = Object.hasOwn(paths, path) ? paths[path] : undefined;
  if (parser === undefined && !mayBeEventPath(path)) throw new PayloadError(`No event is posted to ${path}`);
  // Nested brackets take a second per megabyte to parse, and forty times their memory. A recursive walk of such a value
  // would overflow the stack.
  if (isTooDeep(text, MAX_FOREIGN_DEPTH)) {
    throw new PayloadError(`The body is nested deeper than ${MAX_FOREIGN_DEPTH} levels`);
  }
  return (parser ?? parseIgnored(true))(text, lazyFrom);
}
