/** Events that moved a token: STX of a principal, units of a fungible token, and the history of an instance. */
import type { Database } from 'bun:sqlite';
import { printedMemo, SEND_MANY } from '../../../chain/memo-transfers.ts';
import type { HeightSpan } from '../../model/block.ts';
import type { Cursor, ListOrder, Page } from '../../model/page.ts';
import type { FtTransfer, Move, StxTransfer } from '../../model/token.ts';
import { EVENT_KIND, PAYLOAD } from '../../rows/enums.ts';
import { heightIn, shownTime } from '../../rows/expressions.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { spanOf } from '../blocks/windows.ts';
import { newestFirst, type PlaceRow, placeKey } from '../contracts/value-search.ts';
import { down, merged, orderedList, reversed } from '../list.ts';
import { numbers } from '../numbers.ts';
import { readPage } from '../page.ts';
import { type PlacedRow, positionIn } from '../transactions/summary.ts';

const transactionJoin = {
  columns: `t.position, t.tx_id, t.tx_index, ${shownTime} AS block_time,
            b.block_hash, b.index_block_hash`,
  joins: `JOIN transactions t ON t.position = e.position JOIN blocks b ON b.height = ${heightIn('e.position')}`,
};
const move = {
  columns: `${transactionJoin.columns}, e.event_index, sender.address AS sender, recipient.address AS recipient, e.amount`,
  joins: `${transactionJoin.joins} LEFT JOIN principals sender ON sender.id = e.sender_id
          LEFT JOIN principals recipient ON recipient.id = e.recipient_id`,
};
/** A print of the send-many contract right after a transfer is that transfer's memo. */
export const memoPrint = {
  columns: 'printer.address AS next_contract, next.value AS next_value',
  joins: `LEFT JOIN events next ON next.position = e.position AND next.event_index = e.event_index + 1 AND next.kind = ${EVENT_KIND.log}
          LEFT JOIN principals printer ON printer.id = next.contract_id`,
};
const memo = {
  columns: `${move.columns}, e.value AS memo, t.type, t.memo AS transaction_memo, ${memoPrint.columns}`,
  joins: `${move.joins} ${memoPrint.joins}`,
};

/** A list of events, newest first. */
const eventList = <Row>(source: { columns: string; joins: string }, where: string, isBounded = false) =>
  orderedList<Row>(
    { select: `SELECT ${source.columns} FROM events e ${source.joins}`, where },
    [down('e.position'), down('e.event_index')],
    { isBounded },
  );

export const sql = {
  stxInbound: eventList<StxRow>(
    memo,
    `e.recipient_id = ?1 AND e.kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_mint})`,
  ),
  stxOutbound: eventList<StxRow>(
    memo,
    `e.sender_id = ?1 AND e.kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_burn})`,
  ),
  ftInbound: eventList<MoveRow>(
    move,
    `e.asset_id = ?1 AND e.recipient_id = ?2 AND e.kind IN (${EVENT_KIND.ft_transfer}, ${EVENT_KIND.ft_mint})`,
  ),
  ftOutbound: eventList<MoveRow>(
    move,
    `e.asset_id = ?1 AND e.sender_id = ?2 AND e.kind IN (${EVENT_KIND.ft_transfer}, ${EVENT_KIND.ft_burn})`,
  ),
  ftOfAsset: eventList<MoveRow>(
    move,
    `e.asset_id = ?1 AND e.kind BETWEEN ${EVENT_KIND.ft_transfer} AND ${EVENT_KIND.ft_burn}`,
    true,
  ),
  nft: eventList<MoveRow>(move, `e.asset_id = ?1 AND e.value = ?2 AND e.kind >= ${EVENT_KIND.nft_transfer}`),
  stxTotals: query<{ inbound: number; outbound: number }, [number]>`
    SELECT stx_inbound AS inbound, stx_outbound AS outbound FROM accounts WHERE principal_id = ?1`,
  ftTotal: query<{ total: number }, [number, number]>`
    SELECT transfers AS total FROM ft_balances WHERE asset_id = ?1 AND principal_id = ?2`,
  nftTotal: query<{ total: number }, [number, Uint8Array]>`
    SELECT events AS total FROM nft_instances WHERE asset_id = ?1 AND value = ?2`,
};

