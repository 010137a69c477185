/**
 * What Bitcoin blocks paid to stackers. The blocks are a stack: rows are appended with the highest block and taken away
 * with it, so each knows how many came before it, and a list's total is the number of its last row.
 */
import type { Database } from 'bun:sqlite';
import type { BurnBlockPayload } from '../../chain/payload-schemas.ts';
import { fromHex } from '../../codec/hex.ts';
import { prepared } from '../rows/statement.ts';
import { inserter } from '../rows/table.ts';
import { burnRewardsTable, burnSlotHoldersTable, poxTransactionsTable } from '../tables/bitcoin.ts';

interface PoxOutput {
  txId: Uint8Array;
  index: number;
  recipient: string;
  amount: string;
}

/** Outputs by transaction id and number, the last first; of one that is named twice the first counts. */
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

export function burnRewardWriter(db: Database) {
  const lastReward = db.prepare<{ ordinal: number }, []>(
    'SELECT ordinal FROM burn_rewards ORDER BY ordinal DESC LIMIT 1',
  );
  const rewardsOf = prepared<{ ordinal: number; total: string }, [string]>(
    db,
    `SELECT recipient_ordinal AS ordinal, recipient_total AS total FROM burn_rewards
      WHERE recipient = ?1 ORDER BY recipient_ordinal DESC LIMIT 1`,
  );
  const addReward = inserter(db, burnRewardsTable);
  const lastSlot = db.prepare<{ ordinal: number }, []>(
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
    /** @param payload of a block above all that are there */
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

    /** Takes away what is of this height or above. */
    removeFrom(height: number): void {
      for (const remove of removals) remove.run(height);
    },
  };
}
