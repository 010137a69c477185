/** Staking by pox-5: bonds and what is in them, stakes, and signers' keys. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import type { BitcoinOutput } from '../../chain/pox/staking.ts';
import { table } from '../rows/table.ts';
import { KEY_ACTION } from '../rows/words.ts';
import { type BondTotals, bondTotals } from './bond-totals.ts';
import type { Dictionaries } from './dictionary.ts';
import { stakingRewardsWriter } from './staking-rewards-writer.ts';

type StakingEffect = Extract<Effect, { kind: 'staking' }>;
type Change = StakingEffect['change'];
type Of<K extends Change['kind']> = Extract<Change, { kind: K }>;

/** Where an effect stands in the chain. */
type At = Pick<StakingEffect, 'position' | 'index' | 'burnHeight'>;

interface PositionRow {
  signer_id: number;
  early_exit: number;
  active: number;
  btc_locked: string;
  stx_locked: string;
  registered_sats: string;
  enrolled_at: number;
  first_cycle: number;
  weight: string;
  weight_cycle: number;
}

interface StakeRow {
  signer_id: number;
  amount: string;
  first_cycle: number;
  unlock_cycle: number;
  unlock_height: number;
}

interface Schedule {
  first_cycle: number;
  start_height: number;
  unlock_cycle: number;
  unlock_height: number;
}

/** Transaction id, then the output's number, of each. */
const outputsColumn = (outputs: readonly BitcoinOutput[] | null): Uint8Array | null =>
  outputs === null
    ? null
    : Buffer.concat(
        outputs.flatMap(({ txId, index }) => {
          const number = new Uint8Array(4);
          new DataView(number.buffer).setUint32(0, index);
          return [txId, number];
        }),
      );

/** The reward cycle of a Bitcoin height, by what a bond says of two others. */
function cycleAt(height: number, { first_cycle, start_height, unlock_cycle, unlock_height }: Schedule): number {
  const length = (unlock_height - start_height) / (unlock_cycle - first_cycle);
  return length > 0 ? first_cycle + Math.floor((height - start_height) / length) : first_cycle;
}

/**
 * A table whose rows are the states of something after each of its events; the last is marked.
 * @param owner columns whose values say of what, before `position` and `event_index` in the key
 */
function history<Row>(db: Database, name: string, owner: readonly string[], columns: readonly string[]) {
  const where = owner.map((column, i) => `${column} = ?${i + 1}`).join(' AND ');
  const [position, index] = [`?${owner.length + 1}`, `?${owner.length + 2}`];
  const rows = table(db, name, [...owner, 'position', 'event_index', 'current', ...columns], owner.length + 2);
  const current = db.prepare<Row, number[]>(`SELECT * FROM ${name} WHERE ${where} AND current = 1`);
  const forget = db.prepare<null, number[]>(`UPDATE ${name} SET current = 0 WHERE ${where} AND current = 1`);
  const recall = db.prepare<null, number[]>(
    `UPDATE ${name} SET current = 1 WHERE (${owner.join(', ')}, position, event_index) =
       (SELECT ${owner.join(', ')}, position, event_index FROM ${name}
         WHERE ${where} AND (position, event_index) < (${position}, ${index})
         ORDER BY position DESC, event_index DESC LIMIT 1)`,
  );
  return {
    current: (...of: number[]): Row | null => current.get(...of),
    add(of: readonly number[], { position: at, index: place }: At, ...values: Parameters<typeof rows.add>): void {
      forget.run(...of);
      rows.add(...of, at, place, 1, ...values);
    },
    remove(of: readonly number[], { position: at, index: place }: At): void {
      rows.remove(...of, at, place);
      recall.run(...of, at, place);
    },
  };
}

