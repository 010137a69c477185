/** What a server asks its node that begins at a block of the chain: the block below the first one, and what accounts had there. */
import { OperatorError } from '../base/errors.ts';
import type { HistoryStartPayload, StartingAccountPayload } from '../chain/payload-schemas.ts';
import { toHex } from '../codec/hex.ts';
import { type AskedNode, askedAccount, askedSortitions, NoAnswer, nodeBlock } from './facts.ts';
import type { NodeInfo } from './rpc.ts';

export type StartingAccountEvent =
  /** The node doesn't say what accounts had where the index begins; their balances are unknown until it does. */
  { event: 'accounts_not_asked'; accounts: number; reason: string };

const withoutBlock = (height: number, reason: string): OperatorError =>
  new OperatorError(
    `The index can't begin at block ${height + 1}: the node has no Nakamoto block ${height} (${reason}).`,
    'Begin at a height between the first Nakamoto block and the tip of the node.',
  );

/**
 * Asks the node for the block below the first one of an index.
 * @param height of the first block
 * @throws OperatorError where the node has no such block; NodeUnreachableError
 */
export async function askedHistoryStart(
  node: AskedNode,
  { chainId }: Pick<NodeInfo, 'chainId'>,
  height: number,
): Promise<HistoryStartPayload> {
  const below = height - 1;
  const block = await nodeBlock(node, `height/${below}`);
  if (block === null) throw withoutBlock(below, 'status 404');
  if (block instanceof NoAnswer) throw withoutBlock(below, block.reason);
  if (!block.ok) throw withoutBlock(below, block.error.message);
  const { header, blockHash, blockId } = block.value;
  if (header.chainLength !== below) throw withoutBlock(below, `the block it sends has height ${header.chainLength}`);
  const sortitions = await askedSortitions(node, header.consensusHash);
  const [sortition] = sortitions instanceof NoAnswer ? [] : (sortitions ?? []);
  if (sortition === undefined) throw withoutBlock(below, 'its sortition is not known');
  return {
    chain_id: chainId,
    block_height: height,
    parent_index_block_hash: toHex(blockId),
    parent_block_hash: toHex(blockHash),
    parent_burn_block_hash: sortition.burn_block_hash,
    parent_burn_block_height: sortition.burn_block_height,
  };
}

/** Asks the node what an account had after a block. @returns what the node said instead; @throws NodeUnreachableError */
export async function askedStartingAccount(
  node: AskedNode,
  principal: string,
  indexBlockHash: Uint8Array,
): Promise<StartingAccountPayload | NoAnswer> {
  const account = await askedAccount(node, principal, indexBlockHash);
  if (account instanceof NoAnswer) return account;
  return {
    principal,
    balance: String(account.balance),
    locked: String(account.locked),
    unlock_height: account.unlockHeight,
    nonce: Number(account.nonce),
  };
}