interface MoveRow extends PlaceRow, PlacedRow, Stored<'events', 'amount'> {
  sender: string | null;
  recipient: string | null;
}

/** The parts of a transfer and its transaction that may have the memo. */
interface MemoRow {
  memo: Uint8Array | null;
  type: number;
  transaction_memo: Uint8Array | null;
  next_contract: string | null;
  next_value: Uint8Array | null;
}

interface StxRow extends MoveRow, MemoRow {}

const moveOf = (row: MoveRow): Move => ({
  ...positionIn(row),
  eventIndex: row.event_index,
  sender: row.sender,
  recipient: row.recipient,
});

const ftTransferOf = (row: MoveRow): FtTransfer => ({ ...moveOf(row), amount: row.amount ?? '0' });

/** Returns the memo of a transfer; null if there is none, or it is empty. */
export function memoOf(row: MemoRow): Uint8Array | null {
  let bytes = row.type === PAYLOAD.token_transfer ? row.transaction_memo : row.memo;
  if (row.next_contract !== null && row.next_value !== null && SEND_MANY.has(row.next_contract)) {
    bytes = printedMemo(row.next_value);
  }
  return bytes === null || bytes.length === 0 ? null : bytes;
}

const stxTransferOf = (row: StxRow): StxTransfer => ({ ...ftTransferOf(row), memo: memoOf(row) });

export function transferQueries(db: Database) {
  const read = statements(db, sql);
  const { principalOf, assetOf } = numbers(db);

  return {
    stx(address: string, direction: 'inbound' | 'outbound', limit: number, cursor: Cursor | null): Page<StxTransfer> {
      const principal = principalOf(address);
      const total = read.stxTotals.get(principal)?.[direction] ?? 0;
      return readPage({
        limit,
        cursor,
        total,
        ...(direction === 'inbound' ? read.stxInbound : read.stxOutbound)([principal]),
        itemOf: stxTransferOf,
      });
    },

    /** Transfers of a principal. A transfer to itself is one row. */
    ft(address: string, identifier: string, limit: number, cursor: Cursor | null): Page<FtTransfer> {
      const [asset, principal] = [assetOf(identifier), principalOf(address)];
      const total = read.ftTotal.get(asset, principal)?.total ?? 0;
      const lists = [read.ftInbound([asset, principal]), read.ftOutbound([asset, principal])];
      return readPage({
        limit,
        cursor,
        total,
        rows: (key, isBackward, count) => merged(lists, newestFirst, key, isBackward, count).take(count).toArray(),
        keyOf: placeKey,
        itemOf: ftTransferOf,
      });
    },

    /** Transfers, mints and burns of a token by all principals between two heights. The list is not counted. */
    ftOfAsset(
      asset: string,
      order: ListOrder,
      heights: HeightSpan,
      limit: number,
      cursor: Cursor | null,
    ): Page<FtTransfer, null> {
      const rows = read.ftOfAsset([assetOf(asset)], spanOf(heights));
      return readPage({
        limit,
        cursor,
        total: null,
        ...(order === 'desc' ? rows : reversed(rows)),
        itemOf: ftTransferOf,
      });
    },

    /** Every event of an instance, newest first. */
    nftHistory(identifier: string, value: Uint8Array, limit: number, cursor: Cursor | null): Page<Move> {
      const asset = assetOf(identifier);
      const total = read.nftTotal.get(asset, value)?.total ?? 0;
      return readPage({ limit, cursor, total, ...read.nft([asset, value]), itemOf: moveOf });
    },
  };
}
