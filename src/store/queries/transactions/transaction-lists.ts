/**
 * Canonical transactions by filters: v1's list with an offset in several orders, and the list with cursors in the order of the
 * chain.
 */
import type { Database } from 'bun:sqlite';
import { positionsOf } from '../../../chain/position.ts';
import type { TransactionType } from '../../../codec/transaction.ts';
import type { Cursor, ListOrder, OffsetPage, Page } from '../../model/page.ts';
import type {
  TransactionConditions,
  TransactionDetail,
  TransactionFilter,
  TransactionOrder,
} from '../../model/transaction.ts';
import { COUNTER, PAYLOAD, STATUS } from '../../rows/enums.ts';
import { firstPositionIn, heightIn, shownTime } from '../../rows/expressions.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { type Span, spanOf } from '../blocks/windows.ts';
import { down } from '../list.ts';
import {
  type AccessPath,
  declareSearch,
  declareWalk,
  NOTHING,
  SEARCH_LIMITS,
  type SearchLimits,
  type SizedPath,
  searcher,
  walker,
} from '../planner.ts';
import type { ItemsOf } from '../row-texts.ts';
import type { DetailQueries } from './details.ts';
import { bitsOf, numbersOf, payloadFilters } from './summary.ts';

const burnTime = `(SELECT b.burn_block_time FROM blocks b WHERE b.height = ${heightIn('t.position')})`;
const time = `(SELECT ${shownTime} FROM blocks b WHERE b.height = ${heightIn('t.position')})`;
const { leastAmount, greatestAmount, ...payload } = payloadFilters('t');

/** The filters of v1's list. */
const searchFilters = {
  ...payload,
  nonce: 't.nonce = :nonce',
  since: `${burnTime} >= :since`,
  until: `${burnTime} <= :until`,
};

/** The filters of the list with cursors. `statuses` has a bit for each status, counted from the least. */
const walkFilters = {
  ...payload,
  leastAmount,
  greatestAmount,
  statuses: `(:statuses >> (t.status - ${STATUS.unknown})) & 1`,
  principal:
    'EXISTS (SELECT 1 FROM principal_transactions p WHERE p.principal_id = :principal AND p.position = t.position)',
  since: `${time} >= :since`,
  until: `${time} <= :until`,
};

const called = `t.type = ${PAYLOAD.contract_call}`;
const payloads = Object.values(PAYLOAD);

/** The ways of both lists. If two find the same number of rows, the first wins. */
const ways = {
  call: {
    by: ['contract', 'functionName'],
    from: 'transactions t INDEXED BY transactions_by_call',
    where: `${called} AND t.contract_id = :contract AND t.function_name = :functionName`,
  },
  sender: { by: ['sender'], from: 'transactions t INDEXED BY transactions_by_sender', where: 't.sender_id = :sender' },
  recipient: {
    by: ['recipient'],
    from: 'transactions t INDEXED BY transactions_by_recipient',
    where: `t.type = ${PAYLOAD.token_transfer} AND t.recipient_id = :recipient`,
  },
  contract: {
    by: ['contract'],
    from: 'transactions t INDEXED BY transactions_by_called_contract',
    where: `${called} AND t.contract_id = :contract`,
  },
  functionName: {
    by: ['functionName'],
    from: 'transactions t INDEXED BY transactions_by_function',
    where: `${called} AND t.function_name = :functionName`,
  },
  types: {
    by: ['types'],
    from: 'transactions t INDEXED BY transactions_by_type',
    where: `t.type IN (${payloads.map((type) => `iif((:types >> ${type}) & 1, ${type}, -1)`).join(', ')})`,
    // Rows of each type are in the order of the chain; SQLite merges them.
    inOrder: payloads.map((type) => `t.type = ${type} AND (:types >> ${type}) & 1`),
  },
} as const satisfies Readonly<Record<string, AccessPath<keyof typeof payload>>>;

const key = [down('t.position')];

const walk = declareWalk({
  filters: walkFilters,
  ways: {
    ...ways,
    principal: {
      by: ['principal'],
      from: 'principal_transactions q CROSS JOIN transactions t ON t.position = q.position',
      where: 'q.principal_id = :principal',
      key: [down('q.position')],
    },
    all: { by: [], from: 'transactions t', where: 'true' },
  },
  key,
  isBounded: true,
});

