/** Stacking by pox to pox-4, reward cycles and their signers. */

import type { Database } from 'bun:sqlite';
import { type Network, networkOf, TESTNET_CHAIN_ID } from '../../../chain/network.ts';
import { heightOf, positionOf } from '../../../chain/position.ts';
import { poxReading } from '../../../chain/pox/reading.ts';
import type { StackingPrint } from '../../../chain/pox/stacking.ts';
import { addressOfKey } from '../../../codec/address.ts';
import type { OffsetPage } from '../../model/page.ts';
import type {
  CycleStacker,
  DelegationsAt,
  RewardCycle,
  StackingEvent,
  StackingSigner,
  StackingVersion,
} from '../../model/staking.ts';
import { COUNTER, storedTerm } from '../../rows/enums.ts';
import { decimalOf } from '../../rows/formats.ts';
import { optional, query, type Stored, statements } from '../../rows/statement.ts';
import { numbers } from '../numbers.ts';
import { numberedPage } from '../page.ts';

const columns = 's.position, s.event_index, t.tx_id, t.tx_index, e.value, contract.address AS contract';
const joins = `JOIN transactions t ON t.position = s.position
               JOIN events e ON e.position = s.position AND e.event_index = s.event_index
               JOIN principals contract ON contract.id = e.contract_id`;

/**
 * The delegations to a pool that hold at a height: each stacker's last one that had not ended, unless it is a revocation.
 * Ended delegations are skipped, so an earlier delegation without an end holds again.
 */
const holding = `s.pox_version = ?1 AND s.pool_id = ?2 AND s.position >= ?3 AND s.position < ?4
                 AND s.revoked = 0 AND (s.unlock_height IS NULL OR s.unlock_height > ?5)
                 AND NOT EXISTS (SELECT 1 FROM delegations n
                                  WHERE n.pox_version = ?1 AND n.pool_id = ?2 AND n.stacker_id = s.stacker_id
                                    AND n.position < ?4 AND (n.position, n.event_index) > (s.position, s.event_index)
                                    AND (n.unlock_height IS NULL OR n.unlock_height > ?5))`;

export const sql = {
  total: query<{ total: number | null }, [number]>`
    SELECT max(ordinal) AS total FROM stacking_events WHERE pox_version = ?1`,
  range: query<Row, [number, number, number]>`
    SELECT ${columns} FROM stacking_events s ${joins}
     WHERE s.pox_version = ?1 AND s.ordinal BETWEEN ?2 AND ?3 ORDER BY s.ordinal DESC`,
  transaction: query<Stored<'transactions', 'position'>, [Uint8Array]>`
    SELECT position FROM transactions WHERE tx_id = ?1 ORDER BY position DESC LIMIT 1`,
  ofTransaction: query<Row, [number, number]>`
    SELECT ${columns} FROM stacking_events s ${joins}
     WHERE s.pox_version = ?1 AND s.position = ?2 ORDER BY s.event_index DESC`,
  ofStacker: query<Row, [number, number]>`
    SELECT ${columns} FROM stacking_events s ${joins}
     WHERE s.pox_version = ?1 AND s.stacker_id = ?2 ORDER BY s.ordinal DESC`,
  block: query<Stored<'blocks', 'height' | 'burn_block_height'>, [number]>`
    SELECT height, burn_block_height FROM blocks WHERE height = ?1`,
  delegations: query<Row, [...Held, number, number]>`
    SELECT ${columns} FROM delegations s ${joins}
     WHERE ${holding} ORDER BY s.position DESC, s.event_index DESC LIMIT ?6 OFFSET ?7`,
  delegationCount: query<{ total: number }, Held>`SELECT count(*) AS total FROM delegations s WHERE ${holding}`,
};

type Held = [number, number, number, number, number];

interface Row extends Stored<'transactions', 'tx_id' | 'tx_index'> {
  position: number;
  event_index: number;
  value: Uint8Array;
  contract: string;
}

