/** Events of a node's block payload: parsed, and by transaction. */

import { zstdCompressSync, zstdDecompressSync } from 'bun';
import { makeCollector } from '../base/garbage.ts';
import { exactJson } from '../base/json.ts';
import { fromHex } from '../codec/hex.ts';
import type { AssetAction, ChainEvent, ChainEvents } from './block.ts';
import { type EventPayloads, eventBody, LazyEvents, PayloadError, parseJson } from './payload-reader.ts';
import { type EventPayload, type EventType, isKnownStatus, type TransactionPayload } from './payload-schemas.ts';

type Move = Extract<ChainEvent, { action: AssetAction }>;

/** The types of events that move assets. */
const moves: ReadonlyMap<string, Pick<Move, 'kind' | 'action'>> = new Map(
  (['stx', 'ft', 'nft'] as const).flatMap((kind) =>
    (['transfer', 'mint', 'burn'] as const).map((action) => [`${kind}_${action}_event`, { kind, action }]),
  ),
);

/** The fields of the bodies of these events. A mint has no sender, and a burn no recipient. */
interface MoveBody {
  sender: string;
  recipient: string;
  asset_identifier: string;
  amount: string;
  memo?: string;
  raw_value: string;
}

function moveOf({ kind, action }: Pick<Move, 'kind' | 'action'>, body: MoveBody): Move {
  const { asset_identifier: asset, amount, memo } = body;
  const sender = action === 'mint' ? null : body.sender;
  const recipient = action === 'burn' ? null : body.recipient;
  if (kind === 'ft') return { kind, action, asset, sender, recipient, amount };
  if (kind === 'nft') return { kind, action, asset, sender, recipient, value: fromHex(body.raw_value) };
  const hasMemo = action === 'transfer' && memo !== undefined && memo !== '' && memo !== '0x';
  return { kind, action, sender, recipient, amount, memo: hasMemo ? fromHex(memo) : null };
}

function chainEvent(event: EventPayload): ChainEvent {
  const type = event.type as EventType;
  const move = moves.get(type);
  if (move !== undefined) return moveOf(move, eventBody(event, type) as MoveBody);
  switch (type) {
    case 'contract_event': {
      const { contract_identifier, topic, raw_value } = eventBody(event, type);
      return { kind: 'contract_log', contractId: contract_identifier, topic, value: fromHex(raw_value) };
    }
    case 'stx_lock_event': {
      const { locked_amount, unlock_height, locked_address, contract_identifier } = eventBody(event, type);
      return {
        kind: 'stx_lock',
        address: locked_address,
        amount: locked_amount,
        unlockHeight: Number(unlock_height),
        // Nodes before 2.1 send no contract name: there was only one contract.
        contractName: contract_identifier?.split('.')[1] ?? 'pox',
      };
    }
    default:
      return { kind: 'unknown', type: event.type, json: exactJson(event) };
  }
}

/** Adds `0x` to a transaction id if it is missing, for comparison. */
export const withPrefix = (hex: string): string => (hex.startsWith('0x') ? hex : `0x${hex}`).toLowerCase();

/** Indexes of a transaction's events in the payload's list, each with the node's event index. */
interface EventIndexes {
  places: number[];
  order: number[];
}

/** Returns the indexes in the order of the events. A node's list usually has this order already. */
function sortPlaces({ places, order }: EventIndexes): number[] {
  if (order.every((index, i) => i === 0 || (order[i - 1] ?? 0) <= index)) return places;
  return places
    .map((_, i) => i)
    .sort((a, b) => (order[a] ?? 0) - (order[b] ?? 0))
    .map((i) => places[i] ?? 0);
}

function* textsAt(payloads: LazyEvents, places: readonly number[]): Generator<string> {
  for (const place of places) yield payloads.textAt(place);
}

