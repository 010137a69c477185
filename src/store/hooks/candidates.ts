/** Reads the canonical tables for hooks: heights where a hook may match, and interfaces of contracts. */
import type { Database } from 'bun:sqlite';
import { heightOf, positionOf } from '../../chain/position.ts';
import { DEPLOYMENTS, EVENT_KIND, STATUS } from '../rows/enums.ts';
import { query, type Stored, statements } from '../rows/statement.ts';

/** A key to search by: transactions that concern a principal, or logs of a contract. */
export interface IndexKey {
  kind: 'principal' | 'logs';
  principal: string;
}

const ofPrincipal = 'principal_transactions WHERE principal_id';
const logsOf = `events WHERE kind = ${EVENT_KIND.log} AND contract_id`;

/** The nearest position of the principal ?1 in a list: the first at or above ?2, or the last below it. */
const nearest = (list: string, side: 'position >= ?2 ORDER BY position' | 'position < ?2 ORDER BY position DESC') =>
  query<{ position: number }, [string, number]>`
    SELECT position FROM ${list} = (SELECT id FROM principals WHERE address = ?1) AND ${side} LIMIT 1`;

/** Statements by name; the plan test reads them. */
export const sql = {
  involved: nearest(ofPrincipal, 'position >= ?2 ORDER BY position'),
  logged: nearest(logsOf, 'position >= ?2 ORDER BY position'),
  lastInvolved: nearest(ofPrincipal, 'position < ?2 ORDER BY position DESC'),
  lastLogged: nearest(logsOf, 'position < ?2 ORDER BY position DESC'),
  contractInterface: query<{ text: string | null }, [string, number]>`
    SELECT b.contract_interface AS text FROM transactions t
      JOIN transaction_bodies b ON b.position = t.position
     WHERE t.contract_id = (SELECT id FROM principals WHERE address = ?1)
       AND t.type IN (${DEPLOYMENTS}) AND (t.position < ?2 OR t.genesis_block_time IS NOT NULL) AND t.status = ${STATUS.success}
     ORDER BY t.position DESC LIMIT 1`,
  tipBurnHeight: query<Stored<'blocks', 'burn_block_height'>>`
    SELECT burn_block_height FROM blocks ORDER BY height DESC LIMIT 1`,
};

export function hookCandidates(db: Database) {
  const { involved, logged, lastInvolved, lastLogged, contractInterface, tipBurnHeight } = statements(db, sql);

  /** The heights of the nearest positions of some keys, ascending. */
  const heightsBy = (keys: readonly IndexKey[], find: Record<IndexKey['kind'], typeof involved>, position: number) =>
    keys
      .flatMap(({ kind, principal }) => find[kind].get(principal, position) ?? [])
      .map((row) => heightOf(row.position))
      .sort((a, b) => a - b);

  return {
    /** Bitcoin height that the tip is anchored to; 0 before the first block. */
    tipBurnHeight: (): number => tipBurnHeight.get()?.burn_block_height ?? 0,
    /** The first height from `height` on that has one of the keys; null if none has. */
    next: (keys: readonly IndexKey[], height: number): number | null =>
      heightsBy(keys, { principal: involved, logs: logged }, positionOf(height, 0)).at(0) ?? null,
    /** The last height up to `height` that has one of the keys; null if none has. */
    previous: (keys: readonly IndexKey[], height: number): number | null =>
      heightsBy(keys, { principal: lastInvolved, logs: lastLogged }, positionOf(height + 1, 0)).at(-1) ?? null,
    /**
     * The interface of the contract deployed up to a height, or in block 0, which is in every branch: JSON; null if there is
     * none.
     */
    contractInterface: (contractId: string, height: number): string | null =>
      contractInterface.get(contractId, positionOf(height + 1, 0))?.text ?? null,
  };
}
export type HookCandidates = ReturnType<typeof hookCandidates>;