const search = declareSearch({
  filters: searchFilters,
  ways: {
    senderNonce: {
      by: ['sender', 'nonce'],
      from: 'transactions t INDEXED BY transactions_by_sender_nonce',
      where: 't.sender_id = :sender AND t.nonce = :nonce',
    },
    ...ways,
    nonce: { by: ['nonce'], from: 'transactions t INDEXED BY transactions_by_nonce', where: 't.nonce = :nonce' },
    // The blocks of the positions that a search is bound to.
    span: { by: ['since', 'until'], from: 'transactions t NOT INDEXED', where: 'true' },
  },
  key,
  isBounded: true,
  noun: 'transactions',
  narrowFilter: 'a shorter range of time',
  ownOrder: 'block_height',
  orders: {
    block_height: { columns: ['t.position'] },
    burn_block_time: {
      columns: ['a.burn_block_time', 't.position'],
      join: `CROSS JOIN blocks a ON a.height = ${heightIn('t.position')}`,
      // Bitcoin's clock may run back a little, so times go by its blocks.
      whole: {
        from: `anchor_burn_blocks a INDEXED BY anchor_burn_blocks_by_time CROSS JOIN transactions t
                 ON t.position >= ${firstPositionIn('a.first_block')} AND t.position < ${firstPositionIn('(a.first_block + a.blocks)')}`,
        columns: ['a.time', 'a.ordinal', 't.position'],
        sought: `a.time BETWEEN coalesce(:since, 0) AND coalesce(:until, ${Number.MAX_SAFE_INTEGER})`,
      },
    },
    fee: { columns: ['t.fee', 't.position'], whole: { from: 'transactions t INDEXED BY transactions_by_fee' } },
  },
  looked: 't.position, t.type, t.sender_id, t.recipient_id, t.contract_id, t.function_name, t.nonce',
});

export const sql = {
  total: query<{ size: number }>`
    SELECT preceding_transactions + transactions AS size FROM blocks ORDER BY height DESC LIMIT 1`,
  type: query<{ size: number }, [string]>`
    SELECT count AS size FROM counters WHERE kind = ${COUNTER.transactions} AND key = ?1`,
  principal: query<PrincipalRow, [string]>`
    SELECT p.id, a.sent, a.paid, a.calls, a.transactions FROM principals p JOIN accounts a ON a.principal_id = p.id
     WHERE p.address = ?1`,
  functionName: query<{ size: number }, [string]>`
    SELECT count AS size FROM counters WHERE kind = ${COUNTER.calls} AND key = ?1`,
  // These two aren't stored: they are counted up to a limit, using only their index.
  nonce: query<{ size: number }, [number, number]>`
    SELECT count(*) AS size FROM (SELECT 1 FROM transactions WHERE nonce = ?1 LIMIT ?2)`,
  call: query<{ size: number }, [number, string, number]>`
    SELECT count(*) AS size FROM (SELECT 1 FROM transactions INDEXED BY transactions_by_call
                                   WHERE type = ${PAYLOAD.contract_call} AND contract_id = ?1 AND function_name = ?2 LIMIT ?3)`,
  // The blocks of a span of time and a few others: Bitcoin's clock may run back a little.
  between: query<{ first: number | null; last: number | null; size: number }, [number, number]>`
    SELECT min(first_block) AS first, max(first_block + blocks - 1) AS last, coalesce(sum(rows), 0) AS size
      FROM anchor_burn_blocks WHERE time BETWEEN ?1 AND ?2`,
  // The last tenure that started before a time (its blocks may be later), and the first one that starts after a time.
  before: query<{ height: number }, [number]>`
    SELECT first_block AS height FROM anchor_burn_blocks WHERE time < ?1 ORDER BY time DESC, ordinal DESC LIMIT 1`,
  after: query<{ height: number }, [number]>`
    SELECT first_block AS height FROM anchor_burn_blocks WHERE time > ?1 ORDER BY time, ordinal LIMIT 1`,
  // The block with the n-th transaction of the chain, by the number of transactions before the block.
  byOrdinal: query<Stored<'blocks', 'height'> & { preceding: number }, [number]>`
    SELECT height, preceding_transactions AS preceding FROM blocks WHERE preceding_transactions < ?1
     ORDER BY preceding_transactions DESC, height DESC LIMIT 1`,
  fromOrdinal: query<PositionRow, [number, number, number]>`
    SELECT position FROM transactions WHERE position >= ?1 ORDER BY position LIMIT ?2 OFFSET ?3`,
};

export const transactionSearchSql = search.sql;
export const transactionWalkSql = walk.lists;

type PositionRow = Stored<'transactions', 'position'>;
const positionOf = ({ position }: PositionRow): number => position;

