/**
 * ETags: the state of the chain that an answer depends on, and the version of the program; never a hash of the body.
 *
 * A tag is read before the handler runs, from the same snapshot. So an answer and its tag belong together, and a request
 * whose copy is current costs one look-up.
 */
import type { BlockId } from '../store/model/block.ts';
import type { Reader } from '../store/read/index-reader.ts';

/** Reads the state that an answer depends on; null if there is none: then the answer must not be stored. */
export type ETagKind<Params> = (read: Reader, params: Params) => string | null;

/**
 * Makes a whole tag: the state and the version, since another version may serialize the same state differently.
 * @param version of the program, as `versionText` makes it
 */
export const tagOf = (version: string) => {
  const program = Bun.hash.crc32(version).toString(16);
  return (state: string): string => `${state}-${program}`;
};

/** Returns the end of tags that name a block: indexed blocks can be completed while the tip stays. Empty if none was completed. */
const completionSuffix = (read: Reader): string => {
  const completions = read.chain.tip()?.completions ?? 0;
  return completions === 0 ? '' : `-${completions}`;
};

/** The tag of answers that change only with canonical blocks. */
export const chainTip = (read: Reader): string | null => {
  const tip = read.chain.tip();
  return tip === null ? null : `0x${tip.indexBlockHash.toHex()}${completionSuffix(read)}`;
};

/** The tag of answers that change with Bitcoin's height as well, such as locks that end. */
export const chainAndBurnTip = (read: Reader): string | null => {
  const tip = read.chain.tip();
  return tip === null ? null : `${tip.indexBlockHash.toHex()}-${tip.burnBlockHeight}${completionSuffix(read)}`;
};

type Tag = (read: Reader) => string | null;

/** Makes a tag from another tag and more state; null, like the other tag, before the first block. */
const and =
  (tag: Tag, more: (read: Reader) => string | number | undefined): Tag =>
  (read) => {
    const state = tag(read);
    return state === null ? null : `${state}-${more(read)}`;
  };

const pending = (read: Reader) => read.mempool.version();

const arrival = (read: Reader) => read.chain.newestArrival()?.toHex();

/** The tag of answers about any fork: an orphan may arrive without a change of the tip. */
export const anyFork = and(chainTip, arrival);

/** The tag of answers about names: zonefiles, and the names from before the chain, can arrive at any time. */
export const chainTipAndAttachments = and(chainTip, (read) => read.names.version());

/** Returns the tag of answers about tokens: the metadata of their contracts may be read at any time. */
export const chainTipAndTokens = (read: Reader): string =>
  `${chainTip(read) ?? 'empty'}-${read.tokenMetadata.version()}`;

/** The tag of answers about Bitcoin's blocks: another block may replace one at the same height. */
export const chainAndBurnBlock = (read: Reader): string | null => {
  const tip = chainTip(read);
  const newest = read.burnRewards.newestHash();
  return tip === null || newest === null ? tip : `${tip}-${newest.toHex()}`;
};

/** The tag of answers about pending transactions. */
export const mempool = and(chainTip, pending);

/** The tag of answers about transactions that may be pending, or of any fork. */
export const mempoolAndAnyFork = and(anyFork, pending);

/** The tag of answers that depend on a principal's history. Only blocks add to this history. */
export const principal = chainAndBurnTip;

/** The tag of a principal's calls with the names of arguments: any fork may deploy the contract of a failed one. */
export const principalAndAnyFork = and(chainAndBurnTip, arrival);

/** The tag of answers that depend on a principal's pending transactions as well. */
export const principalAndMempool = and(chainAndBurnTip, pending);

/**
 * The tag of an answer about one transaction: its block, or its status in the mempool with the mempool's version. The
 * status alone is not enough: a transaction that was dropped and sent again is pending again, with another time.
 */
export const transaction = (read: Reader, { tx_id }: { tx_id: Uint8Array }): string | null => {
  const state = read.transactions.state(tx_id);
  if (state === undefined) return null;
  if (state.indexBlockHash !== null) return `${state.indexBlockHash.toHex()}-${state.status}${completionSuffix(read)}`;
  const tip = read.chain.tip();
  return tip === null ? null : `${state.status}-${read.mempool.version()}`;
};

/** The tag of one transaction with the names of arguments: any fork may deploy the contract that a pending or failed one calls. */
export const typedTransaction = (read: Reader, params: { tx_id: Uint8Array }): string | null => {
  const tag = transaction(read, params);
  return tag === null || read.transactions.state(params.tx_id)?.status === 'success' ? tag : `${tag}-${anyFork(read)}`;
};

/** The tag of answers about a canonical block, whose content changes only if it was filled and is completed. */
export const block = (read: Reader, params: { height_or_hash: BlockId }): string | null => {
  const hash = read.chain.blockHash(params.height_or_hash);
  return hash === undefined ? null : `${hash.toHex()}-canonical${completionSuffix(read)}`;
};

/** The tag of a block's calls with the names of arguments: any fork may deploy the contract of a failed one. */
export const blockAndAnyFork = (read: Reader, params: { height_or_hash: BlockId }): string | null => {
  const tag = block(read, params);
  return tag === null ? null : `${tag}-${anyFork(read)}`;
};

/** The tag of an answer about the newest block at or before a time, in Unix seconds. */
export const blockAt = (read: Reader, { timestamp }: { timestamp: number }): string | null => {
  const block = read.blocks.at(timestamp);
  return block === undefined ? null : `${block.indexHash.toHex()}-canonical${completionSuffix(read)}`;
};

/**
 * Whether an `If-None-Match` names a tag. Lenient: it accepts weak tags, missing quotes and lists. `*` doesn't name a tag: a
 * client that sends it with a GET lacks a copy that a 304 could confirm.
 */
export function namesTag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch.length === etag.length + 2 && ifNoneMatch === `"${etag}"`) return true;
  return ifNoneMatch.split(',').some((part) => part.trim().replace(/^(W\/)?"?|"$/g, '') === etag);
}
