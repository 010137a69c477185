/** Writes stacking by pox to pox-4: prints of the contracts, and the signers of reward cycles as blocks chose them. */
import type { Database } from 'bun:sqlite';
import type { EffectOf } from '../../chain/effect.ts';
import { heightOfUint, type StackingChange } from '../../chain/pox/stacking.ts';
import { COUNTER, TERM } from '../rows/enums.ts';
import { sortable } from '../rows/formats.ts';
import { query, type Stored } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import {
  cycleSignersTable,
  cycleStackersTable,
  delegationsTable,
  rewardCyclesTable,
  stackingEventsTable,
  stackingTermsTable,
} from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';
import { counter } from './hot-rows.ts';

type PrintEffect = EffectOf<'stacking_print'>;
type Term = Extract<StackingChange, { kind: 'solo_term' | 'pooled_term' | 'commitment' }>;

type Place = Stored<'stacking_terms', 'position' | 'event_index'>;
type TermRow = Place & Stored<'stacking_terms', 'locked' | 'address' | 'signer_key' | 'pool_id' | 'pox_address'>;
type KeyRow = Stored<'stacking_terms', 'signer_key'>;

const ROLE = { solo_term: TERM.solo, pooled_term: TERM.pooled, commitment: TERM.commitment } as const;

/** The terms of role ?2 of principal ?1 for the cycle ?3. */
const termsFor = 'stacking_terms WHERE stacker_id = ?1 AND role = ?2 AND first_cycle <= ?3 AND end_cycle > ?3';
/** The commitments of pool ?1 for the cycle ?2 with the Bitcoin address ?3. */
const commitmentsFor = `stacking_terms WHERE stacker_id = ?1 AND role = ${TERM.commitment}
                         AND first_cycle = ?2 AND end_cycle = ?2 + 1 AND pox_address IS ?3`;

const toColumn = (height: bigint | null): number | null => (height === null ? null : heightOfUint(height));

function cycleStackers(db: Database) {
  const newestTerm = query<TermRow, [number, number, number]>`
    SELECT position, event_index, locked, address, signer_key, pool_id, pox_address FROM ${termsFor}
     ORDER BY position DESC, event_index DESC LIMIT 1`.prepared(db);
  const oldestOfPool = query<Place, [number, number, number, number, Uint8Array | null]>`
    SELECT position, event_index FROM ${termsFor} AND pool_id = ?4 AND pox_address IS ?5
     ORDER BY position, event_index LIMIT 1`.prepared(db);
  const commitmentAfter = query<KeyRow, [number, number, Uint8Array | null, number, number]>`
    SELECT signer_key FROM ${commitmentsFor} AND (position, event_index) > (?4, ?5)
     ORDER BY position, event_index LIMIT 1`.prepared(db);
  const commitmentBefore = query<KeyRow, [number, number, Uint8Array | null, number, number]>`
    SELECT signer_key FROM ${commitmentsFor} AND (position, event_index) < (?4, ?5)
     ORDER BY position DESC, event_index DESC LIMIT 1`.prepared(db);
  const stackers = table(db, cycleStackersTable);
  const membersOfPool = query<Stored<'cycle_stackers', 'stacker_id'>, [number, number, Uint8Array | null]>`
    SELECT k.stacker_id FROM cycle_stackers k INDEXED BY cycle_stackers_by_pool
      JOIN stacking_terms t ON t.stacker_id = k.stacker_id AND t.role = k.role
                           AND t.position = k.position AND t.event_index = k.event_index
     WHERE k.cycle = ?1 AND k.pool_id = ?2 AND t.pox_address IS ?3`.prepared(db);
  const countSolo = counter(db, COUNTER.soloStackers);
  const countPooled = counter(db, COUNTER.pooledStackers);

  function countStacker(cycle: number, role: number, signerKey: Uint8Array | null, by: 1 | -1): void {
    if (signerKey === null) return;
    const count = role === TERM.pooled ? countPooled : countSolo;
    count(`${cycle}/${signerKey.toHex().toUpperCase()}`, by);
  }

  /**
   * The signer of a pool's member. The contract collects the STX of the pool's members by Bitcoin address and cycle, and a
   * commitment takes all that it has collected: the first one after the member joined. If there is none, the pool may add the
   * STX to its last commitment.
   */
  function signerOfMember(stacker: number, cycle: number, pool: number, address: Uint8Array | null): Uint8Array | null {
    const joined = oldestOfPool.get(stacker, TERM.pooled, cycle, pool, address);
    if (joined === null) throw new Error('the newest term is one of the pool');
    const key = [pool, cycle, address, joined.position, joined.event_index] as const;
    return (commitmentAfter.get(...key) ?? commitmentBefore.get(...key))?.signer_key ?? null;
  }

  function refresh(cycle: number, role: number, stacker: number): void {
    const stackerKey = { cycle, role, stacker_id: stacker };
    const before = stackers.find(stackerKey);
    if (before !== null) {
      stackers.remove(stackerKey);
      countStacker(cycle, role, before.signer_key, -1);
    }
    const newest = newestTerm.get(stacker, role, cycle);
    if (newest === null) return;
    const { pox_address, ...row } = newest;
    const key = row.pool_id === null ? row.signer_key : signerOfMember(stacker, cycle, row.pool_id, pox_address);
    stackers.add({ ...row, ...stackerKey, signer_key: key });
    countStacker(cycle, role, key, 1);
  }

  return {
    refresh,
    /** Updates the rows of a pool's members after the pool committed the STX with a Bitcoin address. */
    refreshPool(cycle: number, pool: number, address: Uint8Array | null): void {
      for (const { stacker_id } of membersOfPool.all(cycle, pool, address)) refresh(cycle, TERM.pooled, stacker_id);
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
    const { poxAddress } = print;
    const pox_address = poxAddress === null ? null : Uint8Array.of(poxAddress.version, ...poxAddress.hashBytes);
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
        pox_address,
      });
    } else terms.remove(key);
    if (change.kind !== 'commitment') {
      for (let cycle = firstCycle; cycle < endCycle; cycle++) stackers.refresh(cycle, key.role, stacker);
    } else if (endCycle === firstCycle + 1) stackers.refreshPool(firstCycle, stacker, pox_address);
  };
}

