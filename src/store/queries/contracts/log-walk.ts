/**
 * Logs of several contracts, or of all that a principal deployed, newest or oldest first, in pages with cursors.
 *
 * No index has the logs of several contracts in the order of the chain. The logs of each contract are merged, or, if there are
 * fewer places, the transactions of a sender or the calls of a function are walked. The contracts of a deployer are found by
 * their ids, which begin with its address. If there are too many to merge, all events of the chain are walked. Each way reads a
 * bounded number of places: a page may have fewer items than its limit, or none, and still have a next page. The ways differ in
 * nothing else.
 */
import type { Database } from 'bun:sqlite';
import type { Pause, Turns } from '../../../base/turns.ts';
import { fieldsOf } from '../../../codec/clarity-fields.ts';
import {
  compared,
  type FieldFilter,
  type FoundLog,
  type LoggingContracts,
  type LogsFilter,
} from '../../model/contract.ts';
import type { Cursor, Page } from '../../model/page.ts';
import { COUNTER, EVENT_KIND, PAYLOAD } from '../../rows/enums.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { keyRange, pathKey } from '../../rows/value-keys.ts';
import { type Span, spanOf } from '../blocks/windows.ts';
import { down, type ListedRows, merged, orderedList, reversed } from '../list.ts';
import { NOBODY, numbers } from '../numbers.ts';
import { MAX_FILTERED_ROWS, type RowSource, readLongPage } from '../page.ts';
import { contractLogs, foundLogQuery } from './contract-search.ts';
import {
  entriesOfValue,
  indexFor,
  meetsAll,
  newestFirst,
  type PlaceRow,
  placeKey,
  placeOf,
  valueIndexes,
} from './value-search.ts';

export interface LogWalkLimits {
  /** Maximum number of principals that are read to find a deployer's contracts. */
  principals: number;
  /** Maximum number of a deployer's contracts for merging their logs. */
  merged: number;
  /** Maximum number of places that a page reads, in either direction. */
  rows: number;
}

export const LOG_WALK_LIMITS: LogWalkLimits = { principals: 20_000, merged: 1_000, rows: MAX_FILTERED_ROWS };

/** A log with compared fields counts as this many places, plus one per this many bytes, since decoding takes time. */
const DECODED = { places: 5, bytes: 1_024 };

const logs = `events WHERE kind = ${EVENT_KIND.log}`;
const contractRows = `SELECT p.address, p.id, coalesce(l.count, 0) AS logs
                   FROM principals p LEFT JOIN counters l ON l.kind = ${COUNTER.logs} AND l.key = p.address`;

/** All statements; the plan test reads them. */
export const sql = {
  chain: orderedList<PlaceRow>(
    { select: 'SELECT position, event_index FROM events' },
    [down('position'), down('event_index')],
    { isBounded: true },
  ),
  sent: orderedList<Stored<'transactions', 'position'>>(
    { select: 'SELECT position FROM transactions INDEXED BY transactions_by_sender', where: 'sender_id = ?1' },
    [down('position')],
    { isBounded: true },
  ),
  calls: orderedList<Stored<'transactions', 'position'>>(
    {
      select: 'SELECT position FROM transactions INDEXED BY transactions_by_function',
      where: `type = ${PAYLOAD.contract_call} AND function_name = ?1`,
    },
    [down('position')],
    { isBounded: true },
  ),
  contract: query<ContractRow, [string]>`${contractRows} WHERE p.address = ?1`,
  // A contract's id is the address of its deployer, a dot and a name.
  deployed: query<ContractRow, [string, string, number]>`
    ${contractRows} WHERE p.address > ?1 AND p.address < ?2 ORDER BY p.address LIMIT ?3`,
  sender: query<Stored<'principals', 'id'> & Stored<'accounts', 'sent'>, [string]>`
    SELECT p.id, a.sent FROM principals p JOIN accounts a ON a.principal_id = p.id WHERE p.address = ?1`,
  ofTransaction: query<Stored<'events', 'event_index'>, [number]>`
    SELECT event_index FROM ${logs} AND position = ?1 ORDER BY event_index`,
  log: query<Stored<'events', 'contract_id' | 'topic'>, [number, number]>`
    SELECT contract_id, topic FROM ${logs} AND position = ?1 AND event_index = ?2`,
  callCount: query<Stored<'counters', 'count'>, [string]>`
    SELECT count FROM counters WHERE kind = ${COUNTER.calls} AND key = ?1`,
  transaction: query<TransactionRow, [number]>`
    SELECT type, sender_id, function_name FROM transactions WHERE position = ?1`,
  value: query<Stored<'events', 'value'>, [number, number]>`
    SELECT value FROM events WHERE position = ?1 AND event_index = ?2`,
};

