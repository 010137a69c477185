/**
 * The route of the chain's changes: as pages, as server-sent events, or for requests that wait for a change. A cursor is a
 * place in the log and doesn't depend on the filters.
 */
import { type Static, type TObject, Type } from '@sinclair/typebox';
import { named } from '../../api/shared/fields.ts';
import type { Clock } from '../../base/clock.ts';
import { parsedJson } from '../../base/json.ts';
import { atMost, countWork, type Turns } from '../../base/turns.ts';
import { toHex } from '../../codec/hex.ts';
import { acceptsEvents } from '../../http/content-coding.ts';
import { ApiError, ParameterError, problems } from '../../http/errors.ts';
import { type WaitingRoom, waitingRoom } from '../../http/heights.ts';
import { addressGroup } from '../../http/hosts.ts';
import { jsonText, MaybeSerialized } from '../../http/json.ts';
import { decodeCursor, encodeCursor } from '../../http/pagination.ts';
import { Streamed } from '../../http/respond.ts';
import { type Route, route, WITHOUT_INDEX } from '../../http/route.ts';
import type { ChangePosition } from '../../store/model/block.ts';
import { UnreadableCursorError } from '../../store/model/read-errors.ts';
import { bytesAt, numberAt, textAt } from '../../store/queries/page.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import {
  type ChangeBatch,
  type ChangeFilter,
  type Changes,
  chainChanges,
  changeFilter,
  MAX_CHANGES_PER_CALL,
} from '../changes.ts';
import { conditionsOfDefinition, type Options, parseFilters } from '../definition/definition.ts';
import { HookProblem } from '../problem.ts';

/** Name that the cursors are bound to. */
const LIST = 'changes';
/** Characters of changes after which a page ends. */
const MAX_CHARACTERS = 4_000_000;
/** Maximum pages that a thread makes at a time. */
const MAX_PAGES = 16;
/** Maximum streams and waiting requests of a thread. */
export const MAX_READERS = 1_000;
/** Maximum streams and waiting requests of a client in a thread, so that one client can't take all of them. */
export const MAX_CLIENT_READERS = 50;
/** Longest wait of a request, in seconds. */
const MAX_WAIT = 30;
/** Milliseconds after which a stream without changes sends a sign of life. */
const KEEP_ALIVE_MS = 15_000;
/** Milliseconds after which a client reconnects. */
const RETRY_MS = 1_000;

/** The option of chainhooks that each word of `include` stands for. */
const included = {
  decoded_values: 'decode_clarity_values',
  contract_abi: 'include_contract_abi',
  contract_source_code: 'include_contract_source_code',
  post_conditions: 'include_post_conditions',
  raw_transactions: 'include_raw_transactions',
  block_metadata: 'include_block_metadata',
  block_signatures: 'include_block_signatures',
} as const satisfies Record<string, keyof Options>;
type Included = keyof typeof included;
const includable = ['transactions', ...(Object.keys(included) as Included[])] as const;

const Identifier = named('ChainhookIdentifier', { index: Type.Integer(), hash: Type.String() });
const Open = Type.Record(Type.String(), Type.Unknown());

const BlockChange = named('BlockChange', {
  change: Type.Union([Type.Literal('apply'), Type.Literal('rollback')], {
    description:
      '`apply`: the block became the tip of the chain; `rollback`: the block was the tip, and the chain removed it',
  }),
  cursor: Type.String({ description: 'Cursor that points just after this change' }),
  block: Type.Object(
    {
      block_identifier: Identifier,
      parent_block_identifier: Identifier,
      timestamp: Type.Integer({ description: 'Time of the block in Unix seconds' }),
      transactions: Type.Array(
        named('ChainhookTransaction', {
          transaction_identifier: Type.Object({ hash: Type.String() }),
          operations: Type.Array(Open),
          metadata: Open,
        }),
      ),
      metadata: Type.Optional(Open),
    },
    { $id: 'ChainhookBlock', description: 'The block in the format of chainhook deliveries' },
  ),
});

const ChangePage = named('BlockChangePage', {
  results: Type.Array(MaybeSerialized(BlockChange)),
  next: Type.String({ description: 'Cursor that points just after the page: pass it as `after`' }),
  has_more: Type.Boolean({ description: 'False if the page reached the newest change' }),
});

