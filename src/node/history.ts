/** Requests to the node for a partial history: the height of its start, the block below it, and the accounts after that block. */
import type { Clock } from '../base/clock.ts';
import { atMost } from '../base/turns.ts';
import type { StartingAccountPayload } from '../chain/payload-schemas.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import type { NakamotoBlock } from '../codec/nakamoto-block.ts';
import { type AskAccount, nodeAway } from '../http/history.ts';
import type { StartingAccount } from '../store/queries/accounts/starting-accounts.ts';
import type { HistoryStart } from '../store/queries/blocks/chain.ts';
import { answerOrThrow, NoAnswer, nodeBlock, requestAccount, requestSortition, ThrottledNode } from './facts.ts';
import { IncompleteBlockError } from './replay.ts';
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