type PrincipalRow = Stored<'principals', 'id'> & Stored<'accounts', 'sent' | 'paid' | 'calls' | 'transactions'>;

/** Filters that both lists have, and the rows of the index for their names: undefined if not given, null if unknown. */
interface Parts {
  types: readonly number[] | null;
  functionName: string | null;
  sender: PrincipalRow | null | undefined;
  recipient: PrincipalRow | null | undefined;
  contract: PrincipalRow | null | undefined;
}

const valuesOf = ({ types, functionName, sender, recipient, contract }: Parts) => ({
  types: bitsOf(types),
  functionName,
  sender: sender?.id ?? null,
  recipient: recipient?.id ?? null,
  contract: contract?.id ?? null,
});

/** Makes a function that returns the number of canonical transactions. */
export function transactionCount(db: Database): () => number {
  const total = sql.total.prepared(db);
  return () => total.get()?.size ?? 0;
}

/** Finds the rows of filters, and how many transactions each way finds. */
function filterSizes(db: Database) {
  const { principal, functionName: callsOf, type: sizeOfType } = statements(db, sql);

  const principalOf = (address: string | null): PrincipalRow | null | undefined =>
    address === null ? undefined : principal.get(address);
  return {
    total: transactionCount(db),
    principalOf,
    callsOf: (name: string): number => callsOf.get(name)?.size ?? 0,
    partsOf: (
      { sender, recipient, contract, functionName }: Pick<TransactionFilter, keyof Parts>,
      types: readonly TransactionType[] | null,
    ): Parts => ({
      types: numbersOf(types),
      functionName,
      sender: principalOf(sender),
      recipient: principalOf(recipient),
      contract: principalOf(contract),
    }),
    /** The ways of both lists but `call`, each with its size. */
    sizedPaths({
      types,
      functionName,
      sender,
      recipient,
      contract,
    }: Parts): SizedPath<Exclude<keyof typeof ways, 'call'>>[] {
      const sizes = {
        sender: sender === undefined ? undefined : (sender?.sent ?? 0),
        recipient: recipient === undefined ? undefined : (recipient?.paid ?? 0),
        contract: contract === undefined ? undefined : (contract?.calls ?? 0),
        functionName: functionName === null ? undefined : (callsOf.get(functionName)?.size ?? 0),
        types: types?.reduce((sum, type) => sum + (sizeOfType.get(String(type))?.size ?? 0), 0),
      };
      return (Object.keys(sizes) as (keyof typeof sizes)[]).flatMap((way) => {
        const size = sizes[way];
        return size === undefined ? [] : [{ way, size }];
      });
    },
  };
}

/** Maximum seconds that Bitcoin's clock runs back: a block may be two hours ahead of the others. */
const CLOCK_SLACK = 2 * 3_600;

/** @param maxRows tests of the bound use fewer than the default */
export function transactionWalk(db: Database, maxRows?: number) {
  const pages = walker(db, walk, positionOf, maxRows);
  const sizes = filterSizes(db);
  const { before, after } = statements(db, sql);

  /** The positions that can have blocks of some times and heights. */
  function spanIn(conditions: TransactionConditions): Span {
    const { first, last } = spanOf(conditions);
    const start = conditions.since === null ? null : before.get(conditions.since - CLOCK_SLACK);
    const end = conditions.until === null ? null : after.get(conditions.until + CLOCK_SLACK);
    return {
      first: Math.max(first, positionsOf(start?.height ?? 0).first),
      last: Math.min(last, end === null ? Number.MAX_SAFE_INTEGER : positionsOf(end.height).last),
    };
  }

  /** Positions of transactions that meet all conditions. */
  return (
    conditions: TransactionConditions,
    order: ListOrder,
    limit: number,
    cursor: Cursor | null,
  ): Page<number, number | null> => {
    const parts = sizes.partsOf(conditions, conditions.types);
    const principal = sizes.principalOf(conditions.principal);
    const sizedPaths: SizedPath<keyof typeof walk.ways>[] = [
      ...sizes.sizedPaths(parts),
      { way: 'all', size: sizes.total() },
    ];
    if (principal !== undefined) sizedPaths.push({ way: 'principal', size: principal?.transactions ?? 0 });
    if (parts.contract != null && conditions.functionName !== null) {
      sizedPaths.push({ way: 'call', size: Math.min(sizes.callsOf(conditions.functionName), parts.contract.calls) });
    }
    const values = {
      ...valuesOf(parts),
      leastAmount: conditions.leastAmount,
      greatestAmount: conditions.greatestAmount,
      statuses: bitsOf(conditions.statuses?.map((status) => STATUS[status] - STATUS.unknown) ?? null),
      principal: principal?.id ?? null,
      since: conditions.since,
      until: conditions.until,
    };
    return pages({ values, sizedPaths, span: spanIn(conditions), isReversed: order === 'asc' }, limit, cursor);
  };
}

