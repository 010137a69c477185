/**
 * Stores Bitcoin blocks: those that a node announces, and filled ones, which Stackside reads from the node's RPC interface. The
 * block that was announced last is canonical. Blocks at its height or above become orphans. If its parent is an orphan, the
 * parent's branch becomes canonical again. A filled block replaces only the branch at its height. If the node announces the
 * same block later, the event completes it.
 */

import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../base/bytes-equal.ts';
import { readPayload } from '../../chain/payload-reader.ts';
import type { BurnBlockPayload } from '../../chain/payload-schemas.ts';
import { fromHex } from '../../codec/hex.ts';
import { compressed, decompressed } from '../log/entry.ts';
import { query, type Stored } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import {
  burnBlocksTable,
  burnRewardsTable,
  burnSlotHoldersTable,
  orphanedBurnBlocksTable,
  poxTransactionsTable,
} from '../rows/tables.ts';

type Row = Stored<'orphaned_burn_blocks'>;

const isFilled = ({ filled_from }: BurnBlockPayload): boolean => filled_from !== undefined;

/** Parses the payload of a stored block, as the node posted it. */
function parsePayload(row: Pick<Row, 'payload'>): BurnBlockPayload {
  const payload = readPayload('/new_burn_block', decompressed(row.payload));
  if (payload.kind !== 'burn_block') throw new Error('the stored payload of a Bitcoin block belongs to another event');
  return payload.burnBlock;
}

