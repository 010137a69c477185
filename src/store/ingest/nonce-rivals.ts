/** Transactions that spend one nonce: which of them waits, and what it replaces. */
import type { Database } from 'bun:sqlite';
import type { TransactionContent } from '../../chain/block.ts';
import type { Dictionaries } from '../effects/dictionary.ts';
import { prepared } from '../rows/statement.ts';
import { MEMPOOL_STATE } from '../rows/words.ts';
import type { MempoolRows } from './mempool-rows.ts';
import type { MempoolRow, Spends } from './stored-rows.ts';

const { pending: PENDING, replaced_by_fee: REPLACED, replaced_and_dropped: REPLACED_AND_DROPPED } = MEMPOOL_STATE;

const spendsOfRow = ({ sender_id, nonce, sponsor_id, sponsor_nonce }: MempoolRow): Spends => ({
  sender: sender_id,
  nonce: BigInt(nonce),
  payer: sponsor_id ?? sender_id,
  payerNonce: BigInt(sponsor_nonce ?? nonce),
});

const outbids = (a: MempoolRow, b: MempoolRow): boolean =>
  a.fee > b.fee || (a.fee === b.fee && a.received_at > b.received_at);

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Whether another may take the place of a row: it waits, or was replaced. A row that was dropped for another reason is out. */
const isReplaceable = ({ state }: MempoolRow): boolean =>
  state === PENDING || state === REPLACED || state === REPLACED_AND_DROPPED;

interface Mined {
  tx_id: Uint8Array;
  position: number;
}

/** What finds the canonical transaction that spent one of these nonces, through this connection. */
function minedRival(db: Database): (spends: Spends) => Uint8Array | null {
  const byNonces = prepared<Mined, [number, bigint, number, bigint]>(
    db,
    `SELECT tx_id, position FROM transactions WHERE sender_id = ?1 AND nonce = ?2
      UNION ALL SELECT tx_id, position FROM transactions WHERE sponsor_id = ?3 AND sponsor_nonce = ?4
      UNION ALL SELECT tx_id, position FROM transactions WHERE sender_id = ?3 AND nonce = ?4 AND ?3 <> ?1`,
  );
  return ({ sender, nonce, payer, payerNonce }) => {
    const [first, ...others] = byNonces.all(sender, nonce, payer, payerNonce);
    if (first === undefined) return null;
    return others.reduce((newest, row) => (row.position > newest.position ? row : newest), first).tx_id;
  };
}

export type NonceRivals = ReturnType<typeof nonceRivals>;

/** What settles which transactions wait, through this connection. */
export function nonceRivals(db: Database, { principals }: Dictionaries, rows: MempoolRows) {
  const mined = minedRival(db);

  /** Rows that share a nonce. */
  function waiting(spends: Spends): MempoolRow[] {
    const found = rows.spending(spends);
    if (found.length < 2) return found;
    return [...new Map(found.map((row) => [row.tx_id.toHex(), row])).values()];
  }

  /** What the node dropped stays dropped, whoever takes its place. */
  const replaceRow = (row: MempoolRow, winner: Uint8Array): void =>
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

  return {
    /** Rows that share a nonce with a transaction, itself among them. */
    of: (content: TransactionContent): MempoolRow[] => waiting(spendsOf(content)),

    /** Whether the nonces of a replaced transaction are still taken, so that announcing it again changes nothing. */
    stayReplaced(row: MempoolRow): boolean {
      if (row.state !== REPLACED) return false;
      const spends = spendsOfRow(row);
      const stillOutbid = ({ state, fee }: MempoolRow): boolean => state === PENDING && fee >= row.fee;
      return mined(spends) !== null || waiting(spends).some(stillOutbid);
    },

    /**
     * Leaves one of the transactions that share a nonce: the mined one, else the pending one of the highest fee. Two that
     * share no nonce with each other can both wait, though each shares one with a third.
     */
    resolve(content: TransactionContent): void {
      const contenders: MempoolRow[] = [];
      const beaten = new Set<string>();
      const replace = (row: MempoolRow, winner: Uint8Array) => {
        replaceRow(row, winner);
        beaten.add(row.tx_id.toHex());
      };
      const spends = spendsOf(content);
      const all = waiting(spends);
      const [only] = all;
      if (only === undefined) return;
      if (all.length === 1 && isSame(only.tx_id, content.txId)) {
        // Most transactions have no rival, and need no further look.
        const winner = isReplaceable(only) ? mined(spends) : null;
        if (winner !== null) replaceRow(only, winner);
        return;
      }
      for (const row of all.filter(isReplaceable)) {
        const winner = mined(spendsOfRow(row));
        if (winner !== null) replace(row, winner);
        else if (row.state === PENDING) contenders.push(row);
      }
      contenders.sort((a, b) => Number(outbids(b, a)) - Number(outbids(a, b)));
      for (const row of contenders) {
        if (beaten.has(row.tx_id.toHex())) continue;
        const others = waiting(spendsOfRow(row)).filter((other) => !isSame(other.tx_id, row.tx_id));
        const better = others.find((other) => other.state === PENDING && outbids(other, row));
        if (better !== undefined) {
          replace(row, better.tx_id);
          continue;
        }
        for (const other of others.filter(isReplaceable)) {
          if (!beaten.has(other.tx_id.toHex())) replace(other, row.tx_id);
        }
      }
    },
  };
}