/** The payload type that other filters imply; null for any, undefined if two filters imply different ones. */
function impliedType({ recipient, contract, functionName }: TransactionFilter): TransactionType | null | undefined {
  const called = contract !== null || functionName !== null;
  if (recipient === null) return called ? 'contract_call' : null;
  return called ? undefined : 'token_transfer';
}

/** Pages of the whole chain in its order, found without counting the transactions before them. */
function ordinalPages(db: Database) {
  const { byOrdinal: blockOfOrdinal, fromOrdinal: rowsFromOrdinal } = statements(db, sql);

  return (all: number, direction: TransactionOrder['direction'], count: number, offset: number): number[] => {
    const first = direction === 'asc' ? offset + 1 : all - offset - count + 1;
    const block = blockOfOrdinal.get(first);
    if (block === null) return [];
    const rows = rowsFromOrdinal.all(positionsOf(block.height).first, count, first - block.preceding - 1);
    return (direction === 'asc' ? rows : rows.reverse()).map(positionOf);
  };
}

/** @param limits tests of each way use others than the default */
export function transactionSearch(db: Database, details: DetailQueries, limits: SearchLimits = SEARCH_LIMITS) {
  const pages = searcher(db, search, positionOf, limits);
  const sizes = filterSizes(db);
  const ordinals = ordinalPages(db);
  const { nonce: sizeOfNonce, call: sizeOfCall, between } = statements(db, sql);

  function unfiltered({ by, direction }: TransactionOrder, limit: number, offset: number): OffsetPage<number> {
    const total = sizes.total();
    const count = Math.min(limit, total - offset);
    if (count <= 0) return { items: [], total };
    const page =
      by === 'block_height' ? ordinals(total, direction, count, offset) : pages.all(by, direction, count, offset);
    return { items: page, total };
  }

  function filteredPage(filter: TransactionFilter, order: TransactionOrder, limit: number, offset: number) {
    const { functionName, nonce, since, until } = filter;
    const implied = impliedType(filter);
    if (implied === undefined || (implied !== null && filter.types?.includes(implied) === false)) return NOTHING;
    const parts = sizes.partsOf(filter, implied === null ? filter.types : null);
    const { sender, contract } = parts;
    const sizedPaths: SizedPath<keyof typeof search.ways>[] = sizes.sizedPaths(parts);
    const addCounted = (way: 'call' | 'nonce', count: (maximum: number) => number) =>
      sizedPaths.push({ way, size: count(limits.rows + 1), count });
    if (contract != null && functionName !== null) {
      addCounted('call', (maximum) => sizeOfCall.get(contract.id, functionName, maximum)?.size ?? 0);
    }
    if (nonce !== null) addCounted('nonce', (maximum) => sizeOfNonce.get(nonce, maximum)?.size ?? 0);
    // A nonce is spent once.
    if (nonce !== null && sender != null) {
      sizedPaths.push({ way: 'senderNonce', size: Math.min(1, sender.sent), isEstimate: true });
    }
    const times = since === null && until === null ? null : between.get(since ?? 0, until ?? Number.MAX_SAFE_INTEGER);
    if (times !== null) sizedPaths.push({ way: 'span', size: times.size });
    const span = {
      first: times?.first == null ? 0 : positionsOf(times.first).first,
      last: times?.last == null ? Number.MAX_SAFE_INTEGER : positionsOf(times.last).last,
    };
    const values = { ...valuesOf(parts), nonce, since, until };
    return pages.filtered({ values, sizedPaths, span }, order.by, order.direction, limit, offset);
  }

  /** @throws TooMuchWorkError if every filter matches too many transactions to count them or to find the page */
  return <Item>(
    filter: TransactionFilter,
    order: TransactionOrder,
    limit: number,
    offset: number,
    items: ItemsOf<TransactionDetail, Item>,
  ): OffsetPage<Item> => {
    const isFiltered = Object.values(filter).some((part) => part !== null);
    const page = isFiltered ? filteredPage(filter, order, limit, offset) : unfiltered(order, limit, offset);
    return { items: items(details.rows(page.items)), total: page.total };
  };
}
