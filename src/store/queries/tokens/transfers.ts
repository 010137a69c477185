/** Events that moved a token: STX of a principal, units of a fungible token, and the history of an instance. */
import type { Database } from 'bun:sqlite';
import { SEND_MANY } from '../../../chain/memo-transfers.ts';
import { heightOf } from '../../../chain/position.ts';
import { decodeClarity } from '../../../codec/clarity.ts';
import type { HeightSpan } from '../../model/block.ts';
import type { Cursor, CursorKey, ListOrder, Page } from '../../model/page.ts';
import type { MadeBy } from '../../model/staking.ts';
import type { FtTransfer, Move, StxTransfer } from '../../model/token.ts';
import type { TransactionPosition } from '../../model/transaction.ts';
import { EVENT_KIND } from '../../rows/enums.ts';
import { heightIn, shownTime } from '../../rows/expressions.ts';
import { prepared, type Stored } from '../../rows/statement.ts';
import { spanOf } from '../blocks/windows.ts';
import { keysetPage, numberAt, type PageSource, reversed } from '../page.ts';

const ofTransaction = {
  columns: `t.position, t.tx_id, t.tx_index, ${shownTime} AS block_time,
            b.block_hash, b.index_block_hash`,
  joins: `JOIN transactions t ON t.position = e.position JOIN blocks b ON b.height = ${heightIn('e.position')}`,
};
const move = {
  columns: `${ofTransaction.columns}, e.event_index, sender.address AS sender, recipient.address AS recipient, e.amount`,
  joins: `${ofTransaction.joins} LEFT JOIN principals sender ON sender.id = e.sender_id
          LEFT JOIN principals recipient ON recipient.id = e.recipient_id`,
};
/** A print of the send-many contract right after a transfer is that transfer's memo. */
const memo = {
  columns: `${move.columns}, e.value AS memo, t.type, t.memo AS transaction_memo,
            printer.address AS next_contract, next.value AS next_value`,
  joins: `${move.joins}
          LEFT JOIN events next ON next.position = e.position AND next.event_index = e.event_index + 1 AND next.kind = ${EVENT_KIND.log}
          LEFT JOIN principals printer ON printer.id = next.contract_id`,
};

const newest = 'ORDER BY e.position DESC, e.event_index DESC LIMIT';
const oldest = 'ORDER BY e.position, e.event_index LIMIT';

/** Both directions of a list of events, newest first. @param where may use ?1 and ?2; the key is ?3 and ?4 */
const feed = (shown: { columns: string; joins: string }, where: string, ends = { first: '', last: '' }) => ({
  from: `SELECT ${shown.columns} FROM events e ${shown.joins}
          WHERE ${where} AND (e.position, e.event_index) <= (?3, ?4)${ends.first} ${newest} ?5`,
  before: `SELECT ${shown.columns} FROM events e ${shown.joins}
            WHERE ${where} AND (e.position, e.event_index) > (?3, ?4)${ends.last} ${oldest} ?5`,
});

/** A list that ends at the position ?6. */
const ended = { first: ' AND e.position >= ?6', last: ' AND e.position <= ?6' };

const feeds = {
  stxInbound: feed(memo, `e.recipient_id = ?1 AND e.kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_mint})`),
  stxOutbound: feed(memo, `e.sender_id = ?1 AND e.kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_burn})`),
  ftInbound: feed(
    move,
    `e.asset_id = ?1 AND e.recipient_id = ?2 AND e.kind IN (${EVENT_KIND.ft_transfer}, ${EVENT_KIND.ft_mint})`,
  ),
  ftOutbound: feed(
    move,
    `e.asset_id = ?1 AND e.sender_id = ?2 AND e.kind IN (${EVENT_KIND.ft_transfer}, ${EVENT_KIND.ft_burn})`,
  ),
  ftOfAsset: feed(
    move,
    `e.asset_id = ?1 AND e.kind IN (${EVENT_KIND.ft_transfer}, ${EVENT_KIND.ft_mint}, ${EVENT_KIND.ft_burn})`,
    ended,
  ),
  nft: feed(move, `e.asset_id = ?1 AND e.value = ?2 AND e.kind >= ${EVENT_KIND.nft_transfer}`),
};

const totals = {
  stx: 'SELECT stx_inbound AS inbound, stx_outbound AS outbound FROM accounts WHERE principal_id = ?1',
  ft: 'SELECT transfers AS total FROM ft_balances WHERE asset_id = ?1 AND principal_id = ?2',
  nft: 'SELECT events AS total FROM nft_instances WHERE asset_id = ?1 AND value = ?2',
};

