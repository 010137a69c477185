/**
 * Writes blocks, the microblocks (Stacks 2.x) that they confirmed, matured rewards, the Bitcoin blocks that blocks are anchored
 * to, and the sums over the chain.
 */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../base/bytes-equal.ts';
import type { Block } from '../../chain/block.ts';
import type { EffectOf } from '../../chain/effect.ts';
import { COUNTER, DAILY } from '../rows/enums.ts';
import { modelColumns, query, type Stored } from '../rows/statement.ts';
import { modelInserter, type NewRow, type Renamed, table } from '../rows/table.ts';
import { anchorBurnBlocksTable, blocksTable, microblocksTable, minerRewardsTable } from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';
import { counter, type HotRows } from './hot-rows.ts';
import { costColumns } from './transaction-writer.ts';

const sizeOf = ({ transactions }: Block): number => transactions.reduce((total, { raw }) => total + raw.length, 0);

const concatenated = (parts: readonly Uint8Array[] | null): Uint8Array | null =>
  parts === null ? null : Buffer.concat(parts);

/** Sums over the chain up to a block. */
type Sums = Renamed<Stored<'blocks', (typeof SUMS)[number]>> & { transactions: number };
const SUMS = ['stx_supply', 'stx_balances', 'stx_holders', 'stx_accounts'] as const;

const EMPTY_CHAIN: Sums = { transactions: 0, stxSupply: '0', stxBalances: '0', stxHolders: 0, stxAccounts: 0 };

/** @param below the sums of the chain below the block */
function blockRow(block: Block, { transactions, ...below }: Sums): Renamed<NewRow<typeof blocksTable>> {
  const [pox1UnlockHeight, pox2UnlockHeight, pox3UnlockHeight, pox4UnlockHeight] = block.poxUnlockHeights;
  return {
    ...block,
    ...costColumns(block.cost),
    transactions: block.transactions.length,
    precedingTransactions: transactions,
    size: sizeOf(block),
    signerSignatures: concatenated(block.signerSignatures),
    pox1UnlockHeight,
    pox2UnlockHeight,
    pox3UnlockHeight,
    pox4UnlockHeight,
    ...below,
  };
}

/** Applies effects on blocks, and on the chain's sums, which the row of each block contains. */
export function blockWriter(db: Database) {
  const add = modelInserter(db, blocksTable);
  const { remove } = table(db, blocksTable);
  const newest = query<Sums>`
    SELECT preceding_transactions + transactions AS transactions, ${modelColumns('b', SUMS)}
      FROM blocks b ORDER BY height DESC LIMIT 1`.prepared(db);
  const setSums = query<null, [number, string, string, number, number]>`
    UPDATE blocks SET stx_supply = ?2, stx_balances = ?3, stx_holders = ?4, stx_accounts = ?5
     WHERE height = ?1`.prepared(db);
  /** The sums up to the block that is being applied. A revert removes them with the block's row. */
  let sums = EMPTY_CHAIN;

  return {
    block({ sign, block }: EffectOf<'block'>): void {
      if (sign === -1) {
        remove({ height: block.height });
        return;
      }
      sums = newest.get() ?? EMPTY_CHAIN;
      add(blockRow(block, sums));
    },

    /** Adds to the numbers of accounts with a balance, and of accounts that moved STX. */
    countAccounts(holders: number, movers: number): void {
      sums = { ...sums, stxHolders: sums.stxHolders + holders, stxAccounts: sums.stxAccounts + movers };
    },

    /** Writes the sums. All effects on accounts must be applied before. */
    sums({ sign, height, supply, balances }: EffectOf<'sums'>): void {
      if (sign === -1) return;
      setSums.run(
        height,
        String(BigInt(sums.stxSupply) + supply),
        String(BigInt(sums.stxBalances) + balances),
        sums.stxHolders,
        sums.stxAccounts,
      );
    },
  };
}

/** Applies effects on miners' rewards. */
export function minerRewardWriter(db: Database, { principals }: Dictionaries) {
  const rewards = table(db, minerRewardsTable);
  return ({ sign, height, index, reward }: EffectOf<'miner_reward'>): void => {
    rewards.move(sign, {
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

/** Applies effects on the Bitcoin blocks that blocks are anchored to: adds and removes rows at the tip. */
export function anchorWriter(db: Database) {
  const newest = query<Stored<'anchor_burn_blocks', 'ordinal' | 'hash' | 'blocks'>>`
    SELECT ordinal, hash, blocks FROM anchor_burn_blocks ORDER BY ordinal DESC LIMIT 1`.prepared(db);
  const anchors = table(db, anchorBurnBlocksTable);
  const count = query<null, [number, number, number, number]>`
    UPDATE anchor_burn_blocks SET blocks = blocks + ?2, transactions = transactions + ?3, rows = rows + ?4
     WHERE ordinal = ?1`.prepared(db);

  return ({ sign, block }: EffectOf<'anchor'>): void => {
    const last = newest.get();
    const isSame = last !== null && bytesEqual(last.hash, block.burnBlockHash);
    if (sign === -1 && !isSame) throw new Error('anchor_burn_blocks had no row to take away');
    if (isSame && !(sign === -1 && last.blocks === 1)) {
      count.run(last.ordinal, sign, sign * block.announcedTransactions, sign * block.transactions.length);
    } else if (isSame) {
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

/** Applies effects on the number of transactions by type, of calls by function name, and of logs by contract. */
export function tallyWriter(db: Database) {
  const countType = counter(db, COUNTER.transactions);
  const countCalls = counter(db, COUNTER.calls);
  const countLogs = counter(db, COUNTER.logs);
  return ({ sign, types, functions, logs }: EffectOf<'tallies'>): void => {
    for (const [type, count] of types) countType(type, sign * count);
    for (const [name, count] of functions) countCalls(name, sign * count);
    for (const [contract, count] of logs) countLogs(contract, sign * count);
  };
}

/** Applies effects on the activity of days. A row exists while its count is not 0. */
export function activityWriter({ principals, assets }: Dictionaries, { dailyCounts }: HotRows) {
  function add(key: Omit<Stored<'daily_counts'>, 'count'>, by: number): void {
    const count = (dailyCounts.get(key)?.count ?? 0) + by;
    if (count === 0) dailyCounts.remove(key);
    else dailyCounts.put({ ...key, count });
  }

  return ({ sign, day, calls, ft, nft }: EffectOf<'activity'>): void => {
    for (const [contract, by] of calls) add({ day, kind: DAILY.calls, subject_id: principals.id(contract) }, sign * by);
    for (const [asset, by] of ft) add({ day, kind: DAILY.ft, subject_id: assets.id(asset) }, sign * by);
    for (const [asset, by] of nft) add({ day, kind: DAILY.nft, subject_id: assets.id(asset) }, sign * by);
  };
}

/** Applies effects on confirmed microblocks: adds and removes rows at the tip. */
export function confirmedMicroblockWriter(db: Database) {
  const last = query<{ ordinal: number | null }>`SELECT max(ordinal) AS ordinal FROM microblocks`.prepared(db);
  const add = modelInserter(db, microblocksTable);
  const remove = query<null, [number]>`DELETE FROM microblocks WHERE height = ?1`.prepared(db);

  return ({ sign, height, microblocks }: EffectOf<'microblocks'>): void => {
    if (sign === -1) {
      remove.run(height);
      return;
    }
    let ordinal = last.get()?.ordinal ?? 0;
    for (const microblock of microblocks) {
      ordinal += 1;
      add({ ...microblock, ordinal, height });
    }
  };
}
