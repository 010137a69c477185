/** Reads tenures and their miners' rewards from the canonical chain. */
import type { Database } from 'bun:sqlite';
import { positionsOf } from '../../../chain/position.ts';
import { payloadOf } from '../../../codec/transaction.ts';
import { PAYLOAD } from '../../rows/enums.ts';
import { decimalOf } from '../../rows/formats.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';

const coinbases = [PAYLOAD.coinbase, PAYLOAD.coinbase_to_alt_recipient, PAYLOAD.nakamoto_coinbase].join(', ');

export const sql = {
  first: query<Stored<'blocks', 'height' | 'index_block_hash' | 'block_hash'>, [number, number]>`
    SELECT height, index_block_hash, block_hash FROM blocks
     WHERE tenure_height = ?1 AND height <= ?2 ORDER BY height LIMIT 1`,
  last: query<Stored<'blocks', 'height'>, [number, number]>`
    SELECT height FROM blocks WHERE tenure_height = ?1 AND height <= ?2 ORDER BY height DESC LIMIT 1`,
  coinbase: query<Stored<'principals', 'address'> & Stored<'transaction_bodies', 'raw'>, [number, number]>`
    SELECT p.address, d.raw FROM transactions t JOIN principals p ON p.id = t.sender_id
      JOIN transaction_bodies d ON d.position = t.position
     WHERE t.position BETWEEN ?1 AND ?2 AND t.type IN (${coinbases}) LIMIT 1`,
  fees: query<Stored<'transactions', 'fee'>, [number, number]>`
    SELECT fee FROM transactions WHERE position BETWEEN ?1 AND ?2`,
  newestReward: query<NewestRow, [number]>`
    SELECT b.tenure_height AS tenureHeight, b.signer_bits IS NULL AS isEarly,
           r.from_index_block_hash AS fromIndexBlockHash, f.tenure_height AS fromTenure
      FROM miner_rewards r JOIN blocks b ON b.height = r.height
      LEFT JOIN blocks f ON f.index_block_hash = r.from_index_block_hash
     WHERE r.height = (SELECT max(height) FROM miner_rewards WHERE height <= ?1) LIMIT 1`,
};

/** A miner's reward, and its tenures by their coinbase heights. */
export interface MaturedReward {
  /** Tenure of the block in which the reward matured. */
  tenureHeight: number;
  /** Whether that block is from before Nakamoto, when maturing took one more tenure. */
  isEarly: boolean;
  /** The block that it is for, and its tenure; null if the index begins above. */
  fromIndexBlockHash: Uint8Array;
  fromTenure: number | null;
}

/** The values of a tenure that its miner's reward depends on. */
export interface RewardedTenure {
  /** Hashes of its first block. */
  indexBlockHash: Uint8Array;
  blockHash: Uint8Array;
  /** The account that signed its coinbase. */
  miner: string;
  /** The principal that gets the coinbase. */
  recipient: string;
  /** micro-STX that the transactions of all its blocks paid. */
  fees: bigint;
}

interface NewestRow extends Omit<MaturedReward, 'tenureHeight' | 'isEarly'> {
  tenureHeight: number | null;
  isEarly: 0 | 1;
}

export function tenureRewardQueries(db: Database) {
  const { first, last, coinbase, fees, newestReward } = statements(db, sql);

  /** micro-STX that the blocks of a tenure up to a height paid, as far as the canonical chain has them. */
  function sumFees(tenureHeight: number, upTo: number): bigint {
    const [begin, end] = [first.get(tenureHeight, upTo), last.get(tenureHeight, upTo)];
    if (begin === null || end === null) return 0n;
    const paid = fees.all(positionsOf(begin.height).first, positionsOf(end.height).last);
    return paid.reduce((sum, { fee }) => sum + BigInt(decimalOf(fee)), 0n);
  }

  return {
    fees: (tenureHeight: number, upTo: number): bigint => sumFees(tenureHeight, upTo),

    /**
     * A tenure by its coinbase height, as far as blocks up to a height belong to it; null if the canonical chain doesn't
     * have it.
     */
    rewarded(tenureHeight: number, upTo: number): RewardedTenure | null {
      const begin = first.get(tenureHeight, upTo);
      if (begin === null) return null;
      const positions = positionsOf(begin.height);
      const row = coinbase.get(positions.first, positions.last);
      if (row === null) return null;
      const { altRecipient } = payloadOf(row.raw, 'coinbase');
      return {
        indexBlockHash: begin.index_block_hash,
        blockHash: begin.block_hash,
        miner: row.address,
        recipient: altRecipient ?? row.address,
        fees: sumFees(tenureHeight, upTo),
      };
    },

    /** The newest reward of the canonical chain up to a height; null if there is none. */
    newest(upTo: number): MaturedReward | null {
      const row = newestReward.get(upTo);
      if (row === null || row.tenureHeight === null) return null;
      return { ...row, tenureHeight: row.tenureHeight, isEarly: row.isEarly === 1 };
    },
  };
}
