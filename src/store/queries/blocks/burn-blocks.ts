/**
 * Bitcoin blocks that canonical blocks are anchored to, and rewards that Bitcoin blocks paid to stackers. Both are numbered
 * without gaps, so a page is a range of numbers, and the total is the last number.
 */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../../base/bytes-equal.ts';
import { cycleAt, startOfCycle } from '../../../chain/network.ts';
import { nodeSpelling } from '../../../codec/bitcoin-address.ts';
import type { AnchorBurnBlock, BlockId, ChainBlock } from '../../model/block.ts';
import type { OffsetPage } from '../../model/page.ts';
import type { BurnReward, PoxOutput, RewardSlot } from '../../model/staking.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { forcedUnlockQuery } from '../accounts/locks.ts';
import { numberedPage } from '../page.ts';
import { cycleTimesQuery } from '../staking/staking-cycles.ts';
import type { BlockRange } from './blocks.ts';
import type { HistoryStart } from './chain.ts';

const columns = 'ordinal, hash, height, time, first_block, blocks, transactions';

export const sql = {
  newest: query<Row>`SELECT ${columns} FROM anchor_burn_blocks ORDER BY ordinal DESC LIMIT 1`,
  byHeight: query<Row, [number]>`
    SELECT ${columns} FROM anchor_burn_blocks WHERE height = ?1 ORDER BY ordinal DESC LIMIT 1`,
  byHash: query<Row, [Uint8Array]>`
    SELECT ${columns} FROM anchor_burn_blocks WHERE hash = ?1 ORDER BY ordinal DESC LIMIT 1`,
  range: query<Row, [number, number]>`
    SELECT ${columns} FROM anchor_burn_blocks WHERE ordinal BETWEEN ?1 AND ?2 ORDER BY ordinal DESC`,
  blocks: query<Stored<'blocks', 'block_hash' | 'block_time'>, [number, number]>`
    SELECT block_hash, block_time FROM blocks WHERE height BETWEEN ?1 AND ?2 ORDER BY height DESC`,
};

type Row = Omit<Stored<'anchor_burn_blocks'>, 'rows'>;

/** @param historyStart the first block of an index that doesn't have the whole chain */
export function burnBlockQueries(db: Database, blockRange: BlockRange, historyStart: () => HistoryStart | null) {
  const { newest, byHeight, byHash, range, blocks: anchored } = statements(db, sql);

  function findRow(id: BlockId): Row | null {
    if (id === 'latest') return newest.get();
    return 'height' in id ? byHeight.get(id.height) : byHash.get(id.hash);
  }

  /**
   * Whether a Bitcoin block has blocks below the first block of a partial history. It isn't shown, since its sums are unknown.
   */
  function isCut({ first_block, hash }: Row): boolean {
    const start = historyStart();
    return start?.height === first_block && bytesEqual(start.burnBlockHash, hash);
  }

  /** Number of Bitcoin blocks that aren't shown: the first one, or none. */
  function hiddenCount(): number {
    if (historyStart() === null) return 0;
    return range.all(1, 1).filter(isCut).length;
  }

  function burnBlockOf({ hash, height, time, first_block, blocks, transactions }: Row): AnchorBurnBlock {
    const rows = anchored.all(first_block, first_block + blocks - 1);
    const [last, first] = [rows[0]?.block_time ?? 0, rows.at(-1)?.block_time ?? 0];
    return {
      hash,
      height,
      time,
      blocks: rows.map(({ block_hash }) => block_hash),
      averageBlockTime: blocks > 1 ? (last - first) / (blocks - 1) : 0,
      transactions,
    };
  }

  return {
    /** Bitcoin blocks that canonical blocks are anchored to, highest first. */
    page(limit: number, offset: number): OffsetPage<AnchorBurnBlock> {
      const newestOrdinal = newest.get()?.ordinal ?? 0;
      const hidden = hiddenCount();
      const last = newestOrdinal - offset;
      const items = range.all(Math.max(last - limit + 1, hidden + 1), last).map(burnBlockOf);
      return { items, total: newestOrdinal - hidden };
    },

    find(id: BlockId): AnchorBurnBlock | undefined {
      const row = findRow(id);
      return row === null || isCut(row) ? undefined : burnBlockOf(row);
    },

    /** Canonical blocks that are anchored to a Bitcoin block, highest first. */
    blocks(id: BlockId, limit: number, offset: number): OffsetPage<ChainBlock> | undefined {
      const row = findRow(id);
      if (row === null) return undefined;
      const { first_block, blocks } = row;
      const last = first_block + blocks - 1 - offset;
      return { items: blockRange(Math.max(first_block, last - limit + 1), last), total: blocks };
    },
  };
}

