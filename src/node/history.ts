/**
 * Requests to the node for a partial history: the height of its start, the block below it, the accounts after that block,
 * and the tenures below, whose rewards mature later.
 */
import { Type } from '@sinclair/typebox';
import type { Clock } from '../base/clock.ts';
import { atMost } from '../base/turns.ts';
import type { StartingAccountPayload } from '../chain/payload-schemas.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import type { NakamotoBlock } from '../codec/nakamoto-block.ts';
import { decodeKnownParts, splitTransactions } from '../codec/transaction.ts';
import { type AskAccount, nodeAway } from '../http/history.ts';
import type { StartingAccount } from '../store/queries/accounts/starting-accounts.ts';
import type { HistoryStart } from '../store/queries/blocks/chain.ts';
import type { RewardedTenure } from '../store/queries/blocks/tenures.ts';
import { answerOrThrow, NoAnswer, nodeBlock, requestAccount, requestSortition, ThrottledNode } from './facts.ts';
import { IncompleteBlockError, type Parent, poxUnlockHeights } from './replay.ts';
import { type NodeInfo, type NodeRpc, NodeUnreachableError } from './rpc.ts';

/** Log events of a server without a block. */
export type HistoryStartEvent =
  /** The history starts below the node's tip, and the blocks up to the tip are filled. */
  | { event: 'history_starting'; from_height: number; to_height: number }
  /** The history starts at a block that the node posts, null before it. `reason`: why it doesn't start below the tip. */
  | { event: 'history_starting'; from_height: number | null; reason: string; remedy: string };

/**
 * Requests the parent of the first block to fill.
 * @throws IncompleteBlockError if the node doesn't return it; NodeUnreachableError
 */
export async function requestHistoryStart(
  node: ThrottledNode,
  { header, blockId }: NakamotoBlock,
): Promise<HistoryStart> {
  const failure = (reason: string) => new IncompleteBlockError(header.chainLength, blockId, reason);
  const parent = answerOrThrow(await nodeBlock(node, header.parentBlockId.toHex()));
  if (parent instanceof NoAnswer || !parent.ok) throw failure("the node doesn't have the Nakamoto block below it");
  const { consensusHash } = parent.value.header;
  const sortition = answerOrThrow(await requestSortition(node, `/consensus/${consensusHash.toHex()}`));
  if (sortition instanceof NoAnswer) throw failure('the node does not return the sortition of the block below it');
  return {
    height: header.chainLength,
    indexBlockHash: header.parentBlockId,
    blockHash: parent.value.blockHash,
    burnBlockHash: fromHex(sortition.burn_block_hash),
    burnBlockHeight: sortition.burn_block_height,
  };
}

/** Number of blocks below the node's tip at which a history starts. */
const START_BELOW_TIP = 100;

/**
 * Returns the height at which a history starts for a node; null if the node doesn't have two Nakamoto blocks.
 * @throws NodeUnreachableError
 */
export async function startHeight(
  node: ThrottledNode,
  { height: tip }: Pick<NodeInfo, 'height'>,
): Promise<number | null> {
  const isNakamoto = async (height: number): Promise<boolean> => {
    const block = answerOrThrow(await nodeBlock(node, `height/${height}`));
    return !(block instanceof NoAnswer) && block.ok;
  };
  let [low, high] = [Math.max(1, tip - START_BELOW_TIP - 1), tip - 1];
  if (high < 1 || !(await isNakamoto(high))) return null;
  // The block below the first block must also be a Nakamoto block.
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isNakamoto(middle)) high = middle;
    else low = middle + 1;
  }
  return high + 1;
}

/** Requests an account after a block. @returns NoAnswer if the node returns no account @throws NodeUnreachableError */
export async function requestStartingAccount(
  node: ThrottledNode,
  principal: string,
  indexBlockHash: Uint8Array,
): Promise<StartingAccountPayload | NoAnswer> {
  const account = await requestAccount(node, principal, indexBlockHash);
  if (account instanceof NoAnswer) return account;
  return {
    parent_index_block_hash: toHex(indexBlockHash),
    principal,
    balance: String(account.balance),
    locked: String(account.locked),
    unlock_height: account.unlockHeight,
    nonce: Number(account.nonce),
  };
}

