/** What a principal has and which nonces it used. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../chain/position.ts';
import { decimalOf } from '../amounts.ts';
import type { Nonces, StxBalance } from '../model.ts';
import { prepared } from '../statement.ts';

const poxVersions = [1, 2, 3, 4] as const;

/** The value of a pox version's forced unlock: that of the newest block that says it. */
const unlockHeight = (version: number): string =>
  `(SELECT pox_${version}_unlock_height FROM blocks WHERE pox_${version}_unlock_height IS NOT NULL
     ORDER BY height DESC LIMIT 1)`;

export const sql = {
  id: 'SELECT id FROM principals WHERE address = ?1',
  balance: 'SELECT balance FROM accounts WHERE principal_id = ?1',
  lock: `SELECT l.amount, l.unlock_height, l.pox_version, l.position, l.event_index, t.tx_id, b.burn_block_height
           FROM stx_locks l JOIN transactions t ON t.position = l.position
           JOIN blocks b ON b.height = l.position >> 20
          WHERE l.principal_id = ?1 AND (?2 OR l.amount IS NOT NULL)
          ORDER BY l.position DESC, l.event_index DESC LIMIT 1`,
  tip: 'SELECT burn_block_height FROM blocks ORDER BY height DESC LIMIT 1',
  forcedUnlocks: `SELECT ${poxVersions.map((version) => `${unlockHeight(version)} AS pox_${version}`).join(', ')}`,
  pendingInbound: `SELECT amount FROM mempool_transactions
                    WHERE state = 0 AND recipient_id = ?1 AND amount IS NOT NULL`,
  pendingSent: `SELECT amount, fee, sponsor_id IS NULL AS pays FROM mempool_transactions
                 WHERE state = 0 AND sender_id = ?1`,
  pendingSponsored: 'SELECT fee FROM mempool_transactions WHERE state = 0 AND sponsor_id = ?1',
  lastNonce: `SELECT max(nonce) AS nonce FROM transactions WHERE sender_id = ?1 AND nonce IS NOT NULL`,
  lastSponsorNonce: 'SELECT max(sponsor_nonce) AS nonce FROM transactions WHERE sponsor_id = ?1',
  pendingNonces: 'SELECT nonce FROM mempool_transactions WHERE state = 0 AND sender_id = ?1',
  pendingSponsorNonces: 'SELECT sponsor_nonce AS nonce FROM mempool_transactions WHERE state = 0 AND sponsor_id = ?1',
};

interface LockRow {
  amount: string | null;
  unlock_height: number;
  pox_version: number;
  position: number;
  tx_id: Uint8Array;
  burn_block_height: number;
}

/** A node lets an account have 25 transactions wait; what lies further ahead than this is no gap of its own. */
const LARGEST_GAP = 1_000;

const greater = (a: number | null, b: number | null): number | null => (a === null || (b !== null && b > a) ? b : a);

export function principalQueries(db: Database) {
  const id = prepared<{ id: number }, [string]>(db, sql.id);
  const balance = prepared<{ balance: string }, [number]>(db, sql.balance);
  const lock = prepared<LockRow, [number, number]>(db, sql.lock);
  const tip = prepared<{ burn_block_height: number }, []>(db, sql.tip);
  const forcedUnlocks = prepared<Record<string, number | null>, []>(db, sql.forcedUnlocks);
  const pendingInbound = prepared<{ amount: string }, [number]>(db, sql.pendingInbound);
  const pendingSent = prepared<{ amount: string | null; fee: string; pays: number }, [number]>(db, sql.pendingSent);
  const pendingSponsored = prepared<{ fee: string }, [number]>(db, sql.pendingSponsored);
  const lastNonce = prepared<{ nonce: number | null }, [number]>(db, sql.lastNonce);
  const lastSponsorNonce = prepared<{ nonce: number | null }, [number]>(db, sql.lastSponsorNonce);
  const pendingNonces = prepared<{ nonce: number }, [number]>(db, sql.pendingNonces);
  const pendingSponsorNonces = prepared<{ nonce: number }, [number]>(db, sql.pendingSponsorNonces);

  function pending(principal: number): StxBalance['pending'] {
    let inbound = 0n;
    let outbound = 0n;
    for (const { amount } of pendingInbound.all(principal)) inbound += BigInt(amount);
    for (const { amount, fee, pays } of pendingSent.all(principal)) {
      outbound += BigInt(amount ?? 0) + (pays === 1 ? BigInt(decimalOf(fee)) : 0n);
    }
    for (const { fee } of pendingSponsored.all(principal)) outbound += BigInt(decimalOf(fee));
    return { inbound, outbound };
  }

  /** The node's rule: a lock ends as soon as its height, or the forced one of its version, is reached. */
  function locked(principal: number): StxBalance['locked'] {
    const last = lock.get(principal, 1);
    const burnHeight = tip.get()?.burn_block_height;
    if (last === null || burnHeight === undefined || last.unlock_height <= burnHeight) return null;
    const forced = forcedUnlocks.get()?.[`pox_${last.pox_version}`] ?? 0;
    if (forced > 0 && forced <= burnHeight) return null;
    // An early end of a lock says no amount: the lock itself does.
    const row = last.amount === null ? lock.get(principal, 0) : last;
    if (row?.amount == null || row.amount === '0') return null;
    return {
      amount: BigInt(row.amount),
      poxVersion: row.pox_version,
      txId: row.tx_id,
      blockHeight: heightOf(row.position),
      burnBlockHeight: row.burn_block_height,
      unlockHeight: last.unlock_height,
    };
  }

  return {
    async stxBalance(principal: string): Promise<StxBalance> {
      const found = id.get(principal)?.id;
      if (found === undefined) return { balance: 0n, locked: null, pending: { inbound: 0n, outbound: 0n } };
      const row = balance.get(found);
      return {
        balance: row === null ? 0n : BigInt(decimalOf(row.balance)),
        locked: locked(found),
        pending: pending(found),
      };
    },

    async nonces(principal: string): Promise<Nonces> {
      const found = id.get(principal)?.id;
      if (found === undefined) return { next: 0, lastConfirmed: null, lastPending: null, pending: [], missing: [] };
      const lastConfirmed = greater(lastNonce.get(found)?.nonce ?? null, lastSponsorNonce.get(found)?.nonce ?? null);
      const waiting = new Set<number>();
      for (const { nonce } of pendingNonces.all(found)) waiting.add(nonce);
      for (const { nonce } of pendingSponsorNonces.all(found)) waiting.add(nonce);
      const lastPending = waiting.size === 0 ? null : Math.max(...waiting);
      const last = greater(lastConfirmed, lastPending);
      const nonces: Nonces = {
        next: last === null ? 0 : last + 1,
        lastConfirmed,
        lastPending,
        pending: [],
        missing: [],
      };
      if (lastConfirmed === null || lastPending === null) return nonces;
      const first = Math.max(lastConfirmed + 1, lastPending - LARGEST_GAP);
      for (let nonce = first; nonce < lastPending; nonce++) {
        if (waiting.has(nonce)) nonces.pending.push(nonce);
        else nonces.missing.unshift(nonce);
      }
      return nonces;
    },
  };
}