const query = {
  after: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]+$',
      rule: 'a cursor from an earlier answer, or tip',
      maxLength: 1_024,
      description:
        'Start of the changes: a cursor from a response, or `tip` for only future changes. Without it and `from_height`, the changes start with the first block.',
      examples: ['tip'],
    }),
  ),
  from_height: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 4_294_967_295,
      description:
        'Height of the first block, instead of `after`: returns the present chain from this height, without earlier forks, and then new changes',
      examples: [1],
    }),
  ),
  filters: Type.Optional(
    Type.String({
      maxLength: 8_192,
      description:
        'Filters as in the definition of a chainhook, as JSON: `{"events": [{"type": "contract_log", …}]}`. Only blocks that match are returned, with the transactions that match.',
      examples: ['{"events":[{"type":"stx_event"}]}'],
    }),
  ),
  include: Type.Optional(
    Type.Array(Type.Union(includable.map((word) => Type.Literal(word))), {
      description:
        'Parts of the blocks: `transactions` (with their operations, which also contain the events), and the options of chainhooks. By default, the blocks come without transactions.',
      examples: [['transactions', 'decoded_values']],
    }),
  ),
  limit: Type.Integer({
    minimum: 1,
    maximum: 500,
    default: 50,
    description: `Maximum number of changes on a page, which also ends after 4 MB, or ${MAX_CHANGES_PER_CALL} changes without a match`,
  }),
  wait: Type.Integer({
    minimum: 0,
    maximum: MAX_WAIT,
    default: 0,
    description: 'Seconds to wait for a change if there is none yet',
  }),
};

type ChangesQuery = Static<TObject<typeof query>>;

const inQuery = (name: string) => ({ location: 'querystring', path: [name] }) as const;

/** Encodes a place as a cursor. The start is omitted if the history starts at block 1. */
const toCursor = ({ log, step, block, start }: ChangePosition): string =>
  encodeCursor(LIST, { side: 'after', key: [log, step, block?.toHex() ?? '', ...(start > 1 ? [start] : [])] });

const HASH_BYTES = 32;

/** The parameters with a cursor, and the values that they accept. */
const IN_AFTER = { parameter: inQuery('after'), rule: 'must be a cursor that this route returned, or tip' } as const;
const IN_LAST_EVENT_ID = {
  parameter: { location: 'headers', path: ['last-event-id'] },
  rule: 'must be the id of an event that this route sent',
} as const;
type CursorParameter = typeof IN_AFTER | typeof IN_LAST_EVENT_ID;

/** @throws ParameterError */
function parsePosition(text: string, { parameter, rule }: CursorParameter): ChangePosition {
  const cursor = decodeCursor(LIST, text);
  const refuse = () => new ParameterError(parameter, rule);
  if (cursor === null || cursor.key.length < 3 || cursor.key.length > 4) throw refuse();
  const [log, step, block] = [textAt(cursor.key, 0), numberAt(cursor.key, 1), bytesAt(cursor.key, 2)];
  if (block.length !== 0 && block.length !== HASH_BYTES) throw refuse();
  const start = cursor.key.length === 4 ? numberAt(cursor.key, 3) : 1;
  return { log, step, block: block.length === 0 ? null : block, start };
}

/** @throws ParameterError */
function toChangeFilter({ filters, include = [] }: ChangesQuery): ChangeFilter {
  const words = new Set<string>(include);
  const options: Options = {};
  for (const [word, option] of Object.entries(included)) if (words.has(word)) options[option] = true;
  return changeFilter(
    filters === undefined ? null : conditionsIn(filters),
    options,
    words.has('transactions'),
    filters ?? '',
  );
}

function conditionsIn(filters: string) {
  const parsed = parsedJson(filters);
  if (parsed === undefined) throw new ParameterError(inQuery('filters'), 'must be JSON');
  try {
    return conditionsOfDefinition({ filters: parseFilters(parsed) });
  } catch (error) {
    if (error instanceof HookProblem)
      throw new ParameterError(inQuery('filters'), (name) => `${name}: ${error.message}`);
    throw error;
  }
}

/** Converts a cursor to a place in the log of this server. @throws ParameterError, UnreadableCursorError */
function localPosition(cursor: string, parameter: CursorParameter, changes: Changes): ChangePosition {
  const place = parsePosition(cursor, parameter);
  return changes.find((steps) => steps.here(place));
}

/** Returns the place that a request starts from. @throws ParameterError, UnreadableCursorError */
function startPosition({ after, from_height: from }: ChangesQuery, changes: Changes): ChangePosition {
  if (from === undefined) {
    if (after === undefined) return changes.find((steps) => steps.first());
    return after === 'tip' ? changes.find((steps) => steps.last()) : localPosition(after, IN_AFTER, changes);
  }
  if (after !== undefined) throw new ParameterError(inQuery('from_height'), 'must not be given with after');
  return changes.find((steps) => {
    const maximum = steps.tipHeight() + 1;
    if (from > maximum)
      throw new ParameterError(inQuery('from_height'), `must be <= ${maximum}, the height of the next block`);
    return steps.before(from);
  });
}

const changeText = ({ kind, blockText }: NonNullable<ChangeBatch['change']>, cursor: string): string =>
  `{"change":"${kind}","cursor":"${cursor}","block":${blockText}}`;

