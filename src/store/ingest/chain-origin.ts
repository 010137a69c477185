/**
 * Whether the first blocks of a chain are those of the chain that the data holds. Chain ids don't tell: every devnet has
 * the same, and most have the same block 0.
 *
 * Block 1 may fork as any other. All its rivals follow the same block 0, and the Bitcoin block that a rival is anchored to
 * is one of the same Bitcoin. So a rival is of another chain where it follows another block 0; or where the chain has
 * another Bitcoin block at the height of the rival's, below others, and the node announced no fork of Bitcoin that leads
 * from the one to the other. Where the data tells neither, it is taken for a fork: a node sends a block that is refused
 * again and again, and nothing else meanwhile.
 */
import type { Database } from 'bun:sqlite';
import type { Block } from '../../chain/block.ts';
import { PayloadError } from '../../chain/payload-reader.ts';
import { toHex } from '../../codec/hex.ts';

/** A block of another chain than the data is of. */
export class ForeignChainError extends PayloadError {
  override readonly name = 'ForeignChainError';
}

/** Bitcoin blocks on top of one, from which on another of its height needs an explanation. */
const SETTLED = 6;
/** Bitcoin blocks below two rivals among which the one is looked for that both stand on. */
const DEEPEST_FORK = 20;

/** Reads through this connection. @returns throws ForeignChainError where a block that is new is of another chain */
export function originCheck(db: Database): (block: Block) => void {
  const genesis = db.prepare<{ hash: Uint8Array }, []>(
    'SELECT index_block_hash AS hash FROM orphaned_blocks WHERE height = 0 LIMIT 1',
  );
  const firstParent = db.prepare<{ hash: Uint8Array }, []>(
    `SELECT parent_index_block_hash AS hash FROM blocks WHERE height = 1
      UNION ALL SELECT parent_index_block_hash FROM orphaned_blocks WHERE height = 1 LIMIT 1`,
  );
  const settledAnchor = db.prepare<{ hash: Uint8Array }, [number, number]>(
    `SELECT hash FROM anchor_burn_blocks
      WHERE height = ?1 AND ?1 + ?2 <= (SELECT height FROM anchor_burn_blocks ORDER BY ordinal DESC LIMIT 1)`,
  );

  const parentOf = db.prepare<{ parent_hash: Uint8Array | null }, [Uint8Array]>(
    `SELECT parent_hash FROM burn_blocks WHERE hash = ?1
      UNION ALL SELECT parent_hash FROM orphaned_burn_blocks WHERE hash = ?1 LIMIT 1`,
  );

  /** A Bitcoin block and those below it, as far as the node announced them; what it announced may lead round in a circle. */
  function withAncestors(hash: Uint8Array): Set<string> {
    const hashes = new Set<string>();
    let at: Uint8Array | null = hash;
    for (let depth = 0; at !== null && depth <= DEEPEST_FORK; depth++) {
      hashes.add(at.toHex());
      at = parentOf.get(at)?.parent_hash ?? null;
    }
    return hashes;
  }

  const forked = (a: Uint8Array, b: Uint8Array): boolean => !withAncestors(a).isDisjointFrom(withAncestors(b));

  function requireSame(field: string, found: Uint8Array, kept: { hash: Uint8Array } | null, of: string): void {
    if (kept === null || Buffer.compare(found, kept.hash) === 0) return;
    throw new ForeignChainError(`${field} is ${toHex(found)}, and ${of} of this data's chain is ${toHex(kept.hash)}`);
  }

  return ({ height, indexBlockHash, parentIndexBlockHash, burnBlockHash, burnBlockHeight }) => {
    if (height === 0) requireSame('index_block_hash', indexBlockHash, genesis.get(), 'block 0');
    if (height !== 1) return;
    requireSame('parent_index_block_hash', parentIndexBlockHash, firstParent.get(), 'what block 1 follows');
    const anchor = settledAnchor.get(burnBlockHeight, SETTLED);
    if (anchor !== null && forked(burnBlockHash, anchor.hash)) return;
    requireSame('burn_block_hash', burnBlockHash, anchor, `Bitcoin block ${burnBlockHeight}`);
  };
}
