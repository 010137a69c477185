/** Reads the queue of pending token-metadata lookups. */
import type { Database, SQLQueryBindings } from 'bun:sqlite';
import type { TokenJobItem, TokenQueue } from '../../model/token.ts';
import { decimalOf } from '../../rows/amounts.ts';
import { JOB_STATE, storedFamily, storedTokenWork, TOKEN_WORK } from '../../rows/enums.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import type { ChainQueries } from '../blocks/chain.ts';

const item = <Values extends SQLQueryBindings[]>(jobs: string) =>
  query<Row, Values>`
   SELECT j.work, j.token_id, j.tries, c.family, c.address
     FROM (${jobs}) j CROSS JOIN token_contracts c ON c.contract_id = j.contract_id`;

const untried = `SELECT work, contract_id, token_id, tries FROM token_jobs INDEXED BY token_jobs_new
  WHERE state = ${JOB_STATE.pending} AND tries = 0 AND work = ?1`;

export const sql = {
  oldest: item<[number, number]>(`${untried} ORDER BY position, contract_id, token_id LIMIT ?2`),
  newest: item<[number, number]>(`${untried} ORDER BY position DESC, contract_id DESC, token_id DESC LIMIT ?2`),
  // A finished lookup is repeated only if there was a block since then.
  again: item<[number, number, number, number]>(`
    SELECT work, contract_id, token_id, tries FROM token_jobs INDEXED BY token_jobs_again
    WHERE work = ?1 AND not_before <= ?2 AND (state <> ${JOB_STATE.done} OR asked_height < ?3) ORDER BY not_before LIMIT ?4`),
  unfinished: query<Stored<'token_contracts', 'address'>>`
    SELECT address FROM token_contracts INDEXED BY token_contracts_unfinished
     WHERE listed < last_token_id OR queued_up_to IS NOT NULL ORDER BY contract_id LIMIT 1`,
};

type Row = Stored<'token_jobs', 'work' | 'token_id' | 'tries'> & Stored<'token_contracts', 'family' | 'address'>;

const itemOf = ({ work, token_id, tries, family, address }: Row): TokenJobItem => ({
  work: storedTokenWork.nameOf(work),
  contract: address,
  family: storedFamily.nameOf(family),
  token: token_id === '' ? null : decimalOf(token_id),
  tries,
});

export function tokenQueueQueries(db: Database, chain: Pick<ChainQueries, 'tip'>) {
  const { oldest, newest, again, unfinished } = statements(db, sql);

  return {
    /**
     * Returns pending lookups of each kind in three orders, so that first tries don't wait long behind
     * lookups that keep failing.
     * @param now Unix milliseconds
     * @param limit items of each kind and order
     */
    queue(now: number, limit: number): TokenQueue {
      const tip = chain.tip();
      if (tip === null) return { tip: null, oldest: [], newest: [], again: [] };
      const each = (read: (work: number) => Row[]) =>
        Object.values(TOKEN_WORK).flatMap((work) => read(work).map(itemOf));
      return {
        tip: { height: tip.height, indexBlockHash: tip.indexBlockHash },
        oldest: each((work) => oldest.all(work, limit)),
        newest: each((work) => newest.all(work, limit)),
        again: each((work) => again.all(work, now, tip.height, limit)),
      };
    },

    /** A contract with tokens to list or queue; null if there is none. */
    toSpread: (): string | null => unfinished.get()?.address ?? null,
  };
}