/** Maximum requests to the node per second, and maximum concurrent requests. The node needs its time for the chain. */
const RATE = 50;
const MAX_CONCURRENT = 8;
/** Maximum accounts in memory, and maximum waiting requests. Each waiting request holds a snapshot of the index. */
const MAX_ACCOUNTS = 10_000;
const MAX_WAITING = 64;

/**
 * Makes a function that looks up untouched accounts at the node: accounts that no block of a partial history concerns. The
 * answers stay in memory only until the next block, because the block may touch the account. The index then looks up the
 * account, and the answer becomes an entry.
 */
export function untouchedAccounts(rpc: NodeRpc, clock: Clock): AskAccount {
  const node = new ThrottledNode(rpc, { rate: RATE, retries: 0, clock });
  const turn = atMost(MAX_CONCURRENT);
  /** Index block hash of the newest tip, and the requests for accounts in its state. */
  let tip = '';
  let accounts = new Map<string, Promise<StartingAccount>>();
  let waiting = 0;

  async function ask(principal: string, indexBlockHash: Uint8Array): Promise<StartingAccount> {
    if (waiting >= MAX_WAITING) throw nodeAway(principal, 'too many requests wait for its answers');
    waiting += 1;
    try {
      const account = answerOrThrow(await turn(() => requestAccount(node, principal, indexBlockHash)));
      if (account instanceof NoAnswer) throw nodeAway(principal, account.reason);
      return { ...account, balance: account.balance + account.locked };
    } catch (error) {
      throw error instanceof NodeUnreachableError ? nodeAway(principal, error.message, { cause: error }) : error;
    } finally {
      waiting -= 1;
    }
  }

  return (principal, indexBlockHash) => {
    const hash = indexBlockHash.toHex();
    if (hash !== tip || accounts.size >= MAX_ACCOUNTS) accounts = new Map();
    tip = hash;
    const pending = accounts.get(principal);
    if (pending !== undefined) return pending;
    const account = ask(principal, indexBlockHash);
    const cache = accounts;
    cache.set(principal, account);
    // After an error, the next request tries again.
    account.catch(() => cache.delete(principal));
    return account;
  };
}

const Info = Type.Object({ tenure_height: Type.Integer(), stacks_tip_consensus_hash: Type.String() });
const TenureBlocks = Type.Object({
  stacks_blocks: Type.Array(Type.Object({ block_id: Type.String(), height: Type.Integer() }), { minItems: 1 }),
});

/**
 * Maximum number of tenures below the first block to search for a reward's tenure. A reward matures after 100 on public
 * networks.
 */
const MAX_TENURES = 200;

const bare = (hash: string): string => hash.replace(/^0x/, '');

/** Returns the consensus hash of the previous tenure; null if the node doesn't have it. */
async function requestParentTenure(node: ThrottledNode, consensusHash: string): Promise<string | null> {
  const sortition = answerOrThrow(await requestSortition(node, `/consensus/${consensusHash}`));
  const parent = sortition instanceof NoAnswer ? null : sortition.stacks_parent_ch;
  return parent === null ? null : bare(parent);
}

/** Requests a block by its id; returns null if the node doesn't have it, or sends another block. */
async function requestBlock(node: ThrottledNode, id: string): Promise<NakamotoBlock | null> {
  const decoded = answerOrThrow(await nodeBlock(node, bare(id)));
  if (decoded instanceof NoAnswer || !decoded.ok) return null;
  return decoded.value.blockId.toHex() === bare(id) ? decoded.value : null;
}