export const sql: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(feeds).flatMap(([name, { from, before }]) => [
    [`${name}.from`, from],
    [`${name}.before`, before],
  ]),
  ...Object.entries(totals).map(([name, statement]) => [`${name}.total`, statement]),
]);

type KeyRow = Stored<'events', 'position' | 'event_index'>;

interface MoveRow
  extends KeyRow,
    Stored<'transactions', 'tx_id' | 'tx_index'>,
    Stored<'blocks', 'block_time' | 'block_hash' | 'index_block_hash'>,
    Stored<'events', 'amount'> {
  sender: string | null;
  recipient: string | null;
}

interface StxRow extends MoveRow {
  memo: Uint8Array | null;
  type: number;
  transaction_memo: Uint8Array | null;
  next_contract: string | null;
  next_value: Uint8Array | null;
}

/** The parameters ?1 and ?2 of a feed; some use only the first. */
type Of = readonly [number, number | Uint8Array | null];

/** Events newest first, from a key on or before it. */
interface Feed<Row extends KeyRow> {
  from(of: Of, position: number, index: number, count: number): Row[];
  before(of: Of, position: number, index: number, count: number): Row[];
}

const TOKEN_TRANSFER = 0;

const positionIn = (row: Omit<MoveRow, 'event_index' | 'sender' | 'recipient' | 'amount'>): TransactionPosition => ({
  txId: row.tx_id,
  txIndex: row.tx_index,
  block: {
    height: heightOf(row.position),
    hash: row.block_hash,
    indexHash: row.index_block_hash,
    time: row.block_time,
  },
});

const moveOf = (row: MoveRow): Move => ({
  ...positionIn(row),
  eventIndex: row.event_index,
  sender: row.sender,
  recipient: row.recipient,
});

const ftTransferOf = (row: MoveRow): FtTransfer => ({ ...moveOf(row), amount: row.amount ?? '0' });

/** The memo of a transfer; null where there is none, or it is empty. */
function memoOf(row: StxRow): Uint8Array | null {
  let bytes = row.type === TOKEN_TRANSFER ? row.transaction_memo : row.memo;
  if (row.next_contract !== null && row.next_value !== null && SEND_MANY.has(row.next_contract)) {
    const printed = decodeClarity(row.next_value);
    bytes = printed.ok && printed.value.type === 'buffer' ? printed.value.value : null;
  }
  return bytes === null || bytes.length === 0 ? null : bytes;
}

const stxTransferOf = (row: StxRow): StxTransfer => ({ ...ftTransferOf(row), memo: memoOf(row) });

const keyOf = ({ position, event_index }: KeyRow): CursorKey => [position, event_index];
const isNewer = (a: KeyRow, b: KeyRow): boolean =>
  a.position > b.position || (a.position === b.position && a.event_index > b.event_index);
const isSame = (a: KeyRow, b: KeyRow): boolean => a.position === b.position && a.event_index === b.event_index;

/** Merges two lists of the same order; an event of both is listed once. */
function merged<Row extends KeyRow>(a: Row[], b: Row[], count: number, comesFirst: (x: Row, y: Row) => boolean): Row[] {
  const rows: Row[] = [];
  for (let i = 0, j = 0; rows.length < count; ) {
    const [left, right] = [a[i], b[j]];
    const next = right === undefined || (left !== undefined && !comesFirst(right, left)) ? left : right;
    if (next === undefined) break;
    rows.push(next);
    if (left !== undefined && isSame(left, next)) i++;
    if (right !== undefined && isSame(right, next)) j++;
  }
  return rows;
}

const both = <Row extends KeyRow>(a: Feed<Row>, b: Feed<Row>): Feed<Row> => ({
  from: (of, position, index, count) =>
    merged(a.from(of, position, index, count), b.from(of, position, index, count), count, isNewer),
  before: (of, position, index, count) =>
    merged(a.before(of, position, index, count), b.before(of, position, index, count), count, (x, y) => isNewer(y, x)),
});

const NEWEST = Number.MAX_SAFE_INTEGER;
/** A key behind the oldest event. */
const OLDEST: CursorKey = [-1, -1];

