/**
 * Decides where a history starts. If Stackside is started next to a synced node, the node doesn't send the genesis block. The
 * history then starts at the first block that the node sends, and has no data below that block: it is a partial history.
 *
 *     index without a block  +  a block above 1       →  [history.start, block]
 *     branch below the start longer than the chain    →  [history.start, block]: the history starts again
 *
 * The writer appends both entries together, and applies both in one transaction. The command `history.start` contains only
 * facts from the payload of the first block. So it needs no request to the node, and every replay does the same. To start
 * again, the command orphans all blocks, newest first: chainhooks get their rollbacks, and the transactions become pending
 * again. Then the block is applied like any other, with the branch below it.
 *
 * A branch is below the start if its lowest stored block is at the start's height or lower and has another parent. Its blocks
 * are stored as orphans until the branch is longer than the chain. A block above the start without its parent shows a gap, and
 * a gap never starts the history again.
 *
 * Stackside reads the accounts at the start from the node. Each answer becomes an entry that names the parent of the first
 * block, so that Stackside can ignore a late answer for a former start.
 */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../base/bytes-equal.ts';
import type { RandomSource } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import type { Block } from '../../chain/block.ts';
import { PayloadError, readPayload } from '../../chain/payload-reader.ts';
import type { StartingAccountPayload } from '../../chain/payload-schemas.ts';
import { fromHex } from '../../codec/hex.ts';
import { type Branch, historyStartQuery } from '../queries/blocks/chain.ts';
import { query } from '../rows/statement.ts';
import type { EntryCommand } from './commands.ts';

/** Maximum blocks that are orphaned to start the history again. */
const MAX_ROLLED_BACK = 1_000;

/** The arguments of `history.start`: the first block and its parent, with the field names of the block's payload. */
export interface HistoryStartFacts {
  block_height: number;
  index_block_hash: string;
  parent_index_block_hash: string;
  parent_block_hash: string;
  parent_burn_block_hash: string;
  parent_burn_block_height: number;
}

/** Thrown if a branch below the start is longer than the chain, but too many blocks would be orphaned. */
export class DeepForkError extends Error {
  override readonly name = 'DeepForkError';
  constructor(
    /** Height of the branch's lowest stored block. */
    readonly height: number,
    /** Number of blocks that would be orphaned. */
    readonly blocks: number,
  ) {
    super(
      `The chain forked below block ${height}, and ${blocks} blocks would be rolled back, more than ${MAX_ROLLED_BACK}`,
    );
  }
}

/** Thrown if the history would be partial, although `--history full` or a cluster needs the whole chain. */
export class PartialHistoryError extends OperatorError {
  override readonly name = 'PartialHistoryError';

  /** The data has a partial history. */
  static ofData(directory: string, height: number): PartialHistoryError {
    return new PartialHistoryError(
      `The history in ${directory} starts at block ${height}, and --history full and --cluster need the whole chain.`,
      'Give a new directory with --data, and restore an archive or import a recording into it; for a cluster, run stackside cluster init then.',
    );
  }

  /** The first block of an empty index isn't the genesis block. */
  static ofBlock(height: number): PartialHistoryError {
    return new PartialHistoryError(
      `The first block of the node is block ${height}, and --history full and --cluster need the whole chain.`,
      'Restore an archive or import a recording into the data directory; for a cluster, on one host, which runs stackside cluster init then.',
    );
  }
}

/** Returns the arguments of `history.start` for a first block. @param text its payload @throws PayloadError */
function parseFacts(text: string): HistoryStartFacts {
  const payload = readPayload('/new_block', text);
  if (payload.kind !== 'block') throw new Error('the stored payload of a block belongs to another event');
  const { block_height, index_block_hash, parent_index_block_hash, parent_block_hash } = payload.block;
  const { parent_burn_block_hash, parent_burn_block_height } = payload.block;
  if (parent_burn_block_hash == null) throw new PayloadError('Missing field parent_burn_block_hash');
  if (parent_burn_block_height == null) throw new PayloadError('Missing field parent_burn_block_height');
  return {
    block_height,
    index_block_hash,
    parent_index_block_hash,
    parent_block_hash,
    parent_burn_block_hash,
    parent_burn_block_height,
  };
}

