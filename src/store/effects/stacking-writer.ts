/** Writes stacking by pox to pox-4: prints of the contracts, and the signers of reward cycles as blocks chose them. */
import type { Database } from 'bun:sqlite';
import type { EffectOf } from '../../chain/effect.ts';
import { heightOfUint, type StackingChange } from '../../chain/pox/stacking.ts';
import { sortable } from '../rows/amounts.ts';
import { TERM } from '../rows/enums.ts';
import { prepared, type Stored } from '../rows/statement.ts';
import { inserter, inserterIfAbsent, table, upserter } from '../rows/table.ts';
import {
  cycleSignersTable,
  cycleStackerCountsTable,
  cycleStackersTable,
  delegationsTable,
  rewardCyclesTable,
  stackingEventsTable,
  stackingTermsTable,
} from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';

type PrintEffect = EffectOf<'stacking_print'>;
type Term = Extract<StackingChange, { kind: 'solo_term' | 'pooled_term' | 'commitment' }>;

type TermRow = Stored<'stacking_terms', 'position' | 'event_index' | 'locked' | 'address' | 'signer_key' | 'pool_id'>;

const ROLE = { solo_term: TERM.solo, pooled_term: TERM.pooled, commitment: TERM.commitment } as const;

const stored = (height: bigint | null): number | null => (height === null ? null : heightOfUint(height));

/** Updates the stackers of reward cycles from the terms. */
function cycleStackers(db: Database) {
  const newestTerm = prepared<TermRow, [number, number, number]>(
    db,
    `SELECT position, event_index, locked, address, signer_key, pool_id FROM stacking_terms
      WHERE stacker_id = ?1 AND role = ?2 AND first_cycle <= ?3 AND end_cycle > ?3
      ORDER BY position DESC, event_index DESC LIMIT 1`,
  );
  const newestCommitment = prepared<Stored<'stacking_terms', 'signer_key'>, [number, number]>(
    db,
    `SELECT signer_key FROM stacking_terms
      WHERE stacker_id = ?1 AND role = ${TERM.commitment} AND first_cycle = ?2 AND end_cycle = ?2 + 1
      ORDER BY position DESC, event_index DESC LIMIT 1`,
  );
  const removeStacker = db.prepare<{ signer_key: Uint8Array | null }, [number, number, number]>(
    'DELETE FROM cycle_stackers WHERE cycle = ?1 AND role = ?2 AND stacker_id = ?3 RETURNING signer_key',
  );
  const addStacker = inserter(db, cycleStackersTable);
  const ofPool = db.prepare<Stored<'cycle_stackers', 'stacker_id'>, [number, number]>(
    'SELECT stacker_id FROM cycle_stackers WHERE cycle = ?1 AND pool_id = ?2',
  );
  const count = upserter(db, cycleStackerCountsTable, { summed: ['solo', 'pooled'] });
  const removeCount = db.prepare<null, [number, Uint8Array]>(
    'DELETE FROM cycle_stacker_counts WHERE cycle = ?1 AND signer_key = ?2 AND solo = 0 AND pooled = 0',
  );

  function countStacker(cycle: number, role: number, signerKey: Uint8Array | null, by: 1 | -1): void {
    if (signerKey === null) return;
    const pooled = Number(role === TERM.pooled);
    count({ cycle, signer_key: signerKey, solo: by * (1 - pooled), pooled: by * pooled });
    if (by === -1) removeCount.run(cycle, signerKey);
  }

  function refresh(cycle: number, role: number, stacker: number): void {
    const removed = removeStacker.get(cycle, role, stacker);
    if (removed !== null) countStacker(cycle, role, removed.signer_key, -1);
    const newest = newestTerm.get(stacker, role, cycle);
    if (newest === null) return;
    const { pool_id } = newest;
    const key = pool_id === null ? newest.signer_key : (newestCommitment.get(pool_id, cycle)?.signer_key ?? null);
    addStacker({ ...newest, cycle, role, stacker_id: stacker, signer_key: key });
    countStacker(cycle, role, key, 1);
  }

  return {
    refresh,
    /** Updates the rows of a pool's members after the pool committed to another signer. */
    refreshPool(cycle: number, pool: number): void {
      for (const { stacker_id } of ofPool.all(cycle, pool)) refresh(cycle, TERM.pooled, stacker_id);
    },
  };
}

