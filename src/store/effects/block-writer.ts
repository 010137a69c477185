/**
 * Writes blocks, the microblocks (Stacks 2.x) that they confirmed, matured rewards, the Bitcoin blocks that blocks are anchored to,
 * and the sums over the chain.
 */
import type { Database } from 'bun:sqlite';
import type { Block } from '../../chain/block.ts';
import type { EffectOf } from '../../chain/effect.ts';
import { COUNTER, storedToken } from '../rows/enums.ts';
import type { Stored } from '../rows/statement.ts';
import { inserter, type NewRow, table } from '../rows/table.ts';
import {
  anchorBurnBlocksTable,
  blocksTable,
  microblocksTable,
  minerRewardsTable,
  stxSuppliesTable,
} from '../rows/tables.ts';
import type { HotRows } from './account-writer.ts';
import { counter } from './counters.ts';
import type { Dictionaries } from './dictionary.ts';

const size = (block: Block): number => block.transactions.reduce((total, { raw }) => total + raw.length, 0);

const concatenated = (parts: readonly Uint8Array[] | null): Uint8Array | null =>
  parts === null ? null : Buffer.concat(parts);

/** @param precedingTransactions number of transactions below the block */
function blockRow(block: Block, precedingTransactions: number): NewRow<typeof blocksTable> {
  const [pox1, pox2, pox3, pox4] = block.poxUnlockHeights;
  return {
    height: block.height,
    index_block_hash: block.indexBlockHash,
    block_hash: block.blockHash,
    parent_index_block_hash: block.parentIndexBlockHash,
    parent_block_hash: block.parentBlockHash,
    block_time: block.blockTime,
    burn_block_hash: block.burnBlockHash,
    burn_block_height: block.burnBlockHeight,
    burn_block_time: block.burnBlockTime,
    parent_burn_block_time: block.parentBurnBlockTime,
    miner_tx_id: block.minerTxId,
    parent_microblock_hash: block.parentMicroblockHash,
    parent_microblock_sequence: block.parentMicroblockSequence,
    tenure_height: block.tenureHeight,
    announced_transactions: block.announcedTransactions,
    transactions: block.transactions.length,
    preceding_transactions: precedingTransactions,
    size: size(block),
    cost_runtime: block.cost.runtime,
    cost_read_count: block.cost.readCount,
    cost_read_length: block.cost.readLength,
    cost_write_count: block.cost.writeCount,
    cost_write_length: block.cost.writeLength,
    signer_bits: block.signerBits,
    signer_signatures: concatenated(block.signerSignatures),
    pox_1_unlock_height: pox1,
    pox_2_unlock_height: pox2,
    pox_3_unlock_height: pox3,
    pox_4_unlock_height: pox4,
  };
}

/** Applies effects on blocks. */
export function blockWriter(db: Database) {
  const blocks = table(db, blocksTable);
  const totals = db.prepare<Stored<'totals', 'transactions'>, []>('SELECT transactions FROM totals');
  return ({ sign, block }: EffectOf<'block'>): void => {
    // The totals are changed after the block's row, and don't include the block yet.
    if (sign === 1) blocks.add(blockRow(block, totals.get()?.transactions ?? 0));
    else blocks.remove({ height: block.height });
  };
}

/** Applies effects on miners' rewards. */
export function minerRewardWriter(db: Database, { principals }: Dictionaries) {
  const rewards = table(db, minerRewardsTable);
  return ({ sign, height, index, reward }: EffectOf<'miner_reward'>): void => {
    if (sign === -1) {
      rewards.remove({ height, reward_index: index });
      return;
    }
    rewards.add({
      height,
      reward_index: index,
      recipient_id: principals.id(reward.recipient),
      miner_id: principals.id(reward.miner),
      coinbase: reward.coinbase.toString(),
      fees_anchored: reward.feesAnchored.toString(),
      fees_streamed_confirmed: reward.feesStreamedConfirmed.toString(),
      fees_streamed_produced: reward.feesStreamedProduced.toString(),
      from_index_block_hash: reward.fromIndexBlockHash,
    });
  };
}

/** Applies effects on the chain's sums. */
export function totalsWriter(db: Database) {
  const totals = db.prepare<Stored<'totals', 'stx_supply' | 'stx_balances'>, []>(
    'SELECT stx_supply, stx_balances FROM totals',
  );
  const set = db.prepare<null, [number, string, string]>(
    'UPDATE totals SET transactions = transactions + ?1, stx_supply = ?2, stx_balances = ?3',
  );
  return ({ sign, transactions, supply, balances }: EffectOf<'totals'>): void => {
    const known = totals.get();
    const moved = (stored: string | undefined, by: bigint): string => String(BigInt(stored ?? 0) + BigInt(sign) * by);
    set.run(sign * transactions, moved(known?.stx_supply, supply), moved(known?.stx_balances, balances));
  };
}

