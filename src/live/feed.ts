/**
 * Polls the index for changes and pushes them to subscribers, in every thread or process that serves realtime clients.
 * The feed polls only while there are subscribers.
 */

import { stxBalanceWithTotals, transactionWithStxTransfers } from '../api/shared/address.ts';
import { block as blockObject } from '../api/shared/block.ts';
import { clarity } from '../api/shared/fields.ts';
import { type Declarations, declarationsFor, foundTransaction } from '../api/shared/transaction.ts';
import { bytesEqual } from '../base/bytes-equal.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { UnexpectedEvent } from '../base/log-events.ts';
import { startLoop } from '../base/service.ts';
import { TURN_MS, turnAfter } from '../base/turns.ts';
import { toHex } from '../codec/hex.ts';
import { jsonOf } from '../http/json.ts';
import type { AddressTransaction } from '../store/model/account.ts';
import type { ChainBlock, Change, WholeBlock } from '../store/model/block.ts';
import { IndexUnavailableError } from '../store/model/read-errors.ts';
import type { NftMove } from '../store/model/token.ts';
import type { FoundInForks } from '../store/model/transaction.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import {
  Message,
  nftAssetTopic,
  nftCollectionTopic,
  plainTopic,
  principalTopic,
  type Subscriptions,
  type Topic,
  topicKinds,
  transactionTopic,
} from './subscriptions.ts';

export type FeedEvent = { event: 'changes_missed'; from: number; to: number } | UnexpectedEvent;

/** Milliseconds between two polls. A poll costs about as much as the smallest request. */
const INTERVAL_MS = 20;
/** Maximum number of changes read by one poll. */
const BATCH = 500;
/** Milliseconds after which a poll ends with its present change, since long snapshots are cut off. */
const MAX_POLL_MS = 1_000;

interface FeedOptions {
  snapshots: Snapshots;
  subscriptions: Subscriptions;
  log: (event: FeedEvent) => void;
  clock?: Clock;
}

/** Polls while there are subscribers. @returns a function that ends it after the poll in progress */
export function startFeed(options: FeedOptions): () => Promise<void> {
  const { snapshots, subscriptions, log, clock = systemClock } = options;
  const messagesOf = changeMessages(subscriptions, clock);
  /**
   * The index file of the last poll, null while nobody is subscribed, and its newest change. Changes that a new file begins
   * with are not pushed, nor are those before the first subscription.
   */
  let file: number | null = null;
  let last = 0;

  /**
   * Pushes changes, and yields between messages, since a block may have thousands.
   * @returns whether time was up before all were pushed
   */
  async function push(read: Reader, changes: readonly Change[]): Promise<boolean> {
    const turn = turnAfter(TURN_MS, clock);
    const end = clock.monotonic() + MAX_POLL_MS;
    for (const change of changes) {
      if (clock.monotonic() >= end) return true;
      // Set before the push, so that a change that fails isn't retried forever.
      last = change.id;
      for await (const message of messagesOf(read, change)) {
        subscriptions.publish(message);
        await turn();
      }
    }
    return false;
  }

  /** Reads in one turn, which needs no commit, whether there may be something to push. */
  const hasNews = (): boolean => snapshots.read((read) => read.file !== file || read.changes.after(last, 1).length > 0);

  /** Polls once. @returns whether there may be more changes */
  async function poll(): Promise<boolean> {
    if (!hasNews()) return false;
    return snapshots.readLong(async (read) => {
      if (read.file !== file) {
        last = read.changes.newest();
        file = read.file;
        return false;
      }
      const changes = read.changes.after(last, BATCH);
      const first = changes[0];
      if (first === undefined) return false;
      if (first.id !== last + 1) log({ event: 'changes_missed', from: last + 1, to: first.id - 1 });
      const isCutShort = await push(read, changes);
      return isCutShort || changes.length === BATCH;
    });
  }

  // The reader of the index logs that the index is missing.
  const logFailure = (cause: Error) => {
    if (!(cause instanceof IndexUnavailableError)) log({ event: 'unexpected_error', part: 'realtime', cause });
  };
  const loop = startLoop({
    clock,
    everyMs: INTERVAL_MS,
    firstMs: 0,
    async turn() {
      if (!subscriptions.isEmpty()) return (await poll()) ? 0 : INTERVAL_MS;
      file = null;
      return null;
    },
    passes: (error) => error instanceof Error,
    failed: logFailure,
  });
  subscriptions.onFirst(() => {
    // A poll in progress continues from a change before this subscription.
    if (file !== null) return;
    // Reads the newest change now, so that every change after the subscription is pushed.
    void poll().catch(logFailure).finally(loop.wake);
  });
  return loop.stop;
}

