/** Staking by pox-5: signers and their stakers, stakes and rewards of a principal, and bonds. */

import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../../base/bytes-equal.ts';
import { heightOf, positionOf } from '../../../chain/position.ts';
import type { Cursor, Page } from '../../model/page.ts';
import type {
  Bond,
  BondAllowance,
  BondDetail,
  BondPosition,
  BondRegistration,
  ManagedSigner,
  Rewards,
  SignerManager,
  SignerStaker,
  StakingSigner,
  StakingSignerDetail,
  StakingSummary,
} from '../../model/staking.ts';
import { KEY_ACTION, NO_BOND } from '../../rows/enums.ts';
import { heightIn } from '../../rows/expressions.ts';
import { decimalOf, decodeOutputs } from '../../rows/formats.ts';
import { optional, query, type Stored, statements } from '../../rows/statement.ts';
import { down, orderedList, up } from '../list.ts';
import { numbers } from '../numbers.ts';
import { numberAt, readPage } from '../page.ts';
import { type CreationRow, creationJoin, toCreation } from '../transactions/summary.ts';
import type { RewardCycleQueries } from './stacking.ts';

const staking = {
  select: 'SELECT address FROM stakes',
  where: "signer_id = ?1 AND current = 1 AND amount <> '0' AND unlock_height > ?2",
};
const inBond = { select: 'SELECT address FROM bond_positions', where: 'signer_id = ?1 AND current = 1' };
const [stakingNow, inBondNow] = [staking, inBond].map(({ select, where }) => `${select} WHERE ${where}`);
const key = `SELECT o.position, o.signer_key, o.auth_id, o.action, t.tx_id, b.burn_block_height
               FROM signer_keys o JOIN transactions t ON t.position = o.position
               JOIN blocks b ON b.height = ${heightIn('o.position')}`;

/** The node's rule: a Bitcoin block ends a stake when a Stacks block follows, as for every lock. */
const tipBurnHeight = `SELECT burn_block_height FROM blocks WHERE height = (SELECT max(height) FROM blocks)`;

const byAddress = [up('address', 'text')];

export const sql = {
  signers: orderedList<SignerRow>(
    { select: 'SELECT address, signer_key FROM signer_keys', where: 'current = 1' },
    byAddress,
  ),
  stakers: orderedList<{ address: string }>([staking, inBond], byAddress, { union: 'UNION' }),
  cycleSigners: orderedList<CycleSignerRow>(
    { select: 'SELECT signer_key, weight, stacked FROM cycle_signers', where: 'cycle = ?1' },
    [down('weight'), up('signer_key', 'bytes')],
  ),
  total: query<{ total: number }>`SELECT count(*) AS total FROM signer_keys WHERE current = 1`,
  find: query<SignerRow & CreationRow, [string]>`
    SELECT o.address, o.signer_key, ${creationJoin.columns} FROM signer_keys o ${creationJoin.joins}
     WHERE o.current = 1 AND o.address = ?1`,
  tip: query<Stored<'blocks', 'burn_block_height'>>`${tipBurnHeight}`,
  stakerCount: query<{ total: number }, [number, number]>`
    SELECT count(*) AS total FROM (${stakingNow} UNION ${inBondNow} ORDER BY address)`,
  isStaking: query<Stored<'stakes', 'address'>, [number, number, string]>`${stakingNow} AND address = ?3 LIMIT 1`,
  isInBond: query<Stored<'bond_positions', 'address'>, [number, string]>`${inBondNow} AND address = ?2 LIMIT 1`,
  chosenIn: query<Stored<'reward_cycles', 'height'>, [number]>`SELECT height FROM reward_cycles WHERE cycle = ?1`,
  registrants: query<Stored<'signer_keys', 'signer_id' | 'address'>, [Uint8Array, number]>`
    SELECT signer_id, address FROM signer_keys
     WHERE action = ${KEY_ACTION.register} AND signer_key = ?1 AND position < ?2`,
  newestKey: query<KeyRow, [number, number, number]>`
    ${key} WHERE o.signer_id = ?1 AND o.action = ${KEY_ACTION.register} AND o.position >= ?2 AND o.position < ?3
     ORDER BY o.position DESC, o.event_index DESC LIMIT 1`,
  grants: query<KeyRow, [number, number]>`
    ${key} WHERE o.signer_id = ?1 AND o.action > ${KEY_ACTION.register} AND o.position < ?2
     ORDER BY o.position, o.event_index`,
};

type SignerRow = Stored<'signer_keys', 'address' | 'signer_key'>;

type CycleSignerRow = Stored<'cycle_signers', 'signer_key' | 'weight' | 'stacked'>;

