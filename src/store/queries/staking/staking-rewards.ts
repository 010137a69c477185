/** Reads a principal's stacked (pox to pox-4) and staked (pox-5) STX in each reward cycle, and its rewards. */
import type { Database } from 'bun:sqlite';
import { type CycleTimes, cycleAt, networkOf, startOfCycle, TESTNET_CHAIN_ID } from '../../../chain/network.ts';
import type { StackingPrint } from '../../../chain/pox/stacking.ts';
import {
  type BitcoinNetwork,
  nodeSpelling,
  type PoxAddress,
  poxAddressOf,
  poxAddressText,
} from '../../../codec/bitcoin-address.ts';
import { clarityValueOf, decodeArguments } from '../../../codec/clarity.ts';
import type { Cursor, CursorKey, Page } from '../../model/page.ts';
import type { StackedCycle, StakerShare } from '../../model/staking.ts';
import { NO_BOND, NO_CYCLE } from '../../rows/enums.ts';
import { heightIn } from '../../rows/expressions.ts';
import { PRECISION } from '../../rows/formats.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { type CallColumns, callArguments } from '../../rows/value-keys.ts';
import { forcedUnlockQuery } from '../accounts/locks.ts';
import { orderedList, sortedRows, up } from '../list.ts';
import { numbers } from '../numbers.ts';
import { numberAt, readPage } from '../page.ts';
import { type PrintRow, printOf } from './stacking.ts';
import { cycleTimesQuery } from './staking-cycles.ts';

const burnBlock = (position: string): string => `JOIN blocks b ON b.height = ${heightIn(position)}`;

export const sql = {
  shares: orderedList<ShareRow>(
    {
      select: 'SELECT staker_id, address, bond_index, earned, claimed FROM staking_shares',
      where: 'signer_id = ?1 AND cycle = ?2',
    },
    [up('address', 'text'), up('bond_index')],
  ),
  tip: query<Stored<'progress', 'chain_id' | 'burn_block_height'>>`SELECT chain_id, burn_block_height FROM progress`,
  newestCycle: query<{ cycle: number | null }>`SELECT max(cycle) AS cycle FROM reward_cycles`,
  locks: query<LockRow, [number, number]>`
    SELECT l.amount, l.unlock_height, b.burn_block_height, c.address AS contract, t.sender_id,
           sender.address AS sender, t.function_name, d.function_args, d.raw
      FROM stx_locks l JOIN transactions t ON t.position = l.position
      JOIN transaction_bodies d ON d.position = l.position ${burnBlock('l.position')}
      JOIN principals sender ON sender.id = t.sender_id LEFT JOIN principals c ON c.id = t.contract_id
     WHERE l.principal_id = ?1 AND l.pox_version = 1 ORDER BY l.position DESC, l.event_index DESC LIMIT ?2`,
  prints: query<PrintRow & Stored<'blocks', 'burn_block_height'>, [number, number, number]>`
    SELECT e.value, contract.address AS contract, b.burn_block_height
      FROM stacking_events s JOIN events e ON e.position = s.position AND e.event_index = s.event_index
      JOIN principals contract ON contract.id = e.contract_id ${burnBlock('s.position')}
     WHERE s.pox_version = ?1 AND s.stacker_id = ?2 ORDER BY s.ordinal DESC LIMIT ?3`,
  stakes: query<StakedRow, [number, number]>`
    SELECT ${NO_BOND} AS bond_index, amount AS stx, '0' AS sats, first_cycle, from_cycle, unlock_cycle
      FROM stakes WHERE staker_id = ?1
     ORDER BY position DESC, event_index DESC LIMIT ?2`,
  positions: query<StakedRow, [number, number]>`
    SELECT p.bond_index, p.stx_locked AS stx, p.weight AS sats, p.first_cycle, p.weight_cycle AS from_cycle, d.unlock_cycle
      FROM bond_positions p JOIN bonds d ON d.bond_index = p.bond_index WHERE p.staker_id = ?1
     ORDER BY p.bond_index DESC, p.position DESC, p.event_index DESC LIMIT ?2`,
  earnings: query<Stored<'staking_shares', 'bond_index' | 'cycle' | 'earned' | 'claimed'>, [number, number]>`
    SELECT bond_index, cycle, earned, claimed FROM staking_shares WHERE staker_id = ?1 LIMIT ?2`,
  shareCount: query<{ total: number }, [number, number]>`
    SELECT count(*) AS total FROM staking_shares WHERE signer_id = ?1 AND cycle = ?2`,
  stakeIn: query<{ stx: string }, [number, number]>`
    SELECT amount AS stx FROM stakes WHERE staker_id = ?1 AND from_cycle <= ?2
     ORDER BY position DESC, event_index DESC LIMIT 1`,
  positionIn: query<{ stx: string } & Stored<'bond_positions', 'weight'>, [number, number, number]>`
    SELECT stx_locked AS stx, weight FROM bond_positions WHERE staker_id = ?1 AND bond_index = ?2 AND weight_cycle <= ?3
     ORDER BY position DESC, event_index DESC LIMIT 1`,
  isKnown: query<{ found: number }, [number, number]>`
    SELECT 1 AS found FROM burn_blocks WHERE height >= ?1 AND height < ?2 LIMIT 1`,
  payments: query<Stored<'burn_rewards', 'recipient_ordinal'>, [string]>`
    SELECT recipient_ordinal FROM burn_rewards WHERE recipient = ?1 ORDER BY recipient_ordinal DESC LIMIT 1`,
  payment: query<Stored<'burn_rewards', 'height' | 'recipient_total'>, [string, number]>`
    SELECT height, recipient_total FROM burn_rewards WHERE recipient = ?1 AND recipient_ordinal = ?2`,
};