export function burnBlockWriter(db: Database) {
  const rewards = burnRewardWriter(db);
  const canonicalAt = query<Stored<'burn_blocks', 'hash' | 'parent_hash' | 'is_filled'>, [number]>`
    SELECT hash, parent_hash, is_filled FROM burn_blocks WHERE height = ?1`.prepared(db);
  const newest = query<{ height: number | null }>`SELECT max(height) AS height FROM burn_blocks`.prepared(db);
  const withPayouts = query<Stored<'burn_blocks', 'height' | 'payload'>, [number]>`
    SELECT height, payload FROM burn_blocks WHERE height >= ?1 AND is_filled = 0 ORDER BY height`.prepared(db);
  const orphans = table(db, orphanedBurnBlocksTable);
  const { add: insert } = table(db, burnBlocksTable);
  const complete = query<null, [number, Uint8Array | null, Uint8Array]>`
    UPDATE burn_blocks SET parent_hash = ?2, payload = ?3, is_filled = 0 WHERE height = ?1`.prepared(db);
  const orphanBetween = query<null, [number, number]>`
    INSERT OR IGNORE INTO orphaned_burn_blocks (hash, height, parent_hash, payload)
    SELECT hash, height, parent_hash, payload FROM burn_blocks WHERE height BETWEEN ?1 AND ?2`.prepared(db);
  const removeBetween = query<null, [number, number]>`
    DELETE FROM burn_blocks WHERE height BETWEEN ?1 AND ?2`.prepared(db);
  const raise = query<null, [number]>`UPDATE progress SET burn_block_height = max(burn_block_height, ?1)`.prepared(db);

  const countCompletion = query<null>`UPDATE progress SET completions = completions + 1`.prepared(db);

  /** Finds the orphan with this hash and height. A node may announce a parent with a wrong height, or parents in a circle. */
  function orphanAt(height: number, hash: Uint8Array | null): Row | null {
    const row = hash === null ? null : orphans.find({ hash });
    return row?.height === height ? row : null;
  }

  /** The orphaned blocks that end in `hash`, at `height`, and join the canonical chain, lowest first. */
  function branchTo(height: number, hash: Uint8Array | null): Row[] {
    const branch: Row[] = [];
    for (let row = orphanAt(height, hash); row !== null; row = orphanAt(row.height - 1, row.parent_hash)) {
      branch.unshift(row);
      const below = canonicalAt.get(row.height - 1);
      if (row.parent_hash === null || (below !== null && bytesEqual(below.hash, row.parent_hash))) break;
    }
    return branch;
  }

  /** Returns the last height of the unbroken canonical chain that starts at `height`; `height` if it has no block. */
  function topOfBranch(height: number): number {
    let top = height;
    for (let row = canonicalAt.get(top); row !== null; top += 1) {
      const above = canonicalAt.get(top + 1);
      if (above === null || (above.parent_hash !== null && !bytesEqual(above.parent_hash, row.hash))) break;
      row = above;
    }
    return top;
  }

  /** Rewrites the payouts from a height on. @param parsed a payload that the caller has already parsed */
  function renumber(from: number, parsed: BurnBlockPayload): void {
    rewards.removeFrom(from);
    for (const row of withPayouts.iterate(from)) {
      rewards.add(row.height === parsed.burn_block_height && !isFilled(parsed) ? parsed : parsePayload(row));
    }
  }

  return {
    /**
     * Adds a block.
     * @returns whether the chain changed: false for the canonical block of its height, unless its payouts were missing
     */
    add(payload: BurnBlockPayload, text: string): boolean {
      const height = payload.burn_block_height;
      const hash = fromHex(payload.burn_block_hash);
      const parent = payload.parent_burn_block_hash == null ? null : fromHex(payload.parent_burn_block_hash);
      const isPosted = !isFilled(payload);
      const canonical = canonicalAt.get(height);
      if (canonical !== null && bytesEqual(canonical.hash, hash)) {
        if (!isPosted || canonical.is_filled === 0) return false;
        complete.run(height, parent, compressed(text));
        renumber(height, payload);
        raise.run(height);
        countCompletion.run();
        return true;
      }
      // An orphan that the node announced has payouts, which a filled block lacks.
      const orphaned = isPosted ? null : orphanAt(height, hash);
      const row = orphaned ?? { height, hash, parent_hash: parent, payload: compressed(text) };
      const lacksPayouts = isFilled(orphaned === null ? payload : parsePayload(orphaned));
      const child = canonicalAt.get(height + 1);
      const isGap = canonical === null && child?.parent_hash != null && bytesEqual(child.parent_hash, hash);
      const branch = isGap ? [] : branchTo(height - 1, parent);
      const first = branch[0]?.height ?? height;
      if (!isGap) {
        const last = isPosted ? Number.MAX_SAFE_INTEGER : topOfBranch(height);
        orphanBetween.run(first, last);
        removeBetween.run(first, last);
      }
      for (const adopted of branch) {
        insert({ ...adopted, is_filled: Number(isFilled(parsePayload(adopted))) });
        orphans.remove(adopted);
      }
      insert({ ...row, is_filled: Number(lacksPayouts) });
      orphans.removeIfPresent({ hash });
      if (!lacksPayouts || canonical !== null || branch.length > 0) renumber(first, payload);
      if (newest.get()?.height === height) raise.run(height);
      else countCompletion.run();
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

/** Outputs by transaction id and output number, both descending; the first counts if an output is named twice. */
function parseOutputs({ pox_transactions }: BurnBlockPayload): PoxOutput[] {
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
 * with all blocks from a height on. So each row has the number of rows before it, and a list's total is the number of its last
 * row.
 */
function burnRewardWriter(db: Database) {
  const lastReward = query<Stored<'burn_rewards', 'ordinal'>>`
    SELECT ordinal FROM burn_rewards ORDER BY ordinal DESC LIMIT 1`.prepared(db);
  const rewardsOf = query<{ ordinal: number; total: string }, [string]>`
    SELECT recipient_ordinal AS ordinal, recipient_total AS total FROM burn_rewards
     WHERE recipient = ?1 ORDER BY recipient_ordinal DESC LIMIT 1`.prepared(db);
  const { add: addReward } = table(db, burnRewardsTable);
  const lastSlot = query<Stored<'burn_slot_holders', 'ordinal'>>`
    SELECT ordinal FROM burn_slot_holders ORDER BY ordinal DESC LIMIT 1`.prepared(db);
  const slotsOf = query<{ ordinal: number }, [string]>`
    SELECT address_ordinal AS ordinal FROM burn_slot_holders
     WHERE address = ?1 ORDER BY address_ordinal DESC LIMIT 1`.prepared(db);
  const { add: addSlot } = table(db, burnSlotHoldersTable);
  const outputsTo = query<{ ordinal: number }, [string]>`
    SELECT recipient_ordinal AS ordinal FROM pox_transactions
     WHERE recipient = ?1 ORDER BY recipient_ordinal DESC LIMIT 1`.prepared(db);
  const { add: addOutput } = table(db, poxTransactionsTable);
  const removals = ['burn_rewards', 'burn_slot_holders', 'pox_transactions'].map((table) =>
    query<null, [number]>`DELETE FROM ${table} WHERE height >= ?1`.prepared(db),
  );

  return {
    /** @param payload of a block above all stored ones */
    add(payload: BurnBlockPayload): void {
      const height = payload.burn_block_height;
      const burnt = String(payload.burn_amount);
      let ordinal = lastReward.get()?.ordinal ?? 0;
      for (const [index, { recipient, amt }] of payload.reward_recipients.entries()) {
        const sums = rewardsOf.get(recipient);
        const total = BigInt(sums?.total ?? 0) + BigInt(amt);
        ordinal += 1;
        addReward({
          ordinal,
          height,
          reward_index: index,
          recipient,
          recipient_ordinal: (sums?.ordinal ?? 0) + 1,
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
      for (const { txId, index, recipient, amount } of parseOutputs(payload)) {
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