interface Page {
  texts: string[];
  place: ChangePosition;
  hasMore: boolean;
}

/** Readers that hold a connection: streams, and requests that wait. */
export type ReaderForm = 'stream' | 'wait';

export interface ChangeMetrics {
  opened(form: ReaderForm): void;
  closed(form: ReaderForm): void;
  sent(form: 'stream' | 'page', changes: number): void;
}

const uncounted: ChangeMetrics = { opened() {}, closed() {}, sent() {} };

/** Parts of the server that readers of changes need. Tests may omit them. */
export interface ChangeServing {
  metrics?: ChangeMetrics;
  /** Aborts when the server stops, which ends all streams and waits. */
  stopping?: AbortSignal;
}

interface ChangeRouteOptions extends ChangeServing {
  snapshots: Pick<Snapshots, 'read'>;
  clock: Clock;
  turns: Turns;
}

interface ChangeContext extends Pick<ChangeRouteOptions, 'clock' | 'turns'> {
  changes: Changes;
  room: WaitingRoom;
  metrics: ChangeMetrics;
}

/** @throws ApiError 429 if a client has the maximum of readers, 503 if the thread has */
function requirePlace(readers: ReturnType<typeof countWork>, client: string): void {
  const headers = { 'retry-after': '1' };
  if (readers.of(client) >= MAX_CLIENT_READERS) {
    const problem = `Your address already has ${MAX_CLIENT_READERS} readers of changes; end one of them`;
    throw new ApiError(429, problem, 'RATE_LIMIT', { headers });
  }
  if (readers.total() >= MAX_READERS) {
    const problem = `${MAX_READERS} readers of changes are already connected; retry, or use another server`;
    throw new ApiError(503, problem, null, { headers });
  }
}

/** Makes a page. Its content is a function of the log, unless it reaches the log's end. */
async function makePage(
  { changes, turns }: Pick<ChangeContext, 'changes' | 'turns'>,
  from: ChangePosition,
  filter: ChangeFilter,
  limit: number,
): Promise<Page> {
  const texts: string[] = [];
  let [place, remaining, characters] = [from, MAX_CHANGES_PER_CALL, 0];
  const pause = turns.longWork();
  while (texts.length < limit && remaining > 0 && characters < MAX_CHARACTERS) {
    const batch = changes.next(place, filter, remaining);
    if (batch === null) return { texts, place, hasMore: false };
    ({ place } = batch);
    remaining -= batch.passed;
    if (batch.change !== null) {
      const text = changeText(batch.change, toCursor(place));
      texts.push(text);
      characters += text.length;
    }
    await pause();
  }
  return { texts, place, hasMore: true };
}

/** Makes a page. While the page is empty, waits for a change and makes the page again, until the time is over. */
async function waitForPage(
  serving: ChangeContext,
  page: (from: ChangePosition) => Promise<Page>,
  from: ChangePosition,
  seconds: number,
  signal: AbortSignal,
): Promise<Page> {
  const { clock, room, metrics } = serving;
  const deadline = clock.monotonic() + seconds * 1_000;
  let changePage = await page(from);
  if (seconds === 0 || changePage.texts.length > 0) return changePage;
  metrics.opened('wait');
  try {
    while (changePage.texts.length === 0 && !signal.aborted) {
      const { place, hasMore } = changePage;
      const outcome = hasMore ? 'reached' : await room.wait(place.step + 1, deadline, signal);
      if (outcome === 'late' || clock.monotonic() >= deadline) break;
      changePage = await page(place);
    }
    return changePage;
  } finally {
    metrics.closed('wait');
  }
}

/**
 * Yields the events of a stream; a part is empty if changes didn't match. A reader at the end of the log receives the next
 * change before readers of older changes, which wait for a turn before each part.
 * @param first the step that was read before the stream started; null at the end of the log
 */
async function* events(
  { clock, changes, room, metrics, turns }: ChangeContext,
  from: ChangePosition,
  filter: ChangeFilter,
  first: ChangeBatch | null,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  let place = from;
  let batch = first;
  /** Changes since the last cursor that the client got. */
  let passed = 0;
  metrics.opened('stream');
  try {
    yield `retry: ${RETRY_MS}\nid: ${toCursor(from)}\n\n`;
    while (!signal.aborted) {
      if (batch === null) {
        if (passed > 0) yield `id: ${toCursor(place)}\n\n`;
        passed = 0;
        const outcome = await room.wait(place.step + 1, clock.monotonic() + KEEP_ALIVE_MS, signal);
        if (signal.aborted) return;
        if (outcome === 'late') yield ':\n\n';
        else await turns.next();
      } else {
        place = batch.place;
        passed += batch.passed;
        const text = eventText(batch.change, place, passed);
        if (text !== '') passed = 0;
        if (batch.change !== null) metrics.sent('stream', 1);
        yield text;
      }
      batch = changes.next(place, filter);
    }
  } finally {
    metrics.closed('stream');
  }
}

