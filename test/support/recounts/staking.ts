/** Recounts reward cycles, stackers, bonds, positions and rewards, and compares locks with them. */

import type { Database } from 'bun:sqlite';
import type { ChainEvent } from '../../../src/chain/block.ts';
import { poxReading } from '../../../src/chain/pox/reading.ts';
import type { StakingChange } from '../../../src/chain/pox/staking.ts';
import { lockQuery } from '../../../src/store/queries/accounts/locks.ts';
import { startingAccountQuery } from '../../../src/store/queries/accounts/starting-accounts.ts';
import { historyStartQuery } from '../../../src/store/queries/blocks/chain.ts';
import { COUNTER, EVENT_KIND, KEY_ACTION, NO_BOND, TERM } from '../../../src/store/rows/enums.ts';
import { decimalOf } from '../../../src/store/rows/formats.ts';
import type { Stored } from '../../../src/store/rows/statement.ts';
import { none, type Recount } from './recount.ts';

/** Signers, weight and stacked STX of each cycle. */
const cycles: Recount = {
  name: 'signers, weight and stacked STX of each reward cycle',
  *find(db) {
    const counted = new Map<number, { signers: number; weight: number; stacked: bigint }>();
    const signers = db.query<Stored<'cycle_signers', 'cycle' | 'weight' | 'stacked'>, []>(
      'SELECT cycle, weight, stacked FROM cycle_signers',
    );
    for (const { cycle, weight, stacked } of signers.iterate()) {
      const sum = counted.get(cycle) ?? { signers: 0, weight: 0, stacked: 0n };
      sum.signers += 1;
      sum.weight += weight;
      sum.stacked += BigInt(decimalOf(stacked));
      counted.set(cycle, sum);
    }
    const stored = db.query<Stored<'reward_cycles', 'cycle' | 'signers' | 'weight' | 'stacked'>, []>(
      'SELECT cycle, signers, weight, stacked FROM reward_cycles',
    );
    for (const { cycle, signers: many, weight, stacked } of stored.iterate()) {
      const sum = counted.get(cycle) ?? { signers: 0, weight: 0, stacked: 0n };
      counted.delete(cycle);
      if (sum.signers !== many || sum.weight !== weight || sum.stacked !== BigInt(stacked)) {
        yield `cycle ${cycle}: stored ${many} signers, weight ${weight}, ${stacked} stacked, ` +
          `counted ${sum.signers}, ${sum.weight}, ${sum.stacked}`;
      }
    }
    for (const cycle of counted.keys()) yield `cycle ${cycle} has signers and is not stored`;
  },
};

type TermRow = Stored<'stacking_terms', 'address' | 'stacker_id' | 'role' | 'first_cycle' | 'end_cycle'>;

const stackedCycles: Recount = {
  name: 'a row for each cycle that STX are stacked for',
  *find(db) {
    const found = db.query<{ found: number }, [number, number, number]>(
      'SELECT 1 AS found FROM cycle_stackers WHERE cycle = ?1 AND role = ?2 AND stacker_id = ?3',
    );
    const terms = db.query<TermRow, []>(
      `SELECT address, stacker_id, role, first_cycle, end_cycle FROM stacking_terms WHERE role < ${TERM.commitment}`,
    );
    for (const { address, stacker_id, role, first_cycle, end_cycle } of terms.iterate()) {
      for (let cycle = first_cycle; cycle < end_cycle; cycle++) {
        if (found.get(cycle, role, stacker_id) !== null) continue;
        yield `${address} is missing in a cycle from ${first_cycle} to ${end_cycle}`;
        break;
      }
    }
  },
};

/** Makes a check that rows are numbered from 1 without gaps. */
const numbered = (name: string, table: string, number: string, group: string): Recount =>
  none(
    name,
    `SELECT ${group} AS "of", max(${number}) AS last, count(*) AS counted FROM ${table}
      GROUP BY ${group} HAVING max(${number}) <> count(*) OR min(${number}) <> 1`,
  );

/** The running sum of rewards in each row of an address. */
const rewardTotals: Recount = {
  name: 'sums of the Bitcoin payments to each address',
  *find(db) {
    const sums = new Map<string, bigint>();
    const rows = db.query<Stored<'burn_rewards', 'recipient' | 'amount' | 'ordinal'> & { total: string }, []>(
      'SELECT recipient, amount, recipient_total AS total, ordinal FROM burn_rewards ORDER BY ordinal',
    );
    for (const { recipient, amount, total, ordinal } of rows.iterate()) {
      const sum = (sums.get(recipient) ?? 0n) + BigInt(amount);
      sums.set(recipient, sum);
      if (sum !== BigInt(total)) yield `reward ${ordinal} of ${recipient}: stored ${total}, counted ${sum}`;
    }
  },
};