const blockTopics = topicKinds.filter((kind) => kind !== 'mempool' && kind !== 'microblock');

const nftTopics = ['nft-event', 'nft-asset-event', 'nft-collection-event'] as const;

/** A limit above the number of events in any block. */
const NO_LIMIT = 1_000_000;

const transactionText = (read: Reader, inForks: FoundInForks): string =>
  JSON.stringify(foundTransaction(read, inForks));

const nftEvent = (move: NftMove, canonical: boolean) => ({
  asset_identifier: move.asset,
  asset_event_type: move.action,
  value: clarity(move.value),
  tx_id: toHex(move.txId),
  tx_index: move.txIndex,
  block_height: move.blockHeight,
  event_index: move.eventIndex,
  sender: move.sender,
  recipient: move.recipient,
  canonical,
});

function addressMessage(principal: string, item: AddressTransaction, declarations: Declarations): Message {
  const { txId, status, payload } = item.transaction;
  return new Message({
    topic: principalTopic('address-transaction', principal),
    text: jsonOf(transactionWithStxTransfers(item, declarations)),
    members: { address: principal, tx_id: toHex(txId), tx_status: status, tx_type: payload.type },
    leading: [principal],
  });
}

/**
 * Creates the function that turns changes into messages. Data without subscribers is not read.
 *
 *     block                          joined the chain: it, its transactions, its accounts, its NFT events
 *     undone                         left the chain: it, and the earlier messages again with `canonical: false`
 *     orphan                         arrived on another branch: it, and its transactions with `canonical: false`
 *     admitted, restored, dropped    the transaction, in the mempool or dropped from it
 *
 * The index may have changed again since. Then another change has the messages for the parts that are different now.
 */
