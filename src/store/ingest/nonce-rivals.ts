/**
 * Rivals: transactions that spend the same nonce. Decides which of them is pending, and which ones it replaces.
 *
 * An account has one counter, for the nonces that it spends as origin and as sponsor. So a confirmed transaction rules out
 * every other transaction that spends its origin's or its payer's nonce, in either role. A node compares pending transactions
 * less strictly: if two have the same origin and nonce, the higher fee stays. If two share only the payer's nonce, the later
 * one stays, whatever its fee.
 */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../base/bytes-equal.ts';
import type { TransactionContent } from '../../chain/block.ts';
import type { Dictionaries } from '../effects/dictionary.ts';
import { MEMPOOL_STATE } from '../rows/enums.ts';
import { query, type Stored } from '../rows/statement.ts';
import type { MempoolRows } from './mempool-rows.ts';
import { type MempoolRow, type Spends, usersOfNonces } from './stored-rows.ts';

const { pending: PENDING, replaced_by_fee: REPLACED, replaced_and_dropped: REPLACED_AND_DROPPED } = MEMPOOL_STATE;

const spendsOfRow = ({ sender_id, nonce, sponsor_id, sponsor_nonce }: MempoolRow): Spends => ({
  sender: sender_id,
  nonce: BigInt(nonce),
  payer: sponsor_id ?? sender_id,
  payerNonce: BigInt(sponsor_nonce ?? nonce),
});

/** Keys of a row's two nonces: the origin's and the payer's. */
const originOf = ({ sender_id, nonce }: MempoolRow): string => `${sender_id} ${nonce}`;
const payerOf = ({ sender_id, nonce, sponsor_id, sponsor_nonce }: MempoolRow): string =>
  `${sponsor_id ?? sender_id} ${sponsor_nonce ?? nonce}`;

const keyOf = ({ tx_id }: MempoolRow): string => tx_id.toHex();

/**
 * Returns whether a transaction may replace a row: it is pending or replaced. A row that was dropped for another reason stays
 * dropped.
 */
const isReplaceable = ({ state }: MempoolRow): boolean =>
  state === PENDING || state === REPLACED || state === REPLACED_AND_DROPPED;

const byArrival = (a: MempoolRow, b: MempoolRow): number => a.received_at - b.received_at || a.order - b.order;

/** A canonical transaction. */
export type Mined = Stored<'transactions', 'tx_id' | 'position'>;

/** Finds the canonical transactions that spent one of these nonces. The list may contain a transaction twice. */
function minedUsers(db: Database): (spends: Spends) => Mined[] {
  const users = query<Mined, [number, bigint, number, bigint]>`
    ${usersOfNonces('SELECT tx_id, position FROM transactions WHERE')}`.prepared(db);
  return ({ sender, nonce, payer, payerNonce }) => users.all(sender, nonce, payer, payerNonce);
}

