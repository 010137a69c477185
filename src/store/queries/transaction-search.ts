/**
 * The canonical chain's transactions, filtered and ordered as v1 offers it.
 *
 * Each filter that can narrow much has an index and a count, and so has each order. A list is found in one of two ways:
 * a short one is read by the index of its narrowest filter, and sorted where that isn't in its order; a long one is
 * walked in its order, leaving out what the filters refuse, so that a page is full after few rows. Neither reads the
 * table from end to end.
 */
import type { Database, Statement } from 'bun:sqlite';
import { positionsOf } from '../../chain/position.ts';
import type { OffsetPage, TransactionDetail, TransactionFilter, TransactionOrder } from '../model.ts';
import { typeNumbers } from '../rows.ts';
import { prepared } from '../statement.ts';
import type { DetailQueries } from './details.ts';

/** ?1 is a bit for each payload type; ?9 and ?10 bound the positions that can match. */
const matches = `(?1 IS NULL OR (?1 >> t.type) & 1)
   AND (?2 IS NULL OR t.sender_id = ?2)
   AND (?3 IS NULL OR (t.type = 0 AND t.recipient_id = ?3))
   AND (?4 IS NULL OR (t.type = 2 AND t.contract_id = ?4))
   AND (?5 IS NULL OR (t.type = 2 AND t.function_name = ?5))
   AND (?6 IS NULL OR t.nonce = ?6)
   AND (?7 IS NULL OR (SELECT b.burn_block_time FROM blocks b WHERE b.height = t.position >> 20) >= ?7)
   AND (?8 IS NULL OR (SELECT b.burn_block_time FROM blocks b WHERE b.height = t.position >> 20) <= ?8)
   AND t.position BETWEEN ?9 AND ?10`;

/** The index of each filter that narrows, and how it is sought. */
const narrowing = {
  types: ['transactions_by_type', 't.type IN (?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)'],
  sender: ['transactions_by_sender', 't.sender_id = ?2'],
  senderNonce: ['transactions_by_sender_nonce', 't.sender_id = ?2 AND t.nonce = ?6'],
  recipient: ['transactions_by_recipient', 't.type = 0 AND t.recipient_id = ?3'],
  contract: ['transactions_by_called_contract', 't.type = 2 AND t.contract_id = ?4'],
  functionName: ['transactions_by_function', 't.type = 2 AND t.function_name = ?5'],
  call: ['transactions_by_call', 't.type = 2 AND t.contract_id = ?4 AND t.function_name = ?5'],
  nonce: ['transactions_by_nonce', 't.nonce = ?6'],
} as const;
type Narrowing = keyof typeof narrowing;

const directions = { asc: '', desc: ' DESC' } as const;
type By = TransactionOrder['by'];
const bys = ['block_height', 'burn_block_time', 'fee'] as const satisfies readonly By[];
type Name = `${'short' | 'long'}.${string}`;

const orderOf = (by: By, down: string): string => {
  const first = { block_height: '', fee: `t.fee${down}, `, burn_block_time: `a.burn_block_time${down}, ` }[by];
  return `ORDER BY ${first}t.position${down} LIMIT ?11 OFFSET ?12`;
};

function listStatements(): [Name, string][] {
  const statements: [Name, string][] = [];
  for (const [direction, down] of Object.entries(directions)) {
    for (const by of bys) {
      for (const [name, [index, sought]] of Object.entries(narrowing)) {
        const times = by === 'burn_block_time' ? 'CROSS JOIN blocks a ON a.height = t.position >> 20' : '';
        const found = `FROM transactions t INDEXED BY ${index} ${times} WHERE ${sought} AND ${matches}`;
        statements.push([`short.${name}.${by}.${direction}`, `SELECT t.position ${found} ${orderOf(by, down)}`]);
      }
    }
    const walk = `SELECT t.position FROM transactions t`;
    statements.push(
      [
        `long.block_height.${direction}`,
        `${walk} WHERE ${matches.replaceAll('t.nonce', '+t.nonce')} ${orderOf('block_height', down)}`,
      ],
      [`long.fee.${direction}`, `${walk} INDEXED BY transactions_by_fee WHERE ${matches} ${orderOf('fee', down)}`],
      [
        `long.burn_block_time.${direction}`,
        `SELECT t.position FROM anchor_burn_blocks a INDEXED BY anchor_burn_blocks_by_time
           CROSS JOIN transactions t
          WHERE a.time BETWEEN coalesce(?7, 0) AND coalesce(?8, 9007199254740991)
            AND t.position >= a.first_block << 20 AND t.position < (a.first_block + a.blocks) << 20
            AND ${matches.replace('t.position BETWEEN', '+t.position BETWEEN')}
          ORDER BY a.time${down}, a.ordinal${down}, t.position${down} LIMIT ?11 OFFSET ?12`,
      ],
    );
  }
  return statements;
}