/** The columns of a print: the value of its event, and the contract. */
export type PrintRow = Pick<Row, 'contract' | 'value'>;

/** Reads a stored print again. */
export function printOf({ contract, value }: PrintRow): StackingPrint {
  const reading = poxReading({ kind: 'contract_log', contractId: contract, topic: 'print', value });
  if (reading?.kind !== 'stacking') throw new Error(`a print of ${contract} can be read no more`);
  return reading.print;
}

const eventOf = (row: Row): StackingEvent => ({
  txId: row.tx_id,
  txIndex: row.tx_index,
  blockHeight: heightOf(row.position),
  eventIndex: row.event_index,
  print: printOf(row),
});

export function stackingQueries(db: Database) {
  const read = statements(db, sql);
  const { principalOf } = numbers(db);

  return {
    /** Prints of a contract, newest first. */
    events(version: StackingVersion, limit: number, offset: number): OffsetPage<StackingEvent> {
      const count = read.total.get(version)?.total ?? 0;
      return numberedPage(count, limit, offset, (first, last) => read.range.all(version, first, last).map(eventOf));
    },

    /** Stacking events of a transaction, newest first; undefined if no canonical transaction has the id. */
    ofTransaction: (version: StackingVersion, txId: Uint8Array): StackingEvent[] | undefined =>
      optional(read.transaction.get(txId), (row) => read.ofTransaction.all(version, row.position).map(eventOf)),

    /** All prints about a stacker, newest first. */
    ofStacker: (version: StackingVersion, stacker: string): StackingEvent[] =>
      read.ofStacker.all(version, principalOf(stacker)).map(eventOf),

    /** The delegations to a pool that are valid at a block, one per stacker, newest first; undefined if there is no such block. */
    delegations(
      version: StackingVersion,
      pool: string,
      { height, afterHeight }: DelegationsAt,
      limit: number,
      offset: number,
    ): OffsetPage<StackingEvent> | undefined {
      const block = read.block.get(height);
      if (block === null) return undefined;
      const [first, end] = [positionOf(afterHeight + 1, 0), positionOf(block.height + 1, 0)];
      const values = [version, principalOf(pool), first, end, block.burn_block_height] as const;
      return {
        items: read.delegations.all(...values, limit, offset).map(eventOf),
        total: read.delegationCount.get(...values)?.total ?? 0,
      };
    },
  };
}

const cycle = `SELECT c.cycle, c.height, c.signers, c.weight, c.stacked, b.index_block_hash
                 FROM reward_cycles c JOIN blocks b ON b.height = c.height`;
/** A count of a signer's stackers. @param cycle and @param key expressions of the reward cycle and the signer's key */
const stackers = (kind: number, cycle: string, key: string): string =>
  `coalesce((SELECT count FROM counters WHERE kind = ${kind} AND key = ${cycle} || '/' || hex(${key})), 0)`;
const signer = `SELECT s.signer_key, s.weight, s.stacked,
                       ${stackers(COUNTER.soloStackers, 's.cycle', 's.signer_key')} AS solo,
                       ${stackers(COUNTER.pooledStackers, 's.cycle', 's.signer_key')} AS pooled
                  FROM cycle_signers s`;