type ContractRow = Stored<'principals', 'address' | 'id'> & { logs: number };

type TransactionRow = Stored<'transactions', 'type' | 'sender_id' | 'function_name'>;

interface Transactions {
  rows: (span: Span) => ListedRows<Stored<'transactions', 'position'>>;
  count: number;
  includes(row: TransactionRow): boolean;
}

const NO_BYTES = new Uint8Array(0);
/** Before and after every event of a transaction. */
const [BEFORE_EVENTS, AFTER_EVENTS] = [-1, 2 ** 32];

/** Number of places in the first batch of a walk. */
const FIRST_BATCH = 4;
/** Number of contracts in a batch. */
const BATCH = 256;

const logsIn = (contracts: readonly ContractRow[]): number => contracts.reduce((sum, { logs }) => sum + logs, 0);

/** A place of a walk, whether its log meets the filter, and what reading it costs in places. */
interface JudgedPlace extends PlaceRow {
  meets: boolean;
  cost: number;
}

/** @param limits tests use others than the default */
export function logWalk(db: Database, turns: Turns, limits: Partial<LogWalkLimits> = {}) {
  const { principals: maxPrincipals, merged: maxMerged, rows: maxRows } = { ...LOG_WALK_LIMITS, ...limits };
  const ofContract = contractLogs.prepared(db);
  const ofValue = entriesOfValue.prepared(db);
  const logAt = foundLogQuery(db);
  const read = statements(db, sql);
  const { addressOf } = numbers(db);
  const indexes = valueIndexes(db);

  /** The contracts of a deployer that have logs; null if there are too many. */
  async function deployedBy(deployer: string, pause: Pause): Promise<ContractRow[] | null> {
    const contracts: ContractRow[] = [];
    // '/' is the character behind the dot.
    const end = `${deployer}/`;
    for (let [after, seen] = [`${deployer}.`, 0]; seen < maxPrincipals; ) {
      const count = Math.min(BATCH, maxPrincipals - seen);
      const rows = read.deployed.all(after, end, count);
      contracts.push(...rows.filter(({ logs }) => logs > 0));
      if (contracts.length > maxMerged) return null;
      const last = rows.at(-1);
      if (last === undefined || rows.length < count) return contracts;
      [after, seen] = [last.address, seen + rows.length];
      await pause();
    }
    return null;
  }

  const contractsOf = async (source: LoggingContracts, pause: Pause): Promise<ContractRow[] | null> =>
    'deployer' in source
      ? deployedBy(source.deployer, pause)
      : source.contracts.map((id) => read.contract.get(id)).filter((row) => row !== null);

  /** The logs of contracts, each by the index of a field that must have one value, if it has such an index, else all. */
  function logsOf(contracts: readonly ContractRow[], fields: readonly FieldFilter[], span: Span) {
    const exact = fields.flatMap((field) => {
      const { low, high } = keyRange(field.conditions);
      return low === high ? [{ field, key: low }] : [];
    });
    const start = { position: span.first, eventIndex: 0 };
    const usable =
      exact.length === 0
        ? []
        : indexes().filter((index) => index.wanted && index.subject === 'logs' && compared(index.from, start) <= 0);
    return contracts.map(({ address, id }) => {
      const contractIndexes = usable.filter((index) => index.contract === address);
      for (const { field, key } of exact) {
        const index = indexFor(contractIndexes, field);
        if (index !== undefined) return ofValue([index.id, pathKey(field.path), key], span);
      }
      return ofContract([id], span);
    });
  }

  /**
   * The logs of transactions. Each transaction has one more place, so that one without logs also counts as read: before
   * its events, or on the way up after them.
   */
  function inTransactions(transactions: ListedRows<Stored<'transactions', 'position'>>): ListedRows<PlaceRow> {
    return {
      rows(key, isBackward, count) {
        const rows: PlaceRow[] = [];
        for (const { position } of transactions.rows(key, isBackward, count + 1)) {
          if (rows.length >= count) break;
          const logs = read.ofTransaction.all(position).map(({ event_index }) => ({ position, event_index }));
          const places = isBackward
            ? [...logs, { position, event_index: AFTER_EVENTS }]
            : [...logs.reverse(), { position, event_index: BEFORE_EVENTS }];
          const isAhead = (place: PlaceRow): boolean =>
            key === null || newestFirst(place, placeOf(key)) * (isBackward ? -1 : 1) >= 0;
          rows.push(...places.filter(isAhead));
        }
        return rows;
      },
      keyOf: placeKey,
    };
  }

  /** The ways to the logs of contracts; without contracts to all logs. */
  function waysTo(
    contracts: readonly ContractRow[] | null,
    transactions: readonly Transactions[],
    fields: readonly FieldFilter[],
    span: Span,
  ): ListedRows<PlaceRow>[] {
    const logCount = contracts === null ? Number.POSITIVE_INFINITY : logsIn(contracts);
    const [fewest] = transactions.toSorted((a, b) => a.count - b.count);
    if (fewest !== undefined && fewest.count < logCount) return [inTransactions(fewest.rows(span))];
    return contracts === null ? [read.chain([], span)] : logsOf(contracts, fields, span);
  }

  function transactionsOf({ sender: address, functionName }: LogsFilter): Transactions[] {
    const transactions: Transactions[] = [];
    if (address !== null) {
      const { id, sent: count } = read.sender.get(address) ?? { id: NOBODY, sent: 0 };
      transactions.push({ rows: (span) => read.sent([id], span), count, includes: (row) => row.sender_id === id });
    }
    if (functionName !== null) {
      transactions.push({
        rows: (span) => read.calls([functionName], span),
        count: read.callCount.get(functionName)?.count ?? 0,
        includes: (row) => row.type === PAYLOAD.contract_call && row.function_name === functionName,
      });
    }
    return transactions;
  }

  function judgeOf(
    { contracts: source, topic, fields }: LogsFilter,
    contracts: readonly ContractRow[] | null,
    transactions: readonly Transactions[],
  ): (place: PlaceRow) => JudgedPlace {
    const ids = contracts === null ? null : new Set(contracts.map(({ id }) => id));
    const includes = (id: number): boolean =>
      ids?.has(id) ?? ('deployer' in source && addressOf(id).startsWith(`${source.deployer}.`));
    function isInTransactions(position: number): boolean {
      if (transactions.length === 0) return true;
      const row = read.transaction.get(position);
      return row !== null && transactions.every((each) => each.includes(row));
    }
    return (place) => {
      const judged = (meets: boolean, cost = 1): JudgedPlace => ({ ...place, meets, cost });
      const { position, event_index: eventIndex } = place;
      const log = read.log.get(position, eventIndex);
      if (log?.contract_id == null || !includes(log.contract_id)) return judged(false);
      if ((topic !== null && topic !== log.topic) || !isInTransactions(position)) return judged(false);
      if (fields.length === 0) return judged(true);
      const value = read.value.get(position, eventIndex)?.value ?? NO_BYTES;
      return judged(meetsAll(fields, fieldsOf(value)), DECODED.places + Math.floor(value.length / DECODED.bytes));
    };
  }

  /** Logs of several contracts, or of all of a deployer. */
  return async (filter: LogsFilter, limit: number, cursor: Cursor | null): Promise<Page<FoundLog, number | null>> => {
    const { contracts: source, topic, order, heights, fields } = filter;
    const pause = turns.longWork();
    const contracts = await contractsOf(source, pause);
    const transactions = transactionsOf(filter);
    const ways = waysTo(contracts, transactions, fields, spanOf(heights));
    const isFiltered = contracts === null || topic !== null || transactions.length > 0 || fields.length > 0;
    const isWhole = !isFiltered && heights.from === null && heights.to === null;
    const judge = isFiltered
      ? judgeOf(filter, contracts, transactions)
      : (place: PlaceRow): JudgedPlace => ({ ...place, meets: true, cost: 1 });
    const logs: RowSource<JudgedPlace> = {
      rows: (key, isBackward) => merged(ways, newestFirst, key, isBackward, FIRST_BATCH).map(judge),
      keyOf: placeKey,
    };
    return readLongPage<JudgedPlace, FoundLog, number | null>(
      {
        limit,
        cursor,
        total: isWhole ? logsIn(contracts) : null,
        maxRows,
        ...(order === 'desc' ? logs : reversed(logs)),
        meets: ({ meets }) => meets,
        costOf: ({ cost }) => cost,
        itemOf: logAt,
      },
      pause,
    );
  };
}