type KeyRow = Stored<'signer_keys', 'position' | 'signer_key' | 'auth_id' | 'action'> &
  Stored<'transactions', 'tx_id'> &
  Stored<'blocks', 'burn_block_height'>;

const signerOf = ({ address, signer_key }: SignerRow): StakingSigner => ({ signer: address, key: signer_key });

/** Index of the cycle in a key of a cycle's signers. */
const CYCLE_PART = 2;
/** Greater than every position. */
const END = Number.MAX_SAFE_INTEGER;

function signerManagers(db: Database) {
  const { registrants, newestKey, grants } = statements(db, sql);

  /** Keys that a signer was granted and not revoked before a position. */
  function readGrants(signer: number, end: number): SignerManager['grants'] {
    const live = new Map<string, SignerManager['grants'][number]>();
    for (const { signer_key, action, auth_id, tx_id } of grants.all(signer, end)) {
      const name = signer_key.toHex();
      if (action === KEY_ACTION.grant) live.set(name, { key: signer_key, authId: auth_id ?? '0', txId: tx_id });
      else live.delete(name);
    }
    return [...live.values()].sort((a, b) => Buffer.compare(a.key, b.key));
  }

  /**
   * The contracts with the key in their last registration before the block that chose the cycle's signers.
   * @param anchor the first position in that block
   * @param end the first position in the block that chose the next cycle's signers
   */
  return (signerKey: Uint8Array, anchor: number, end: number): SignerManager[] => {
    const candidates = new Map(registrants.all(signerKey, anchor).map((row) => [row.signer_id, row.address]));
    const managers: SignerManager[] = [];
    for (const [id, address] of candidates) {
      const bound = newestKey.get(id, 0, anchor);
      if (bound === null || !bytesEqual(bound.signer_key, signerKey)) continue;
      const later = newestKey.get(id, anchor, end);
      managers.push({
        signer: address,
        registered: { height: heightOf(bound.position), burnHeight: bound.burn_block_height, txId: bound.tx_id },
        grants: readGrants(id, end),
        pending:
          later === null || bytesEqual(later.signer_key, signerKey)
            ? null
            : { key: later.signer_key, txId: later.tx_id },
      });
    }
    return managers.sort((a, b) => (a.signer < b.signer ? -1 : 1));
  };
}

export function stakingSignerQueries(db: Database, cycles: RewardCycleQueries) {
  const { total, find, tip, stakerCount, isStaking, isInBond, chosenIn, cycleSigners, stakers, signers } = statements(
    db,
    sql,
  );
  const { principalOf } = numbers(db);
  const managersOf = signerManagers(db);

  return {
    /** Every signer that registered a key at any time, by address. */
    signers: (limit: number, cursor: Cursor | null): Page<StakingSigner> =>
      readPage({ limit, cursor, total: total.get()?.total ?? 0, ...signers([]), itemOf: signerOf }),

    signer: (address: string): StakingSignerDetail | undefined =>
      optional(find.get(address), (row) => ({ ...signerOf(row), madeBy: toCreation(row) })),

    /** Principals that stake through a signer now, by address. */
    stakers(address: string, limit: number, cursor: Cursor | null): Page<SignerStaker> {
      const id = principalOf(address);
      const height = tip.get()?.burn_block_height ?? 0;
      return readPage<{ address: string }, SignerStaker>({
        limit,
        cursor,
        total: stakerCount.get(id, height)?.total ?? 0,
        ...stakers([id, height]),
        itemOf: ({ address: staker }) => ({
          staker,
          stx: isStaking.get(id, height, staker) !== null,
          btc: isInBond.get(id, staker) !== null,
        }),
      });
    },

    /**
     * Signers of a cycle, heaviest first, then by key; undefined if there is no such cycle. A walk of the current cycle
     * stays in its first cycle.
     */
    cycleSigners(id: number | 'current', limit: number, cursor: Cursor | null): Page<ManagedSigner> | undefined {
      const isContinued = id === 'current' && cursor !== null && cursor.key.length > 0;
      const cycle = cycles.find(isContinued ? numberAt(cursor.key, CYCLE_PART) : id);
      if (cycle === undefined) return undefined;
      const { cycle: number } = cycle;
      const anchor = positionOf(cycle.blockHeight, 0);
      const next = chosenIn.get(number + 1);
      const end = next === null ? END : positionOf(next.height, 0);
      const { rows, keyOf } = cycleSigners([number]);
      return readPage<CycleSignerRow, ManagedSigner>({
        limit,
        cursor,
        total: cycle.signers,
        rows,
        keyOf: (row) => [...keyOf(row), number],
        itemOf: ({ signer_key, weight, stacked }) => ({
          cycle,
          signer: { key: signer_key, weight, stacked: BigInt(decimalOf(stacked)) },
          managers: managersOf(signer_key, anchor, end),
        }),
      });
    },
  };
}

