/**
 * Transactions that spend one nonce: which of them waits, and what it replaces.
 *
 * An account has one counter for what it signs as origin and what it pays as sponsor. So a transaction of the chain rules out
 * every other that uses a nonce of its origin or of its payer, for whichever part. Of those that wait, a node compares less:
 * two of one origin and nonce, where the higher fee stays, and two that share the payer's nonce alone, where the later stays,
 * whatever its fee.
 */
import type { Database } from 'bun:sqlite';
import type { TransactionContent } from '../../chain/block.ts';
import type { Dictionaries } from '../effects/dictionary.ts';
import { prepared } from '../rows/statement.ts';
import { MEMPOOL_STATE } from '../rows/words.ts';
import type { MempoolRows } from './mempool-rows.ts';
import { type MempoolRow, type Spends, usersOfNonces } from './stored-rows.ts';

const { pending: PENDING, replaced_by_fee: REPLACED, replaced_and_dropped: REPLACED_AND_DROPPED } = MEMPOOL_STATE;

const spendsOfRow = ({ sender_id, nonce, sponsor_id, sponsor_nonce }: MempoolRow): Spends => ({
  sender: sender_id,
  nonce: BigInt(nonce),
  payer: sponsor_id ?? sender_id,
  payerNonce: BigInt(sponsor_nonce ?? nonce),
});

/** What two that wait share: the origin's nonce, or the payer's alone. */
function sharedBy(a: MempoolRow, b: MempoolRow): 'origin' | 'payer' | null {
  const [one, other] = [spendsOfRow(a), spendsOfRow(b)];
  if (one.sender === other.sender && one.nonce === other.nonce) return 'origin';
  return one.payer === other.payer && one.payerNonce === other.payerNonce ? 'payer' : null;
}

const keyOf = ({ tx_id }: MempoolRow): string => tx_id.toHex();

/** Whether another may take the place of a row: it waits, or was replaced. A row that was dropped for another reason is out. */
const isReplaceable = ({ state }: MempoolRow): boolean =>
  state === PENDING || state === REPLACED || state === REPLACED_AND_DROPPED;

const byArrival = (a: MempoolRow, b: MempoolRow): number => a.received_at - b.received_at || a.place - b.place;

interface Mined {
  tx_id: Uint8Array;
  position: number;
}

/** What finds the newest canonical transaction that used one of these nonces, through this connection. */
function minedUser(db: Database): (spends: Spends) => Uint8Array | null {
  const users = prepared<Mined, [number, bigint, number, bigint]>(
    db,
    usersOfNonces('SELECT tx_id, position FROM transactions WHERE'),
  );
  return ({ sender, nonce, payer, payerNonce }) => {
    const [first, ...others] = users.all(sender, nonce, payer, payerNonce);
    if (first === undefined) return null;
    return others.reduce((newest, row) => (row.position > newest.position ? row : newest), first).tx_id;
  };
}

export type NonceRivals = ReturnType<typeof nonceRivals>;

/** What settles which transactions wait, through this connection. */
export function nonceRivals(db: Database, { principals }: Dictionaries, rows: MempoolRows) {
  const minedBy = minedUser(db);

  /** Rows that use one of these nonces. */
  function users(spends: Spends): MempoolRow[] {
    const found = rows.using(spends);
    return found.length < 2 ? found : [...new Map(found.map((row) => [keyOf(row), row])).values()];
  }

  /** What the node dropped stays dropped, whoever takes its place. */
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

  /** A row that waits, and all that share a nonce with it, or with one that does; each with all who use its nonces. */
  function connected(begun: MempoolRow): { row: MempoolRow; others: MempoolRow[] }[] {
    const found = new Map([[keyOf(begun), begun]]);
    const groups = [];
    for (const row of found.values()) {
      const others = users(spendsOfRow(row));
      groups.push({ row, others });
      for (const other of others) {
        if (other.state === PENDING && sharedBy(row, other) !== null && !found.has(keyOf(other))) {
          found.set(keyOf(other), other);
        }
      }
    }
    return groups;
  }

  /**
   * Leaves of a row that waits, and of its rivals, those that a node would have left that got them in this order.
   * @returns the keys of all that waited
   */
  function settleRow(waiting: MempoolRow): string[] {
    const groups = connected(waiting).sort((a, b) => byArrival(a.row, b.row));
    const beaten = new Map<string, { row: MempoolRow; winner: Uint8Array }>();
    const beat = (row: MempoolRow, winner: Uint8Array) => beaten.set(keyOf(row), { row, winner });
    let standing: typeof groups = [];
    for (const group of groups) {
      const { row } = group;
      const better = standing.find((other) => sharedBy(row, other.row) === 'origin' && other.row.fee > row.fee);
      const winner = minedBy(spendsOfRow(row)) ?? better?.row.tx_id;
      if (winner !== undefined) {
        beat(row, winner);
        continue;
      }
      for (const other of standing) if (sharedBy(row, other.row) !== null) beat(other.row, row.tx_id);
      standing = [...standing.filter((other) => sharedBy(row, other.row) === null), group];
    }
    // Whoever was outbid before names what has its place now.
    const named = new Set(standing.map(({ row }) => keyOf(row)));
    for (const { row: winner, others } of standing) {
      for (const other of others) {
        if (named.has(keyOf(other)) || !isReplaceable(other) || sharedBy(winner, other) !== 'origin') continue;
        named.add(keyOf(other));
        beat(other, minedBy(spendsOfRow(other)) ?? winner.tx_id);
      }
    }
    for (const { row, winner } of beaten.values()) replace(row, winner);
    return groups.map(({ row }) => keyOf(row));
  }

  return {
    /** Rows that use a nonce of a transaction, itself among them. */
    of: (content: TransactionContent): MempoolRow[] => users(spendsOf(content)),

    /**
     * Whether the nonces of a replaced transaction are still taken, so that announcing it again changes nothing. One that
     * shares the payer's nonce alone doesn't take them: it is the earlier of the two then.
     */
    stayReplaced(row: MempoolRow): boolean {
      if (row.state !== REPLACED) return false;
      const spends = spendsOfRow(row);
      const outbids = (other: MempoolRow): boolean =>
        other.state === PENDING && other.fee >= row.fee && sharedBy(row, other) === 'origin';
      return minedBy(spends) !== null || users(spends).some(outbids);
    },

    /** Takes out what waits and uses a nonce of a transaction that joined the chain. */
    ruleOut(mined: TransactionContent): void {
      for (const row of users(spendsOf(mined)).filter(isReplaceable)) {
        const winner = minedBy(spendsOfRow(row));
        if (winner !== null) replace(row, winner);
      }
    },

    /** Leaves of transactions that wait, and of their rivals, those that a node would have left. @param txIds others are passed by */
    settle(txIds: readonly Uint8Array[]): void {
      const settled = new Set<string>();
      for (const txId of txIds) {
        const row = settled.has(txId.toHex()) ? null : rows.find(txId);
        if (row?.state === PENDING) for (const key of settleRow(row)) settled.add(key);
      }
    },
  };
}
