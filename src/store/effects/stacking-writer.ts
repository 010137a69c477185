/** Stacking by pox-2 to pox-4: the prints, what is delegated, and who stacks in which reward cycle. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { heightOfUint, type StackingChange } from '../../chain/pox/stacking.ts';
import { sortable } from '../rows/amounts.ts';
import { table } from '../rows/table.ts';
import { TERM } from '../rows/words.ts';
import type { Dictionaries } from './dictionary.ts';

type PrintEffect = Extract<Effect, { kind: 'stacking_print' }>;
type RewardSetEffect = Extract<Effect, { kind: 'reward_set' }>;
type Term = Extract<StackingChange, { kind: 'solo_term' | 'pooled_term' | 'commitment' }>;

interface TermRow {
  position: number;
  event_index: number;
  locked: string;
  address: string;
  signer_key: Uint8Array | null;
  pool_id: number | null;
}

const ROLE = { solo_term: TERM.solo, pooled_term: TERM.pooled, commitment: TERM.commitment } as const;

const stored = (height: bigint | null): number | null => (height === null ? null : heightOfUint(height));

/** What applies the effects on stacking through this connection. */
export function stackingWriter(db: Database, { principals }: Dictionaries) {
  const last = db.prepare<{ ordinal: number | null }, [number]>(
    'SELECT max(ordinal) AS ordinal FROM stacking_events WHERE pox_version = ?1',
  );
  const events = table(db, 'stacking_events', ['pox_version', 'ordinal', 'position', 'event_index', 'stacker_id'], 2);
  const delegations = table(
    db,
    'delegations',
    ['pox_version', 'pool_id', 'stacker_id', 'position', 'event_index', 'revoked', 'unlock_height'],
    5,
  );
  const terms = table(
    db,
    'stacking_terms',
    [
      'stacker_id',
      'role',
      'position',
      'event_index',
      'first_cycle',
      'end_cycle',
      'locked',
      'address',
      'signer_key',
      'pool_id',
    ],
    4,
  );
  const newestTerm = db.prepare<TermRow, [number, number, number]>(
    `SELECT position, event_index, locked, address, signer_key, pool_id FROM stacking_terms
      WHERE stacker_id = ?1 AND role = ?2 AND first_cycle <= ?3 AND end_cycle > ?3
      ORDER BY position DESC, event_index DESC LIMIT 1`,
  );
  const newestCommitment = db.prepare<{ signer_key: Uint8Array | null }, [number, number]>(
    `SELECT signer_key FROM stacking_terms
      WHERE stacker_id = ?1 AND role = ${TERM.commitment} AND first_cycle = ?2 AND end_cycle = ?2 + 1
      ORDER BY position DESC, event_index DESC LIMIT 1`,
  );
  const removeStacker = db.prepare<{ signer_key: Uint8Array | null }, [number, number, number]>(
    'DELETE FROM cycle_stackers WHERE cycle = ?1 AND role = ?2 AND stacker_id = ?3 RETURNING signer_key',
  );
  const addStacker = db.prepare('INSERT INTO cycle_stackers VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)');
  const ofPool = db.prepare<{ stacker_id: number }, [number, number]>(
    'SELECT stacker_id FROM cycle_stackers WHERE cycle = ?1 AND pool_id = ?2',
  );
  const count = db.prepare(
    `INSERT INTO cycle_stacker_counts VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (cycle, signer_key) DO UPDATE SET solo = solo + ?3, pooled = pooled + ?4`,
  );
  const removeCount = db.prepare(
    'DELETE FROM cycle_stacker_counts WHERE cycle = ?1 AND signer_key = ?2 AND solo = 0 AND pooled = 0',
  );

  function countStacker(cycle: number, role: number, signerKey: Uint8Array | null, by: 1 | -1): void {
    if (signerKey === null) return;
    const pooled = Number(role === TERM.pooled);
    count.run(cycle, signerKey, by * (1 - pooled), by * pooled);
    if (by === -1) removeCount.run(cycle, signerKey);
  }

  /** Makes the row of a stacker anew from the terms. */
  function refresh(cycle: number, role: number, stacker: number): void {
    const removed = removeStacker.get(cycle, role, stacker);
    if (removed !== null) countStacker(cycle, role, removed.signer_key, -1);
    const newest = newestTerm.get(stacker, role, cycle);
    if (newest === null) return;
    const { position, event_index, locked, address, pool_id } = newest;
    const key = pool_id === null ? newest.signer_key : (newestCommitment.get(pool_id, cycle)?.signer_key ?? null);
    addStacker.run(cycle, role, stacker, position, event_index, locked, address, key, pool_id);
    countStacker(cycle, role, key, 1);
  }

  function changeTerm({ sign, position, index, print }: PrintEffect, change: Term): void {
    const stacker = principals.id(print.stacker);
    const role = ROLE[change.kind];
    if (sign === 1) {
      const { firstCycle, endCycle } = change;
      const locked = sortable(print.state.locked.toString());
      const key = change.kind === 'pooled_term' ? null : change.signerKey;
      const pool = change.kind === 'pooled_term' ? principals.id(change.pool) : null;
      terms.add(stacker, role, position, index, firstCycle, endCycle, locked, print.stacker, key, pool);
    } else terms.remove(stacker, role, position, index);
    if (change.kind !== 'commitment') {
      for (let cycle = change.firstCycle; cycle < change.endCycle; cycle++) refresh(cycle, role, stacker);
    } else if (change.endCycle === change.firstCycle + 1) {
      for (const { stacker_id } of ofPool.all(change.firstCycle, stacker)) {
        refresh(change.firstCycle, TERM.pooled, stacker_id);
      }
    }
  }

  return (effect: PrintEffect): void => {
    const { sign, position, index, print } = effect;
    const stacker = principals.id(print.stacker);
    const ordinal = last.get(print.poxVersion)?.ordinal ?? 0;
    if (sign === 1) events.add(print.poxVersion, ordinal + 1, position, index, stacker);
    else events.remove(print.poxVersion, ordinal);
    for (const change of print.changes) {
      if (change.kind === 'delegation' || change.kind === 'revocation') {
        const key = [print.poxVersion, principals.id(change.pool), stacker, position, index] as const;
        const unlockHeight = change.kind === 'delegation' ? stored(change.unlockHeight) : null;
        if (sign === 1) delegations.add(...key, Number(change.kind === 'revocation'), unlockHeight);
        else delegations.remove(...key);
      } else if (change.kind !== 'early_unlock') changeTerm(effect, change);
    }
  };
}

