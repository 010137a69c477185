/** The state of each mempool transaction of a stream, now or in the past, computed only from the payloads. */
import type { TransactionContent } from '../../../src/chain/block.ts';
import { transactionContent } from '../../../src/chain/normalise.ts';
import { fromHex } from '../../../src/codec/hex.ts';
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import { type BlockHead, BlockTree, type ChainBlock } from './winning-chain.ts';

interface Entry {
  content: TransactionContent;
  /** Whether it would wait if no other transaction spent its nonces: announced or back from a block, and not dropped. */
  stands: boolean;
  /** Whether the node dropped it at any time. */
  dropped: boolean;
  /** In a block of the winning chain. */
  mined: boolean;
}

/** Made by nodes and miners: never in a mempool. */
const isBroadcast = ({ chainId, payload }: TransactionContent): boolean =>
  chainId !== 0 && payload.type !== 'coinbase' && payload.type !== 'tenure_change';

export interface MempoolModel {
  /** By hex id, every transaction that was announced or came back from a block that lost. */
  transactions: Map<string, Entry>;
  /** Every transaction of any block. */
  inBlocks: TransactionContent[];
  /** Hex ids of those in blocks of the winning chain. */
  minedIds: Set<string>;
}

/** Reads a transaction; null if it is a Bitcoin operation, which has no bytes. */
export const contentOf = (raw: string): TransactionContent | null => {
  if (raw === '0x00') return null;
  const read = transactionContent(fromHex(raw));
  if (!read.ok) throw read.error;
  return read.value;
};

const idOf = (text: string): string => text.replace(/^0x/, '');

export function mempoolModel(events: readonly NodeEvent[]): MempoolModel {
  const tree = new BlockTree();
  const transactions = new Map<string, Entry>();
  const inBlocks: TransactionContent[] = [];
  let mined = new Map<string, TransactionContent>();

  /** Dropped transactions that weren't in the mempool: the drop applies when they would enter it. */
  const early = new Set<string>();

  const stand = (content: TransactionContent) => {
    const id = content.txId.toHex();
    const before = transactions.get(id);
    const isDropped = early.delete(id) && (before === undefined || !mined.has(id));
    transactions.set(id, {
      content,
      stands: !isDropped,
      dropped: isDropped || (before?.dropped ?? false),
      mined: false,
    });
  };
  const minedIn = (chain: readonly ChainBlock<BlockHead>[]): Map<string, TransactionContent> => {
    const contents = new Map<string, TransactionContent>();
    for (const { head } of chain) {
      for (const { txid, raw_tx } of head.transactions) {
        const content = contentOf(raw_tx);
        if (content !== null) contents.set(idOf(txid), content);
      }
    }
    return contents;
  };

  for (const { path, body } of events) {
    if (path === '/new_mempool_tx') {
      for (const raw of JSON.parse(body) as string[]) {
        const content = contentOf(raw);
        if (content !== null) stand(content);
      }
    } else if (path === '/drop_mempool_tx') {
      for (const text of (JSON.parse(body) as { dropped_txids: string[] }).dropped_txids) {
        const entry = transactions.get(idOf(text));
        if (entry === undefined || mined.has(idOf(text))) early.add(idOf(text));
        else transactions.set(idOf(text), { ...entry, stands: false, dropped: true });
      }
    } else if (path === '/new_block') {
      const event = { path, body, time: 0 };
      const before = tree.chain();
      if (!tree.add(event)) continue;
      for (const { raw_tx } of (JSON.parse(body) as BlockHead).transactions) {
        const content = contentOf(raw_tx);
        if (content !== null) inBlocks.push(content);
      }
      const after = tree.chain();
      const afterHashes = new Set(after.map(({ head }) => head.index_block_hash));
      mined = new Map();
      const returned = minedIn(before.filter(({ head }) => !afterHashes.has(head.index_block_hash)));
      for (const content of returned.values()) {
        if (isBroadcast(content)) stand(content);
      }
      mined = minedIn(after);
    }
  }
  for (const [id, entry] of transactions) transactions.set(id, { ...entry, mined: mined.has(id) });
  return { transactions, inBlocks, minedIds: new Set(mined.keys()) };
}

/** Returns the nonces that a transaction spends, as origin and as fee payer. Two mempool transactions that share one are rivals. */
export function spendsOf({ sender, sponsor }: TransactionContent): string[] {
  const payer = sponsor ?? sender;
  return [`origin ${sender.address} ${sender.nonce}`, `payer ${payer.address} ${payer.nonce}`];
}

/** Returns every nonce that a transaction uses. */
export const noncesOf = ({ sender, sponsor }: TransactionContent): string[] =>
  [sender, ...(sponsor === null ? [] : [sponsor])].map(({ address, nonce }) => `${address} ${nonce}`);