type Last = Stored<'anchor_burn_blocks', 'ordinal' | 'hash' | 'blocks'>;

/** Applies effects on the Bitcoin blocks that blocks are anchored to: adds and removes rows at the tip. */
export function anchorWriter(db: Database) {
  const newest = db.prepare<Last, []>(
    'SELECT ordinal, hash, blocks FROM anchor_burn_blocks ORDER BY ordinal DESC LIMIT 1',
  );
  const anchors = table(db, anchorBurnBlocksTable);
  const count = db.prepare(
    `UPDATE anchor_burn_blocks SET blocks = blocks + ?2, transactions = transactions + ?3, rows = rows + ?4
      WHERE ordinal = ?1`,
  );

  return ({ sign, block }: EffectOf<'anchor'>): void => {
    const last = newest.get();
    const same = last !== null && Buffer.compare(last.hash, block.burnBlockHash) === 0;
    if (sign === -1 && !same) throw new Error('anchor_burn_blocks had no row to take away');
    if (same && !(sign === -1 && last.blocks === 1)) {
      count.run(last.ordinal, sign, sign * block.announcedTransactions, sign * block.transactions.length);
    } else if (same) {
      anchors.remove({ ordinal: last.ordinal });
    } else {
      anchors.add({
        ordinal: (last?.ordinal ?? 0) + 1,
        hash: block.burnBlockHash,
        height: block.burnBlockHeight,
        time: block.burnBlockTime,
        first_block: block.height,
        blocks: 1,
        transactions: block.announcedTransactions,
        rows: block.transactions.length,
      });
    }
  };
}

/** Applies effects on the STX supply, which has a row for each block that changed it. */
export function supplyWriter(db: Database) {
  const newest = db.prepare<Stored<'stx_supplies', 'supply'>, []>(
    'SELECT supply FROM stx_supplies ORDER BY height DESC LIMIT 1',
  );
  const add = inserter(db, stxSuppliesTable);
  const remove = db.prepare('DELETE FROM stx_supplies WHERE height = ?1');

  return ({ sign, height, supply }: EffectOf<'supply'>): void => {
    if (sign === -1) remove.run(height);
    else add({ height, supply: (BigInt(newest.get()?.supply ?? 0) + supply).toString() });
  };
}

/** Applies effects on the number of transactions by type, and of calls by function name. */
export function tallyWriter(db: Database) {
  const countType = counter(db, COUNTER.transactions);
  const countCalls = counter(db, COUNTER.calls);
  return ({ sign, types, functions }: EffectOf<'tallies'>): void => {
    for (const [type, count] of types) countType(type, sign * count);
    for (const [name, count] of functions) countCalls(name, sign * count);
  };
}

/** Applies effects on the activity of days. A row exists while its count is not 0. */
export function activityWriter({ principals, assets }: Dictionaries, { contractDays, tokenDays }: HotRows) {
  return ({ sign, day, calls: called, ...moved }: EffectOf<'activity'>): void => {
    for (const [contract, count] of called) {
      const key = { day, contract_id: principals.id(contract) };
      const calls = (contractDays.get(key)?.calls ?? 0) + sign * count;
      if (calls === 0) contractDays.remove(key);
      else contractDays.put({ ...key, calls });
    }
    for (const kind of ['ft', 'nft'] as const) {
      for (const [asset, count] of moved[kind]) {
        const key = { day, token: storedToken.numberOf(kind), asset_id: assets.id(asset) };
        const events = (tokenDays.get(key)?.events ?? 0) + sign * count;
        if (events === 0) tokenDays.remove(key);
        else tokenDays.put({ ...key, events });
      }
    }
  };
}

/** Applies effects on confirmed microblocks: adds and removes rows at the tip. */
export function confirmedMicroblockWriter(db: Database) {
  const last = db.prepare<{ ordinal: number | null }, []>('SELECT max(ordinal) AS ordinal FROM microblocks');
  const insert = inserter(db, microblocksTable);
  const remove = db.prepare<null, [number]>('DELETE FROM microblocks WHERE height = ?1');

  return ({ sign, height, microblocks }: EffectOf<'microblocks'>): void => {
    if (sign === -1) {
      remove.run(height);
      return;
    }
    let ordinal = last.get()?.ordinal ?? 0;
    for (const { hash, parentHash, sequence } of microblocks) {
      ordinal += 1;
      insert({ ordinal, hash, parent_hash: parentHash, sequence, height });
    }
  };
}