/** What applies the effects on the signers of reward cycles. Of two blocks that choose the same cycle's the first counts. */
export function rewardSetWriter(db: Database) {
  const addCycle = db.prepare('INSERT OR IGNORE INTO reward_cycles VALUES (?1, ?2, ?3, ?4, ?5)');
  const removeCycle = db.prepare('DELETE FROM reward_cycles WHERE cycle = ?1 AND height = ?2');
  const addSigner = db.prepare('INSERT INTO cycle_signers VALUES (?1, ?2, ?3, ?4)');
  const removeSigners = db.prepare('DELETE FROM cycle_signers WHERE cycle = ?1');
  const count = db.prepare<null, [number]>('UPDATE staking_totals SET cycles = cycles + ?1');

  return ({ sign, height, rewardSet }: RewardSetEffect): void => {
    const { cycle } = rewardSet;
    // A key stands in a set once.
    const signers = [...new Map(rewardSet.signers.map((signer) => [signer.key.toHex(), signer])).values()];
    if (sign === -1) {
      if (removeCycle.run(cycle, height).changes === 0) return;
      removeSigners.run(cycle);
    } else {
      const weight = signers.reduce((sum, signer) => sum + signer.weight, 0);
      const stacked = signers.reduce((sum, signer) => sum + signer.stacked, 0n);
      if (addCycle.run(cycle, height, signers.length, weight, stacked.toString()).changes === 0) return;
      for (const signer of signers)
        addSigner.run(cycle, signer.key, signer.weight, sortable(signer.stacked.toString()));
    }
    count.run(sign);
  };
}