export const stackingChecks: readonly Recount[] = [
  cycles,
  none(
    'stackers of each reward cycle',
    `SELECT k.address, k.cycle FROM cycle_stackers k
      WHERE (k.position, k.event_index) IS NOT
            (SELECT position, event_index FROM stacking_terms t
              WHERE t.stacker_id = k.stacker_id AND t.role = k.role AND t.first_cycle <= k.cycle AND t.end_cycle > k.cycle
              ORDER BY position DESC, event_index DESC LIMIT 1)`,
  ),
  stackedCycles,
  none(
    'counts of the stackers of each signer',
    `SELECT cycle, signer_key FROM
       (SELECT CAST(key AS INTEGER) AS cycle, unhex(substr(key, instr(key, '/') + 1)) AS signer_key,
               iif(kind = ${COUNTER.soloStackers}, count, 0) AS solo, iif(kind = ${COUNTER.pooledStackers}, count, 0) AS pooled,
               1 AS stored FROM counters WHERE kind IN (${COUNTER.soloStackers}, ${COUNTER.pooledStackers})
        UNION ALL SELECT cycle, signer_key, sum(role = ${TERM.solo}), sum(role = ${TERM.pooled}), -1 FROM cycle_stackers
                   WHERE signer_key IS NOT NULL GROUP BY cycle, signer_key)
      GROUP BY cycle, signer_key HAVING sum(solo * stored) <> 0 OR sum(pooled * stored) <> 0`,
  ),
  numbered('numbers of the stacking prints', 'stacking_events', 'ordinal', 'pox_version'),
  numbered('numbers of rewards of Bitcoin', 'burn_rewards', 'ordinal', "'rewards'"),
  numbered('numbers of rewards of each address', 'burn_rewards', 'recipient_ordinal', 'recipient'),
  numbered('numbers of reward slots', 'burn_slot_holders', 'ordinal', "'slots'"),
  numbered('numbers of reward slots of each address', 'burn_slot_holders', 'address_ordinal', 'address'),
  numbered('numbers of outputs to each address', 'pox_transactions', 'recipient_ordinal', 'recipient'),
  rewardTotals,
];

interface Totals {
  allowed: number;
  capacity: bigint;
  registered: number;
  btc: bigint;
  stx: bigint;
  paidOut: bigint;
}

interface RecountedTotals {
  bonds: Map<number, Totals>;
  /** Sats claimed, by `staker bond`. */
  claimed: Map<string, bigint>;
  /** Sats claimed, by `staker bond signer cycle`. */
  inCycles: Map<string, bigint>;
  /** Sats for bonds, stakes and the reserve, and sats that signers claimed, by cycle. */
  cycles: Map<number, bigint[]>;
}

interface PrintRow {
  contract: string;
  value: Uint8Array;
}

/** All changes by prints of pox-5, in the order of the chain. */
function* changes(db: Database): Generator<StakingChange> {
  const contracts = db.query<{ id: number; address: string }, []>(
    "SELECT id, address FROM principals WHERE address LIKE 'S_000000000000000000002%.pox-5'",
  );
  for (const { id, address } of contracts.all()) {
    const prints = db.query<PrintRow, [number]>(
      `SELECT value FROM events WHERE contract_id = ?1 AND kind = ${EVENT_KIND.log} ORDER BY position, event_index`,
    );
    for (const { value } of prints.iterate(id)) {
      const event: ChainEvent = { kind: 'contract_log', contractId: address, topic: 'print', value };
      const reading = poxReading(event);
      if (reading?.kind === 'staking') yield* reading.changes;
    }
  }
}