export function changeMessages(
  { has, any, topics }: Pick<Subscriptions, 'has' | 'any' | 'topics'>,
  clock: Clock = systemClock,
) {
  /** The last block that was on the chain when its messages were made; null before the first. */
  let lastPushed: { indexHash: Uint8Array; burnHeight: number } | null = null;

  const balanceText = (read: Reader, principal: string, height: number): string =>
    JSON.stringify(stxBalanceWithTotals(read.principals.stxHistory(principal, height), false));
  const balanceMessage = (topic: Topic, principal: string, text: string): Message =>
    new Message({ topic, text, members: { address: principal }, leading: [principal] });

  /**
   * Yields the messages for balances of principals that take no part in the block: a lock ended with the Bitcoin block, or a
   * fork removed transactions. After a fork, every subscriber gets a message. The cost depends only on the number of
   * subscriptions.
   * @param parties principals that already have a message of the block
   */
  async function* otherBalances(
    read: Reader,
    { height, parentIndexHash, burnBlock }: ChainBlock,
    parties: readonly string[],
  ): AsyncGenerator<Message> {
    const isGrowth = lastPushed !== null && bytesEqual(lastPushed.indexHash, parentIndexHash);
    if (isGrowth && lastPushed?.burnHeight === burnBlock.height) return;
    const turn = turnAfter(TURN_MS, clock);
    const notified = new Set(parties);
    for (const topic of topics('address-stx-balance')) {
      await turn();
      const principal = topic.key.slice(`${topic.kind}:`.length);
      if (notified.has(principal)) continue;
      const text = balanceText(read, principal, height);
      if (!isGrowth || text !== balanceText(read, principal, height - 1)) yield balanceMessage(topic, principal, text);
    }
  }

  /** Yields the message for a mined transaction. @param canonical true if the chain must have it, false if only orphans may */
  function* transactionMessages(read: Reader, txId: Uint8Array, canonical: boolean): Generator<Message> {
    const topic = transactionTopic(toHex(txId));
    const inForks = has(topic) ? read.transactions.findInForks(txId) : undefined;
    if (inForks?.mined !== true || inForks.transaction.canonical !== canonical) return;
    yield new Message({ topic, text: transactionText(read, inForks) });
  }

  /** Yields the messages for a transaction that entered or re-entered the mempool, or was dropped. */
  function* mempoolMessages(
    read: Reader,
    txId: Uint8Array,
    kind: 'admitted' | 'dropped' | 'restored',
  ): Generator<Message> {
    const ownTopic = transactionTopic(toHex(txId));
    // Subscribers of the mempool were not notified when a restored transaction was dropped.
    const wanted = (kind === 'restored' ? [ownTopic] : [plainTopic('mempool'), ownTopic]).filter(has);
    const found = wanted.length === 0 ? undefined : read.mempool.findAnnounced(txId);
    // The index no longer has the reason of a drop if the transaction is back.
    if (found === undefined || (kind === 'dropped' && found.status === 'pending')) return;
    const pending = { ...found, status: 'pending' as const, replacedByTxId: null };
    const text = transactionText(read, { mined: false, transaction: kind === 'dropped' ? found : pending });
    for (const topic of wanted) yield new Message({ topic, text });
  }

  function* principalMessages(
    read: Reader,
    principal: string,
    height: number,
    hasBalances: boolean,
  ): Generator<Message> {
    if (has(principalTopic('address-transaction', principal))) {
      const heights = { first: height, last: height };
      const { items } = read.addresses.transactionsWithTransfers(principal, heights, NO_LIMIT, 0);
      const transactions = items.map(({ transaction }) => transaction);
      const declarations = declarationsFor(read, transactions);
      for (const item of items) yield addressMessage(principal, item, declarations);
    }
    const topic = principalTopic('address-stx-balance', principal);
    if (hasBalances && has(topic)) yield balanceMessage(topic, principal, balanceText(read, principal, height));
  }

  /** Yields the messages for NFT moves. @param canonical true if the moves joined the chain, false if they left it */
  function* nftMessages(moves: readonly NftMove[], canonical: boolean): Generator<Message> {
    const all = plainTopic('nft-event');
    for (const move of moves) {
      const value = toHex(move.value);
      const assetTopic = nftAssetTopic(move.asset, value);
      const collectionTopic = nftCollectionTopic(move.asset);
      if (![all, assetTopic, collectionTopic].some(has)) continue;
      const text = JSON.stringify(nftEvent(move, canonical));
      yield new Message({ topic: all, text });
      yield new Message({ topic: assetTopic, text, leading: [move.asset, value] });
      yield new Message({ topic: collectionTopic, text, leading: [move.asset] });
    }
  }

  /** Yields the messages for the parts of a block that joined the chain. */
  async function* joinedMessages(read: Reader, block: WholeBlock): AsyncGenerator<Message> {
    const { height, indexHash, txIds, burnBlock } = block;
    if (any('transaction')) {
      for (const txId of txIds) yield* transactionMessages(read, txId, true);
    }
    if (any('address-transaction', 'address-stx-balance')) {
      const { principals } = read.changes.parties(height);
      const hasBalances = read.chain.historyFrom() === null;
      for (const principal of principals) yield* principalMessages(read, principal, height, hasBalances);
      if (hasBalances) yield* otherBalances(read, block, principals);
    }
    lastPushed = { indexHash, burnHeight: burnBlock.height };
    if (any(...nftTopics)) yield* nftMessages(read.changes.nftEvents(height), true);
  }

  /** Yields the messages for the parts of an orphan. If the block was on the chain, the parts had messages before. */
  function* orphanMessages(read: Reader, indexBlockHash: Uint8Array, wasOnChain: boolean): Generator<Message> {
    if (!any('transaction', ...(wasOnChain ? (['address-transaction', ...nftTopics] as const) : []))) return;
    const orphan = read.changes.orphan(indexBlockHash);
    if (orphan === undefined) return;
    for (const txId of orphan.txIds) yield* transactionMessages(read, txId, false);
    if (!wasOnChain) return;
    if (any('address-transaction')) {
      const isWanted = (principal: string) => has(principalTopic('address-transaction', principal));
      for (const [principal, item] of orphan.addressTransactions(isWanted)) {
        yield addressMessage(principal, item, declarationsFor(read, [item.transaction]));
      }
    }
    yield* nftMessages(orphan.nftEvents, false);
  }

  async function* blockMessages(
    read: Reader,
    indexBlockHash: Uint8Array,
    kind: 'block' | 'orphan' | 'undone',
  ): AsyncGenerator<Message> {
    if (!any(...blockTopics)) return;
    const hasJoined = kind === 'block';
    const announced = read.blocks.announced(indexBlockHash, hasJoined);
    if (announced === undefined) return;
    const { block, isOnChain } = announced;
    const topic = plainTopic('block');
    if (has(topic)) yield new Message({ topic, text: JSON.stringify(blockObject(block, 'ascending')) });
    if (hasJoined && isOnChain) yield* joinedMessages(read, block);
    if (!hasJoined && !isOnChain) yield* orphanMessages(read, indexBlockHash, kind === 'undone');
  }

  /** Returns the messages of a change, in the order in which the feed sends them. */
  return (read: Reader, { kind, subject }: Change): AsyncGenerator<Message> | Generator<Message> =>
    kind === 'block' || kind === 'orphan' || kind === 'undone'
      ? blockMessages(read, subject, kind)
      : mempoolMessages(read, subject, kind);
}