/** Returns the signer and the recipient of a block's coinbase, and the fees of its transactions. */
function earningsOf({ transactions, transactionCount }: NakamotoBlock) {
  const split = splitTransactions(transactions, transactionCount);
  let fees = 0n;
  let coinbase: Pick<RewardedTenure, 'miner' | 'recipient'> | null = null;
  for (const raw of split.ok ? split.value : []) {
    const decoded = decodeKnownParts(raw);
    if (!decoded.ok) continue;
    const { origin, sponsor, payload } = decoded.value;
    fees += (sponsor ?? origin).fee;
    if (payload.type !== 'coinbase') continue;
    coinbase = { miner: origin.address, recipient: payload.altRecipient ?? origin.address };
  }
  return { fees, coinbase };
}

/** Reads the tenures below the start of the history. @returns null if the node doesn't have the block below it */
export async function olderTenures(node: ThrottledNode, start: HistoryStart) {
  const topBlock = await requestBlock(node, start.indexBlockHash.toHex());
  const info = answerOrThrow(await node.json('/v2/info', Info));
  if (topBlock === null || info instanceof NoAnswer) return null;
  const topHash = topBlock.header.consensusHash.toHex();
  /** Consensus hashes of tenures, newest first, from the tenure below the start. Several requests may share a promise. */
  const hashes: Promise<string | null>[] = [Promise.resolve(topHash)];
  let tenureHeight = info.tenure_height;
  for (let hash = bare(info.stacks_tip_consensus_hash); hash !== topHash; tenureHeight--) {
    const parent = await requestParentTenure(node, hash);
    if (parent === null) return null;
    hash = parent;
  }
  const top = tenureHeight;

  function hashOf(height: number): Promise<string | null> {
    while (hashes.length <= top - height) {
      hashes.push(hashes.at(-1)!.then((child) => (child === null ? null : requestParentTenure(node, child))));
    }
    return hashes[top - height] ?? Promise.resolve(null);
  }

  return {
    /** Tenure height of the block below the start. */
    top,

    /** Returns the block below the start, as the parent of the first block. */
    async parent(): Promise<Parent> {
      const sortition = answerOrThrow(await requestSortition(node, `/consensus/${topHash}`));
      return {
        height: start.height - 1,
        blockHash: start.blockHash,
        indexBlockHash: start.indexBlockHash,
        burnBlockHash: start.burnBlockHash,
        burnBlockHeight: start.burnBlockHeight,
        burnBlockTime: sortition instanceof NoAnswer ? 0 : sortition.burn_header_timestamp,
        minerTxId: new Uint8Array(32),
        tenureHeight: top,
        poxUnlockHeights: await poxUnlockHeights(node, start.indexBlockHash),
      };
    },

    /** Returns the coinbase height of a lower block's tenure; null if the node doesn't return it. */
    async heightOf(indexBlockHash: Uint8Array): Promise<number | null> {
      const block = await requestBlock(node, indexBlockHash.toHex());
      if (block === null) return null;
      const consensusHash = block.header.consensusHash.toHex();
      for (let height = top; height > top - MAX_TENURES; height--) {
        const hash = await hashOf(height);
        if (hash === null) return null;
        if (hash === consensusHash) return height;
      }
      return null;
    },

    /** Returns a tenure by its height, with the fees of its blocks below the start; null if the node doesn't return it. */
    async rewarded(height: number): Promise<RewardedTenure | null> {
      const hash = await hashOf(height);
      const list = hash === null ? null : answerOrThrow(await node.json(`/v3/tenures/blocks/${hash}`, TenureBlocks));
      if (list === null || list instanceof NoAnswer) return null;
      const older = list.stacks_blocks.filter((block) => block.height < start.height);
      let rewarded: RewardedTenure | null = null;
      // Lowest block first, because the tenure's first block has the coinbase.
      for (const { block_id: id } of older.sort((a, b) => a.height - b.height)) {
        const block = await requestBlock(node, id);
        if (block === null) return null;
        const { fees, coinbase } = earningsOf(block);
        if (rewarded !== null) rewarded.fees += fees;
        else if (coinbase === null) return null;
        else rewarded = { indexBlockHash: block.blockId, blockHash: block.blockHash, ...coinbase, fees };
      }
      return rewarded;
    },
  };
}