const position = `SELECT p.bond_index, p.early_exit, p.active, t.tx_id, p.btc_locked, p.stx_locked,
                         coalesce(r.accrued, '0') AS accrued, coalesce(r.claimed, '0') AS claimed
                    FROM bond_positions p JOIN transactions t ON t.position = p.enrolled_at
                    LEFT JOIN staking_rewards r ON r.staker_id = p.staker_id AND r.bond_index = p.bond_index`;

export const stakingPrincipalsSql = {
  positions: orderedList<PositionRow>({ select: position, where: 'p.staker_id = ?1 AND p.current = 1' }, [
    up('p.bond_index'),
  ]),
  tip: query<Stored<'blocks', 'burn_block_height'>>`${tipBurnHeight}`,
  stake: query<Stored<'stakes', 'amount' | 'unlock_height'>, [number]>`
    SELECT amount, unlock_height FROM stakes WHERE staker_id = ?1 ORDER BY position DESC, event_index DESC LIMIT 1`,
  // A principal has one or two bonds at a time.
  locked: query<Stored<'bond_positions', 'btc_locked' | 'stx_locked'>, [number]>`
    SELECT btc_locked, stx_locked FROM bond_positions WHERE staker_id = ?1 AND current = 1`,
  rewards: query<Stored<'staking_rewards', 'bond_index' | 'accrued' | 'claimed'>, [number]>`
    SELECT bond_index, accrued, claimed FROM staking_rewards WHERE staker_id = ?1`,
  count: query<{ total: number }, [number]>`
    SELECT count(*) AS total FROM bond_positions WHERE staker_id = ?1 AND current = 1`,
};

interface PositionRow
  extends Stored<'bond_positions', 'bond_index' | 'early_exit' | 'active' | 'btc_locked' | 'stx_locked'>,
    Stored<'transactions', 'tx_id'> {
  accrued: string;
  claimed: string;
}

const bondPositionOf = (row: PositionRow): BondPosition => ({
  bond: row.bond_index,
  earlyExit: row.early_exit === 1,
  active: row.active === 1,
  enrolledBy: row.tx_id,
  btcLocked: row.btc_locked,
  stxLocked: row.stx_locked,
  rewards: { accrued: BigInt(row.accrued), claimed: BigInt(row.claimed) },
});

export function stakingPrincipalQueries(db: Database) {
  const { tip, stake, locked, rewards, count, positions } = statements(db, stakingPrincipalsSql);
  const { principalOf } = numbers(db);

  return {
    summary(staker: string): StakingSummary {
      const id = principalOf(staker);
      const none = (): Rewards => ({ accrued: 0n, claimed: 0n });
      const stx = { locked: 0n, rewards: none() };
      const bonds = { count: 0, btcLocked: 0n, stxLocked: 0n, rewards: none() };
      const last = stake.get(id);
      if (last !== null && last.unlock_height > (tip.get()?.burn_block_height ?? 0)) stx.locked = BigInt(last.amount);
      for (const row of locked.all(id)) {
        bonds.count += 1;
        bonds.btcLocked += BigInt(row.btc_locked);
        bonds.stxLocked += BigInt(row.stx_locked);
      }
      for (const { bond_index, accrued, claimed } of rewards.all(id)) {
        const sums = bond_index === NO_BOND ? stx.rewards : bonds.rewards;
        sums.accrued += BigInt(accrued);
        sums.claimed += BigInt(claimed);
      }
      return { stx, bonds };
    },

    /** Positions in bonds, by the bond's index. */
    positions(staker: string, limit: number, cursor: Cursor | null): Page<BondPosition> {
      const id = principalOf(staker);
      const total = count.get(id)?.total ?? 0;
      return readPage({ limit, cursor, total, ...positions([id]), itemOf: bondPositionOf });
    },
  };
}

const bondColumns = `o.bond_index, o.bond_index AS "index", o.target_rate AS targetRate, o.stx_value_ratio AS stxValueRatio,
  o.minimum_stx_ratio AS minimumStxRatio, o.first_cycle AS firstCycle, o.start_height AS startHeight,
  o.unlock_cycle AS unlockCycle, o.unlock_height AS unlockHeight, o.allowed, o.capacity AS btcCapacity, o.registered,
  o.btc_locked AS btcLocked, o.stx_locked AS stxLocked, o.paid_out AS paidOut`;
const allowance = `SELECT a.position, a.event_index, s.address AS staker, a.sats
                     FROM bond_allowances a JOIN principals s ON s.id = a.staker_id`;