/** Resolves which of several rivals is pending. */
export function nonceRivals(db: Database, { principals }: Dictionaries, rows: MempoolRows) {
  const spenders = minedUsers(db);

  /** The newest canonical transaction that spent one of these nonces; null if none did. */
  function minedBy(spends: Spends): Uint8Array | null {
    const [first, ...others] = spenders(spends);
    if (first === undefined) return null;
    return others.reduce((newest, row) => (row.position > newest.position ? row : newest), first).tx_id;
  }

  /** Rows that spend one of these nonces. */
  function users(spends: Spends): MempoolRow[] {
    const rivals = rows.using(spends);
    return rivals.length < 2 ? rivals : [...new Map(rivals.map((row) => [keyOf(row), row])).values()];
  }

  /** Replaces a row. A row that the node dropped stays dropped, whichever transaction replaces it. */
  const replace = (row: MempoolRow, winner: Uint8Array): void =>
    rows.move(row, row.state === REPLACED_AND_DROPPED ? REPLACED_AND_DROPPED : REPLACED, winner);

  function spendsOf({ sender, sponsor }: TransactionContent): Spends {
    const id = principals.id(sender.address);
    return {
      sender: id,
      nonce: sender.nonce,
      payer: sponsor === null ? id : principals.id(sponsor.address),
      payerNonce: sponsor === null ? sender.nonce : sponsor.nonce,
    };
  }

  /**
   * Finds all rows that share a nonce with a pending row, directly or through other rows. It looks up each nonce once: an
   * account may replace a transaction thousands of times, and a fork restores all of them.
   * @returns the pending rows, and all rows in any state, by the nonce of their origin
   */
  function connected(first: MempoolRow): { waiting: MempoolRow[]; byOrigin: Map<string, MempoolRow[]> } {
    const waiting = new Map([[keyOf(first), first]]);
    const byOrigin = new Map<string, MempoolRow[]>();
    const payers = new Set<string>();
    const join = (rivals: readonly MempoolRow[]) => {
      for (const row of rivals) if (row.state === PENDING && !waiting.has(keyOf(row))) waiting.set(keyOf(row), row);
    };
    for (const row of waiting.values()) {
      const { sender, nonce, payer, payerNonce } = spendsOfRow(row);
      const [origin, paidBy] = [originOf(row), payerOf(row)];
      if (!byOrigin.has(origin)) {
        const spent = users({ sender, nonce, payer: sender, payerNonce: nonce });
        const ofOrigin = spent.filter((other) => originOf(other) === origin);
        byOrigin.set(origin, ofOrigin);
        join(ofOrigin);
      }
      if (payers.has(paidBy)) continue;
      payers.add(paidBy);
      const spent = users({ sender: payer, nonce: payerNonce, payer, payerNonce });
      join(spent.filter((other) => payerOf(other) === paidBy));
    }
    return { waiting: [...waiting.values()].sort(byArrival), byOrigin };
  }

  /**
   * Returns whether a pending row has no rivals, which is the common case.
   * @param isUnspent whether no canonical transaction spent its nonces
   */
  function isAlone(row: MempoolRow, isUnspent: boolean): boolean {
    const spends = spendsOfRow(row);
    const isOnly = rows.using(spends).every(({ tx_id }) => bytesEqual(tx_id, row.tx_id));
    return isOnly && (isUnspent || spenders(spends).length === 0);
  }

  /**
   * Decides whether a row and its rivals stay pending or are replaced, as a node's mempool does that received them in this
   * order.
   * @returns the keys of all rows that were pending
   */
  function resolveRow(pending: MempoolRow): string[] {
    const { waiting, byOrigin } = connected(pending);
    const beaten = new Map<string, { row: MempoolRow; winner: Uint8Array }>();
    const beat = (row: MempoolRow, winner: Uint8Array) => beaten.set(keyOf(row), { row, winner });
    // Only one transaction for each nonce of an origin or payer can be valid.
    const [winners, paying] = [new Map<string, MempoolRow>(), new Map<string, MempoolRow>()];
    for (const row of waiting) {
      const [origin, payer] = [originOf(row), payerOf(row)];
      const rival = winners.get(origin);
      const better = rival !== undefined && rival.fee > row.fee ? rival.tx_id : undefined;
      const winner = minedBy(spendsOfRow(row)) ?? better;
      if (winner !== undefined) {
        beat(row, winner);
        continue;
      }
      for (const other of [rival, paying.get(payer)]) {
        if (other === undefined) continue;
        beat(other, row.tx_id);
        winners.delete(originOf(other));
        paying.delete(payerOf(other));
      }
      winners.set(origin, row);
      paying.set(payer, row);
    }
    // Transactions that were replaced earlier get the present winner as their replacement.
    for (const [origin, winner] of winners) {
      for (const other of byOrigin.get(origin) ?? []) {
        if (keyOf(other) === keyOf(winner) || !isReplaceable(other)) continue;
        beat(other, minedBy(spendsOfRow(other)) ?? winner.tx_id);
      }
    }
    for (const { row, winner } of beaten.values()) replace(row, winner);
    return waiting.map(keyOf);
  }

  return {
    /** Rows that spend a nonce of a transaction, with its own row. */
    of: (content: TransactionContent): MempoolRow[] => users(spendsOf(content)),

    /** Canonical transactions that spent a nonce of a transaction, including itself if it is on the chain. */
    mined: (content: TransactionContent): Mined[] => spenders(spendsOf(content)),

    /** Canonical transactions that spent a nonce of a row. */
    minedWith: (row: MempoolRow): Mined[] => spenders(spendsOfRow(row)),

    /**
     * Returns whether a replaced transaction still has a winning rival, so that another announcement changes nothing. A rival
     * that shares only the payer's nonce doesn't win, because it is then the earlier one.
     */
    staysReplaced(row: MempoolRow): boolean {
      if (row.state !== REPLACED) return false;
      const spends = spendsOfRow(row);
      const outbids = (other: MempoolRow): boolean =>
        other.state === PENDING && other.fee >= row.fee && originOf(row) === originOf(other);
      return minedBy(spends) !== null || users(spends).some(outbids);
    },

    /** Replaces the rivals of a transaction that joined the chain. */
    ruleOut(mined: TransactionContent): void {
      for (const row of users(spendsOf(mined)).filter(isReplaceable)) {
        const winner = minedBy(spendsOfRow(row));
        if (winner !== null) replace(row, winner);
      }
    },

    /**
     * Decides which transactions and rivals stay pending and which are replaced, as a node does.
     * @param txIds ids; those that aren't pending are ignored
     * @param unspent ids whose nonces no canonical transaction spent, if the caller has checked
     */
    resolve(txIds: readonly Uint8Array[], unspent: ReadonlySet<Uint8Array> = new Set()): void {
      const resolved = new Set<string>();
      for (const txId of txIds) {
        const row = resolved.size > 0 && resolved.has(txId.toHex()) ? null : rows.find(txId);
        if (row?.state === PENDING && !isAlone(row, unspent.has(txId)))
          for (const key of resolveRow(row)) resolved.add(key);
      }
    },
  };
}
