/** Transactions that spend one nonce: which of them waits, and what it replaces. */
import type { Database } from 'bun:sqlite';
import type { TransactionContent } from '../../chain/block.ts';
import type { Dictionaries } from '../effects/dictionary.ts';
import { prepared } from '../rows/statement.ts';
import { MEMPOOL_STATE } from '../rows/words.ts';
import { type MempoolRow, type MempoolRows, mempoolColumns } from './mempool-rows.ts';

const { pending: PENDING, replaced_by_fee: REPLACED } = MEMPOOL_STATE;

/** The account nonces a transaction spends: its origin's, and its sponsor's or again its origin's as payer. */
interface Spends {
  sender: number;
  nonce: bigint;
  payer: number;
  payerNonce: bigint;
}

const spendsOfRow = ({ sender_id, nonce, sponsor_id, sponsor_nonce }: MempoolRow): Spends => ({
  sender: sender_id,
  nonce: BigInt(nonce),
  payer: sponsor_id ?? sender_id,
  payerNonce: BigInt(sponsor_nonce ?? nonce),
});

const outbids = (a: MempoolRow, b: MempoolRow): boolean =>
  a.fee > b.fee || (a.fee === b.fee && a.received_at > b.received_at);

const isSame = (a: MempoolRow, b: MempoolRow): boolean => Buffer.compare(a.tx_id, b.tx_id) === 0;

/** Whether a row waits, or would if it hadn't been replaced: those dropped for other reasons can't win, nor be replaced. */
const contends = ({ state }: MempoolRow): boolean => state === PENDING || state === REPLACED;

interface Mined {
  tx_id: Uint8Array;
  position: number;
}

/** What finds those that spend the same nonces, through this connection. */
function rivalQueries(db: Database) {
  const bySender = db.prepare<MempoolRow, [number, bigint]>(
    `SELECT ${mempoolColumns} FROM mempool_transactions WHERE sender_id = ?1 AND nonce = ?2`,
  );
  const bySponsor = db.prepare<MempoolRow, [number, bigint]>(
    `SELECT ${mempoolColumns} FROM mempool_transactions WHERE sponsor_id = ?1 AND sponsor_nonce = ?2`,
  );
  const minedBySender = prepared<Mined, [number, bigint]>(
    db,
    `SELECT tx_id, position FROM transactions WHERE sender_id = ?1 AND nonce = ?2 ORDER BY position DESC LIMIT 1`,
  );
  const minedBySponsor = prepared<Mined, [number, bigint]>(
    db,
    `SELECT tx_id, position FROM transactions WHERE sponsor_id = ?1 AND sponsor_nonce = ?2
      ORDER BY position DESC LIMIT 1`,
  );
  return {
    /** Rows that spend one of the same nonces as origin, or one of the same as payer. */
    waiting({ sender, nonce, payer, payerNonce }: Spends): MempoolRow[] {
      const found = new Map<string, MempoolRow>();
      const keep = (row: MempoolRow) => found.set(row.tx_id.toHex(), row);
      for (const row of bySender.all(sender, nonce)) keep(row);
      for (const row of bySponsor.all(payer, payerNonce)) keep(row);
      if (payer !== sender) for (const row of bySender.all(payer, payerNonce)) if (row.sponsor_id === null) keep(row);
      return [...found.values()];
    },

    /** The canonical transaction that spent one of these nonces. */
    mined({ sender, nonce, payer, payerNonce }: Spends): Uint8Array | null {
      let newest = minedBySender.get(sender, nonce);
      for (const row of [
        minedBySponsor.get(payer, payerNonce),
        payer === sender ? null : minedBySender.get(payer, payerNonce),
      ]) {
        if (row !== null && (newest === null || row.position > newest.position)) newest = row;
      }
      return newest?.tx_id ?? null;
    },
  };
}

export type NonceRivals = ReturnType<typeof nonceRivals>;

/** What settles which transactions wait, through this connection. */
export function nonceRivals(db: Database, { principals }: Dictionaries, rows: MempoolRows) {
  const rivals = rivalQueries(db);

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
    of: (content: TransactionContent): MempoolRow[] => rivals.waiting(spendsOf(content)),

    /** Whether the nonces of a replaced transaction are still taken, so that announcing it again changes nothing. */
    stayReplaced(row: MempoolRow): boolean {
      if (row.state !== REPLACED) return false;
      const spends = spendsOfRow(row);
      const stillOutbid = ({ state, fee }: MempoolRow): boolean => state === PENDING && fee >= row.fee;
      return rivals.mined(spends) !== null || rivals.waiting(spends).some(stillOutbid);
    },

    /**
     * Leaves one of the transactions that share a nonce: the mined one, else the pending one of the highest fee. Two that
     * share no nonce with each other can both wait, though each shares one with a third.
     */
    resolve(content: TransactionContent): void {
      const contenders: MempoolRow[] = [];
      const beaten = new Set<string>();
      const replace = (row: MempoolRow, winner: Uint8Array) => {
        rows.move(row, REPLACED, winner);
        beaten.add(row.tx_id.toHex());
      };
      const spends = spendsOf(content);
      const all = rivals.waiting(spends);
      const [only] = all;
      if (only === undefined) return;
      if (all.length === 1 && Buffer.compare(only.tx_id, content.txId) === 0) {
        // By far the most: nothing else spends its nonces.
        const winner = contends(only) ? rivals.mined(spends) : null;
        if (winner !== null) rows.move(only, REPLACED, winner);
        return;
      }
      for (const row of all.filter(contends)) {
        const winner = rivals.mined(spendsOfRow(row));
        if (winner !== null) replace(row, winner);
        else if (row.state === PENDING) contenders.push(row);
      }
      contenders.sort((a, b) => Number(outbids(b, a)) - Number(outbids(a, b)));
      for (const row of contenders) {
        if (beaten.has(row.tx_id.toHex())) continue;
        const others = rivals.waiting(spendsOfRow(row)).filter((other) => !isSame(other, row));
        const better = others.find((other) => other.state === PENDING && outbids(other, row));
        if (better !== undefined) {
          replace(row, better.tx_id);
          continue;
        }
        for (const other of others.filter(contends)) {
          if (!beaten.has(other.tx_id.toHex())) replace(other, row.tx_id);
        }
      }
    },
  };
}
