/**
 * The tags of answers: what of the chain's state an answer depends on, and which program makes it; never a hash of its body.
 *
 * A tag is asked for before the handler runs and in its snapshot, so that an answer and its tag are of one moment and
 * a caller who has the answer already costs one look-up.
 */
import type { BlockId } from '../store/model/block.ts';
import type { Reader } from '../store/read/index-reader.ts';

/** The state that a route's answer depends on, null where it has none: then the answer must not be stored. */
export type ETagKind<Params> = (read: Reader, params: Params) => Promise<string | null>;

/**
 * A whole tag: the state, and the program, since another one may show the same state in another form.
 * @param version of the program, as `versionText` makes it
 */
export const tagOf = (version: string) => {
  const program = Bun.hash.crc32(version).toString(16);
  return (state: string): string => `${state}-${program}`;
};

/** The tag of answers that only blocks of the chain and microblocks change. */
export const chainTip = async (read: Reader): Promise<string | null> => {
  const tip = await read.chain.tip();
  return tip === null ? null : `0x${(tip.microblock?.hash ?? tip.indexBlockHash).toHex()}`;
};

/** The tag of answers that Bitcoin's height changes as well, such as locks that end. */
export const chainAndBurnTip = async (read: Reader): Promise<string | null> => {
  const tip = await read.chain.tip();
  return tip === null ? null : `${(tip.microblock?.hash ?? tip.indexBlockHash).toHex()}-${tip.burnBlockHeight}`;
};

/** The tag of answers about any fork: a block beside the chain may come while the tip stays. */
export const anyFork = async (read: Reader): Promise<string | null> => {
  const tip = await chainTip(read);
  return tip === null ? null : `${tip}-${(await read.chain.newestArrival())?.toHex()}`;
};

/** The tag of answers about names: zonefiles come at any time, and so do the names from before the chain. */
export const chainTipAndAttachments = async (read: Reader): Promise<string | null> => {
  const tip = await chainTip(read);
  return tip === null ? null : `${tip}-${await read.names.version()}`;
};

/** The tag of answers about Bitcoin's blocks: another block may replace one at the same height. */
export const chainAndBurnBlock = async (read: Reader): Promise<string | null> => {
  const tip = await chainTip(read);
  const newest = await read.burnRewards.newestHash();
  return tip === null || newest === null ? tip : `${tip}-${newest.toHex()}`;
};

/** The tag of answers about pending transactions. */
export const mempool = async (read: Reader): Promise<string | null> => {
  const tip = await chainTip(read);
  return tip === null ? null : `${tip}-${await read.mempool.version()}`;
};

/** The tag of answers about transactions wherever they are: pending, or of any fork. */
export const mempoolAndAnyFork = async (read: Reader): Promise<string | null> => {
  const fork = await anyFork(read);
  return fork === null ? null : `${fork}-${await read.mempool.version()}`;
};

/** The tag of answers that depend on a principal's history: only a block adds to it. */
export const principal = chainAndBurnTip;

/** The tag of answers with memos of STX transfers: an index that was made with another send-many contract has others. */
export const memos = async (read: Reader): Promise<string | null> => {
  const tip = await chainAndBurnTip(read);
  if (tip === null) return null;
  const contracts = [...(await read.chain.sendMany())].join();
  return `${tip}-${Bun.hash.crc32(contracts).toString(16)}`;
};

/** The tag of answers that depend on a principal's pending transactions as well. */
export const principalAndMempool = async (read: Reader): Promise<string | null> => {
  const tip = await chainAndBurnTip(read);
  return tip === null ? null : `${tip}-${await read.mempool.version()}`;
};

/**
 * The tag of an answer about one transaction: the block that holds it, or its status in the mempool with the mempool's version.
 * The status alone is not enough: a transaction that was dropped and is sent again is pending as before, at another time.
 */
export const transaction = async (read: Reader, { tx_id }: { tx_id: Uint8Array }): Promise<string | null> => {
  const state = await read.transactions.state(tx_id);
  if (state === undefined) return null;
  if (state.indexBlockHash !== null) return `${state.indexBlockHash.toHex()}-${state.status}`;
  const tip = await read.chain.tip();
  return tip === null ? null : `${state.status}-${await read.mempool.version()}`;
};

/** The tag of answers about a canonical block, whose content never changes. */
export const block = async (read: Reader, params: { height_or_hash: BlockId }): Promise<string | null> => {
  const hash = await read.chain.blockHash(params.height_or_hash);
  return hash === undefined ? null : `${hash.toHex()}-canonical`;
};

/** The tag of an answer about the newest block at or before a time, in Unix seconds. */
export const blockAt = async (read: Reader, { timestamp }: { timestamp: number }): Promise<string | null> => {
  const found = await read.blocks.at(timestamp);
  return found === undefined ? null : `${found.indexHash.toHex()}-canonical`;
};

/**
 * Whether an `If-None-Match` names a tag. Lenient: weak marks, missing quotes and lists are all understood. `*` names none:
 * who sends it on a GET has no copy that a 304 could stand for.
 */
export function namesTag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch.length === etag.length + 2 && ifNoneMatch === `"${etag}"`) return true;
  return ifNoneMatch.split(',').some((part) => part.trim().replace(/^(W\/)?"?|"$/g, '') === etag);
}