/** Applies effects on stacking. */
export function stackingWriter(db: Database, dictionaries: Dictionaries) {
  const { principals } = dictionaries;
  const newestEvent = query<{ ordinal: number | null }, [number]>`
    SELECT max(ordinal) AS ordinal FROM stacking_events WHERE pox_version = ?1`.prepared(db);
  const events = table(db, stackingEventsTable);
  const delegations = table(db, delegationsTable);
  const changeTerm = termWriter(db, dictionaries);

  return (effect: PrintEffect): void => {
    const { sign, position, index, print } = effect;
    const [pox_version, stacker_id] = [print.poxVersion, principals.id(print.stacker)];
    const ordinal = newestEvent.get(pox_version)?.ordinal ?? 0;
    if (sign === 1) events.add({ pox_version, ordinal: ordinal + 1, position, event_index: index, stacker_id });
    else events.remove({ pox_version, ordinal });
    for (const change of print.changes) {
      if (change.kind === 'delegation' || change.kind === 'revocation') {
        const key = { pox_version, pool_id: principals.id(change.pool), stacker_id, position, event_index: index };
        const unlock_height = change.kind === 'delegation' ? toColumn(change.unlockHeight) : null;
        delegations.move(sign, { ...key, revoked: Number(change.kind === 'revocation'), unlock_height });
      } else if (change.kind !== 'early_unlock') changeTerm(effect, change);
    }
  };
}

/**
 * Applies effects on reward sets. If two blocks choose the set of the same cycle, the first one counts.
 */
export function rewardSetWriter(db: Database) {
  const { addIfAbsent: addCycle } = table(db, rewardCyclesTable);
  const removeCycle = query<null, [number, number]>`
    DELETE FROM reward_cycles WHERE cycle = ?1 AND height = ?2`.prepared(db);
  const { add: addSigner } = table(db, cycleSignersTable);
  const removeSigners = query<null, [number]>`DELETE FROM cycle_signers WHERE cycle = ?1`.prepared(db);

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
      for (const { key, weight: signerWeight, stacked: amount } of signers) {
        addSigner({ cycle, signer_key: key, weight: signerWeight, stacked: sortable(amount.toString()) });
      }
    }
  };
}