const reward = `SELECT r.height, b.hash, r.burn_amount AS burnAmount, r.recipient, r.amount, r.reward_index AS "index"
                  FROM burn_rewards r JOIN burn_blocks b ON b.height = r.height`;
const slot = `SELECT r.height, b.hash, r.address, r.slot_index AS "index"
                FROM burn_slot_holders r JOIN burn_blocks b ON b.height = r.height`;
const output = `SELECT r.height, b.hash, r.tx_id AS txId, r.output_index AS outputIndex, r.recipient, r.amount
                  FROM pox_transactions r JOIN burn_blocks b ON b.height = r.height`;

export const burnRewardsSql = {
  newest: query<Stored<'burn_blocks', 'hash'>>`SELECT hash FROM burn_blocks ORDER BY height DESC LIMIT 1`,
  chainId: query<Stored<'progress', 'chain_id'>>`SELECT chain_id FROM progress`,
  hashAt: query<Stored<'burn_blocks', 'hash'>, [number]>`SELECT hash FROM burn_blocks WHERE height = ?1`,
  // Heights without a block, or with one that the block above them doesn't name as its parent.
  unlinked: query<{ height: number }, [number, number]>`
    SELECT c.height - 1 AS height FROM burn_blocks c LEFT JOIN burn_blocks p ON p.height = c.height - 1
     WHERE c.height <= ?1 AND c.height - 1 > ?2 AND (p.hash IS NULL OR p.hash <> c.parent_hash)
     ORDER BY c.height DESC LIMIT 1`,
  lowest: query<{ height: number | null }>`SELECT min(height) AS height FROM burn_blocks`,
  filled: query<Stored<'burn_blocks', 'height'>>`
    SELECT height FROM burn_blocks WHERE is_filled = 1 AND height >= 0 ORDER BY height`,
  firstUnpaid: query<{ height: number }, [number]>`
    SELECT height FROM burn_blocks b WHERE height >= ?1 AND is_filled = 0
       AND NOT EXISTS (SELECT 1 FROM burn_slot_holders s WHERE s.height = b.height) ORDER BY height LIMIT 1`,
  rewardTotal: query<{ total: number }, [number]>`
    SELECT ordinal AS total FROM burn_rewards WHERE height < ?1 ORDER BY height DESC, ordinal DESC LIMIT 1`,
  rewards: query<BurnReward, [number, number]>`${reward} WHERE r.ordinal BETWEEN ?1 AND ?2 ORDER BY r.ordinal DESC`,
  rewardTotalOf: query<{ total: number; amount: string }, [string, number]>`
    SELECT recipient_ordinal AS total, recipient_total AS amount FROM burn_rewards
     WHERE recipient = ?1 AND height < ?2 ORDER BY recipient_ordinal DESC LIMIT 1`,
  rewardsOf: query<BurnReward, [string, number, number]>`
    ${reward} WHERE r.recipient = ?1 AND r.recipient_ordinal BETWEEN ?2 AND ?3 ORDER BY r.recipient_ordinal DESC`,
  slotTotal: query<{ total: number }, [number]>`
    SELECT ordinal AS total FROM burn_slot_holders WHERE height < ?1 ORDER BY height DESC, ordinal DESC LIMIT 1`,
  slots: query<RewardSlot, [number, number]>`${slot} WHERE r.ordinal BETWEEN ?1 AND ?2 ORDER BY r.ordinal DESC`,
  slotTotalOf: query<{ total: number }, [string, number]>`
    SELECT address_ordinal AS total FROM burn_slot_holders
     WHERE address = ?1 AND height < ?2 ORDER BY address_ordinal DESC LIMIT 1`,
  slotsOf: query<RewardSlot, [string, number, number]>`
    ${slot} WHERE r.address = ?1 AND r.address_ordinal BETWEEN ?2 AND ?3 ORDER BY r.address_ordinal DESC`,
  newestOutput: query<Stored<'pox_transactions', 'height'>>`
    SELECT height FROM pox_transactions ORDER BY height DESC LIMIT 1`,
  byHash: query<Stored<'burn_blocks', 'height'>, [Uint8Array]>`
    SELECT height FROM burn_blocks WHERE hash = ?1 ORDER BY height DESC LIMIT 1`,
  outputCount: query<{ total: number }, [number]>`SELECT count(*) AS total FROM pox_transactions WHERE height = ?1`,
  outputs: query<PoxOutput, [number, number, number]>`
    ${output} WHERE r.height = ?1 ORDER BY r.tx_id, r.output_index LIMIT ?2 OFFSET ?3`,
  outputTotalOf: query<{ total: number }, [string]>`
    SELECT recipient_ordinal AS total FROM pox_transactions
     WHERE recipient = ?1 ORDER BY recipient_ordinal DESC LIMIT 1`,
  outputsOf: query<PoxOutput, [string, number, number]>`
    ${output} WHERE r.recipient = ?1 AND r.recipient_ordinal BETWEEN ?2 AND ?3 ORDER BY r.recipient_ordinal DESC`,
};