const registration = {
  columns: `r.position, r.event_index, s.address AS staker, g.address AS signer, p.registered_sats AS sats,
            p.stx_locked AS stx, r.outputs, t.tx_id AS txId`,
  // CROSS keeps this order for any table sizes.
  joins: `CROSS JOIN bond_positions p ON p.staker_id = r.staker_id AND p.bond_index = r.bond_index AND p.current = 1
          JOIN principals s ON s.id = r.staker_id JOIN principals g ON g.id = p.signer_id
          JOIN transactions t ON t.position = r.position`,
};

export const bondsSql = {
  bonds: orderedList<Bond>({ select: `SELECT ${bondColumns} FROM bonds o` }, [down('o.bond_index')]),
  allowances: orderedList<AllowanceRow>({ select: allowance, where: 'a.bond_index = ?1' }, [
    down('a.position'),
    up('a.event_index'),
  ]),
  registrations: orderedList<RegistrationRow>(
    {
      select: `SELECT ${registration.columns} FROM bond_registrations r ${registration.joins}`,
      where: 'r.bond_index = ?1',
    },
    [down('r.position'), down('r.event_index')],
  ),
  total: query<{ total: number }>`SELECT count(*) AS total FROM bonds`,
  find: query<Bond & CreationRow, [number]>`
    SELECT ${bondColumns}, ${creationJoin.columns} FROM bonds o ${creationJoin.joins} WHERE o.bond_index = ?1`,
  // A bond that was not set up has no counters. The contract allows at most 1,000 stakers per bond.
  allowedCount: query<{ total: number }, [number]>`
    SELECT coalesce((SELECT allowed FROM bonds WHERE bond_index = ?1),
                    (SELECT count(*) FROM bond_allowances WHERE bond_index = ?1)) AS total`,
  registeredCount: query<{ total: number }, [number]>`
    SELECT coalesce((SELECT registered FROM bonds WHERE bond_index = ?1),
                    (SELECT count(*) FROM bond_registrations WHERE bond_index = ?1)) AS total`,
  allowance: query<AllowanceRow, [number, number]>`
    ${allowance} WHERE a.bond_index = ?1 AND a.staker_id = ?2 ORDER BY a.position DESC, a.event_index DESC LIMIT 1`,
  registration: query<RegistrationRow, [number, number]>`
    SELECT ${registration.columns} FROM bond_registrations r ${registration.joins}
     WHERE r.bond_index = ?1 AND r.staker_id = ?2 ORDER BY r.position DESC, r.event_index DESC LIMIT 1`,
};

interface AllowanceRow extends Stored<'bond_allowances', 'position' | 'event_index' | 'sats'> {
  staker: string;
}

type RegistrationRow = Omit<BondRegistration, 'outputs'> &
  Stored<'bond_registrations', 'position' | 'event_index' | 'outputs'>;

const allowanceOf = ({ staker, sats }: AllowanceRow): BondAllowance => ({ staker, sats });

const registrationOf = ({ outputs, ...row }: RegistrationRow): BondRegistration => ({
  ...row,
  outputs: outputs === null ? null : decodeOutputs(outputs),
});

export function bondQueries(db: Database) {
  const { total, find, allowedCount, registeredCount, allowance, registration, registrations, allowances, bonds } =
    statements(db, bondsSql);
  const { principalOf } = numbers(db);

  return {
    /** Bonds, highest index first. */
    bonds: (limit: number, cursor: Cursor | null): Page<Bond> =>
      readPage({ limit, cursor, total: total.get()?.total ?? 0, ...bonds([]), itemOf: (bond) => bond }),

    bond: (index: number): BondDetail | undefined =>
      optional(find.get(index), (row) => ({ ...row, madeBy: toCreation(row) })),

    /** Allowances of a bond: newest transaction first, inside it in the order of its events. */
    allowances(bond: number, limit: number, cursor: Cursor | null): Page<BondAllowance> {
      const total = allowedCount.get(bond)?.total ?? 0;
      return readPage({ limit, cursor, total, ...allowances([bond]), itemOf: allowanceOf });
    },

    allowance: (bond: number, staker: string): BondAllowance | undefined =>
      optional(allowance.get(bond, principalOf(staker)), allowanceOf),

    /** Registrations of a bond, newest first. */
    registrations(bond: number, limit: number, cursor: Cursor | null): Page<BondRegistration> {
      const total = registeredCount.get(bond)?.total ?? 0;
      return readPage({ limit, cursor, total, ...registrations([bond]), itemOf: registrationOf });
    },

    registration: (bond: number, staker: string): BondRegistration | undefined =>
      optional(registration.get(bond, principalOf(staker)), registrationOf),
  };
}
