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
import { MEMPOOL_STATE } from '../rows/enums.ts';
import { prepared, type Stored } from '../rows/statement.ts';
import type { MempoolRows } from './mempool-rows.ts';
import { type MempoolRow, type Spends, usersOfNonces } from './stored-rows.ts';

const { pending: PENDING, replaced_by_fee: REPLACED, replaced_and_dropped: REPLACED_AND_DROPPED } = MEMPOOL_STATE;

const spendsOfRow = ({ sender_id, nonce, sponsor_id, sponsor_nonce }: MempoolRow): Spends => ({
  sender: sender_id,
  nonce: BigInt(nonce),
  payer: sponsor_id ?? sender_id,
  payerNonce: BigInt(sponsor_nonce ?? nonce),
});

/** The nonce of its origin that a row spends, and that of its payer. */
const originOf = ({ sender_id, nonce }: MempoolRow): string => `${sender_id} ${nonce}`;
const payerOf = ({ sender_id, nonce, sponsor_id, sponsor_nonce }: MempoolRow): string =>
  `${sponsor_id ?? sender_id} ${sponsor_nonce ?? nonce}`;

const keyOf = ({ tx_id }: MempoolRow): string => tx_id.toHex();

/** Whether another may take the place of a row: it waits, or was replaced. A row that was dropped for another reason is out. */
const isReplaceable = ({ state }: MempoolRow): boolean =>
  state === PENDING || state === REPLACED || state === REPLACED_AND_DROPPED;

const byArrival = (a: MempoolRow, b: MempoolRow): number => a.received_at - b.received_at || a.place - b.place;

type Mined = Stored<'transactions', 'tx_id' | 'position'>;

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

/** Resolves which of the transactions with a common nonce wait, through this connection. */
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

  /**
   * A row that waits, and all that share a nonce with it, or with one that does. Each nonce is looked up once: anybody can
   * replace his own transaction thousands of times, and a fork brings all of them back.
   * @returns those, and by the nonce of an origin whatever became of those that spend it
   */
  function connected(begun: MempoolRow): { waiting: MempoolRow[]; byOrigin: Map<string, MempoolRow[]> } {
    const found = new Map([[keyOf(begun), begun]]);
    const byOrigin = new Map<string, MempoolRow[]>();
    const payers = new Set<string>();
    const join = (rivals: readonly MempoolRow[]) => {
      for (const row of rivals) if (row.state === PENDING && !found.has(keyOf(row))) found.set(keyOf(row), row);
    };
    for (const row of found.values()) {
      const { sender, nonce, payer, payerNonce } = spendsOfRow(row);
      const [origin, paidBy] = [originOf(row), payerOf(row)];
      if (!byOrigin.has(origin)) {
        const spent = users({ sender, nonce, payer: sender, payerNonce: nonce });
        byOrigin.set(
          origin,
          spent.filter((other) => originOf(other) === origin),
        );
        join(byOrigin.get(origin)!);
      }
      if (payers.has(paidBy)) continue;
      payers.add(paidBy);
      const spent = users({ sender: payer, nonce: payerNonce, payer, payerNonce });
      join(spent.filter((other) => payerOf(other) === paidBy));
    }
    return { waiting: [...found.values()].sort(byArrival), byOrigin };
  }

  /** Whether a row that waits is the only one to use its nonces, as nearly all are. */
  function isAlone(row: MempoolRow): boolean {
    const spends = spendsOfRow(row);
    return rows.using(spends).every(({ tx_id }) => Buffer.compare(tx_id, row.tx_id) === 0) && minedBy(spends) === null;
  }

  /**
   * Lets a row and its rivals wait or be replaced as in the mempool of a node that got them in this order.
   * @returns the keys of all that waited
   */
  function resolveRow(begun: MempoolRow): string[] {
    const { waiting, byOrigin } = connected(begun);
    const beaten = new Map<string, { row: MempoolRow; winner: Uint8Array }>();
    const beat = (row: MempoolRow, winner: Uint8Array) => beaten.set(keyOf(row), { row, winner });
    // Of one nonce, of an origin or of a payer, one is valid at a time.
    const [standing, paying] = [new Map<string, MempoolRow>(), new Map<string, MempoolRow>()];
    for (const row of waiting) {
      const [origin, payer] = [originOf(row), payerOf(row)];
      const rival = standing.get(origin);
      const better = rival !== undefined && rival.fee > row.fee ? rival.tx_id : undefined;
      const winner = minedBy(spendsOfRow(row)) ?? better;
      if (winner !== undefined) {
        beat(row, winner);
        continue;
      }
      for (const other of [rival, paying.get(payer)]) {
        if (other === undefined) continue;
        beat(other, row.tx_id);
        standing.delete(originOf(other));
        paying.delete(payerOf(other));
      }
      standing.set(origin, row);
      paying.set(payer, row);
    }
    // Whoever was outbid before names what has its place now.
    for (const [origin, winner] of standing) {
      for (const other of byOrigin.get(origin) ?? []) {
        if (keyOf(other) === keyOf(winner) || !isReplaceable(other)) continue;
        beat(other, minedBy(spendsOfRow(other)) ?? winner.tx_id);
      }
    }
    for (const { row, winner } of beaten.values()) replace(row, winner);
    return waiting.map(keyOf);
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
        other.state === PENDING && other.fee >= row.fee && originOf(row) === originOf(other);
      return minedBy(spends) !== null || users(spends).some(outbids);
    },

    /** Takes out what waits and uses a nonce of a transaction that joined the chain. */
    ruleOut(mined: TransactionContent): void {
      for (const row of users(spendsOf(mined)).filter(isReplaceable)) {
        const winner = minedBy(spendsOfRow(row));
        if (winner !== null) replace(row, winner);
      }
    },

    /** As in a node's mempool, keeps or replaces transactions that wait, and their rivals. @param txIds those that do not wait are ignored */
    resolve(txIds: readonly Uint8Array[]): void {
      const resolved = new Set<string>();
      for (const txId of txIds) {
        const row = resolved.size > 0 && resolved.has(txId.toHex()) ? null : rows.find(txId);
        if (row?.state === PENDING && !isAlone(row)) for (const key of resolveRow(row)) resolved.add(key);
      }
    },
  };
}