/** The end height if it is unknown or not set. */
const WITHOUT_END = Number.MAX_SAFE_INTEGER;

export function burnRewardQueries(db: Database) {
  const read = statements(db, burnRewardsSql);
  const forcedUnlocks = forcedUnlockQuery(db);
  const cyclesOf = cycleTimesQuery(db);

  /**
   * The first Bitcoin height without rewards for stacking in pox to pox-4. The reward set of the cycle in which pox-4's locks
   * end is paid until the end of the cycle. If the heights of cycles are unknown, the cycle ends with the prepare phase, which
   * pays no rewards.
   */
  function endHeight(): number {
    const height = forcedUnlocks().pox_4;
    if (!height) return WITHOUT_END;
    const chainId = read.chainId.get()?.chain_id ?? null;
    const cycles = chainId === null ? null : cyclesOf(chainId);
    if (cycles !== null) return startOfCycle(cycles, cycleAt(cycles, height - 1) + 1);
    return read.firstUnpaid.get(height)?.height ?? WITHOUT_END;
  }

  /** The height of a Bitcoin block; undefined if it is unknown. */
  function outputHeight(id: BlockId): number | undefined {
    if (id === 'latest') return read.newestOutput.get()?.height;
    return 'height' in id ? id.height : read.byHash.get(id.hash)?.height;
  }

  return {
    /** Hash of the canonical Bitcoin block of a height; null if unknown. */
    hashAt: (height: number): Uint8Array | null => read.hashAt.get(height)?.hash ?? null,

    /**
     * Returns the highest height below `height` whose Bitcoin block is missing, or isn't the parent of the block above; null
     * if there is none.
     * @param above a lower limit: only greater heights count, unless there are lower blocks
     */
    unlinkedBelow(height: number, above: number): number | null {
      const first = read.lowest.get()?.height ?? 0;
      return read.unlinked.get(height, Math.min(above, first - 1))?.height ?? null;
    },

    /** Heights of the blocks that were filled without their payouts, as ranges that include both ends, lowest first. */
    withoutPayouts(): [first: number, last: number][] {
      const ranges: [number, number][] = [];
      for (const { height } of read.filled.all()) {
        const last = ranges.at(-1);
        if (last?.[1] === height - 1) last[1] = height;
        else ranges.push([height, height]);
      }
      return ranges;
    },

    /** Hash of the newest announced Bitcoin block; null if none was announced. */
    newestHash: (): Uint8Array | null => read.newest.get()?.hash ?? null,

    rewards(address: string | null, limit: number, offset: number): OffsetPage<BurnReward> {
      if (address === null) {
        const total = read.rewardTotal.get(endHeight())?.total ?? 0;
        return numberedPage(total, limit, offset, (first, last) => read.rewards.all(first, last));
      }
      const recipient = nodeSpelling(address);
      const total = read.rewardTotalOf.get(recipient, endHeight())?.total ?? 0;
      return numberedPage(total, limit, offset, (first, last) => read.rewardsOf.all(recipient, first, last));
    },

    /** Sum of a recipient's rewards in sats, decimal. */
    total: (recipient: string): string => read.rewardTotalOf.get(nodeSpelling(recipient), endHeight())?.amount ?? '0',

    slots(holder: string | null, limit: number, offset: number): OffsetPage<RewardSlot> {
      if (holder === null) {
        const total = read.slotTotal.get(endHeight())?.total ?? 0;
        return numberedPage(total, limit, offset, (first, last) => read.slots.all(first, last));
      }
      const address = nodeSpelling(holder);
      const total = read.slotTotalOf.get(address, endHeight())?.total ?? 0;
      return numberedPage(total, limit, offset, (first, last) => read.slotsOf.all(address, first, last));
    },

    /** Whether a Bitcoin block is stored; for `latest`, whether any has outputs. */
    has(id: BlockId): boolean {
      const height = outputHeight(id);
      return height !== undefined && read.hashAt.get(height) !== null;
    },

    /** Outputs of a Bitcoin block; `latest` is the newest block with outputs. */
    outputsOf(id: BlockId, limit: number, offset: number): OffsetPage<PoxOutput> {
      const height = outputHeight(id);
      if (height === undefined) return { items: [], total: 0 };
      return { items: read.outputs.all(height, limit, offset), total: read.outputCount.get(height)?.total ?? 0 };
    },

    outputsTo(address: string, limit: number, offset: number): OffsetPage<PoxOutput> {
      const recipient = nodeSpelling(address);
      const total = read.outputTotalOf.get(recipient)?.total ?? 0;
      return numberedPage(total, limit, offset, (first, last) => read.outputsOf.all(recipient, first, last));
    },
  };
}
