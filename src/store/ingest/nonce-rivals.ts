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

const roles = ['origin', 'payer'] as const;
type Role = (typeof roles)[number];

/** Returns the account and the nonce that a row spends in a role. */
const spentAs = (role: Role, { sender_id, nonce, sponsor_id, sponsor_nonce }: MempoolRow) =>
  role === 'origin'
    ? { account: sender_id, nonce }
    : { account: sponsor_id ?? sender_id, nonce: sponsor_nonce ?? nonce };

/** Returns the key of the nonce that a row spends in a role. Rows with the same key are rivals for a node. */
function nonceKey(role: Role, row: MempoolRow): string {
  const { account, nonce } = spentAs(role, row);
  return `${role} ${account} ${nonce}`;
}

function spendsOfRow(row: MempoolRow): Spends {
  const [origin, payer] = [spentAs('origin', row), spentAs('payer', row)];
  const [nonce, payerNonce] = [BigInt(origin.nonce), BigInt(payer.nonce)];
  return { sender: origin.account, nonce, payer: payer.account, payerNonce };
}

const keyOf = ({ tx_id }: MempoolRow): string => tx_id.toHex();

/**
 * Returns whether a transaction may replace a row: it is pending or replaced. A row that was dropped for another reason stays
 * dropped.
 */
const isReplaceable = ({ state }: MempoolRow): boolean =>
  state === PENDING || state === REPLACED || state === REPLACED_AND_DROPPED;

const byArrival = (a: MempoolRow, b: MempoolRow): number => a.received_at - b.received_at || a.order - b.order;

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

  /** The newest canonical transaction that spent one of a row's nonces; null if none did. */
  function minedBy(row: MempoolRow): Uint8Array | null {
    const [first, ...others] = spenders(spendsOfRow(row));
    if (first === undefined) return null;
    return others.reduce((newest, other) => (other.position > newest.position ? other : newest), first).tx_id;
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

  /** Rows that spend the same nonce as a row in a role, and the row itself. */
  function sharing(row: MempoolRow, role: Role): MempoolRow[] {
    const { account, nonce: text } = spentAs(role, row);
    const nonce = BigInt(text);
    const key = nonceKey(role, row);
    const rivals = users({ sender: account, nonce, payer: account, payerNonce: nonce });
    return rivals.filter((rival) => nonceKey(role, rival) === key);
  }

  /**
   * Finds all rows that share a nonce with a pending row, directly or through other pending rows. It looks up each nonce once:
   * an account may replace a transaction thousands of times, and a fork restores all of them.
   * @returns the pending rows in the order of their arrival, and the rows in any state by the keys of their nonces
   */
  function connected(first: MempoolRow): { waiting: MempoolRow[]; rivals: Map<string, MempoolRow[]> } {
    const waiting = new Map([[keyOf(first), first]]);
    const rivals = new Map<string, MempoolRow[]>();
    for (const row of waiting.values()) {
      for (const role of roles) {
        const key = nonceKey(role, row);
        if (rivals.has(key)) continue;
        const sharers = sharing(row, role);
        rivals.set(key, sharers);
        for (const rival of sharers) if (rival.state === PENDING) waiting.set(keyOf(rival), rival);
      }
    }
    return { waiting: [...waiting.values()].sort(byArrival), rivals };
  }

  /** Returns whether a pending row has no rivals, which is the common case. */
  function isAlone(row: MempoolRow): boolean {
    const spends = spendsOfRow(row);
    return rows.using(spends).every(({ tx_id }) => bytesEqual(tx_id, row.tx_id)) && spenders(spends).length === 0;
  }

  /**
   * Decides whether a row and its rivals stay pending or are replaced, as a node's mempool does that received them in this
   * order.
   * @returns the keys of all rows that were pending
   */
  function resolveRow(pending: MempoolRow): string[] {
    const { waiting, rivals } = connected(pending);
    const beaten = new Map<string, { row: MempoolRow; winner: Uint8Array }>();
    const beat = (row: MempoolRow, winner: Uint8Array) => beaten.set(keyOf(row), { row, winner });
    // The mempool so far: only one transaction for each nonce of an origin or payer can be valid.
    const winners = new Map<string, MempoolRow>();
    for (const row of waiting) {
      const [rival, payerRival] = roles.map((role) => winners.get(nonceKey(role, row)));
      const winner = minedBy(row) ?? (rival !== undefined && rival.fee > row.fee ? rival.tx_id : null);
      if (winner !== null) {
        beat(row, winner);
        continue;
      }
      for (const other of [rival, payerRival]) {
        if (other === undefined) continue;
        beat(other, row.tx_id);
        for (const role of roles) winners.delete(nonceKey(role, other));
      }
      for (const role of roles) winners.set(nonceKey(role, row), row);
    }
    // Transactions that were replaced earlier get the present winner as their replacement.
    for (const winner of new Set(winners.values())) {
      for (const other of rivals.get(nonceKey('origin', winner)) ?? []) {
        if (keyOf(other) !== keyOf(winner) && isReplaceable(other)) beat(other, minedBy(other) ?? winner.tx_id);
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

    /**
     * Returns whether a replaced transaction still has a winning rival, so that another announcement changes nothing. A rival
     * that shares only the payer's nonce doesn't win, because it is then the earlier one.
     */
    staysReplaced(row: MempoolRow): boolean {
      if (row.state !== REPLACED) return false;
      const outbids = (other: MempoolRow): boolean => other.state === PENDING && other.fee >= row.fee;
      return minedBy(row) !== null || sharing(row, 'origin').some(outbids);
    },

    /** Replaces the rivals of a transaction that joined the chain as its newest one. */
    ruleOut(mined: TransactionContent): void {
      for (const row of users(spendsOf(mined)).filter(isReplaceable)) replace(row, mined.txId);
    },

    /**
     * Decides which transactions and rivals stay pending and which are replaced, as a node does.
     * @param txIds ids; those that aren't pending are ignored
     */
    resolve(txIds: readonly Uint8Array[]): void {
      const resolved = new Set<string>();
      for (const txId of txIds) {
        if (resolved.size > 0 && resolved.has(txId.toHex())) continue;
        const row = rows.find(txId);
        if (row?.state !== PENDING || isAlone(row)) continue;
        for (const key of resolveRow(row)) resolved.add(key);
      }
    },
  };
}
