/** Transactions and events of a principal, and STX sent to it, newest first, by offset or by position. */
import type { Database } from 'bun:sqlite';
import type { Turns } from '../../../base/turns.ts';
import { heightOf } from '../../../chain/position.ts';
import type { AddressTransaction, ReceivedStx } from '../../model/account.ts';
import type { Heights } from '../../model/block.ts';
import type { OffsetStart, Page } from '../../model/page.ts';
import type { AssetEvent, PositionedEvent, TransactionEvent, TransactionKey } from '../../model/transaction.ts';
import { AFFECTED, EVENT_KIND, kindMask, PAYLOAD, TOKEN } from '../../rows/enums.ts';
import { query, type Stored, statements, TooMuchWorkError } from '../../rows/statement.ts';
import { type Span, spanOf, transactionPositionQuery } from '../blocks/windows.ts';
import { down, orderedList } from '../list.ts';
import { emptyPage, isBehind, movedTo, numberAt, readPage } from '../page.ts';
import type { DetailQueries } from '../transactions/details.ts';
import { type EventRow, eventColumns, eventJoins, eventOf } from '../transactions/events.ts';
import type { ListStart } from './account-states.ts';

const { sponsorOnly } = AFFECTED;
const involvement = 'position, affected, stx_sent, stx_received';
const ofPrincipal = 'FROM principal_transactions WHERE principal_id = ?1 AND position BETWEEN ?2 AND ?3';
const newest = 'ORDER BY position DESC LIMIT ?4 OFFSET ?5';

/** The transactions of a principal, newest first. */
export const involvements = orderedList<Involvement>(
  { select: `SELECT ${involvement} FROM principal_transactions`, where: 'principal_id = ?1' },
  [down('position')],
);

export const sql = {
  newest: involvements,
  list: query<PositionRow, Part>`SELECT position ${ofPrincipal} ${newest}`,
  // Skips transactions that the principal only sponsors, one by one: few principals have many of them.
  concerning: query<Involvement, Part>`
    SELECT ${involvement} ${ofPrincipal} AND affected & ${sponsorOnly} = 0 ${newest}`,
  find: query<Involvement, [number, number]>`
    SELECT ${involvement} FROM principal_transactions WHERE principal_id = ?1 AND position = ?2`,
  height: query<Stored<'blocks', 'height'>, [Uint8Array]>`SELECT height FROM blocks WHERE index_block_hash = ?1`,
};

type Part = [number, number, number, number, number];

type PositionRow = Stored<'principal_transactions', 'position'>;

export type Involvement = Stored<'principal_transactions', 'position' | 'affected' | 'stx_sent' | 'stx_received'>;

/** Range of positions to read a list from, newest first, and how many of its items to skip. */
export interface Range extends ListStart {
  first: number;
}

/** First and last position in a range of blocks. */
export const positionsIn = ({ first, last }: Heights): Span => spanOf({ from: first, to: last });

export function addressTransactionQueries(db: Database, details: DetailQueries, events: AddressEventQueries) {
  const { list, concerning, find, height: heightByHash, newest: newestOf } = statements(db, sql);
  const positionAt = transactionPositionQuery(db);

  function withEvents(principal: number, parts: readonly Involvement[]): AddressTransaction[] {
    const transactions = details.at(parts.map(({ position }) => position));
    return parts.map(({ position, stx_sent: sent, stx_received: received }, index) => ({
      transaction: transactions[index]!,
      stx: { sent: BigInt(sent), received: BigInt(received) },
      events: events.ofTransaction(principal, position),
    }));
  }

  /**
   * The start of a page: the position, and the number of items to skip from there; undefined if the start names a block that
   * isn't canonical.
   */
  function pageStart(
    { cursor, item, offset }: OffsetStart<TransactionKey>,
    startOf: (offset: number) => ListStart,
  ): ListStart | undefined {
    if (cursor !== null) return { last: numberAt(cursor.key, 0) - (isBehind(cursor) ? 1 : 0), offset };
    if (item === null) return startOf(offset);
    const height = heightByHash.get(item.indexBlockHash)?.height;
    return height === undefined ? undefined : { last: positionAt({ ...item, height }).position, offset };
  }

  return {
    withEvents,
    positions: (principal: number, { first, last, offset }: Range, limit: number): number[] =>
      list.all(principal, first, last, limit, offset).map(({ position }) => position),

    /**
     * Transactions that the principal doesn't only sponsor. On a page, the transactions of a block are sorted by descending
     * index, regardless of microblocks. A transaction is on the same page as in other lists.
     */
    concerning(principal: number, { first, last, offset }: Range, limit: number): AddressTransaction[] {
      return withEvents(principal, concerning.all(principal, first, last, limit, offset)).sort(
        ({ transaction: a }, { transaction: b }) => b.block.height - a.block.height || b.txIndex - a.txIndex,
      );
    },

    /** Undefined if the transaction doesn't concern the principal, or the principal only sponsors it. */
    ofPrincipal(principal: number, position: number): AddressTransaction | undefined {
      const part = find.get(principal, position);
      if (part === null || (part.affected & sponsorOnly) !== 0) return undefined;
      return withEvents(principal, [part])[0];
    },

    /**
     * All transactions of a principal; undefined if the start names a block that isn't canonical.
     * @param startOf returns the start of the list for an offset
     */
    page(
      principal: number,
      total: number,
      limit: number,
      start: OffsetStart<TransactionKey>,
      startOf: (offset: number) => ListStart,
    ): Page<Involvement> | undefined {
      let cursor = start.cursor;
      if (start.item !== null || start.offset > 0) {
        const listStart = pageStart(start, startOf);
        if (listStart === undefined) return undefined;
        const first = list.all(principal, 0, listStart.last, 1, listStart.offset)[0];
        if (first === undefined) return emptyPage(total);
        cursor = movedTo([first.position], start.cursor);
      }
      return readPage({ limit, cursor, total, ...newestOf([principal]), itemOf: (part) => part });
    },
  };
}