const countStatements = (): [string, string][] =>
  Object.entries(narrowing).map(([name, [index, sought]]) => [
    `count.${name}`,
    `SELECT count(*) AS total FROM transactions t INDEXED BY ${index} WHERE ${sought} AND ${matches}`,
  ]);

const lists = Object.fromEntries(listStatements());
const counts = Object.fromEntries(countStatements());
const sizes = {
  all: 'SELECT transactions AS size FROM totals',
  type: 'SELECT transactions AS size FROM transaction_types WHERE type = ?1',
  principal: `SELECT p.id, a.sent, a.paid, a.calls FROM principals p JOIN accounts a ON a.principal_id = p.id
               WHERE p.address = ?1`,
  functionName: 'SELECT calls AS size FROM called_functions WHERE name = ?1',
  // These two aren't kept: they look no farther than decides whether the list is short.
  nonce: 'SELECT count(*) AS size FROM (SELECT 1 FROM transactions WHERE nonce = ?1 LIMIT ?2)',
  call: `SELECT count(*) AS size FROM (SELECT 1 FROM transactions INDEXED BY transactions_by_call
                                        WHERE type = 2 AND contract_id = ?1 AND function_name = ?2 LIMIT ?3)`,
  // The blocks of a span of time, with few others: Bitcoin's clock may run back a little.
  between: `SELECT min(first_block) AS first, max(first_block + blocks - 1) AS last, coalesce(sum(rows), 0) AS size
              FROM anchor_burn_blocks WHERE time BETWEEN ?1 AND ?2`,
};
/** The block that holds the n-th transaction of the chain, by how many come before the block. */
const byOrdinal = `SELECT height, preceding_transactions AS preceding FROM blocks WHERE preceding_transactions < ?1
                    ORDER BY preceding_transactions DESC, height DESC LIMIT 1`;
const fromOrdinal = 'SELECT position FROM transactions WHERE position >= ?1 ORDER BY position LIMIT ?2 OFFSET ?3';

const countWalk = `SELECT count(*) AS total FROM transactions t WHERE ${matches.replaceAll('t.nonce', '+t.nonce')}`;

export const sql: Readonly<Record<string, string>> = {
  ...lists,
  ...counts,
  ...sizes,
  countWalk,
  byOrdinal,
  fromOrdinal,
};

/** Longer lists are walked in their order; of a million transactions, a page is full after about as many rows. */
const SHORT = 5_000;

/** Lets everything through. */
export const NO_FILTER: TransactionFilter = {
  types: null,
  sender: null,
  recipient: null,
  contract: null,
  functionName: null,
  nonce: null,
  since: null,
  until: null,
};

/** A list of no transaction, whatever else it is narrowed by. */
const NOTHING = { items: [], total: 0 };

type Value = number | string | null;

interface Principal {
  id: number;
  sent: number;
  paid: number;
  calls: number;
}

/** A filter that narrows, and how many transactions it lets through by itself. */
interface Narrowed {
  name: Narrowing;
  size: number;
}

