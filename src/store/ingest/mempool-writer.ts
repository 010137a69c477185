/** Which transactions wait: announced, replaced, dropped, mined, and back again after a reorganization. */
import type { Database } from 'bun:sqlite';
import type { TransactionContent } from '../../chain/block.ts';
import { MAX_STORED_INTEGER } from '../../chain/payload-schemas.ts';
import type { Dictionaries } from '../effects/dictionary.ts';
import { payloadColumns } from '../effects/payload-columns.ts';
import { sortable } from '../rows/amounts.ts';
import { prepared } from '../rows/statement.ts';
import { COLLECTED_HERE, MINED, PENDING, REPLACED_BY_FEE } from '../rows/words.ts';
import type { ChangeWriter } from './change-writer.ts';

/** When and on which chain something reached the mempool. */
export interface Receipt {
  /** Unix microseconds. */
  time: number;
  /** Stacks height of the tip. */
  height: number;
}

/** A transaction that a block held which is canonical no more. */
export interface RestoredTransaction {
  content: TransactionContent;
  /** Unix seconds of the Bitcoin block its block was built on. */
  burnBlockTime: number;
}

/** Pending transactions are forgotten after this time in Nakamoto, and after as many blocks before; as nodes do. */
const COLLECT_AFTER_MICROSECONDS = 2560 * 60 * 1_000_000;
const COLLECT_AFTER_BLOCKS = 256;
const MICROSECONDS = 1_000_000;

interface Row {
  tx_id: Uint8Array;
  state: number;
  sender_id: number;
  /** Decimal, as the sponsor's: numbers are exact below 2^53 alone. */
  nonce: string;
  sponsor_id: number | null;
  sponsor_nonce: string | null;
  fee: string;
  received_at: number;
  recipient_id: number | null;
  contract_id: number | null;
}

type Parties = Pick<Row, 'tx_id' | 'sender_id' | 'recipient_id' | 'contract_id' | 'received_at'>;

/** The account nonces a transaction spends: its origin's, and its sponsor's or again its origin's as payer. */
interface Spends {
  sender: number;
  nonce: bigint;
  payer: number;
  payerNonce: bigint;
}

/** Made by miners and nodes: never broadcast, so they don't wait. Unsigned ones have no chain id. */
const neverBroadcast = ({ payload, bitcoinOperation, chainId }: TransactionContent): boolean =>
  bitcoinOperation || chainId === 0 || payload.type === 'coinbase' || payload.type === 'tenure_change';

export type MempoolWriter = ReturnType<typeof mempoolWriter>;

