/**
 * The Bitcoin blocks a node spoke of. The last announced one is on the canonical chain of Bitcoin: what stood at its
 * height or above is orphaned, and where its parent was orphaned, that branch is canonical again.
 */
import type { Database } from 'bun:sqlite';
import { readPayload } from '../../chain/payload-reader.ts';
import type { BurnBlockPayload } from '../../chain/payload-schemas.ts';
import { fromHex } from '../../codec/hex.ts';
import { compressed, decompressed } from '../log/entry.ts';
import { inserter } from '../rows/table.ts';
import type { Stored } from '../rows/table-shape.ts';
import { burnBlocksTable, type orphanedBurnBlocksTable } from '../tables/bitcoin.ts';
import { burnRewardWriter } from './burn-reward-writer.ts';

type Row = Stored<typeof orphanedBurnBlocksTable, 'height' | 'hash' | 'parent_hash' | 'payload'>;

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** A stored block again, as it was when it came. */
function storedPayload(row: Row): BurnBlockPayload {
  const payload = readPayload('/new_burn_block', decompressed(row.payload));
  if (payload.kind !== 'burn_block') throw new Error('the payload of a Bitcoin block is that of another event');
  return payload.burnBlock;
}

export function burnBlockWriter(db: Database) {
  const rewards = burnRewardWriter(db);
  const at = db.prepare<{ hash: Uint8Array }, [number]>('SELECT hash FROM burn_blocks WHERE height = ?1');
  const orphan = db.prepare<Row, [Uint8Array]>(
    'SELECT height, hash, parent_hash, payload FROM orphaned_burn_blocks WHERE hash = ?1',
  );
  const insert = inserter(db, burnBlocksTable);
  const orphanFrom = db.prepare<null, [number]>(
    `INSERT OR IGNORE INTO orphaned_burn_blocks (hash, height, parent_hash, payload)
     SELECT hash, height, parent_hash, payload FROM burn_blocks WHERE height >= ?1`,
  );
  const removeFrom = db.prepare<null, [number]>('DELETE FROM burn_blocks WHERE height >= ?1');
  const adopt = db.prepare<null, [Uint8Array]>('DELETE FROM orphaned_burn_blocks WHERE hash = ?1');
  const raise = db.prepare<null, [number]>('UPDATE progress SET burn_block_height = max(burn_block_height, ?1)');

  /** The orphan of that hash and height. What a node says of parents may name another height, or lead round in a circle. */
  function orphanAt(height: number, hash: Uint8Array | null): Row | null {
    const row = hash === null ? null : orphan.get(hash);
    return row?.height === height ? row : null;
  }

  /** The orphaned blocks that end in `hash`, at `height`, and join the canonical chain, lowest first. */
  function branchTo(height: number, hash: Uint8Array | null): Row[] {
    const branch: Row[] = [];
    for (let row = orphanAt(height, hash); row !== null; row = orphanAt(row.height - 1, row.parent_hash)) {
      branch.unshift(row);
      const below = at.get(row.height - 1);
      if (row.parent_hash === null || (below !== null && same(below.hash, row.parent_hash))) break;
    }
    return branch;
  }

  return {
    /** @returns whether the block was not the canonical one of its height already */
    add(payload: BurnBlockPayload, text: string): boolean {
      const height = payload.burn_block_height;
      const hash = fromHex(payload.burn_block_hash);
      const parent = payload.parent_burn_block_hash == null ? null : fromHex(payload.parent_burn_block_hash);
      const known = at.get(height);
      if (known !== null && same(known.hash, hash)) return false;
      const branch = branchTo(height - 1, parent);
      const first = branch[0]?.height ?? height;
      orphanFrom.run(first);
      removeFrom.run(first);
      rewards.removeFrom(first);
      for (const row of branch) {
        insert(row);
        rewards.add(storedPayload(row));
        adopt.run(row.hash);
      }
      insert({ height, hash, parent_hash: parent, payload: compressed(text) });
      rewards.add(payload);
      adopt.run(hash);
      raise.run(height);
      return true;
    },
  };
}