/** @param short the longest list that is sorted, for tests of both ways */
export function transactionSearch(db: Database, details: DetailQueries, short = SHORT) {
  const statements = new Map<string, Statement<{ position: number; total: number }, Value[]>>();
  const statement = (name: string) => {
    let found = statements.get(name);
    if (found === undefined) {
      const text = sql[name];
      if (text === undefined) throw new Error(`no statement ${name}`);
      found = prepared(db, text);
      statements.set(name, found);
    }
    return found;
  };
  const sizeOfAll = prepared<{ size: number }, []>(db, sizes.all);
  const sizeOfType = prepared<{ size: number }, [number]>(db, sizes.type);
  const principalOf = prepared<Principal, [string]>(db, sizes.principal);
  const sizeOfFunction = prepared<{ size: number }, [string]>(db, sizes.functionName);
  const sizeOfNonce = prepared<{ size: number }, [number, number]>(db, sizes.nonce);
  const sizeOfCall = prepared<{ size: number }, [number, string, number]>(db, sizes.call);
  const between = prepared<{ first: number | null; last: number | null; size: number }, [number, number]>(
    db,
    sizes.between,
  );

  const blockOfOrdinal = prepared<{ height: number; preceding: number }, [number]>(db, byOrdinal);
  const rowsFromOrdinal = prepared<{ position: number }, [number, number, number]>(db, fromOrdinal);

  /** A page of the whole chain, found without counting what stands before it. @param all transactions there are */
  function ordinals(all: number, direction: TransactionOrder['direction'], limit: number, offset: number): number[] {
    const count = Math.min(limit, all - offset);
    if (count <= 0) return [];
    const first = direction === 'asc' ? offset + 1 : all - offset - count + 1;
    const block = blockOfOrdinal.get(first);
    if (block === null) return [];
    const rows = rowsFromOrdinal.all(positionsOf(block.height).first, count, first - block.preceding - 1);
    const positions = rows.map(({ position }) => position);
    return direction === 'asc' ? positions : positions.reverse();
  }

  return (
    filter: TransactionFilter,
    { by, direction }: TransactionOrder,
    limit: number,
    offset: number,
  ): OffsetPage<TransactionDetail> => {
    const { functionName, nonce, since, until } = filter;
    const sender = filter.sender === null ? null : principalOf.get(filter.sender);
    const recipient = filter.recipient === null ? null : principalOf.get(filter.recipient);
    const contract = filter.contract === null ? null : principalOf.get(filter.contract);
    const types = filter.types === null ? null : [...new Set(filter.types.flatMap((type) => typeNumbers(type)))];

    const narrowed: Narrowed[] = [];
    if (types !== null) {
      const size = types.reduce((sum, type) => sum + (sizeOfType.get(type)?.size ?? 0), 0);
      narrowed.push({ name: 'types', size });
    }
    if (filter.sender !== null) narrowed.push({ name: 'sender', size: sender?.sent ?? 0 });
    if (filter.recipient !== null) narrowed.push({ name: 'recipient', size: recipient?.paid ?? 0 });
    if (filter.contract !== null) narrowed.push({ name: 'contract', size: contract?.calls ?? 0 });
    if (functionName !== null) {
      narrowed.push({ name: 'functionName', size: sizeOfFunction.get(functionName)?.size ?? 0 });
    }
    if (contract !== null && functionName !== null) {
      narrowed.push({ name: 'call', size: sizeOfCall.get(contract.id, functionName, short + 1)?.size ?? 0 });
    }
    if (nonce !== null) narrowed.push({ name: 'nonce', size: sizeOfNonce.get(nonce, short + 1)?.size ?? 0 });
    if (narrowed.some(({ size }) => size === 0)) return NOTHING;

    const inTime = since !== null || until !== null;
    const span = inTime ? between.get(since ?? 0, until ?? Number.MAX_SAFE_INTEGER) : null;
    if (inTime && (span === null || span.first === null || span.last === null)) return NOTHING;
    const bounds = [
      span?.first == null ? 0 : positionsOf(span.first).first,
      span?.last == null ? Number.MAX_SAFE_INTEGER : positionsOf(span.last).last,
    ] as const;
    const values: Value[] = [
      types === null ? null : types.reduce((mask, type) => mask | (1 << type), 0),
      sender?.id ?? null,
      recipient?.id ?? null,
      contract?.id ?? null,
      functionName,
      nonce,
      since,
      until,
      ...bounds,
    ];
    /** The types one by one, for the statements that seek by them. */
    const typeValues = (name: string): number[] =>
      name.includes('types') ? Array.from({ length: 9 }, (_, i) => types?.[i] ?? -1) : [];

    const narrowest = narrowestOf(narrowed, filter);
    const total = (): number => {
      if (narrowest === undefined) return span?.size ?? sizeOfAll.get()?.size ?? 0;
      if (narrowed.length === 1 && nonce === null && !inTime) return narrowest.size;
      if (span !== null && span.size < narrowest.size) {
        return statement('countWalk').get(...values)?.total ?? 0;
      }
      const name = `count.${narrowest.name}`;
      // The page's own parameters stand between these and the types.
      const page = narrowest.name === 'types' ? [null, null] : [];
      return statement(name).get(...values, ...page, ...typeValues(name))?.total ?? 0;
    };

    if (narrowest === undefined && span === null && by === 'block_height') {
      const rows = ordinals(sizeOfAll.get()?.size ?? 0, direction, limit, offset);
      return { items: details.at(rows), total: total() };
    }
    const isShort = narrowest !== undefined && narrowest.size <= short;
    const inIndexOrder = narrowest !== undefined && by === 'block_height' && narrowest.name !== 'types';
    const name =
      narrowest !== undefined && (isShort || inIndexOrder)
        ? `short.${narrowest.name}.${by}.${direction}`
        : `long.${by}.${direction}`;
    const rows = statement(name).all(...values, limit, offset, ...typeValues(name));
    return { items: details.at(rows.map(({ position }) => position)), total: total() };
  };
}

/** The filter that lets the fewest through. */
function narrowestOf(narrowed: readonly Narrowed[], { sender, nonce }: TransactionFilter): Narrowed | undefined {
  // A nonce is spent once.
  if (nonce !== null && sender !== null) return { name: 'senderNonce', size: 1 };
  return narrowed.toSorted((a, b) => a.size - b.size)[0];
}
