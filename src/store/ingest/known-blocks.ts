/** Looks up stored blocks, canonical and orphaned, and how they are connected. */
import type { Database } from 'bun:sqlite';
import type { Block } from '../../chain/block.ts';
import type { Network } from '../../chain/network.ts';
import { toHex } from '../../codec/hex.ts';
import { blockOfPayload, type EntryReader, missingPayload } from '../files/payload-source.ts';
import { type Branch, branchesSql, branchQuery, historyStartQuery, isFirstBlock } from '../queries/blocks/chain.ts';
import { query, type Stored } from '../rows/statement.ts';

/** Thrown if a block's parent is missing. The node has to send the parent first, and then this block again. */
export class UnknownParentError extends Error {
  override readonly name = 'UnknownParentError';
  constructor(
    message: string,
    /** The missing blocks between the tip and a block above it; null if none are missing there. */
    readonly missing: MissingBlocks | null = null,
    /** The missing parent; null if the block itself is missing. */
    readonly parent: MissingParent | null = null,
  ) {
    super(message);
  }
}

/** A block that the index doesn't have. */
export interface MissingParent {
  height: number;
  indexBlockHash: Uint8Array;
}

/** Heights of blocks, both ends included. */
interface MissingBlocks {
  from: number;
  to: number;
}

/** The highest canonical block. Without blocks, the parent of the history's first block. */
export interface Tip {
  height: number;
  indexBlockHash: Uint8Array;
  nakamoto: boolean;
}

/** Makes the look-ups of stored blocks. The connection may be read-only. @param journal has the payloads of blocks */
export function knownBlocks(db: Database, journal: EntryReader) {
  const canonicalHash = query<Stored<'blocks', 'index_block_hash'>, [number]>`
    SELECT index_block_hash FROM blocks WHERE height = ?1`.prepared(db);
  const canonical = query<Stored<'blocks', 'height'>, [Uint8Array]>`
    SELECT height FROM blocks WHERE index_block_hash = ?1`.prepared(db);
  const orphan = branchesSql.orphan.prepared(db);
  const newest = query<Stored<'blocks', 'height' | 'index_block_hash' | 'signer_bits'>>`
    SELECT height, index_block_hash, signer_bits FROM blocks ORDER BY height DESC LIMIT 1`.prepared(db);
  const payloadEntry = query<Stored<'block_payloads', 'journal_id'>, [Uint8Array]>`
    SELECT journal_id FROM block_payloads WHERE index_block_hash = ?1`.prepared(db);
  const historyStart = historyStartQuery(db);
  const branchAt = branchQuery(db, historyStart);

  const tipHeight = (): number | null => newest.get()?.height ?? null;

  /** Height of the block below the first one of the chain: 0, unless the history is partial. */
  const bottom = (): number => (historyStart()?.height ?? 1) - 1;

  /** Returns the missing blocks below a block without a parent; null if there are none. */
  function missingBelow(height: number): MissingBlocks | null {
    const from = (tipHeight() ?? bottom()) + 1;
    return from < height ? { from, to: height - 1 } : null;
  }

  /** Returns the JSON text of a block's payload. @throws OperatorError if the journal doesn't have it */
  function payload(indexBlockHash: Uint8Array): string {
    const row = payloadEntry.get(indexBlockHash);
    const entry = row === null ? undefined : journal.read(row.journal_id);
    if (entry === undefined) throw missingPayload(indexBlockHash);
    return entry.text;
  }

  return {
    tip(): Tip {
      const row = newest.get();
      if (row !== null) {
        return { height: row.height, indexBlockHash: row.index_block_hash, nakamoto: row.signer_bits !== null };
      }
      const start = historyStart();
      return start === null
        ? { height: 0, indexBlockHash: new Uint8Array(32), nakamoto: false }
        : { height: start.height - 1, indexBlockHash: start.indexBlockHash, nakamoto: true };
    },

    /** The height of the tip; 0 if block 0 is the only block; null if there is none. */
    tipHeight,

    bottom,

    /** The canonical block of that height; block 0 until a block 1 comes. */
    hashAt: (height: number): Uint8Array | undefined => canonicalHash.get(height)?.index_block_hash,

    isKnown: (indexBlockHash: Uint8Array): boolean =>
      canonical.get(indexBlockHash) !== null || orphan.get(indexBlockHash) !== null,

    /**
     * Returns the branch of a stored block. A canonical block's branch forks at the block itself and has no orphans.
     * @throws UnknownParentError if the block isn't stored
     */
    branchOf(indexBlockHash: Uint8Array): Branch {
      const branch = branchAt(indexBlockHash);
      if (branch !== null) return branch;
      throw new UnknownParentError(`No stored branch leads to block ${toHex(indexBlockHash)}`);
    },

    /**
     * Returns whether the parent of a block is an orphan. A partial history accepts a block at its first height or lower
     * without its parent: the block may be the lowest of a branch that forks below the history.
     * @param height the height of the block itself
     * @throws UnknownParentError if the parent isn't stored
     */
    isParentOrphan(parent: Uint8Array, height: number): boolean {
      const start = historyStart();
      if (isFirstBlock(start, height, parent) || canonical.get(parent)?.height === height - 1) return false;
      if (orphan.get(parent)?.height === height - 1) return true;
      if (start !== null && height <= start.height) return false;
      throw new UnknownParentError(
        `DB does not contain a parent block at height ${height - 1} with index_hash ${toHex(parent)}`,
        missingBelow(height),
        { height: height - 1, indexBlockHash: parent },
      );
    },

    payload,

    /** A stored block as it was received: block 1 without the transactions of block 0. @throws OperatorError as `payload` */
    stored: (indexBlockHash: Uint8Array, network: Network): Block =>
      blockOfPayload(payload(indexBlockHash), indexBlockHash, network),
  };
}