export const rewardCyclesSql = {
  total: query<{ total: number }>`SELECT count(*) AS total FROM reward_cycles`,
  chain: query<Stored<'progress', 'chain_id'>>`SELECT chain_id FROM progress`,
  page: query<CycleRow, [number, number]>`${cycle} ORDER BY c.cycle DESC LIMIT ?1 OFFSET ?2`,
  find: query<CycleRow, [number]>`${cycle} WHERE c.cycle = ?1`,
  newest: query<CycleRow>`${cycle} ORDER BY c.cycle DESC LIMIT 1`,
  signers: query<SignerRow, [number, number, number]>`
    ${signer} WHERE s.cycle = ?1 ORDER BY s.weight DESC, s.stacked DESC, s.signer_key LIMIT ?2 OFFSET ?3`,
  signerCount: query<{ total: number }, [number]>`SELECT signers AS total FROM reward_cycles WHERE cycle = ?1`,
  signer: query<SignerRow, [number, Uint8Array]>`${signer} WHERE s.cycle = ?1 AND s.signer_key = ?2`,
  stackers: query<StackerRow, [number, Uint8Array, number, number]>`
    SELECT k.address, k.role, e.value, contract.address AS contract FROM cycle_stackers k
      JOIN events e ON e.position = k.position AND e.event_index = k.event_index
      JOIN principals contract ON contract.id = e.contract_id WHERE k.cycle = ?1 AND k.signer_key = ?2
     ORDER BY k.locked DESC, k.address, k.role LIMIT ?3 OFFSET ?4`,
  stackerCount: query<{ total: number }, [number, Uint8Array]>`
    SELECT ${stackers(COUNTER.soloStackers, '?1', '?2')} + ${stackers(COUNTER.pooledStackers, '?1', '?2')} AS total`,
};

type CycleRow = Stored<'reward_cycles', 'cycle' | 'height' | 'signers' | 'weight' | 'stacked'> &
  Stored<'blocks', 'index_block_hash'>;

interface SignerRow extends Stored<'cycle_signers', 'signer_key' | 'weight' | 'stacked'> {
  solo: number;
  pooled: number;
}

interface StackerRow extends Stored<'cycle_stackers', 'address' | 'role'> {
  value: Uint8Array;
  contract: string;
}

const cycleOf = (row: CycleRow): RewardCycle => ({
  cycle: row.cycle,
  blockHeight: row.height,
  indexHash: row.index_block_hash,
  signers: row.signers,
  weight: row.weight,
  stacked: BigInt(row.stacked),
});

const signerOf = (row: SignerRow, network: Network): StackingSigner => ({
  address: addressOfKey(row.signer_key, network.kind),
  key: row.signer_key,
  weight: row.weight,
  stacked: BigInt(decimalOf(row.stacked)),
  soloStackers: row.solo,
  pooledStackers: row.pooled,
});

export type RewardCycleQueries = ReturnType<typeof rewardCycleQueries>;

export function rewardCycleQueries(db: Database) {
  const read = statements(db, rewardCyclesSql);

  const network = (): Network => networkOf(read.chain.get()?.chain_id ?? TESTNET_CHAIN_ID);

  return {
    /** Reward cycles, highest first. */
    page: (limit: number, offset: number): OffsetPage<RewardCycle> => ({
      items: read.page.all(limit, offset).map(cycleOf),
      total: read.total.get()?.total ?? 0,
    }),

    /** `current` is the highest cycle with chosen signers: in a prepare phase that is the next cycle. */
    find: (cycle: number | 'current'): RewardCycle | undefined =>
      optional(cycle === 'current' ? read.newest.get() : read.find.get(cycle), cycleOf),

    /** Signers of a cycle, heaviest first, then most stacked, then by key. */
    signers(cycle: number, limit: number, offset: number): OffsetPage<StackingSigner> {
      return {
        items: read.signers.all(cycle, limit, offset).map((row) => signerOf(row, network())),
        total: read.signerCount.get(cycle)?.total ?? 0,
      };
    },

    signer: (cycle: number, key: Uint8Array): StackingSigner | undefined =>
      optional(read.signer.get(cycle, key), (row) => signerOf(row, network())),

    /** Stackers of a signer, most locked first, then by address. */
    stackers(cycle: number, key: Uint8Array, limit: number, offset: number): OffsetPage<CycleStacker> {
      return {
        items: read.stackers
          .all(cycle, key, limit, offset)
          .map((row) => ({
            stacker: row.address,
            pooled: storedTerm.nameOf(row.role) === 'pooled',
            print: printOf(row),
          })),
        total: read.stackerCount.get(cycle, key)?.total ?? 0,
      };
    },
  };
}