function recount(db: Database): RecountedTotals {
  const bonds = new Map<number, Totals>();
  const positions = new Map<string, { btc: bigint; stx: bigint }>();
  const claimed = new Map<string, bigint>();
  const inCycles = new Map<string, bigint>();
  const cycles = new Map<number, bigint[]>();
  const addTo = (cycle: number, ...amounts: bigint[]): void => {
    const sums = cycles.get(cycle) ?? [0n, 0n, 0n, 0n];
    cycles.set(
      cycle,
      sums.map((sats, column) => sats + amounts[column]!),
    );
  };
  const bond = (index: number): Totals => {
    const bond = bonds.get(index) ?? { allowed: 0, capacity: 0n, registered: 0, btc: 0n, stx: 0n, paidOut: 0n };
    bonds.set(index, bond);
    return bond;
  };
  const hold = (index: number, staker: string, btc: bigint, stx: bigint | null): void => {
    const key = `${staker} ${index}`;
    const before = positions.get(key);
    if (before === undefined && stx === null) return;
    const after = { btc, stx: stx ?? before?.stx ?? 0n };
    const totals = bond(index);
    totals.btc += after.btc - (before?.btc ?? 0n);
    totals.stx += after.stx - (before?.stx ?? 0n);
    positions.set(key, after);
  };
  for (const change of changes(db)) {
    switch (change.kind) {
      case 'allowance':
        bond(change.bond).allowed += 1;
        bond(change.bond).capacity += change.sats;
        break;
      case 'registration':
        bond(change.bond).registered += 1;
        hold(change.bond, change.staker, change.sats, change.stx);
        break;
      case 'registration_update':
        hold(change.bond, change.staker, change.sats, change.stx);
        break;
      case 'withdrawal':
        hold(change.bond, change.staker, change.sats, null);
        break;
      case 'reward_calculation':
        addTo(change.cycle, change.bondSats, change.stakeSats, change.reserveSats, 0n);
        break;
      case 'signer_claim':
        addTo(change.cycle, 0n, 0n, 0n, change.sats);
        break;
      case 'reward_claim': {
        const key = `${change.staker} ${change.bond ?? NO_BOND}`;
        claimed.set(key, (claimed.get(key) ?? 0n) + change.sats);
        const share = `${key} ${change.signer} ${change.cycle}`;
        inCycles.set(share, (inCycles.get(share) ?? 0n) + change.sats);
        if (change.bond !== null) bond(change.bond).paidOut += change.sats;
      }
    }
  }
  return { bonds, claimed, inCycles, cycles };
}

const text = ({ allowed, capacity, registered, btc, stx, paidOut }: Totals): string =>
  `${allowed} allowed ${capacity} sats, ${registered} registered, ${btc} sats and ${stx} micro-STX locked, ${paidOut} paid`;

function* bondTotals(db: Database, counted: RecountedTotals['bonds']): Generator<string> {
  const columns = 'bond_index, allowed, capacity, registered, btc_locked, stx_locked, paid_out';
  const rows = db.query<Stored<'bonds'>, []>(`SELECT ${columns} FROM bonds`);
  const none: Totals = { allowed: 0, capacity: 0n, registered: 0, btc: 0n, stx: 0n, paidOut: 0n };
  const stored = new Map<number, Totals>();
  for (const row of rows.iterate()) {
    stored.set(row.bond_index, {
      allowed: row.allowed,
      capacity: BigInt(row.capacity),
      registered: row.registered,
      btc: BigInt(row.btc_locked),
      stx: BigInt(row.stx_locked),
      paidOut: BigInt(row.paid_out),
    });
  }
  // A partial history may lack the setup of a bond, and then has no sums of it.
  for (const [index, sums] of stored) {
    const [has, should] = [text(sums), text(counted.get(index) ?? none)];
    if (has !== should) yield `bond ${index}: stored ${has}; counted ${should}`;
  }
}

/** Greater than every height. */
const TIP = Number.MAX_SAFE_INTEGER;

const PRECISION = 10n ** 18n;

/** Compares accrued rewards with their shares, and claimed ones with the prints. */
function* rewards(db: Database, { claimed, inCycles }: RecountedTotals): Generator<string> {
  const accrued = new Map<string, bigint>();
  const stored = new Map<string, bigint>();
  const shares = db.query<
    Stored<'staking_shares', 'address' | 'bond_index' | 'cycle' | 'earned' | 'claimed'> & {
      staker: string;
      signer: string;
    },
    []
  >(
    `SELECT s.address, s.bond_index, s.cycle, s.earned, s.claimed, p.address AS staker, m.address AS signer
       FROM staking_shares s JOIN principals p ON p.id = s.staker_id JOIN principals m ON m.id = s.signer_id`,
  );
  for (const { address, bond_index, cycle, earned, claimed: sats, staker, signer } of shares.iterate()) {
    if (address !== staker) yield `a share of ${staker} has the address ${address}`;
    const key = `${address} ${bond_index}`;
    accrued.set(key, (accrued.get(key) ?? 0n) + BigInt(earned) / PRECISION);
    if (sats !== '0') stored.set(`${key} ${signer} ${cycle}`, BigInt(sats));
  }
  for (const key of new Set([...stored.keys(), ...inCycles.keys()])) {
    const [has, should] = [stored.get(key) ?? 0n, inCycles.get(key) ?? 0n];
    if (has !== should) yield `${key}: stored ${has} claimed; counted ${should}`;
  }
  const seen = new Set<string>();
  const rows = db.query<
    Stored<'principals', 'address'> & Stored<'staking_rewards', 'bond_index' | 'accrued' | 'claimed'>,
    []
  >(
    'SELECT p.address, r.bond_index, r.accrued, r.claimed FROM staking_rewards r JOIN principals p ON p.id = r.staker_id',
  );
  for (const row of rows.iterate()) {
    const key = `${row.address} ${row.bond_index}`;
    seen.add(key);
    const [earned, paid] = [accrued.get(key) ?? 0n, claimed.get(key) ?? 0n];
    if (BigInt(row.accrued) === earned && BigInt(row.claimed) === paid) continue;
    yield `${key}: stored ${row.accrued} accrued, ${row.claimed} claimed; counted ${earned}, ${paid}`;
  }
  for (const [key, sats] of [...accrued, ...claimed]) {
    if (sats !== 0n && !seen.has(key)) yield `${key} has rewards that are not stored`;
  }
}

