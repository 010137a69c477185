/** Balances of a principal, now and at any height, and its nonces: used, pending and missing. */
import type { Database } from 'bun:sqlite';
import { MAX_NONCES, type Nonces, type PendingStx, type StxBalance, type StxHistory } from '../../model/account.ts';
import { MEMPOOL_STATE } from '../../rows/enums.ts';
import { decimalOf } from '../../rows/formats.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { LAST_HEIGHT } from '../blocks/windows.ts';
import { NOBODY, numbers } from '../numbers.ts';
import { accountStates } from './account-states.ts';
import { lockQuery } from './locks.ts';
import { lastNonceIn, lastNonceOf, NO_NONCE, type StartingAccount, startingAccountQuery } from './starting-accounts.ts';

export const sql = {
  account: query<{ known: number }, [string]>`
    SELECT 1 AS known FROM principals p JOIN accounts a ON a.principal_id = p.id
     WHERE p.address = ?1 AND a.transactions > 0`,
  balance: query<Stored<'accounts', 'balance'>, [number]>`SELECT balance FROM accounts WHERE principal_id = ?1`,
  /** Pending transactions that change the balance of a principal. */
  pending: query<
    Stored<'mempool_transactions', 'sender_id' | 'sponsor_id' | 'recipient_id' | 'amount' | 'fee'>,
    [number]
  >`
    SELECT m.sender_id, m.sponsor_id, m.recipient_id, m.amount, m.fee
      FROM pending_principals q CROSS JOIN mempool_transactions m ON m.tx_id = q.tx_id
     WHERE q.principal_id = ?1
       AND (m.sender_id = ?1 OR m.sponsor_id = ?1 OR (m.recipient_id = ?1 AND m.amount IS NOT NULL))`,
};

const NONE: PendingStx = { any: false, inbound: 0n, outbound: 0n };

export function principalQueries(db: Database) {
  const read = statements(db, sql);
  const { principalOf } = numbers(db);
  const lockAt = lockQuery(db);
  const states = accountStates(db);
  const startingAccount = startingAccountQuery(db);
  const nonces = nonceQueries(db);

  function pending(principal: number): PendingStx {
    let inbound = 0n;
    let outbound = 0n;
    const rows = read.pending.all(principal);
    for (const { sender_id, sponsor_id, recipient_id, amount, fee } of rows) {
      if (recipient_id === principal) inbound += BigInt(amount ?? 0);
      if (sender_id === principal) outbound += BigInt(amount ?? 0);
      if ((sponsor_id ?? sender_id) === principal) outbound += BigInt(decimalOf(fee));
    }
    return { any: rows.length > 0, inbound, outbound };
  }

  return {
    /** Whether a canonical transaction concerns the principal. */
    isKnown: (principal: string): boolean => read.account.get(principal) !== null,

    /** @param nodeAccount the node's answer about an untouched account; null if the index has the account */
    stxBalance(principal: string, nodeAccount: StartingAccount | null = null): StxBalance {
      const principalId = principalOf(principal);
      if (principalId === NOBODY && nodeAccount === null) return { balance: 0n, locked: null, pending: NONE };
      const row = read.balance.get(principalId);
      const start = nodeAccount ?? startingAccount(principalId);
      return {
        balance: (start?.balance ?? 0n) + (row === null ? 0n : BigInt(decimalOf(row.balance))),
        locked: lockAt(principalId, LAST_HEIGHT, nodeAccount),
        pending: pending(principalId),
      };
    },

    /** History of STX up to a block, or to the tip if the tip is lower. */
    stxHistory(principal: string, height: number, nodeAccount: StartingAccount | null = null): StxHistory {
      const principalId = principalOf(principal);
      const until = Math.min(height, LAST_HEIGHT);
      const state = states.at(principalId, until, nodeAccount);
      return { ...state, locked: lockAt(principalId, until, nodeAccount), pending: pending(principalId) };
    },

    nonces: (principal: string, nodeAccount: StartingAccount | null = null): Nonces => nonces(principal, nodeAccount),
  };
}