/** What changes the mempool through this connection, inside the transaction that is open on it. */
export function mempoolWriter(db: Database, { principals }: Dictionaries, changes: ChangeWriter) {
  const columns = `tx_id, state, sender_id, CAST(nonce AS TEXT) AS nonce, sponsor_id,
    CAST(sponsor_nonce AS TEXT) AS sponsor_nonce, fee, received_at, recipient_id, contract_id`;
  const byId = db.prepare<Row, [Uint8Array]>(`SELECT ${columns} FROM mempool_transactions WHERE tx_id = ?1`);
  const mined = db.prepare<{ found: number }, [Uint8Array]>('SELECT 1 AS found FROM transactions WHERE tx_id = ?1');
  const bySender = db.prepare<Row, [number, bigint]>(
    `SELECT ${columns} FROM mempool_transactions WHERE sender_id = ?1 AND nonce = ?2`,
  );
  const bySponsor = db.prepare<Row, [number, bigint]>(
    `SELECT ${columns} FROM mempool_transactions WHERE sponsor_id = ?1 AND sponsor_nonce = ?2`,
  );
  const minedBySender = prepared<{ tx_id: Uint8Array; position: number }, [number, bigint]>(
    db,
    `SELECT tx_id, position FROM transactions WHERE sender_id = ?1 AND nonce = ?2 ORDER BY position DESC LIMIT 1`,
  );
  const minedBySponsor = prepared<{ tx_id: Uint8Array; position: number }, [number, bigint]>(
    db,
    `SELECT tx_id, position FROM transactions WHERE sponsor_id = ?1 AND sponsor_nonce = ?2
      ORDER BY position DESC LIMIT 1`,
  );
  const insert = db.prepare(
    `INSERT INTO mempool_transactions VALUES
       (?1, ?2, ?3, ?4, NULL, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)`,
  );
  const setState = db.prepare<null, [Uint8Array, number, Uint8Array | null]>(
    'UPDATE mempool_transactions SET state = ?2, replaced_by_tx_id = ?3 WHERE tx_id = ?1',
  );
  const setReceipt = db.prepare<null, [Uint8Array, number, number]>(
    'UPDATE mempool_transactions SET received_at = ?2, receipt_block_height = ?3 WHERE tx_id = ?1',
  );
  const staleByTime = db.prepare<Row, [number]>(
    `SELECT ${columns} FROM mempool_transactions WHERE state = 0 AND received_at <= ?1`,
  );
  const staleByHeight = db.prepare<Row, [number]>(
    `SELECT ${columns} FROM mempool_transactions WHERE state = 0 AND receipt_block_height <= ?1`,
  );
  const addParty = db.prepare<null, [number, number, Uint8Array]>('INSERT INTO pending_principals VALUES (?1, ?2, ?3)');
  const removeParty = db.prepare<null, [number, number, Uint8Array]>(
    'DELETE FROM pending_principals WHERE principal_id = ?1 AND received_at = ?2 AND tx_id = ?3',
  );
  const countParty = db.prepare<null, [number, number]>(
    `INSERT INTO pending_counts VALUES (?1, ?2)
       ON CONFLICT (principal_id) DO UPDATE SET transactions = transactions + ?2`,
  );
  const removeCount = db.prepare<null, [number]>(
    'DELETE FROM pending_counts WHERE principal_id = ?1 AND transactions = 0',
  );
  const count = db.prepare<null, [number]>('UPDATE progress SET mempool_pending = mempool_pending + ?1');
  // By the clock, so that no index has two states of one version: not one that was rebuilt, nor one restored from a backup.
  const touch = db.prepare<null, [number]>('UPDATE progress SET mempool_version = max(mempool_version + 1, ?1)');

  const isMined = (txId: Uint8Array): boolean => mined.get(txId) !== null;

  /** Lists a transaction that waits for everyone it concerns, or takes it off their lists. */
  function listPending({ tx_id, sender_id, recipient_id, contract_id, received_at }: Parties, waits: boolean): void {
    count.run(waits ? 1 : -1);
    for (const party of new Set([sender_id, recipient_id, contract_id])) {
      if (party === null) continue;
      (waits ? addParty : removeParty).run(party, received_at, tx_id);
      countParty.run(party, waits ? 1 : -1);
      if (!waits) removeCount.run(party);
    }
  }

  function add(content: TransactionContent, state: number, receipt: Receipt): void {
    const { sender, sponsor, payload, fee } = content;
    const shown = payloadColumns(payload, sender.address, principals);
    const senderId = principals.id(sender.address);
    insert.run(
      content.txId,
      state,
      receipt.time,
      receipt.height,
      payload.typeId,
      senderId,
      sender.nonce,
      sponsor === null ? null : principals.id(sponsor.address),
      sponsor?.nonce ?? null,
      sortable(fee.toString()),
      shown.recipientId,
      shown.amount,
      shown.memo,
      shown.contractId,
      shown.functionName,
      shown.clarityVersion,
      content.raw.length,
      content.raw,
    );
    changes.moved(content.txId, null, state);
    if (state !== PENDING) return;
    const { recipientId, contractId } = shown;
    listPending(
      {
        tx_id: content.txId,
        sender_id: senderId,
        recipient_id: recipientId,
        contract_id: contractId,
        received_at: receipt.time,
      },
      true,
    );
  }

  function move(row: Row, state: number, replacedBy: Uint8Array | null = null): void {
    setState.run(row.tx_id, state, replacedBy);
    changes.moved(row.tx_id, row.state, state);
    if ((state === PENDING) !== (row.state === PENDING)) listPending(row, state === PENDING);
  }

  /** Rows that spend one of the same nonces as origin, or one of the same as payer. */
  function rivals({ sender, nonce, payer, payerNonce }: Spends): Row[] {
    const found = new Map<string, Row>();
    const keep = (row: Row) => found.set(row.tx_id.toHex(), row);
    for (const row of bySender.all(sender, nonce)) keep(row);
    for (const row of bySponsor.all(payer, payerNonce)) keep(row);
    if (payer !== sender) for (const row of bySender.all(payer, payerNonce)) if (row.sponsor_id === null) keep(row);
    return [...found.values()];
  }

  /** The canonical transaction that spent one of these nonces. */
  function minedRival({ sender, nonce, payer, payerNonce }: Spends): Uint8Array | null {
    let newest = minedBySender.get(sender, nonce);
    for (const row of [
      minedBySponsor.get(payer, payerNonce),
      payer === sender ? null : minedBySender.get(payer, payerNonce),
    ]) {
      if (row !== null && (newest === null || row.position > newest.position)) newest = row;
    }
    return newest?.tx_id ?? null;
  }

  const outbids = (a: Row, b: Row): boolean => a.fee > b.fee || (a.fee === b.fee && a.received_at > b.received_at);
  const isSame = (a: Row, b: Row): boolean => Buffer.compare(a.tx_id, b.tx_id) === 0;

  const spendsOfRow = ({ sender_id, nonce, sponsor_id, sponsor_nonce }: Row): Spends => ({
    sender: sender_id,
    nonce: BigInt(nonce),
    payer: sponsor_id ?? sender_id,
    payerNonce: BigInt(sponsor_nonce ?? nonce),
  });

  /**
   * Of those that share a nonce with each other, leaves one: the mined one, else the pending one of the highest fee.
   * Two that share none with each other can both wait, though each shares one with a third.
   * Those dropped for other reasons stay what they are; they can't win, and nothing replaced them.
   */
  function resolve(spends: Spends): void {
    const contenders: Row[] = [];
    const beaten = new Set<string>();
    const replace = (row: Row, winner: Uint8Array) => {
      move(row, REPLACED_BY_FEE, winner);
      beaten.add(row.tx_id.toHex());
    };
    for (const row of rivals(spends)) {
      if (row.state !== PENDING && row.state !== REPLACED_BY_FEE) continue;
      const winner = minedRival(spendsOfRow(row));
      if (winner !== null) replace(row, winner);
      else if (row.state === PENDING) contenders.push(row);
    }
    contenders.sort((a, b) => Number(outbids(b, a)) - Number(outbids(a, b)));
    for (const row of contenders) {
      if (beaten.has(row.tx_id.toHex())) continue;
      const others = rivals(spendsOfRow(row)).filter((other) => !isSame(other, row));
      const better = others.find((other) => other.state === PENDING && outbids(other, row));
      if (better !== undefined) {
        replace(row, better.tx_id);
        continue;
      }
      for (const other of others) {
        if (other.state !== PENDING && other.state !== REPLACED_BY_FEE) continue;
        if (!beaten.has(other.tx_id.toHex())) replace(other, row.tx_id);
      }
    }
  }

  /** Whether the nonces of a replaced transaction are still taken, so that announcing it again changes nothing. */
  function staysReplaced(row: Row): boolean {
    if (row.state !== REPLACED_BY_FEE) return false;
    const spends = spendsOfRow(row);
    return minedRival(spends) !== null || rivals(spends).some(({ state, fee }) => state === PENDING && fee >= row.fee);
  }

  const spendsOfContent = ({ sender, sponsor }: TransactionContent): Spends => {
    const id = principals.id(sender.address);
    return {
      sender: id,
      nonce: sender.nonce,
      payer: sponsor === null ? id : principals.id(sponsor.address),
      payerNonce: sponsor === null ? sender.nonce : sponsor.nonce,
    };
  };

  return {
    /**
     * Announced by the node. A transaction that was dropped waits again, with a new receipt.
     * @returns how many rows are new or came back
     */
    announce(contents: readonly TransactionContent[], receipt: Receipt): number {
      const waiting: TransactionContent[] = [];
      let minedRows = 0;
      for (const content of contents) {
        if (content.sender.nonce > MAX_STORED_INTEGER || (content.sponsor?.nonce ?? 0n) > MAX_STORED_INTEGER) continue;
        const row = byId.get(content.txId);
        if (row === null) {
          const state = isMined(content.txId) ? MINED : PENDING;
          add(content, state, receipt);
          if (state === PENDING) waiting.push(content);
          else minedRows++;
        } else if (row.state < PENDING && !isMined(content.txId) && !staysReplaced(row)) {
          setReceipt.run(row.tx_id, receipt.time, receipt.height);
          move({ ...row, received_at: receipt.time }, PENDING);
          waiting.push(content);
        }
      }
      for (const { txId } of waiting) changes.announced(txId);
      for (const content of waiting) resolve(spendsOfContent(content));
      if (waiting.length > 0) touch.run(receipt.time);
      return waiting.length + minedRows;
    },

    /**
     * Dropped by the node.
     * @param state one of the dropped states
     * @param now Unix microseconds
     * @returns how many of them were waiting
     */
    drop(txIds: readonly Uint8Array[], state: number, replacedBy: Uint8Array | null, now: number): number {
      let dropped = 0;
      for (const txId of txIds) {
        const row = byId.get(txId);
        if (row?.state !== PENDING) continue;
        move(row, state, replacedBy);
        dropped++;
      }
      if (dropped > 0) touch.run(now);
      return dropped;
    },

    /**
     * The chain changed: what left it waits again, what it holds now waits no more. All that left comes back before
     * anything is taken out, since a transaction may have moved from a lower block to a higher one.
     * @param now Unix microseconds
     */
    chainChanged(
      restored: readonly RestoredTransaction[],
      confirmed: readonly TransactionContent[],
      receiptHeight: number,
      now: number,
    ): void {
      const back: TransactionContent[] = [];
      for (const { content, burnBlockTime } of restored) {
        if (content.bitcoinOperation) continue;
        const row = byId.get(content.txId);
        if (row !== null) {
          move(row, PENDING);
          back.push(content);
        } else if (!neverBroadcast(content)) {
          add(content, PENDING, { time: burnBlockTime * MICROSECONDS, height: receiptHeight });
          back.push(content);
        }
        for (const rival of rivals(spendsOfContent(content))) {
          if (rival.state === REPLACED_BY_FEE) move(rival, PENDING);
        }
      }
      for (const content of confirmed) {
        if (content.bitcoinOperation) continue;
        const row = byId.get(content.txId);
        if (row !== null) move(row, MINED);
      }
      for (const content of confirmed) if (!content.bitcoinOperation) resolve(spendsOfContent(content));
      for (const content of back) resolve(spendsOfContent(content));
      touch.run(now);
    },

    /**
     * Microblocks were streamed or given up: `joined` wait no more, `left` wait again unless the chain holds them.
     * @param now Unix microseconds
     */
    streamChanged(joined: readonly Uint8Array[], left: readonly Uint8Array[], now: number): void {
      for (const txId of left) {
        const row = byId.get(txId);
        if (row?.state === MINED && !isMined(txId)) move(row, PENDING);
      }
      for (const txId of joined) {
        const row = byId.get(txId);
        if (row !== null) move(row, MINED);
      }
      if (joined.length > 0 || left.length > 0) touch.run(now);
    },

    /**
     * Forgets what has waited too long.
     * @param tip before the block that is the occasion
     * @param now Unix microseconds
     */
    collectGarbage(tip: { height: number; nakamoto: boolean }, now: number): void {
      const stale = tip.nakamoto
        ? staleByTime.all(now - COLLECT_AFTER_MICROSECONDS)
        : staleByHeight.all(tip.height - COLLECT_AFTER_BLOCKS);
      for (const row of stale) move(row, COLLECTED_HERE);
      if (stale.length > 0) touch.run(now);
    },
  };
}
