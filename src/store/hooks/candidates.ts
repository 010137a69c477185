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

/** Statements by name; the plan test reads them. */
export const sql = {
  involved: query<Stored<'principal_transactions', 'position'>, [string, number]>`
    SELECT position FROM principal_transactions
     WHERE principal_id = (SELECT id FROM principals WHERE address = ?1) AND position >= ?2 ORDER BY position LIMIT 1`,
  logged: query<Stored<'events', 'position'>, [string, number]>`
    SELECT position FROM events
     WHERE contract_id = (SELECT id FROM principals WHERE address = ?1) AND kind = ${EVENT_KIND.log} AND position >= ?2
     ORDER BY position, event_index LIMIT 1`,
  lastInvolved: query<Stored<'principal_transactions', 'position'>, [string, number]>`
    SELECT position FROM principal_transactions
     WHERE principal_id = (SELECT id FROM principals WHERE address = ?1) AND position < ?2
     ORDER BY position DESC LIMIT 1`,
  lastLogged: query<Stored<'events', 'position'>, [string, number]>`
    SELECT position FROM events
     WHERE contract_id = (SELECT id FROM principals WHERE address = ?1) AND kind = ${EVENT_KIND.log} AND position < ?2
     ORDER BY position DESC, event_index DESC LIMIT 1`,
  contractInterface: query<{ text: string | null }, [string, number]>`
    SELECT b.contract_interface AS text FROM transactions t
      JOIN transaction_bodies b ON b.position = t.position
     WHERE t.contract_id = (SELECT id FROM principals WHERE address = ?1)
       AND t.type IN (${DEPLOYMENTS}) AND (t.position < ?2 OR t.genesis_block_time IS NOT NULL) AND t.status = ${STATUS.success}
     ORDER BY t.position DESC LIMIT 1`,
  tipBurnHeight: query<Stored<'blocks', 'burn_block_height'>>`
    SELECT burn_block_height FROM blocks ORDER BY height DESC LIMIT 1`,
};

const heights = (rows: readonly ({ position: number } | null)[]): number[] =>
  rows.filter((row) => row !== null).map(({ position }) => heightOf(position));

export function hookCandidates(db: Database) {
  const { involved, logged, lastInvolved, lastLogged, contractInterface, tipBurnHeight } = statements(db, sql);
  return {
    /** Bitcoin height that the tip is anchored to; 0 before the first block. */
    tipBurnHeight: (): number => tipBurnHeight.get()?.burn_block_height ?? 0,
    /** The first height from `height` on that has one of the keys; null if none has. */
    next(keys: readonly IndexKey[], height: number): number | null {
      const rows = keys.map(({ kind, principal }) =>
        (kind === 'logs' ? logged : involved).get(principal, positionOf(height, 0)),
      );
      const candidates = heights(rows);
      return candidates.length === 0 ? null : Math.min(...candidates);
    },
    /** The last height up to `height` that has one of the keys; null if none has. */
    previous(keys: readonly IndexKey[], height: number): number | null {
      const rows = keys.map(({ kind, principal }) =>
        (kind === 'logs' ? lastLogged : lastInvolved).get(principal, positionOf(height + 1, 0)),
      );
      const candidates = heights(rows);
      return candidates.length === 0 ? null : Math.max(...candidates);
    },
    /**
     * The interface of the contract deployed up to a height, or in block 0, which is in every branch: JSON; null if there is
     * none.
     */
    contractInterface: (contractId: string, height: number): string | null =>
      contractInterface.get(contractId, positionOf(height + 1, 0))?.text ?? null,
  };
}
export type HookCandidates = ReturnType<typeof hookCandidates>;