const waiting = `mempool_transactions WHERE state = ${MEMPOOL_STATE.pending}`;

// Nonces are read as text: they go up to 2^63, and numbers are exact only below 2^53.
export const noncesSql = {
  used: query<{ nonce: string }, [number]>`
    SELECT CAST(${lastNonceIn('transactions WHERE nonce IS NOT NULL', 'transactions WHERE true')} AS TEXT) AS nonce`,
  pending: query<{ nonce: string }, [number]>`
    SELECT CAST(${lastNonceIn(waiting, waiting)} AS TEXT) AS nonce`,
  between: query<{ nonce: string }, [number, bigint, bigint]>`
    SELECT CAST(nonce AS TEXT) AS nonce FROM ${waiting} AND sender_id = ?1 AND nonce > ?2 AND nonce < ?3
    UNION ALL SELECT CAST(sponsor_nonce AS TEXT) FROM ${waiting}
                 AND sponsor_id = ?1 AND sponsor_nonce > ?2 AND sponsor_nonce < ?3`,
};

const greater = (a: bigint | null, b: bigint | null): bigint | null => (a === null || (b !== null && b > a) ? b : a);

const nextNonce = (nonce: bigint | null): bigint => (nonce === null ? 0n : nonce + 1n);

/**
 * Returns the pending and the missing nonces between two nonces. The work is bounded by the number of pending and of listed
 * nonces, however far apart the two are.
 * @param lastConfirmed null if there is none: nonces begin at 0
 * @param waiting pending nonces between them, ascending
 */
export function noncesBetween(
  lastConfirmed: bigint | null,
  lastPending: bigint,
  waiting: Iterable<bigint>,
): Pick<Nonces, 'pending' | 'missing'> {
  const pending: bigint[] = [];
  const missing: bigint[] = [];
  let next = nextNonce(lastConfirmed);
  const addMissingNonces = (end: bigint) => {
    for (; next < end && missing.length < MAX_NONCES; next++) missing.push(next);
    next = end + 1n;
  };
  for (const nonce of waiting) {
    addMissingNonces(nonce);
    if (pending.length < MAX_NONCES) pending.push(nonce);
  }
  addMissingNonces(lastPending);
  return { pending, missing: missing.reverse() };
}

function nonceQueries(db: Database) {
  const { used, pending, between } = statements(db, noncesSql);
  const { principalOf } = numbers(db);
  const startingAccount = startingAccountQuery(db);
  const nonceOf = (row: { nonce: string } | null): bigint | null =>
    row === null || row.nonce === NO_NONCE ? null : BigInt(row.nonce);

  /** Pending nonces of an account between two nonces, as origin or as sponsor, ascending. */
  const waitingBetween = (principal: number, after: bigint, before: bigint): bigint[] => {
    const nonces = between.all(principal, after, before).map(({ nonce }) => BigInt(nonce));
    return [...new Set(nonces)].sort((a, b) => (a < b ? -1 : 1));
  };

  return (principal: string, nodeAccount: StartingAccount | null): Nonces => {
    const principalId = principalOf(principal);
    const start = nodeAccount ?? startingAccount(principalId);
    const lastConfirmed = nonceOf(used.get(principalId)) ?? (start === null ? null : lastNonceOf(start));
    const lastPending = nonceOf(pending.get(principalId));
    const last = greater(lastConfirmed, lastPending);
    const lists =
      lastPending === null
        ? { pending: [], missing: [] }
        : noncesBetween(lastConfirmed, lastPending, waitingBetween(principalId, lastConfirmed ?? -1n, lastPending));
    // Without a confirmed nonce, the API's list of pending nonces has always been empty.
    if (lastConfirmed === null) lists.pending = [];
    return { next: nextNonce(last), lastConfirmed, lastPending, ...lists };
  };
}