const eventsAt = (payloads: EventPayloads, places: readonly number[]): ChainEvents =>
  payloads instanceof LazyEvents
    ? new PackedEvents(textsAt(payloads, places), (text) => (parseJson(text) as EventPayload[]).map(chainEvent))
    : places.map((place) => chainEvent(payloads[place]!));

/**
 * Returns the events by transaction id (hex with prefix), in the node's order.
 *
 * Nodes send events unordered. Older nodes also send the events of failed transactions, which are omitted: their prints
 * and transfers were rolled back.
 */
export function eventsByTransaction(
  events: EventPayloads,
  transactions: readonly TransactionPayload[],
): Map<string, ChainEvents> {
  const byTransaction = new Map<string, EventIndexes>();
  for (const transaction of transactions) byTransaction.set(withPrefix(transaction.txid), { places: [], order: [] });
  let nextPlace = 0;
  let lastTxid = '';
  let indexes: EventIndexes | undefined;
  for (const { committed, txid, event_index } of events) {
    const place = nextPlace++;
    if (!committed) continue;
    // The events of a transaction are usually consecutive.
    if (txid !== lastTxid) indexes = byTransaction.get(withPrefix(txid));
    lastTxid = txid;
    if (indexes === undefined) throw new PayloadError(`Unexpected missing tx during event parsing by tx_id ${txid}`);
    indexes.places.push(place);
    indexes.order.push(event_index);
  }
  const eventsById = new Map<string, ChainEvents>();
  for (const { txid, status } of transactions) {
    const id = withPrefix(txid);
    const indexes = byTransaction.get(id);
    // A transaction with an unsupported status of a newer node may have succeeded.
    const isFailed = isKnownStatus(status) && status !== 'success';
    if (isFailed || indexes === undefined) eventsById.set(id, []);
    else if (!eventsById.has(id)) eventsById.set(id, eventsAt(events, sortPlaces(indexes)));
  }
  return eventsById;
}

/** Characters of JSON in a chunk, which is parsed at once. */
const CHUNK = 1_000_000;

/** Chunks between two garbage collections. */
const CHUNKS_OF_A_COLLECTION = 4;

const COMPRESSION_LEVEL = 1;

const decoder = new TextDecoder();

const pack = (texts: readonly string[]): Uint8Array =>
  zstdCompressSync(`[${texts.join(',')}]`, { level: COMPRESSION_LEVEL });

/**
 * The events of a transaction with hundreds of thousands of events, such as in a genesis block: compressed JSON that is
 * parsed in every iteration. Parsed objects would take some ten times the memory of their JSON.
 */
class PackedEvents implements ChainEvents {
  readonly length: number;
  /** JSON arrays, each compressed with zstd. */
  readonly #chunks: Uint8Array[] = [];
  readonly #parse: (json: string) => ChainEvent[];

  /**
   * @param texts the JSON of each event, in order
   * @param parse parses a JSON array of events
   */
  constructor(texts: Iterable<string>, parse: (json: string) => ChainEvent[]) {
    this.#parse = parse;
    const collect = makeCollector(CHUNKS_OF_A_COLLECTION);
    let length = 0;
    let chunk: string[] = [];
    let characters = 0;
    for (const text of texts) {
      chunk.push(text);
      characters += text.length;
      length += 1;
      if (characters < CHUNK) continue;
      this.#chunks.push(pack(chunk));
      chunk = [];
      characters = 0;
      collect();
    }
    if (chunk.length > 0) this.#chunks.push(pack(chunk));
    this.length = length;
  }

  *[Symbol.iterator](): Generator<ChainEvent> {
    const collect = makeCollector(CHUNKS_OF_A_COLLECTION);
    for (const chunk of this.#chunks) {
      yield* this.#parse(decoder.decode(zstdDecompressSync(chunk)));
      collect();
    }
  }

  *entries(): Generator<[number, ChainEvent]> {
    let index = 0;
    for (const event of this) yield [index++, event];
  }
}
