/** Reward cycles, who signs in them, and whose STX by pox-4 that is. */

import type { Database } from 'bun:sqlite';
import { type Network, networkOf, TESTNET_CHAIN_ID } from '../../chain/network.ts';
import { addressOfKey } from '../../codec/address.ts';
import type { OffsetPage } from '../model/page.ts';
import type { CycleStacker, RewardCycle, StackingSigner } from '../model/stacking.ts';
import { decimalOf } from '../rows/amounts.ts';
import { prepared } from '../rows/statement.ts';
import { storedTerm } from '../rows/words.ts';
import { printOf } from './stacking.ts';

const cycle = `SELECT c.cycle, c.height, c.signers, c.weight, c.stacked, b.index_block_hash
                 FROM reward_cycles c JOIN blocks b ON b.height = c.height`;
const signer = `SELECT s.signer_key, s.weight, s.stacked, coalesce(n.solo, 0) AS solo, coalesce(n.pooled, 0) AS pooled
                  FROM cycle_signers s
                  LEFT JOIN cycle_stacker_counts n ON n.cycle = s.cycle AND n.signer_key = s.signer_key`;

export const sql = {
  totals: 'SELECT cycles FROM staking_totals',
  chain: 'SELECT chain_id FROM progress',
  page: `${cycle} ORDER BY c.cycle DESC LIMIT ?1 OFFSET ?2`,
  find: `${cycle} WHERE c.cycle = ?1`,
  newest: `${cycle} ORDER BY c.cycle DESC LIMIT 1`,
  signers: `${signer} WHERE s.cycle = ?1
             ORDER BY s.weight DESC, s.stacked DESC, s.signer_key LIMIT ?2 OFFSET ?3`,
  signerCount: 'SELECT signers AS total FROM reward_cycles WHERE cycle = ?1',
  signer: `${signer} WHERE s.cycle = ?1 AND s.signer_key = ?2`,
  stackers: `SELECT k.address, k.role, e.value, contract.address AS contract
               FROM cycle_stackers k
               JOIN events e ON e.position = k.position AND e.event_index = k.event_index
               JOIN principals contract ON contract.id = e.contract_id
              WHERE k.cycle = ?1 AND k.signer_key = ?2
              ORDER BY k.locked DESC, k.address, k.role LIMIT ?3 OFFSET ?4`,
  stackerCount: 'SELECT solo + pooled AS total FROM cycle_stacker_counts WHERE cycle = ?1 AND signer_key = ?2',
};

export interface CycleRow {
  cycle: number;
  height: number;
  signers: number;
  weight: number;
  stacked: string;
  index_block_hash: Uint8Array;
}

interface SignerRow {
  signer_key: Uint8Array;
  weight: number;
  stacked: string;
  solo: number;
  pooled: number;
}

interface StackerRow {
  address: string;
  role: number;
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
  const totals = prepared<{ cycles: number }, []>(db, sql.totals);
  const chain = prepared<{ chain_id: number | null }, []>(db, sql.chain);
  const page = prepared<CycleRow, [number, number]>(db, sql.page);
  const find = prepared<CycleRow, [number]>(db, sql.find);
  const newest = prepared<CycleRow, []>(db, sql.newest);
  const signers = prepared<SignerRow, [number, number, number]>(db, sql.signers);
  const signerCount = prepared<{ total: number }, [number]>(db, sql.signerCount);
  const one = prepared<SignerRow, [number, Uint8Array]>(db, sql.signer);
  const stackers = prepared<StackerRow, [number, Uint8Array, number, number]>(db, sql.stackers);
  const stackerCount = prepared<{ total: number }, [number, Uint8Array]>(db, sql.stackerCount);

  const network = (): Network => networkOf(chain.get()?.chain_id ?? TESTNET_CHAIN_ID);

  return {
    /** Highest first. */
    async page(limit: number, offset: number): Promise<OffsetPage<RewardCycle>> {
      return { items: page.all(limit, offset).map(cycleOf), total: totals.get()?.cycles ?? 0 };
    },

    /** `current` is the highest whose signers are chosen: in a prepare phase that is the one to come. */
    async find(cycle: number | 'current'): Promise<RewardCycle | undefined> {
      const row = cycle === 'current' ? newest.get() : find.get(cycle);
      return row === null ? undefined : cycleOf(row);
    },

    /** Heaviest first, then most stacked, then by key. */
    async signers(cycle: number, limit: number, offset: number): Promise<OffsetPage<StackingSigner>> {
      return {
        items: signers.all(cycle, limit, offset).map((row) => signerOf(row, network())),
        total: signerCount.get(cycle)?.total ?? 0,
      };
    },

    async signer(cycle: number, key: Uint8Array): Promise<StackingSigner | undefined> {
      const row = one.get(cycle, key);
      return row === null ? undefined : signerOf(row, network());
    },

    /** Most locked first, then by address. */
    async stackers(cycle: number, key: Uint8Array, limit: number, offset: number): Promise<OffsetPage<CycleStacker>> {
      return {
        items: stackers.all(cycle, key, limit, offset).map((row) => ({
          stacker: row.address,
          pooled: storedTerm.wordOf(row.role) === 'pooled',
          print: printOf(row),
        })),
        total: stackerCount.get(cycle, key)?.total ?? 0,
      };
    },
  };
}