type BlockLinks = Pick<Block, 'height' | 'indexBlockHash' | 'parentIndexBlockHash'>;

/** The chain as {@link historyStarts} reads it. */
interface Chain {
  tip(): { height: number };
  bottom(): number;
  isEmpty(): boolean;
  isKnown(indexBlockHash: Uint8Array): boolean;
  /** @throws UnknownParentError for a block that isn't known */
  branchOf(indexBlockHash: Uint8Array): Branch;
  payload(indexBlockHash: Uint8Array): string;
}

/**
 * Makes a function that returns where the history starts if a block changes that; otherwise null.
 * @param requiresWhole whether the first block has to be the genesis block
 */
export function historyStarts(chain: Chain, requiresWhole: () => boolean) {
  /** @throws PayloadError, DeepForkError, PartialHistoryError */
  return (block: BlockLinks, text: () => string): HistoryStartFacts | null => {
    const { height, parentIndexBlockHash: parent, indexBlockHash } = block;
    if (height <= 1 || chain.isKnown(indexBlockHash)) return null;
    if (chain.isEmpty()) {
      if (requiresWhole()) throw PartialHistoryError.ofBlock(height);
      return parseFacts(text());
    }
    if (height <= chain.tip().height || !chain.isKnown(parent)) return null;
    const { isBelowHistory, hashes, lowest } = chain.branchOf(parent);
    const first = hashes[0];
    if (!isBelowHistory || first === undefined) return null;
    const blocks = chain.tip().height - chain.bottom();
    if (blocks > MAX_ROLLED_BACK) throw new DeepForkError(lowest, blocks);
    return parseFacts(chain.payload(first));
  };
}

export const HISTORY_START = 'history.start';

/** Makes the command that starts the history with a block. */
export const startCommand = (args: HistoryStartFacts, random: Pick<RandomSource, 'uuid'>): EntryCommand => ({
  uuid: random.uuid(),
  type: HISTORY_START,
  args,
});

/** Makes a function that stores where the history starts, and deletes the accounts of a former start. */
export function historyStartWriter(db: Database): (facts: HistoryStartFacts) => void {
  const clearAccounts = query<null>`DELETE FROM starting_accounts`.prepared(db);
  const set = query<null, [number, Uint8Array, Uint8Array, Uint8Array, number] | [null, null, null, null, null]>`
    UPDATE progress SET start_height = ?1, start_index_block_hash = ?2, start_block_hash = ?3,
                        start_burn_block_hash = ?4, start_burn_block_height = ?5`.prepared(db);

  return (facts) => {
    clearAccounts.run();
    // From the genesis block on, the history is whole.
    if (facts.block_height <= 1) set.run(null, null, null, null, null);
    else {
      set.run(
        facts.block_height,
        fromHex(facts.parent_index_block_hash),
        fromHex(facts.parent_block_hash),
        fromHex(facts.parent_burn_block_hash),
        facts.parent_burn_block_height,
      );
    }
  };
}

/**
 * Makes a function that stores an account's balance and nonce at the start.
 * @returns whether it did: it ignores an account that waits for no answer, and an answer for another start
 */
export function startingAccountWriter(db: Database) {
  const start = historyStartQuery(db);
  const set = query<null, [string, string, string, number | bigint, number | bigint]>`
    UPDATE starting_accounts SET balance = ?2, locked = ?3, unlock_height = ?4, nonce = ?5
     WHERE balance IS NULL AND principal_id = (SELECT id FROM principals WHERE address = ?1)`.prepared(db);

  return (answer: StartingAccountPayload): boolean => {
    const { parent_index_block_hash, principal, balance, locked, unlock_height, nonce } = answer;
    const parent = start()?.indexBlockHash;
    if (parent === undefined || !bytesEqual(parent, fromHex(parent_index_block_hash))) return false;
    return set.run(principal, String(BigInt(balance) + BigInt(locked)), locked, unlock_height, nonce).changes > 0;
  };
}
