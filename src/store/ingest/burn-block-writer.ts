/**
 * The Bitcoin blocks that a node announced. The block announced last is canonical: blocks at its height or above become
 * orphans, and where its parent is an orphan, the branch of the parent becomes canonical again.
 */
import type { Database } from 'bun:sqlite';
import { readPayload } from '../../chain/payload-reader.ts';
import type { BurnBlockPayload } from '../../chain/payload-schemas.ts';
import { fromHex } from '../../codec/hex.ts';
import { compressed, decompressed } from '../log/entry.ts';
import { prepared, type Stored } from '../rows/statement.ts';
import { inserter } from '../rows/table.ts';
import { burnBlocksTable, burnRewardsTable, burnSlotHoldersTable, poxTransactionsTable } from '../rows/tables.ts';

type Row = Stored<'orphaned_burn_blocks', 'height' | 'hash' | 'parent_hash' | 'payload'>;

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

const isFilled = ({ filled_from }: BurnBlockPayload): boolean => filled_from !== undefined;

/** The payload of a stored block, as the node posted it. */
function storedPayload(row: Row): BurnBlockPayload {
  const payload = readPayload('/new_burn_block', decompressed(row.payload));
  if (payload.kind !== 'burn_block') throw new Error('the payload of a Bitcoin block is that of another event');
  return payload.burnBlock;
}

export function burnBlockWriter(db: Database) {
  const rewards = burnRewardWriter(db);
  const at = db.prepare<Stored<'burn_blocks', 'hash' | 'parent_hash'>, [number]>(
    'SELECT hash, parent_hash FROM burn_blocks WHERE height = ?1',
  );
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

  /** The orphan of that hash and height. A node may announce a parent of another height, or parents in a circle. */
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
    /** Adds an announced block. @returns whether the chain changed: false for the canonical block of its height */
    add(payload: BurnBlockPayload, text: string): boolean {
      const height = payload.burn_block_height;
      const hash = fromHex(payload.burn_block_hash);
      const parent = payload.parent_burn_block_hash == null ? null : fromHex(payload.parent_burn_block_hash);
      const known = at.get(height);
      if (known !== null && same(known.hash, hash)) return false;
      const row = { height, hash, parent_hash: parent, payload: compressed(text) };
      const child = at.get(height + 1);
      if (isFilled(payload) && known === null && child?.parent_hash != null && same(child.parent_hash, hash)) {
        // A filled gap below blocks that were announced since. It has no payouts, which are numbered in the order of blocks.
        insert({ ...row, is_filled: 1 });
        return true;
      }
      const branch = branchTo(height - 1, parent);
      const first = branch[0]?.height ?? height;
      orphanFrom.run(first);
      removeFrom.run(first);
      rewards.removeFrom(first);
      for (const orphaned of branch) {
        const stored = storedPayload(orphaned);
        insert({ ...orphaned, is_filled: isFilled(stored) ? 1 : 0 });
        rewards.add(stored);
        adopt.run(orphaned.hash);
      }
      insert({ ...row, is_filled: isFilled(payload) ? 1 : 0 });
      rewards.add(payload);
      adopt.run(hash);
      raise.run(height);
      return true;
    },
  };
}

interface PoxOutput {
  txId: Uint8Array;
  index: number;
  recipient: string;
  amount: string;
}

/** Outputs by transaction id and output number, both descending; the first counts where an output is named twice. */
function outputsOf({ pox_transactions }: BurnBlockPayload): PoxOutput[] {
  const outputs = new Map<string, PoxOutput>();
  for (const { txid, reward_recipients } of pox_transactions ?? []) {
    const txId = fromHex(txid);
    for (const { recipient, amt, utxo_idx: index } of reward_recipients) {
      const key = `${txId.toHex()} ${index}`;
      if (!outputs.has(key)) outputs.set(key, { txId, index, recipient, amount: String(amt) });
    }
  }
  return [...outputs.values()].sort((a, b) => Buffer.compare(b.txId, a.txId) || b.index - a.index);
}

/**
 * The rewards and slot holders of Bitcoin blocks. Blocks are a stack: rows are appended with the highest block and removed
 * with it. So each row has the number of rows before it, and a list's total is the number of its last row.
 */
function burnRewardWriter(db: Database) {
  const lastReward = db.prepare<Stored<'burn_rewards', 'ordinal'>, []>(
    'SELECT ordinal FROM burn_rewards ORDER BY ordinal DESC LIMIT 1',
  );
  const rewardsOf = prepared<{ ordinal: number; total: string }, [string]>(
    db,
    `SELECT recipient_ordinal AS ordinal, recipient_total AS total FROM burn_rewards
      WHERE recipient = ?1 ORDER BY recipient_ordinal DESC LIMIT 1`,
  );
  const addReward = inserter(db, burnRewardsTable);
  const lastSlot = db.prepare<Stored<'burn_slot_holders', 'ordinal'>, []>(
    'SELECT ordinal FROM burn_slot_holders ORDER BY ordinal DESC LIMIT 1',
  );
  const slotsOf = prepared<{ ordinal: number }, [string]>(
    db,
    `SELECT address_ordinal AS ordinal FROM burn_slot_holders
      WHERE address = ?1 ORDER BY address_ordinal DESC LIMIT 1`,
  );
  const addSlot = inserter(db, burnSlotHoldersTable);
  const outputsTo = prepared<{ ordinal: number }, [string]>(
    db,
    `SELECT recipient_ordinal AS ordinal FROM pox_transactions
      WHERE recipient = ?1 ORDER BY recipient_ordinal DESC LIMIT 1`,
  );
  const addOutput = inserter(db, poxTransactionsTable);
  const removals = ['burn_rewards', 'burn_slot_holders', 'pox_transactions'].map((table) =>
    db.prepare<null, [number]>(`DELETE FROM ${table} WHERE height >= ?1`),
  );

  return {
    /** @param payload of a block above all stored ones */
    add(payload: BurnBlockPayload): void {
      const height = payload.burn_block_height;
      const burnt = String(payload.burn_amount);
      let ordinal = lastReward.get()?.ordinal ?? 0;
      for (const [index, { recipient, amt }] of payload.reward_recipients.entries()) {
        const known = rewardsOf.get(recipient);
        const total = BigInt(known?.total ?? 0) + BigInt(amt);
        ordinal += 1;
        addReward({
          ordinal,
          height,
          reward_index: index,
          recipient,
          recipient_ordinal: (known?.ordinal ?? 0) + 1,
          amount: String(amt),
          recipient_total: total.toString(),
          burn_amount: burnt,
        });
      }
      let slot = lastSlot.get()?.ordinal ?? 0;
      for (const [index, address] of (payload.reward_slot_holders ?? []).entries()) {
        slot += 1;
        const address_ordinal = (slotsOf.get(address)?.ordinal ?? 0) + 1;
        addSlot({ ordinal: slot, height, slot_index: index, address, address_ordinal });
      }
      for (const { txId, index, recipient, amount } of outputsOf(payload)) {
        const recipient_ordinal = (outputsTo.get(recipient)?.ordinal ?? 0) + 1;
        addOutput({ height, tx_id: txId, output_index: index, recipient, recipient_ordinal, amount });
      }
    },

    /** Removes the rows of blocks of this height and above. */
    removeFrom(height: number): void {
      for (const remove of removals) remove.run(height);
    },
  };
}