/** Writes the terms: the reward cycles that prints name. */
function termWriter(db: Database, { principals }: Dictionaries) {
  const terms = table(db, stackingTermsTable);
  const stackers = cycleStackers(db);

  return ({ sign, position, index, print }: PrintEffect, change: Term): void => {
    const stacker = principals.id(print.stacker);
    const { firstCycle, endCycle } = change;
    const key = { stacker_id: stacker, role: ROLE[change.kind], position, event_index: index };
    if (sign === 1) {
      terms.add({
        ...key,
        first_cycle: firstCycle,
        end_cycle: endCycle,
        locked: sortable(print.state.locked.toString()),
        address: print.stacker,
        signer_key: change.kind === 'pooled_term' ? null : change.signerKey,
        pool_id: change.kind === 'pooled_term' ? principals.id(change.pool) : null,
      });
    } else terms.remove(key);
    if (change.kind !== 'commitment') {
      for (let cycle = firstCycle; cycle < endCycle; cycle++) stackers.refresh(cycle, key.role, stacker);
    } else if (endCycle === firstCycle + 1) stackers.refreshPool(firstCycle, stacker);
  };
}

/** Applies effects on stacking. */
export function stackingWriter(db: Database, dictionaries: Dictionaries) {
  const { principals } = dictionaries;
  const last = prepared<{ ordinal: number | null }, [number]>(
    db,
    'SELECT max(ordinal) AS ordinal FROM stacking_events WHERE pox_version = ?1',
  );
  const events = table(db, stackingEventsTable);
  const delegations = table(db, delegationsTable);
  const changeTerm = termWriter(db, dictionaries);

  return (effect: PrintEffect): void => {
    const { sign, position, index, print } = effect;
    const [pox_version, stacker_id] = [print.poxVersion, principals.id(print.stacker)];
    const ordinal = last.get(pox_version)?.ordinal ?? 0;
    if (sign === 1) events.add({ pox_version, ordinal: ordinal + 1, position, event_index: index, stacker_id });
    else events.remove({ pox_version, ordinal });
    for (const change of print.changes) {
      if (change.kind === 'delegation' || change.kind === 'revocation') {
        const key = { pox_version, pool_id: principals.id(change.pool), stacker_id, position, event_index: index };
        const unlock_height = change.kind === 'delegation' ? stored(change.unlockHeight) : null;
        if (sign === 1) delegations.add({ ...key, revoked: Number(change.kind === 'revocation'), unlock_height });
        else delegations.remove(key);
      } else if (change.kind !== 'early_unlock') changeTerm(effect, change);
    }
  };
}

/**
 * Applies effects on reward sets. If two blocks choose the set of the same cycle, the first one counts.
 */
export function rewardSetWriter(db: Database) {
  const addCycle = inserterIfAbsent(db, rewardCyclesTable);
  const removeCycle = db.prepare<null, [number, number]>('DELETE FROM reward_cycles WHERE cycle = ?1 AND height = ?2');
  const addSigner = inserter(db, cycleSignersTable);
  const removeSigners = db.prepare<null, [number]>('DELETE FROM cycle_signers WHERE cycle = ?1');
  const count = db.prepare<null, [number]>('UPDATE staking_totals SET cycles = cycles + ?1');

  return ({ sign, height, rewardSet }: EffectOf<'reward_set'>): void => {
    const { cycle } = rewardSet;
    // A key counts once in a set.
    const signers = [...new Map(rewardSet.signers.map((signer) => [signer.key.toHex(), signer])).values()];
    if (sign === -1) {
      if (removeCycle.run(cycle, height).changes === 0) return;
      removeSigners.run(cycle);
    } else {
      const weight = signers.reduce((sum, signer) => sum + signer.weight, 0);
      const stacked = signers.reduce((sum, signer) => sum + signer.stacked, 0n);
      const row = { cycle, height, signers: signers.length, weight, stacked: stacked.toString() };
      if (addCycle(row) === null) return;
      for (const { key, weight: its, stacked: amount } of signers) {
        addSigner({ cycle, signer_key: key, weight: its, stacked: sortable(amount.toString()) });
      }
    }
    count.run(sign);
  };
}