/** SQLite merges both parts, which are in the order of the chain. */
const inboundOfPrincipal = `
  SELECT position, 0 AS event_index, NULL AS printed FROM transactions
   WHERE recipient_id = ?1 AND type = ${PAYLOAD.token_transfer} AND position BETWEEN ?2 AND ?3
   UNION ALL
  SELECT position, event_index, printed FROM memo_transfers WHERE principal_id = ?1 AND position BETWEEN ?2 AND ?3`;

export const inboundTransfersSql = {
  list: query<KeyRow, [number, number, number, number, number]>`
    ${inboundOfPrincipal} ORDER BY position DESC, event_index DESC LIMIT ?4 OFFSET ?5`,
  transaction: query<Row, [number]>`
    SELECT t.tx_id, t.tx_index, t.amount, t.memo, p.address AS sender
      FROM transactions t JOIN principals p ON p.id = t.sender_id WHERE t.position = ?1`,
  event: query<Row, [number, number]>`
    SELECT t.tx_id, t.tx_index, e.amount, e.value AS memo, p.address AS sender
      FROM events e JOIN transactions t ON t.position = e.position LEFT JOIN principals p ON p.id = e.sender_id
     WHERE e.position = ?1 AND e.event_index = ?2`,
  printed: query<{ memo: Uint8Array | null }, [number, number]>`
    SELECT value AS memo FROM events WHERE position = ?1 AND event_index = ?2`,
};

interface KeyRow {
  position: number;
  event_index: number;
  /** 1 if the print after the event is its memo. Null if the transaction itself is a transfer. */
  printed: 0 | 1 | null;
}

interface Row extends Stored<'transactions', 'tx_id' | 'tx_index'> {
  amount: string | null;
  memo: Uint8Array | null;
  sender: string | null;
}

/** The place of an event's memo, by `printed`. */
const MEMO_PLACES = ['event', 'print'] as const;

export function inboundTransferQuery(db: Database) {
  const { list, transaction, event, printed } = statements(db, inboundTransfersSql);

  function transferAt({ position, event_index, printed: hasPrint }: KeyRow): ReceivedStx {
    const row = hasPrint === null ? transaction.get(position) : event.get(position, event_index);
    if (row === null) throw new Error(`no transfer at position ${position}`);
    return {
      memoOf: hasPrint === null ? 'transaction' : MEMO_PLACES[hasPrint],
      txId: row.tx_id,
      txIndex: row.tx_index,
      blockHeight: heightOf(position),
      sender: row.sender ?? '',
      amount: row.amount ?? '0',
      memo: hasPrint === 1 ? (printed.get(position, event_index + 1)?.memo ?? null) : row.memo,
    };
  }

  return (principal: number, { first, last, offset }: Range, limit: number): ReceivedStx[] =>
    list.all(principal, first, last, limit, offset).map(transferAt);
}

const asset = `e.kind >= ${EVENT_KIND.stx_transfer} AND (e.sender_id = ?2 OR e.recipient_id = ?2)`;
/** Condition on the kind of an event: ?3 has a bit for each kind. */
const isSelected = `(?3 >> e.kind) & 1
   AND (${asset} OR e.kind = ${EVENT_KIND.lock} AND e.sender_id = ?2 OR e.kind = ${EVENT_KIND.log} AND e.contract_id = ?2)`;

/** Transactions of a principal with events of a kind; the constant condition leaves out kinds that ?3 lacks. */
const withEvents = (kind: TransactionEvent['kind'], list: string): string =>
  `SELECT position ${list} AND (?3 & ${kindMask([kind])}) <> 0`;

