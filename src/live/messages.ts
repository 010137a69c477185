/** Converts changes of the index to messages, which hold the same objects as the API's v1 routes. */

import { declarationsFor } from '../api/shared/declarations.ts';
import { stxBalanceWithTotals, withStxTransfers } from '../api/shared/serialize/address.ts';
import { block as blockObject, microblock as microblockObject } from '../api/shared/serialize/block.ts';
import { mempoolTransaction, transaction as transactionObject } from '../api/shared/serialize/transaction.ts';
import { clarity } from '../api/shared/serialize/values.ts';
import { toHex } from '../codec/hex.ts';
import { jsonOf } from '../http/json.ts';
import type { Change, NftMove } from '../store/model/change.ts';
import type { FoundInForks } from '../store/model/transaction.ts';
import type { Reader } from '../store/read/index-reader.ts';
import { Message } from './message.ts';
import type { Subscriptions } from './subscriptions.ts';
import {
  nftAssetTopic,
  nftCollectionTopic,
  plainTopic,
  principalTopic,
  topicKinds,
  transactionTopic,
} from './topics.ts';

/** Kinds of topics that a block may have messages of. */
const blockTopics = topicKinds.filter((kind) => kind !== 'mempool' && kind !== 'microblock');

const NO_EVENTS = { limit: 0, offset: 0 };
/** A limit above the number of events in any block. */
const ALL = 1_000_000;

async function transactionText(read: Reader, found: FoundInForks): Promise<string> {
  const declarations = await declarationsFor(read, [found.transaction]);
  return JSON.stringify(
    found.mined
      ? transactionObject(found.transaction, { declarations })
      : mempoolTransaction(found.transaction, { declarations }),
  );
}

const nftEvent = (move: NftMove) => ({
  asset_identifier: move.asset,
  asset_event_type: move.action,
  value: clarity(move.value),
  tx_id: toHex(move.txId),
  tx_index: move.txIndex,
  block_height: move.blockHeight,
  event_index: move.eventIndex,
  sender: move.sender,
  recipient: move.recipient,
});

/** Creates a function that converts changes to messages. Data without a subscriber is not read. */
export function changeMessages({ has, any }: Pick<Subscriptions, 'has' | 'any'>) {
  /** A transaction as it is now. */
  async function* ofTransaction(read: Reader, txId: Uint8Array): AsyncGenerator<Message> {
    const topic = transactionTopic(toHex(txId));
    const found = has(topic) ? await read.transactions.findInForks(txId, NO_EVENTS, true) : undefined;
    if (found !== undefined) yield new Message({ topic, text: await transactionText(read, found) });
  }

  /**
   * A transaction that entered the mempool, came back to it, or was dropped, as it was then: if a block holds it by now,
   * or it was dropped since, that is another change.
   */
  async function* ofMempool(
    read: Reader,
    txId: Uint8Array,
    kind: 'admitted' | 'dropped' | 'restored',
  ): AsyncGenerator<Message> {
    // Subscribers of the mempool never heard that one that is back was gone.
    const topics = [...(kind === 'restored' ? [] : [plainTopic('mempool')]), transactionTopic(toHex(txId))].filter(has);
    const found = topics.length === 0 ? undefined : await read.mempool.findAnnounced(txId);
    // The index doesn't hold any more why one was dropped that is back.
    if (found === undefined || (kind === 'dropped' && found.status === 'pending')) return;
    const transaction = kind === 'dropped' ? found : { ...found, status: 'pending' as const, replacedByTxId: null };
    const text = await transactionText(read, { mined: false, transaction });
    for (const topic of topics) yield new Message({ topic, text });
  }

  async function* ofPrincipal(read: Reader, principal: string, height: number): AsyncGenerator<Message> {
    const transactionsTopic = principalTopic('address-transaction', principal);
    if (has(transactionsTopic)) {
      const heights = { first: height, last: height };
      const { items } = await read.addresses.transactionsWithTransfers(principal, heights, ALL, 0);
      const declarations = await declarationsFor(
        read,
        items.map(({ transaction }) => transaction),
      );
      for (const item of items) {
        const shown = withStxTransfers(item, declarations);
        const { txId, status, payload } = item.transaction;
        yield new Message({
          topic: transactionsTopic,
          text: jsonOf(shown),
          members: { address: principal, tx_id: toHex(txId), tx_status: status, tx_type: payload.type },
          leading: [principal],
        });
      }
    }
    const balanceTopic = principalTopic('address-stx-balance', principal);
    if (has(balanceTopic)) {
      const history = await read.principals.stxHistory(principal, height);
      const text = JSON.stringify(stxBalanceWithTotals(history, false));
      yield new Message({ topic: balanceTopic, text, members: { address: principal }, leading: [principal] });
    }
  }

  async function* ofNfts(read: Reader, height: number): AsyncGenerator<Message> {
    const all = plainTopic('nft-event');
    for (const move of await read.changes.nftEvents(height)) {
      const value = toHex(move.value);
      const assetTopic = nftAssetTopic(move.asset, value);
      const collectionTopic = nftCollectionTopic(move.asset);
      if (![all, assetTopic, collectionTopic].some(has)) continue;
      const text = JSON.stringify(nftEvent(move));
      yield new Message({ topic: all, text });
      yield new Message({ topic: assetTopic, text, leading: [move.asset, value] });
      yield new Message({ topic: collectionTopic, text, leading: [move.asset] });
    }
  }

  /** A block that came onto the chain, or beside it. If it stands elsewhere by now, that is another change. */
  async function* ofBlock(read: Reader, indexBlockHash: Uint8Array, canonical: boolean): AsyncGenerator<Message> {
    if (!any(...blockTopics)) return;
    const announced = await read.blocks.announced(indexBlockHash, canonical);
    if (announced === undefined) return;
    const { block, isOnChain } = announced;
    const topic = plainTopic('block');
    if (has(topic)) yield new Message({ topic, text: JSON.stringify(blockObject(block, 'ascending')) });
    // A block that left the chain again since holds nothing that can be read.
    if (!canonical || !isOnChain) return;
    const { height } = block;
    if (any('transaction')) {
      for (const txId of block.txIds) yield* ofTransaction(read, txId);
    }
    if (any('address-transaction', 'address-stx-balance')) {
      const { principals } = await read.changes.parties(height);
      for (const principal of principals) yield* ofPrincipal(read, principal, height);
    }
    if (any('nft-event', 'nft-asset-event', 'nft-collection-event')) yield* ofNfts(read, height);
  }

  async function* ofMicroblock(read: Reader, hash: Uint8Array): AsyncGenerator<Message> {
    const topic = plainTopic('microblock');
    if (!any('microblock', 'transaction')) return;
    const microblock = await read.microblocks.find(hash);
    if (microblock === undefined) return;
    if (has(topic)) yield new Message({ topic, text: JSON.stringify(microblockObject(microblock)) });
    for (const txId of microblock.txIds) yield* ofTransaction(read, txId);
  }

  /** The messages that a change causes, in the order in which they are sent. */
  return (read: Reader, { kind, subject }: Change): AsyncGenerator<Message> => {
    switch (kind) {
      case 'block':
      case 'orphan':
        return ofBlock(read, subject, kind === 'block');
      case 'microblock':
        return ofMicroblock(read, subject);
      case 'admitted':
      case 'dropped':
      case 'restored':
        return ofMempool(read, subject, kind);
    }
  };
}
