/**
 * Canonical transactions that meet conditions, newest or oldest first, in pages with cursors. A page is read along the index of the
 * narrowest condition, in the order of the chain, and reads a bounded number of its rows: a page may have fewer items than its
 * limit, or none, and a next page all the same.
 */
import type { Database, Statement } from 'bun:sqlite';
import { memoize } from '../../../base/cache.ts';
import { positionsOf } from '../../../chain/position.ts';
import { type Cursor, HEAD, type ListOrder, type Page } from '../../model/page.ts';
import type { TransactionConditions, TransactionSummary } from '../../model/transaction.ts';
import { COUNTER, PAYLOAD, STATUS, typeNumbers } from '../../rows/enums.ts';
import { heightIn, shownTime } from '../../rows/expressions.ts';
import { prepared, type Stored } from '../../rows/statement.ts';
import { spanOf } from '../blocks/windows.ts';
import { filteredPage, MOST_FILTERED_ROWS, numberAt } from '../page.ts';

const time = `(SELECT ${shownTime} FROM blocks b WHERE b.height = ${heightIn('t.position')})`;

/** The conditions. ?1 has a bit for each payload type, ?2 one for each status, counted from the least. */
const matches = `(?1 IS NULL OR (?1 >> t.type) & 1)
   AND (?2 IS NULL OR (?2 >> (t.status - ${STATUS.unknown})) & 1)
   AND (?3 IS NULL OR EXISTS (SELECT 1 FROM principal_transactions p WHERE p.principal_id = ?3 AND p.position = t.position))
   AND (?4 IS NULL OR t.sender_id = ?4)
   AND (?5 IS NULL OR (t.type = ${PAYLOAD.token_transfer} AND t.recipient_id = ?5))
   AND (?6 IS NULL OR (t.type = ${PAYLOAD.contract_call} AND t.contract_id = ?6))
   AND (?7 IS NULL OR (t.type = ${PAYLOAD.contract_call} AND t.function_name = ?7))
   AND (?8 IS NULL OR (t.type = ${PAYLOAD.token_transfer} AND CAST(t.amount AS INTEGER) >= ?8))
   AND (?9 IS NULL OR (t.type = ${PAYLOAD.token_transfer} AND CAST(t.amount AS INTEGER) <= ?9))
   AND (?10 IS NULL OR ${time} >= ?10)
   AND (?11 IS NULL OR ${time} <= ?11)`;

/** Number of payload types; the statement that seeks by type has a parameter for each. */
const TYPE_PARAMETERS = 9;

const row = `t.position, ${matches} AS matches`;
/** The positions that can match. */
const within = 't.position BETWEEN ?12 AND ?13';

/** The ways to walk the chain: each reads rows in its order. */
const ways = {
  all: `SELECT ${row} FROM transactions t WHERE ${within}`,
  principal: `SELECT ${row} FROM principal_transactions q CROSS JOIN transactions t ON t.position = q.position
               WHERE q.principal_id = ?3 AND q.position BETWEEN ?12 AND ?13`,
  sender: `SELECT ${row} FROM transactions t INDEXED BY transactions_by_sender WHERE t.sender_id = ?4 AND ${within}`,
  recipient: `SELECT ${row} FROM transactions t INDEXED BY transactions_by_recipient
               WHERE t.type = ${PAYLOAD.token_transfer} AND t.recipient_id = ?5 AND ${within}`,
  function: `SELECT ${row} FROM transactions t INDEXED BY transactions_by_function
              WHERE t.type = ${PAYLOAD.contract_call} AND t.function_name = ?7 AND ${within}`,
  call: `SELECT ${row} FROM transactions t INDEXED BY transactions_by_call
          WHERE t.type = ${PAYLOAD.contract_call} AND t.contract_id = ?6 AND t.function_name = ?7 AND ${within}`,
  contract: `SELECT ${row} FROM transactions t INDEXED BY transactions_by_called_contract
              WHERE t.type = ${PAYLOAD.contract_call} AND t.contract_id = ?6 AND ${within}`,
  // Rows of each type are in the order of the chain; SQLite merges them.
  types: Array.from(
    { length: TYPE_PARAMETERS },
    (_, index) =>
      `SELECT t.position AS position, ${matches} AS matches FROM transactions t INDEXED BY transactions_by_type
        WHERE t.type = ?${14 + index} AND ${within}`,
  ).join(' UNION ALL '),
} as const;
type Way = keyof typeof ways;

const directions = { down: ' DESC', up: '' } as const;
type Direction = keyof typeof directions;

/** The column in whose order each way reads. */
const orderOf = (way: string): string => ({ types: 'position', principal: 'q.position' })[way] ?? 't.position';

/** Statements by name; the plan test reads them. */
export const sql: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(ways).flatMap(([way, text]) =>
      Object.entries(directions).map(([name, down]) => [`${way}.${name}`, `${text} ORDER BY ${orderOf(way)}${down}`]),
    ),
  ),
  principal: `SELECT p.id, a.sent, a.paid, a.calls, a.transactions FROM principals p JOIN accounts a ON a.principal_id = p.id
               WHERE p.address = ?1`,
  function: `SELECT count AS size FROM counters WHERE kind = ${COUNTER.calls} AND key = ?1`,
  type: `SELECT count AS size FROM counters WHERE kind = ${COUNTER.transactions} AND key = ?1`,
  total: 'SELECT transactions AS size FROM totals',
  // The last tenure that began before a time, whose blocks may be later, and the first that begins after one.
  before:
    'SELECT first_block AS height FROM anchor_burn_blocks WHERE time < ?1 ORDER BY time DESC, ordinal DESC LIMIT 1',
  after: 'SELECT first_block AS height FROM anchor_burn_blocks WHERE time > ?1 ORDER BY time, ordinal LIMIT 1',
};