export const addressEventsSql = {
  // Each list is in the order of the chain, so SQLite merges them as it reads.
  transactions: query<{ position: number }, [number, number, number, number]>`
    ${[
      withEvents(
        'stx',
        `FROM events WHERE recipient_id = ?1 AND kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_mint}) AND position <= ?2`,
      ),
      withEvents(
        'stx',
        `FROM events WHERE sender_id = ?1 AND kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_burn}) AND position <= ?2`,
      ),
      withEvents('ft', `FROM token_changes WHERE principal_id = ?1 AND position <= ?2 AND token = ${TOKEN.ft}`),
      withEvents('nft', `FROM token_changes WHERE principal_id = ?1 AND position <= ?2 AND token = ${TOKEN.nft}`),
      withEvents('stx_lock', 'FROM stx_locks WHERE principal_id = ?1 AND position <= ?2 AND amount IS NOT NULL'),
      withEvents('contract_log', `FROM events WHERE contract_id = ?1 AND kind = ${EVENT_KIND.log} AND position <= ?2`),
    ].join(' UNION ')} ORDER BY position DESC LIMIT ?4`,
  count: query<{ total: number }, [number, number, number]>`
    SELECT count(*) AS total FROM events e WHERE e.position = ?1 AND ${isSelected}`,
  newestFirst: query<EventRow, [number, number, number]>`
    SELECT ${eventColumns} FROM events e ${eventJoins}
     WHERE e.position = ?1 AND ${isSelected} ORDER BY e.event_index DESC`,
  assets: query<EventRow, [number, number]>`
    SELECT ${eventColumns} FROM events e ${eventJoins} WHERE e.position = ?1 AND ${asset} ORDER BY e.event_index`,
  txId: query<Stored<'transactions', 'tx_id'>, [number]>`SELECT tx_id FROM transactions WHERE position = ?1`,
};

function assetEventOf(row: EventRow): AssetEvent {
  const event = eventOf(row);
  if ('action' in event) return event;
  throw new Error('an event that moves no asset');
}

/** Maximum number of transactions in which a request counts events to find its page. */
const MAX_LOOKED_AT = 20_000;
/** Number of transactions in a batch. */
const BATCH = 100;

export type AddressEventQueries = ReturnType<typeof addressEventQueries>;

/**
 * @param turns yields to other work between batches
 * @param maxLookedAt maximum number of transactions that are read; tests use another than the default
 */
export function addressEventQueries(db: Database, turns: Turns, maxLookedAt = MAX_LOOKED_AT) {
  const { transactions, count, newestFirst, assets, txId: txIdAt } = statements(db, addressEventsSql);

  /** Transactions with events of some kinds up to a position, newest first, read in batches. */
  function* positionsUpTo(principal: number, mask: number, last: number, batch: number): Generator<number> {
    for (let end = last; ; ) {
      const rows = transactions.all(principal, end, mask, batch);
      for (const { position } of rows) yield position;
      const lowest = rows.at(-1)?.position;
      if (lowest === undefined || rows.length < batch) return;
      end = lowest - 1;
    }
  }

  return {
    /** Asset events of one transaction, in order. */
    ofTransaction: (principal: number, position: number): AssetEvent[] =>
      assets.all(position, principal).map(assetEventOf),

    /**
     * Events of some kinds in transactions up to a position: events that name the principal, and events that the principal
     * logged. Events that the offset skips are only counted.
     * @throws TooMuchWorkError if the page needs more transactions than a request may read
     */
    async newest(
      principal: number,
      kinds: readonly TransactionEvent['kind'][],
      last: number,
      limit: number,
      offset: number,
    ): Promise<PositionedEvent[]> {
      const mask = kindMask(kinds);
      const pause = turns.longWork();
      const batch = Math.min(BATCH, limit + offset + 1);
      const events: PositionedEvent<TransactionEvent>[] = [];
      let [readCount, toSkip] = [0, offset];
      for (const position of positionsUpTo(principal, mask, last, batch)) {
        if (events.length >= limit) break;
        if (readCount === maxLookedAt) throw tooManyBefore(maxLookedAt);
        readCount += 1;
        await pause();
        const skipped = toSkip === 0 ? 0 : (count.get(position, principal, mask)?.total ?? 0);
        if (toSkip > 0 && skipped <= toSkip) {
          toSkip -= skipped;
          continue;
        }
        const txId = txIdAt.get(position)?.tx_id ?? new Uint8Array(0);
        for (const row of newestFirst.all(position, principal, mask).slice(toSkip)) {
          events.push({ txId, event: eventOf(row) });
        }
        toSkip = 0;
      }
      return events.slice(0, limit);
    },
  };
}

const tooManyBefore = (limit: number): TooMuchWorkError =>
  new TooMuchWorkError(
    `querystring/offset must be lower: the page is not among the events of the newest ${limit} transactions`,
  );