/** Returns the event of a change. Without a change, returns only a cursor, or nothing if the client's cursor is recent. */
function eventText(change: ChangeBatch['change'], place: ChangePosition, passed: number): string {
  if (change === null) return passed < MAX_CHANGES_PER_CALL ? '' : `id: ${toCursor(place)}\n\n`;
  const cursor = toCursor(place);
  return `id: ${cursor}\nevent: ${change.kind}\ndata: ${changeText(change, cursor)}\n\n`;
}

/** Returns the 409 for a cursor at a block that the log doesn't have; any other error unchanged. */
const unknownPlace = (error: unknown): unknown =>
  error instanceof UnreadableCursorError && error.block !== null
    ? new ApiError(
        409,
        `The cursor belongs to another log, and its block ${toHex(error.block)} isn't on the chain of this server: another server gave the cursor, or the log was restored to an earlier point. Start again with from_height`,
        'UNKNOWN_CURSOR',
      )
    : error;

/** The route of the changes. */
export function changeRoutes(options: ChangeRouteOptions): readonly Route[] {
  const { snapshots, clock, turns, metrics = uncounted } = options;
  const { stopping = new AbortController().signal } = options;
  const changes = chainChanges(snapshots);
  // The limits of readers also limit who waits.
  const room = waitingRoom(() => snapshots.read((read) => read.height()), clock, Number.POSITIVE_INFINITY);
  const serving: ChangeContext = { changes, room, metrics, clock, turns };
  const inTurn = atMost(MAX_PAGES);
  const readers = countWork();

  function stream(place: ChangePosition, filter: ChangeFilter, client: string, signal: AbortSignal): Streamed {
    requirePlace(readers, client);
    const first = changes.next(place, filter);
    const parts = async function* () {
      const leave = readers.begin(client);
      try {
        yield* events(serving, place, filter, first, AbortSignal.any([signal, stopping]));
      } catch (error) {
        throw unknownPlace(error);
      } finally {
        leave();
      }
    };
    return new Streamed(
      'text/event-stream',
      null,
      parts,
      (problem) => `event: problem\ndata: ${JSON.stringify(problem)}\n\n`,
    );
  }

  async function page(
    place: ChangePosition,
    filter: ChangeFilter,
    limit: number,
    wait: number,
    signal: AbortSignal,
  ): Promise<Static<typeof ChangePage>> {
    const make = (from: ChangePosition): Promise<Page> => inTurn(() => makePage(serving, from, filter, limit));
    const changePage = await waitForPage(serving, make, place, wait, AbortSignal.any([signal, stopping]));
    metrics.sent('page', changePage.texts.length);
    return {
      results: changePage.texts.map((text) => jsonText<Static<typeof BlockChange>>(text)),
      next: toCursor(changePage.place),
      has_more: changePage.hasMore,
    };
  }

  return [
    route({
      path: '/stackside/v1/changes',
      operationId: 'getChanges',
      summary: 'Changes of the chain, from any position',
      description:
        'Returns the blocks that the chain applied and rolled back, in order, from any position. A reader that applies them always has the canonical chain. The change that follows a cursor is always the same. With `Accept: text/event-stream`, the changes come as server-sent events as they happen, and `Last-Event-ID` resumes after a cursor; with `wait`, a request waits for the next change.',
      tag: 'Chainhooks',
      query,
      response: ChangePage,
      otherTypes: {
        'text/event-stream':
          'The changes as events `apply` and `rollback`: the data is an item of `results`, and the id is its cursor; an event `problem` with an error ends the stream.',
      },
      refusals: {
        409: 'The cursor belongs to another log, and its block is not on the chain of this server',
        429: 'The client has too many readers',
        503: "The data can't be read now, or too many readers are connected",
      },
      errors: problems,
      ...WITHOUT_INDEX,
      // A page reads and decodes the events of many blocks.
      cost: 10,
      async handle({ query: parameters, request, clientAddress }) {
        const client = addressGroup(clientAddress());
        const filter = toChangeFilter(parameters);
        const isStream = acceptsEvents(request);
        const resumed = isStream ? request.headers.get('last-event-id') : null;
        try {
          const place =
            resumed === null ? startPosition(parameters, changes) : localPosition(resumed, IN_LAST_EVENT_ID, changes);
          if (isStream) return stream(place, filter, client, request.signal);
          const { limit, wait } = parameters;
          if (wait === 0) return await page(place, filter, limit, wait, request.signal);
          requirePlace(readers, client);
          const leave = readers.begin(client);
          try {
            return await page(place, filter, limit, wait, request.signal);
          } finally {
            leave();
          }
        } catch (error) {
          throw unknownPlace(error);
        }
      },
    }),
  ];
}