/** Seconds by which Bitcoin's clock runs back at most: a block may be two hours ahead of the others. */
const CLOCK_SLACK = 2 * 3_600;

type Value = number | bigint | string | null;
type PrincipalRow = Stored<'principals', 'id'> & Stored<'accounts', 'sent' | 'paid' | 'calls' | 'transactions'>;
interface Row extends Stored<'transactions', 'position'> {
  matches: 0 | 1;
}

/** How a list is read. */
interface Walk {
  way: Way;
  /** The parameters ?1 to ?11. */
  values: Value[];
  /** The positions that can match. */
  first: number;
  last: number;
  /** The payload types that `types` seeks. */
  types: readonly number[];
}

/** A bit for each of some numbers; null for any. */
const mask = (numbers: readonly number[] | null): number | null =>
  numbers === null ? null : numbers.reduce((bits, number) => bits | (1 << number), 0);

/** @param mostRows tests of the bound use fewer than the default */
export function transactionWalk(
  db: Database,
  summaryAt: (at: Stored<'transactions', 'position'>) => TransactionSummary,
  mostRows = MOST_FILTERED_ROWS,
) {
  const statement = memoize((name: string): Statement<Row, Value[]> => prepared(db, sql[name]!));
  const principalOf = prepared<PrincipalRow, [string]>(db, sql.principal!);
  const callsOf = prepared<{ size: number }, [string]>(db, sql.function!);
  const sizeOfType = prepared<{ size: number }, [string]>(db, sql.type!);
  const sizeOfAll = prepared<{ size: number }, []>(db, sql.total!);
  const before = prepared<{ height: number }, [number]>(db, sql.before!);
  const after = prepared<{ height: number }, [number]>(db, sql.after!);

  /** Prepares a walk along the narrowest condition; null where nothing can match. */
  function walkOf(of: TransactionConditions): Walk | null {
    const given = [of.principal, of.sender, of.recipient, of.contract];
    const found = given.map((address) => (address === null ? undefined : principalOf.get(address)));
    if (found.includes(null)) return null;
    const [principal, sender, recipient, contract] = found;
    const types = of.types === null ? null : [...new Set(of.types.flatMap((type) => typeNumbers(type)))];
    const calls = of.functionName === null ? undefined : (callsOf.get(of.functionName)?.size ?? 0);
    const sizes: [Way, number | undefined][] = [
      ['call', contract == null || calls === undefined ? undefined : Math.min(calls, contract.calls)],
      ['sender', sender?.sent],
      ['recipient', recipient?.paid],
      ['contract', contract?.calls],
      ['function', calls],
      ['principal', principal?.transactions],
      ['types', types?.reduce((sum, type) => sum + (sizeOfType.get(String(type))?.size ?? 0), 0)],
      ['all', sizeOfAll.get()?.size ?? 0],
    ];
    const known = sizes.filter((one): one is [Way, number] => one[1] !== undefined);
    const [way, size] = known.reduce((least, one) => (one[1] < least[1] ? one : least));
    if (size === 0) return null;
    const { since, until } = of;
    const span = spanOf(of);
    const end = until === null ? null : after.get(until + CLOCK_SLACK);
    return {
      way,
      values: [
        mask(types),
        mask(of.statuses?.map((status) => STATUS[status] - STATUS.unknown) ?? null),
        principal?.id ?? null,
        sender?.id ?? null,
        recipient?.id ?? null,
        contract?.id ?? null,
        of.functionName,
        of.leastAmount,
        of.greatestAmount,
        since,
        until,
      ],
      first: Math.max(span.first, since === null ? 0 : positionsOf(before.get(since - CLOCK_SLACK)?.height ?? 0).first),
      last: Math.min(span.last, end === null ? Number.MAX_SAFE_INTEGER : positionsOf(end.height).last),
      types: types ?? [],
    };
  }

  /** The rows of a walk from a position on, in either direction. */
  function rowsOf({ way, values, first, last, types }: Walk, from: number | null, direction: Direction): Iterable<Row> {
    const at = from ?? (direction === 'down' ? last : first);
    const [low, high] = direction === 'down' ? [first, Math.min(last, at)] : [Math.max(first, at), last];
    const sought = way === 'types' ? Array.from({ length: TYPE_PARAMETERS }, (_, index) => types[index] ?? -1) : [];
    return statement(`${way}.${direction}`).iterate(...values, low, high, ...sought);
  }

  /** Transactions that meet all conditions. */
  return (
    conditions: TransactionConditions,
    order: ListOrder,
    limit: number,
    at: Cursor | null,
  ): Page<TransactionSummary, number | null> => {
    const walk = walkOf(conditions);
    if (walk === null) return { items: [], total: null, current: at ?? HEAD, next: null, previous: null };
    return filteredPage<Row, TransactionSummary>({
      limit,
      at,
      total: null,
      mostRows,
      rows: (key, isBackwards) =>
        rowsOf(walk, key === null ? null : numberAt(key, 0), isBackwards === (order === 'desc') ? 'up' : 'down'),
      meets: ({ matches }) => matches === 1,
      keyOf: ({ position }) => [position],
      itemOf: summaryAt,
    });
  };
}