/** What applies the effects on staking through this connection. */
export function stakingWriter(db: Database, dictionaries: Dictionaries) {
  const { principals } = dictionaries;
  const totals = bondTotals(db);
  const rewards = stakingRewardsWriter(db, dictionaries, totals);
  const addBond = db.prepare('INSERT OR IGNORE INTO bonds VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)');
  const removeBond = db.prepare('DELETE FROM bonds WHERE bond_index = ?1 AND position = ?2 AND event_index = ?3');
  const schedule = db.prepare<Schedule, [number]>(
    'SELECT first_cycle, start_height, unlock_cycle, unlock_height FROM bonds WHERE bond_index = ?1',
  );
  const allowances = table(db, 'bond_allowances', ['bond_index', 'position', 'event_index', 'staker_id', 'sats'], 3);
  const registrations = table(
    db,
    'bond_registrations',
    ['bond_index', 'position', 'event_index', 'staker_id', 'outputs'],
    3,
  );
  const positions = history<PositionRow>(
    db,
    'bond_positions',
    ['staker_id', 'bond_index'],
    [
      'address',
      'signer_id',
      'early_exit',
      'active',
      'btc_locked',
      'stx_locked',
      'registered_sats',
      'enrolled_at',
      'first_cycle',
      'weight',
      'weight_cycle',
    ],
  );
  const stakes = history<StakeRow>(
    db,
    'stakes',
    ['staker_id'],
    ['address', 'signer_id', 'amount', 'first_cycle', 'from_cycle', 'unlock_cycle', 'unlock_height'],
  );
  const keys = table(
    db,
    'signer_keys',
    ['signer_id', 'position', 'event_index', 'action', 'signer_key', 'auth_id', 'current', 'address'],
    3,
  );
  const forgetKey = db.prepare<null, [number]>(
    'UPDATE signer_keys SET current = 0 WHERE signer_id = ?1 AND current = 1',
  );
  const recallKey = db.prepare<null, [number]>(
    `UPDATE signer_keys SET current = 1 WHERE (signer_id, position, event_index) =
       (SELECT signer_id, position, event_index FROM signer_keys
         WHERE signer_id = ?1 AND action = ${KEY_ACTION.register} ORDER BY position DESC, event_index DESC LIMIT 1)`,
  );
  const count = db.prepare<null, [number, number]>(
    'UPDATE staking_totals SET bonds = bonds + ?1, signers = signers + ?2',
  );

  function changeBond(bond: Of<'bond'>, { position, index }: At, sign: 1 | -1): void {
    const { changes } =
      sign === -1
        ? removeBond.run(bond.bond, position, index)
        : addBond.run(
            bond.bond,
            position,
            index,
            bond.targetRate,
            bond.stxValueRatio,
            bond.minimumStxRatio,
            bond.firstCycle,
            bond.startHeight,
            bond.unlockCycle,
            bond.unlockHeight,
          );
    count.run(sign * changes, 0);
  }

  /** Runs a change of a position, and counts for its bond what is different after it. */
  function moved(bond: number, staker: number, registered: number, change: () => void): void {
    const before = positions.current(staker, bond);
    change();
    const after = positions.current(staker, bond);
    const difference = (column: 'btc_locked' | 'stx_locked'): bigint =>
      BigInt(after?.[column] ?? 0) - BigInt(before?.[column] ?? 0);
    const sums: Partial<BondTotals> = { btcLocked: difference('btc_locked'), stxLocked: difference('stx_locked') };
    totals.move(bond, { ...sums, registered });
  }

  /** STX that a bond locks from now on are staked without one no more. */
  function endStake({ staker, firstCycle }: Of<'registration'>, at: At): void {
    const id = principals.id(staker);
    const stake = stakes.current(id);
    if (stake === null || stake.amount === '0') return;
    const { signer_id, first_cycle, unlock_cycle, unlock_height } = stake;
    stakes.add([id], at, staker, signer_id, '0', first_cycle, firstCycle, unlock_cycle, unlock_height);
  }

  const endedStake = db.prepare<{ found: number }, [number, number, number]>(
    'SELECT 1 AS found FROM stakes WHERE staker_id = ?1 AND position = ?2 AND event_index = ?3',
  );

  function register(change: Of<'registration'>, at: At, sign: 1 | -1): void {
    const staker = principals.id(change.staker);
    const key = [staker, change.bond];
    moved(change.bond, staker, sign, () => {
      if (sign === -1) {
        if (endedStake.get(staker, at.position, at.index) !== null) stakes.remove([staker], at);
        positions.remove(key, at);
        registrations.remove(change.bond, at.position, at.index);
        return;
      }
      const [sats, stx] = [change.sats.toString(), change.stx.toString()];
      const { position, index } = at;
      registrations.add(change.bond, position, index, staker, outputsColumn(change.outputs));
      const signer = principals.id(change.signer);
      const { firstCycle } = change;
      positions.add(key, at, change.staker, signer, 0, 1, sats, stx, sats, position, firstCycle, sats, firstCycle);
      endStake(change, at);
    });
  }

  function updateRegistration(change: Of<'registration_update'>, at: At, sign: 1 | -1): void {
    const staker = principals.id(change.staker);
    const key = [staker, change.bond];
    moved(change.bond, staker, 0, () => {
      if (sign === -1) {
        positions.remove(key, at);
        return;
      }
      const [sats, stx] = [change.sats.toString(), change.stx.toString()];
      const signer = principals.id(change.signer);
      const { firstCycle } = change;
      const first = positions.current(...key)?.first_cycle ?? firstCycle;
      positions.add(key, at, change.staker, signer, 0, 1, sats, stx, sats, at.position, first, sats, firstCycle);
    });
  }

  /** @param sats what is left to earn rewards */
  function reduce(
    { bond, staker: address }: Of<'early_exit' | 'withdrawal'>,
    at: At,
    sign: 1 | -1,
    left: (before: PositionRow) => { btcLocked: string; weight: string; earlyExit: boolean; active: boolean },
  ): void {
    const staker = principals.id(address);
    const key = [staker, bond];
    const known = positions.current(...key);
    // A position that nobody registered can't be made smaller, nor was it.
    if (known === null) return;
    moved(bond, staker, 0, () => {
      if (sign === -1) {
        positions.remove(key, at);
        return;
      }
      const { btcLocked, weight, earlyExit, active } = left(known);
      const times = schedule.get(bond);
      const from = Math.max(known.first_cycle, times === null ? 0 : cycleAt(at.burnHeight, times));
      positions.add(
        key,
        at,
        address,
        known.signer_id,
        Number(earlyExit),
        Number(active),
        btcLocked,
        known.stx_locked,
        known.registered_sats,
        known.enrolled_at,
        known.first_cycle,
        weight,
        from,
      );
    });
  }

  function changeStake(change: Of<'stake' | 'stake_update'>, at: At, sign: 1 | -1): void {
    const staker = principals.id(change.staker);
    if (sign === -1) {
      stakes.remove([staker], at);
      return;
    }
    const from = change.kind === 'stake' ? change.firstCycle : change.fromCycle;
    const first = change.kind === 'stake' ? change.firstCycle : (stakes.current(staker)?.first_cycle ?? from);
    const signer = principals.id(change.signer);
    const { unlockCycle, unlockHeight } = change;
    stakes.add([staker], at, change.staker, signer, change.stx.toString(), first, from, unlockCycle, unlockHeight);
  }

  const registration = db.prepare<{ found: number }, [number]>(
    'SELECT 1 AS found FROM signer_keys WHERE signer_id = ?1 AND current = 1',
  );

  function changeKey({ action, signer: address, key, authId }: Of<'signer_key'>, at: At, sign: 1 | -1): void {
    const signer = principals.id(address);
    const registers = action === 'register';
    const known = registers && registration.get(signer) !== null;
    if (sign === 1) {
      if (registers) forgetKey.run(signer);
      const { position, index } = at;
      const auth = authId?.toString() ?? null;
      keys.add(signer, position, index, KEY_ACTION[action], key, auth, Number(registers), address);
      if (registers && !known) count.run(0, 1);
    } else {
      keys.remove(signer, at.position, at.index);
      if (!registers) return;
      recallKey.run(signer);
      if (registration.get(signer) === null) count.run(0, -1);
    }
  }

  return (effect: StakingEffect): void => {
    const { sign, change } = effect;
    switch (change.kind) {
      case 'bond':
        changeBond(change, effect, sign);
        return;
      case 'allowance': {
        const { bond, staker, sats } = change;
        if (sign === 1) allowances.add(bond, effect.position, effect.index, principals.id(staker), sats.toString());
        else allowances.remove(bond, effect.position, effect.index);
        totals.move(bond, { allowed: sign, capacity: BigInt(sign) * sats });
        return;
      }
      case 'registration':
        register(change, effect, sign);
        return;
      case 'registration_update':
        updateRegistration(change, effect, sign);
        return;
      case 'early_exit':
        reduce(change, effect, sign, ({ btc_locked }) => ({
          btcLocked: btc_locked,
          weight: '0',
          earlyExit: true,
          active: false,
        }));
        return;
      case 'withdrawal':
        reduce(change, effect, sign, ({ early_exit, active, weight }) => ({
          btcLocked: change.sats.toString(),
          // What exited early earns nothing, whatever is left of it.
          weight: weight === '0' ? weight : change.sats.toString(),
          earlyExit: early_exit === 1 || change.sats === 0n,
          active: active === 1,
        }));
        return;
      case 'stake':
      case 'stake_update':
        changeStake(change, effect, sign);
        return;
      case 'signer_key':
        changeKey(change, effect, sign);
        return;
      case 'bond_distribution':
        rewards.distribute(change, sign);
        return;
      case 'reward_calculation':
        rewards.calculate(change, sign);
        return;
      case 'reward_claim':
        rewards.claim(change, sign);
    }
  };
}