/** A state of a stake or of a position in a bond, which applies from a cycle on. */
type StakedRow = Stored<'bond_positions', 'bond_index'> &
  Stored<'stakes', 'first_cycle' | 'from_cycle' | 'unlock_cycle'> & { stx: string; sats: string };
type ShareRow = Stored<'staking_shares', 'staker_id' | 'address' | 'bond_index' | 'earned' | 'claimed'>;

/** Maximum number of rows of each table that a page reads, newest first. */
const MAX_ROWS = 2_000;

type LockRow = Stored<'stx_locks', 'amount' | 'unlock_height'> &
  Stored<'blocks', 'burn_block_height'> &
  Stored<'transactions', 'function_name'> &
  CallColumns & { contract: string | null; sender_id: number; sender: string };

/** Cycles with stacked STX, from a cycle up to (not including) another. */
interface Term {
  from: number;
  until: number;
  /** Micro-STX. */
  stx: bigint;
  isPooled: boolean;
  pool: string | null;
  address: string | null;
}

const textOf = (address: PoxAddress | null, network: BitcoinNetwork): string | null =>
  address === null ? null : poxAddressText(address, network);

/** The index of the Bitcoin address among the arguments of pox calls that lock STX. */
const ADDRESS_PLACES: Readonly<Record<string, number>> = { 'stack-stx': 1, 'delegate-stack-stx': 2 };

/** The pool and the Bitcoin address of a call of pox; null if another contract called pox. */
function calledWith(row: LockRow, network: BitcoinNetwork): Pick<Term, 'pool' | 'address'> {
  const place = ADDRESS_PLACES[row.function_name ?? ''];
  if (place === undefined || row.contract?.endsWith('.pox') !== true) return { pool: null, address: null };
  const spans = decodeArguments(callArguments(row));
  const value = clarityValueOf((spans.ok ? spans.value[place] : undefined) ?? new Uint8Array());
  return {
    pool: row.function_name === 'delegate-stack-stx' ? row.sender : null,
    address: value === null ? null : textOf(poxAddressOf(value), network),
  };
}

/** Prints that lock the stacker's STX. */
const LOCKING = /^(delegate-)?stack-(stx|increase|extend)$/;

/**
 * The terms that a print names: pox-4 prints the cycles; for pox-2 and pox-3, they follow from the unlock height.
 * @param cycles null if the cycles of the network are unknown
 */
function termsOf(print: StackingPrint, burnHeight: number, cycles: CycleTimes | null): Term[] {
  const { name, data, state, poxVersion, poxAddress, network } = print;
  const rest = { stx: state.locked, address: textOf(poxAddress, network) };
  if (poxVersion === 4) {
    return print.changes.flatMap((change) => {
      if (change.kind !== 'solo_term' && change.kind !== 'pooled_term') return [];
      const isPooled = change.kind === 'pooled_term';
      const pool = isPooled ? change.pool : null;
      return [{ from: change.firstCycle, until: change.endCycle, isPooled, pool, ...rest }];
    });
  }
  if (cycles === null || !LOCKING.test(name)) return [];
  const until = cycleAt(cycles, Number(state.unlockHeight));
  const length = data.lock_period ?? data.extend_count;
  const from = length === undefined ? cycleAt(cycles, burnHeight) + 1 : until - Number(length);
  const pool = typeof data.delegator === 'string' ? data.delegator : null;
  return [{ from, until, isPooled: pool !== null, pool, ...rest }];
}