function* cycleRewards(db: Database, { cycles }: RecountedTotals): Generator<string> {
  const stored = new Map(
    db
      .query<Stored<'cycle_rewards'>, []>('SELECT * FROM cycle_rewards')
      .all()
      .map(({ cycle, bonds, stakes, reserve, claimed }) => [cycle, [bonds, stakes, reserve, claimed].join(' ')]),
  );
  for (const cycle of new Set([...stored.keys(), ...cycles.keys()])) {
    const [has, should] = [stored.get(cycle) ?? '0 0 0 0', cycles.get(cycle)?.join(' ') ?? '0 0 0 0'];
    if (has !== should) yield `rewards of cycle ${cycle}: stored ${has}; counted ${should}`;
  }
}

const bondsAndRewards: Recount = {
  name: 'bonds and rewards against the prints of pox-5',
  *find(db) {
    const counted = recount(db);
    yield* bondTotals(db, counted.bonds);
    yield* rewards(db, counted);
    yield* cycleRewards(db, counted);
  },
};

/** Locked STX must not exceed a known balance. An index that starts at a block fetches balances from its node. */
const locks: Recount = {
  name: 'locked STX against balances',
  *find(db) {
    const isBegun = historyStartQuery(db)() !== null;
    const before = startingAccountQuery(db);
    const lockedAt = lockQuery(db);
    const rows = db.query<Stored<'accounts', 'address' | 'balance'> & { id: number }, []>(
      `SELECT a.principal_id AS id, a.address, a.balance FROM accounts a
        WHERE EXISTS (SELECT 1 FROM stx_locks l WHERE l.principal_id = a.principal_id)`,
    );
    for (const { id, address, balance } of rows.iterate()) {
      const starting = before(id);
      if (isBegun && starting === null) continue;
      const has = BigInt(decimalOf(balance)) + (starting?.balance ?? 0n);
      const amount = lockedAt(id, TIP)?.amount ?? 0n;
      if (amount > has) yield `${address}: ${amount} locked of ${has} micro-STX`;
    }
  },
};

/** Makes a check that exactly the last state of something is marked. @param states a table, or some of its rows */
const current = (name: string, states: string, owner: readonly string[]): Recount =>
  none(
    name,
    `SELECT address FROM
       (SELECT address, current, row_number() OVER (PARTITION BY ${owner.join(', ')}
                                                    ORDER BY position DESC, event_index DESC) AS number FROM ${states})
      WHERE current <> (number = 1)`,
  );

export const stakingChecks: readonly Recount[] = [
  bondsAndRewards,
  locks,
  none(
    'STX locked by pox-5 against stakes and bonds',
    `SELECT p.address, l.amount FROM stx_locks l JOIN principals p ON p.id = l.principal_id
        WHERE l.pox_version = 5
          AND (l.position, l.event_index) = (SELECT position, event_index FROM stx_locks n
                                              WHERE n.principal_id = l.principal_id
                                              ORDER BY position DESC, event_index DESC LIMIT 1)
          AND NOT EXISTS (SELECT 1 FROM stakes s WHERE s.staker_id = l.principal_id AND s.current = 1
                             AND s.amount = l.amount AND s.unlock_height = l.unlock_height)
          AND NOT EXISTS (SELECT 1 FROM bond_positions b WHERE b.staker_id = l.principal_id AND b.current = 1
                             AND b.stx_locked = l.amount)`,
  ),
  current('the current position of each staker in a bond', 'bond_positions', ['staker_id', 'bond_index']),
  current('the current stake of each staker', 'stakes', ['staker_id']),
  current('the current key of each signer', `signer_keys WHERE action = ${KEY_ACTION.register}`, ['signer_id']),
];
