/** The canonical block that a request names. */
import { fromHex } from '../codec/hex.ts';
import type { ChainHistory } from '../store/ingest/ingest.ts';
import { UnknownParentError } from '../store/ingest/known-blocks.ts';
import { invalidField, unknownBlock } from './problem.ts';

/** A block by height, by index block hash, or both where they agree. */
export interface BlockChoice {
  index_block_hash?: string;
  block_height?: number;
}

/** Height of a canonical block; nothing for a block that isn't canonical or isn't known. */
function canonicalHeight(history: ChainHistory, hash: Uint8Array): number | undefined {
  try {
    const { forkHeight, hashes } = history.branchOf(hash);
    return hashes.length === 0 && forkHeight > 0 ? forkHeight : undefined;
  } catch (error) {
    if (error instanceof UnknownParentError) return undefined;
    throw error;
  }
}

/**
 * @returns its index block hash
 * @throws HookProblem 404 where no canonical block is named, 400 where height and hash name different blocks
 */
export function chosenBlock(
  history: ChainHistory,
  { index_block_hash: hash, block_height: height }: BlockChoice,
): Uint8Array {
  if (hash === undefined) {
    const atHeight = height === undefined ? undefined : history.hashAt(height);
    if (atHeight === undefined) throw unknownBlock();
    return atHeight;
  }
  const bytes = fromHex(hash);
  const found = canonicalHeight(history, bytes);
  if (found === undefined) throw unknownBlock();
  if (height !== undefined && height !== found) {
    throw invalidField('block_height', `is not that of index_block_hash, which is ${found}`);
  }
  return bytes;
}
