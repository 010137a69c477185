/** What a principal has, and had at any height. */
import type { Database } from 'bun:sqlite';
import type { Nonces, PendingStx, StxBalance, StxHistory } from '../model/account.ts';
import { decimalOf } from '../rows/amounts.ts';
import { prepared } from '../rows/statement.ts';
import { MEMPOOL_STATE } from '../rows/words.ts';
import { accountStates } from './account-states.ts';
import { lockQuery } from './locks.ts';
import { nonceQueries } from './nonces.ts';
import { LAST_HEIGHT } from './places.ts';

export const sql = {
  id: 'SELECT id FROM principals WHERE address = ?1',
  known: `SELECT 1 AS known FROM principals p JOIN accounts a ON a.principal_id = p.id
           WHERE p.address = ?1 AND a.transactions > 0`,
  balance: 'SELECT balance FROM accounts WHERE principal_id = ?1',
  pendingInbound: `SELECT amount FROM mempool_transactions
                    WHERE state = ${MEMPOOL_STATE.pending} AND recipient_id = ?1 AND amount IS NOT NULL`,
  pendingSent: `SELECT amount, fee, sponsor_id IS NULL AS pays FROM mempool_transactions
                 WHERE state = ${MEMPOOL_STATE.pending} AND sender_id = ?1`,
  pendingSponsored: `SELECT fee FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending} AND sponsor_id = ?1`,
};

const NONE: PendingStx = { any: false, inbound: 0n, outbound: 0n };

/** No principal has this number: what is asked of it is empty. */
const NOBODY = 0;

export function principalQueries(db: Database) {
  const id = prepared<{ id: number }, [string]>(db, sql.id);
  const known = prepared<{ known: number }, [string]>(db, sql.known);
  const balance = prepared<{ balance: string }, [number]>(db, sql.balance);
  const locked = lockQuery(db);
  const states = accountStates(db);
  const nonces = nonceQueries(db);
  const pendingInbound = prepared<{ amount: string }, [number]>(db, sql.pendingInbound);
  const pendingSent = prepared<{ amount: string | null; fee: string; pays: number }, [number]>(db, sql.pendingSent);
  const pendingSponsored = prepared<{ fee: string }, [number]>(db, sql.pendingSponsored);

  function pending(principal: number): PendingStx {
    let inbound = 0n;
    let outbound = 0n;
    const received = pendingInbound.all(principal);
    const sent = pendingSent.all(principal);
    for (const { amount } of received) inbound += BigInt(amount);
    for (const { amount, fee, pays } of sent) {
      outbound += BigInt(amount ?? 0) + (pays === 1 ? BigInt(decimalOf(fee)) : 0n);
    }
    const sponsored = pendingSponsored.all(principal);
    for (const { fee } of sponsored) outbound += BigInt(decimalOf(fee));
    return { any: received.length + sent.length + sponsored.length > 0, inbound, outbound };
  }

  return {
    /** Whether a transaction of the canonical chain concerns it. */
    isKnown: async (principal: string): Promise<boolean> => known.get(principal) !== null,

    async stxBalance(principal: string): Promise<StxBalance> {
      const found = id.get(principal)?.id;
      if (found === undefined) return { balance: 0n, locked: null, pending: NONE };
      const row = balance.get(found);
      return {
        balance: row === null ? 0n : BigInt(decimalOf(row.balance)),
        locked: locked(found, LAST_HEIGHT),
        pending: pending(found),
      };
    },

    /** History of STX up to a block, or to the tip where that is below the height. */
    async stxHistory(principal: string, height: number): Promise<StxHistory> {
      const found = id.get(principal)?.id ?? NOBODY;
      const until = Math.min(height, LAST_HEIGHT);
      return { ...states.at(found, until), locked: locked(found, until), pending: pending(found) };
    },

    nonces: async (principal: string): Promise<Nonces> => nonces(principal),
  };
}