const POX_5 = 5;
/** The fields that only pox-5 has, in a cycle of pox to pox-4. */
const NOT_STAKED = { bond: null, sats: 0n, earned: null, claimed: null };
/** The order inside a cycle: the newest pox first, and of pox-5 the newest bond. */
const keyOf = ({ cycle, poxVersion, bond, kind }: StackedCycle): [number, number, number] => [
  cycle,
  poxVersion,
  bond ?? (kind === 'pooled' ? 0 : -1),
];

const compareKeys = (a: CursorKey, b: CursorKey): number => {
  const index = a.findIndex((_, part) => numberAt(a, part) !== numberAt(b, part));
  return index === -1 ? 0 : numberAt(a, index) - numberAt(b, index);
};

export function stakingRewardQueries(db: Database) {
  const read = statements(db, sql);
  const { principalOf } = numbers(db);
  const cyclesOf = cycleTimesQuery(db);
  const forcedUnlocks = forcedUnlockQuery(db);

  /** Sum of the payments of Bitcoin blocks below a height to an address, in sats. A binary search finds the height. */
  function paidBefore(address: string, height: number): bigint {
    let [low, high] = [0, read.payments.get(address)?.recipient_ordinal ?? 0];
    let total = 0n;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const row = read.payment.get(address, middle);
      if (row !== null && row.height < height) {
        low = middle;
        total = BigInt(row.recipient_total);
      } else high = middle - 1;
    }
    return total;
  }

  /** Payments of a cycle's Bitcoin blocks to an address, in sats; null if the index has none of these blocks. */
  function paidIn(address: string, cycles: CycleTimes, cycle: number): bigint | null {
    const [start, end] = [startOfCycle(cycles, cycle), startOfCycle(cycles, cycle + 1)];
    if (read.isKnown.get(start, end) === null) return null;
    const recipient = nodeSpelling(address);
    return paidBefore(recipient, end) - paidBefore(recipient, start);
  }

  /** The stacked STX of one pox version, by cycle. The newest term that includes a cycle applies to it. */
  function stackedBy(version: number, terms: Iterable<Term>, end: number): StackedCycle[] {
    const cycles = new Map<string, StackedCycle>();
    for (const { from, until, stx, isPooled, pool, address } of terms) {
      for (let cycle = Math.max(0, from); cycle < Math.min(until, end); cycle++) {
        const key = `${cycle} ${isPooled}`;
        if (cycles.has(key)) continue;
        const kind = isPooled ? 'pooled' : 'solo';
        cycles.set(key, { ...NOT_STAKED, cycle, poxVersion: version, kind, pool, stx, bitcoinAddress: address });
      }
    }
    return [...cycles.values()];
  }

  function* termsOfPrints(version: number, stacker: number, cycles: CycleTimes | null): Generator<Term> {
    // A missed reward slot ends the lock, and the terms printed before it, at a cycle.
    let end = Number.POSITIVE_INFINITY;
    for (const row of read.prints.all(version, stacker, MAX_ROWS)) {
      const print = printOf(row);
      for (const term of termsOf(print, row.burn_block_height, cycles)) {
        yield { ...term, until: Math.min(term.until, end) };
      }
      const { first_unlocked_cycle: unlocked } = print.data;
      if (unlocked !== undefined) end = Math.min(end, Number(unlocked));
    }
  }

  function* termsOfLocks(stacker: number, cycles: CycleTimes, network: BitcoinNetwork): Generator<Term> {
    for (const row of read.locks.all(stacker, MAX_ROWS)) {
      const from = cycleAt(cycles, row.burn_block_height) + 1;
      const until = cycleAt(cycles, row.unlock_height);
      const isPooled = row.sender_id !== stacker;
      yield { from, until, stx: BigInt(row.amount ?? 0), isPooled, ...calledWith(row, network) };
    }
  }

  /** The staker's pox-5 position in each cycle, with its rewards so far. */
  function stakedCycles(staker: number, end: number): StackedCycle[] {
    const cycles = new Map<string, StackedCycle>();
    function add(bond: number, cycle: number, stx: bigint, sats: bigint): StackedCycle {
      const key = `${cycle} ${bond}`;
      const stackedCycle = cycles.get(key);
      if (stackedCycle !== undefined) return stackedCycle;
      const position = bond === NO_BOND ? ({ kind: 'stake', bond: null } as const) : ({ kind: 'bond', bond } as const);
      const rest = { pool: null, bitcoinAddress: null, earned: 0n, claimed: 0n };
      const added: StackedCycle = { cycle, poxVersion: POX_5, ...position, stx, sats, ...rest };
      cycles.set(key, added);
      return added;
    }

    // The states of the stake and of each bond, newest first. A state applies until the first cycle of a newer state.
    let [bond, until] = [NO_BOND, end];
    for (const state of [...read.stakes.all(staker, MAX_ROWS), ...read.positions.all(staker, MAX_ROWS)]) {
      if (state.bond_index !== bond) until = end;
      bond = state.bond_index;
      const isUnstaked = bond === NO_BOND && state.stx === '0';
      const last = isUnstaked ? 0 : Math.min(until, state.unlock_cycle);
      for (let cycle = Math.max(state.first_cycle, state.from_cycle); cycle < last; cycle++) {
        add(bond, cycle, BigInt(state.stx), BigInt(state.sats));
      }
      until = Math.min(until, state.from_cycle);
    }
    for (const { bond_index, cycle, earned, claimed } of read.earnings.all(staker, MAX_ROWS)) {
      if (cycle === NO_CYCLE) continue;
      const stackedCycle = add(bond_index, cycle, 0n, 0n);
      stackedCycle.earned = (stackedCycle.earned ?? 0n) + BigInt(earned) / PRECISION;
      stackedCycle.claimed = (stackedCycle.claimed ?? 0n) + BigInt(claimed);
    }
    return [...cycles.values()];
  }

  function shareOf(row: ShareRow, cycle: number): StakerShare {
    const { staker_id: staker, address, bond_index: bond, earned, claimed } = row;
    const isBond = bond !== NO_BOND;
    const position = isBond ? read.positionIn.get(staker, bond, cycle) : null;
    return {
      staker: address,
      bond: isBond ? bond : null,
      stx: BigInt((isBond ? position : read.stakeIn.get(staker, cycle))?.stx ?? 0),
      sats: BigInt(position?.weight ?? 0),
      earned: BigInt(earned) / PRECISION,
      claimed: BigInt(claimed),
    };
  }

  return {
    /** The stakers with rewards from a signer for a reward cycle of pox-5, by address and bond. */
    signerCycle(signer: string, cycle: number, limit: number, cursor: Cursor | null): Page<StakerShare> {
      const id = principalOf(signer);
      return readPage<ShareRow, StakerShare>({
        limit,
        cursor,
        total: read.shareCount.get(id, cycle)?.total ?? 0,
        ...read.shares([id, cycle]),
        itemOf: (row) => shareOf(row, cycle),
      });
    },

    /**
     * The reward cycles up to the present one with STX that a principal stacked or staked, newest first. Reads the newest
     * {@link MAX_ROWS} rows of each kind at most.
     */
    cycles(address: string, limit: number, cursor: Cursor | null): Page<StackedCycle> {
      const id = principalOf(address);
      const { chain_id, burn_block_height: height } = read.tip.get() ?? { chain_id: null, burn_block_height: 0 };
      const { kind: network } = networkOf(chain_id ?? TESTNET_CHAIN_ID);
      const cycles = cyclesOf(chain_id ?? TESTNET_CHAIN_ID);
      const end = (cycles === null ? (read.newestCycle.get()?.cycle ?? -1) : cycleAt(cycles, height)) + 1;
      const forced = forcedUnlocks();
      /** The cycle that begins when the locks of a version have ended, or the next one. */
      const endOf = (version: 1 | 2 | 3 | 4): number => {
        const unlock = forced[`pox_${version}`] ?? 0;
        return cycles === null || unlock === 0 ? end : Math.min(end, cycleAt(cycles, unlock - 1) + 1);
      };
      const all = [
        ...stakedCycles(id, end),
        ...([4, 3, 2] as const).flatMap((version) =>
          stackedBy(version, termsOfPrints(version, id, cycles), endOf(version)),
        ),
        ...(cycles === null ? [] : stackedBy(1, termsOfLocks(id, cycles, network), endOf(1))),
      ];
      const sorted = all.sort((a, b) => compareKeys(keyOf(b), keyOf(a)));
      return readPage<StackedCycle, StackedCycle>({
        limit,
        cursor,
        total: sorted.length,
        ...sortedRows(sorted, keyOf, (a, b) => compareKeys(b, a)),
        itemOf: (item) => {
          if (item.bitcoinAddress === null || cycles === null) return item;
          return { ...item, earned: paidIn(item.bitcoinAddress, cycles, item.cycle) };
        },
      });
    },
  };
}