/** A page of a feed. */
const page = <Row extends KeyRow, Item, Total extends number | null>(
  feed: Feed<Row>,
  of: Of,
  total: Total,
  limit: number,
  at: Cursor | null,
  itemOf: (row: Row) => Item,
): Page<Item, Total> =>
  keysetPage<Row, Item, Total>({
    limit,
    at,
    total,
    rowsFrom: (key, count) =>
      key === null ? feed.from(of, NEWEST, NEWEST, count) : feed.from(of, numberAt(key, 0), numberAt(key, 1), count),
    rowsBefore: (key, count) => feed.before(of, numberAt(key, 0), numberAt(key, 1), count),
    keyOf,
    itemOf,
  });

export function transferQueries(db: Database) {
  function feedOf<Row extends KeyRow>(statements: { from: string; before: string }): Feed<Row> {
    type Parameters = [...Of, number, number, number];
    const from = prepared<Row, Parameters>(db, statements.from);
    const before = prepared<Row, Parameters>(db, statements.before);
    return {
      from: (of, ...key) => from.all(...of, ...key),
      before: (of, ...key) => before.all(...of, ...key),
    };
  }
  const stx = { inbound: feedOf<StxRow>(feeds.stxInbound), outbound: feedOf<StxRow>(feeds.stxOutbound) };
  const ft = both(feedOf<MoveRow>(feeds.ftInbound), feedOf<MoveRow>(feeds.ftOutbound));
  type Ended = [number, null, number, number, number, number];
  const ftOfAsset = {
    from: prepared<MoveRow, Ended>(db, feeds.ftOfAsset.from),
    before: prepared<MoveRow, Ended>(db, feeds.ftOfAsset.before),
  };
  const nft = feedOf<MoveRow>(feeds.nft);
  const stxTotals = prepared<{ inbound: number; outbound: number }, [number]>(db, totals.stx);
  const ftTotal = prepared<{ total: number }, [number, number]>(db, totals.ft);
  const nftTotal = prepared<{ total: number }, [number, Uint8Array]>(db, totals.nft);

  return {
    stx(principal: number, direction: 'inbound' | 'outbound', limit: number, at: Cursor | null): Page<StxTransfer> {
      const total = stxTotals.get(principal)?.[direction] ?? 0;
      return page(stx[direction], [principal, null], total, limit, at, stxTransferOf);
    },

    /** Transfers of a principal. A transfer to itself is one row. */
    ft(asset: number, principal: number, limit: number, at: Cursor | null): Page<FtTransfer> {
      const total = ftTotal.get(asset, principal)?.total ?? 0;
      return page(ft, [asset, principal], total, limit, at, ftTransferOf);
    },

    /** Transfers by all principals between two heights. The list is not counted. */
    ftOfAsset(
      asset: number,
      order: ListOrder,
      heights: HeightSpan,
      limit: number,
      at: Cursor | null,
    ): Page<FtTransfer, null> {
      const { first, last } = spanOf(heights);
      const source: PageSource<MoveRow, FtTransfer, null> = {
        limit,
        at,
        total: null,
        rowsFrom(key, count) {
          const [position, index] = key === null ? [NEWEST, NEWEST] : [numberAt(key, 0), numberAt(key, 1)];
          const from = position > last ? ([last, NEWEST] as const) : ([position, index] as const);
          return ftOfAsset.from.all(asset, null, ...from, count, first);
        },
        rowsBefore(key, count) {
          const [position, index] = [numberAt(key, 0), numberAt(key, 1)];
          const after = position < first ? ([first, -1] as const) : ([position, index] as const);
          return ftOfAsset.before.all(asset, null, ...after, count, last);
        },
        keyOf,
        itemOf: ftTransferOf,
      };
      return keysetPage(order === 'desc' ? source : reversed(source, OLDEST));
    },

    nft(asset: number, value: Uint8Array, limit: number, at: Cursor | null): Page<Move> {
      const total = nftTotal.get(asset, value)?.total ?? 0;
      return page(nft, [asset, value], total, limit, at, moveOf);
    },
  };
}

export const madeBy = {
  columns: `t.position, t.tx_id, t.tx_index, ${shownTime} AS block_time,
            b.block_hash, b.index_block_hash, b.burn_block_height, b.burn_block_time`,
  joins: `JOIN transactions t ON t.position = o.position JOIN blocks b ON b.height = ${heightIn('o.position')}`,
};

export type MadeByRow = Stored<'transactions', 'position' | 'tx_id' | 'tx_index'> &
  Stored<'blocks', 'block_time' | 'block_hash' | 'index_block_hash' | 'burn_block_height' | 'burn_block_time'>;

export const madeByOf = (row: MadeByRow): MadeBy => ({
  ...positionIn(row),
  burnBlock: { height: row.burn_block_height, time: row.burn_block_time },
});
