/**
 * The kit of the views for analysts. A column is declared with its type and its meaning; the statement that makes a view,
 * the types of an export and docs/sql.md derive from the declaration. Only functions of SQLite 3.38 and later are used, so
 * that other programs can also read the views.
 */
import { PLACE_BITS } from '../../chain/position.ts';
import { type EnumNames, PAYLOAD, payloadTypes, storedPayload, storedTransactionStatus } from '../rows/enums.ts';
import { firstPositionIn, isBegun, shownTime } from '../rows/expressions.ts';

/** The form of a column's values: decides the type that SQLite returns and that a typed file format stores. */
export type ViewType =
  /** A whole number of 64 bits. */
  | 'integer'
  /** 1 or 0. */
  | 'boolean'
  | 'text'
  /** `0x` and lower-case hex digits. */
  | 'hex'
  /** A whole number of up to 128 bits as decimal digits. */
  | 'amount'
  /** A floating-point number of 64 bits. */
  | 'real'
  /** ISO 8601 in UTC with milliseconds. */
  | 'time'
  /** Raw bytes, for conditions that an index serves. */
  | 'bytes';

export interface ViewColumn {
  type: ViewType;
  /** An expression over the view's tables. */
  sql: string;
  /** A sentence without its full stop. */
  help: string;
  /** Whether the value derives from another column, as an amount's forms for sums do. It is not exported. */
  isDerived?: boolean;
  /** Whether it is the hex of a serialized Clarity value, which an export also has as JSON. */
  isClarity?: boolean;
}

export interface View {
  name: string;
  /** A sentence that describes a row. */
  help: string;
  columns: Readonly<Record<string, ViewColumn>>;
  /** The clauses from FROM on; a list for a view of several SELECTs, each with the expressions of its columns. */
  from: string | readonly ViewPart[];
  /** The columns that an index can search without other conditions. */
  indexed: readonly string[];
  /** The columns that order the rows of an export, in the order of an index. */
  order: readonly string[];
  /** How an export finds a range of heights; null if rows belong to no block. */
  range: 'position' | 'block_height' | null;
}

interface ViewPart {
  columns: readonly string[];
  from: string;
}

/** Expressions for an amount in forms that SQLite can sum. */
type SummableForms = Record<'real' | 'high' | 'low', string>;

/** Digits of the lower part of an amount. */
const LOW_DIGITS = 12;
/** Maximum digits of an amount with an upper part that fits an integer. */
const EXACT_DIGITS = LOW_DIGITS + 18;

/**
 * An amount in forms that SQLite can sum: the nearest real number, and two integers, `high * 10^12 + low`, whose sums are
 * exact. SQLite's integers have 64 bits, so an amount of more than 30 digits has a real number as its upper part; a sum with
 * it is also a real number, so its type shows that it isn't exact.
 * @param sql an expression for decimal text
 */
export function summableForms(sql: string): SummableForms {
  const digits = `ltrim(${sql}, '-')`;
  // Without the lower digits. The sign stays; a sign without digits is 0.
  const upper = `substr(${sql}, 1, length(${sql}) - ${LOW_DIGITS})`;
  return {
    real: `CAST(${sql} AS REAL)`,
    high: `iif(length(${digits}) <= ${EXACT_DIGITS}, CAST(${upper} AS INTEGER), CAST(${upper} AS REAL))`,
    low: `iif(${sql} < '0', -1, 1) * CAST(substr(${digits}, -${LOW_DIGITS}) AS INTEGER)`,
  };
}

/** The columns that an amount gets for sums. */
function derivedOf([name, { type, sql }]: [string, ViewColumn]): [string, ViewColumn][] {
  if (type !== 'amount') return [];
  const forms = summableForms(sql);
  const parts = [
    ['real', 'real'],
    ['high', 'integer'],
    ['low', 'integer'],
  ] as const;
  return parts.map(([part, form]) => [
    `${name}_${part}`,
    { type: form, sql: forms[part], help: `\`${name}\` in a form that can be summed`, isDerived: true },
  ]);
}

/** A view without the columns that amounts get for sums. */
interface DeclaredView extends Omit<View, 'from' | 'order' | 'range'>, Partial<Pick<View, 'order' | 'range'>> {
  from: string | readonly { columns: readonly (string | ViewColumn)[]; from: string }[];
}

/** Declares a view. @param declaration with a name without version, and amounts without their columns for sums */
export function view(declaration: DeclaredView): View {
  const { columns, from } = declaration;
  const entries = Object.entries(columns);
  const withDerived = (part: Exclude<DeclaredView['from'], string>[number]): ViewPart => {
    const partColumns = entries.map(([name, { type, help }], i): [string, ViewColumn] => {
      const expression = part.columns[i] ?? 'NULL';
      return [name, typeof expression === 'string' ? { type, help, sql: expression } : expression];
    });
    return { from: part.from, columns: [...partColumns, ...partColumns.flatMap(derivedOf)].map(([, { sql }]) => sql) };
  };
  return {
    order: [],
    range: null,
    ...declaration,
    name: `v1_${declaration.name}`,
    columns: { ...columns, ...Object.fromEntries(entries.flatMap(derivedOf)) },
    from: typeof from === 'string' ? from : from.map(withDerived),
  };
}

/** An expression that a partial history can't know, as null if the history is partial. */
export const unlessPartial = (sql: string): string => `iif(${isBegun}, NULL, ${sql})`;

/** The words for a column with {@link unlessPartial}. */
export const NULL_IF_PARTIAL = 'null if `v1_chain` has a `history_from`';

const column = (type: ViewType, sql: string, help: string): ViewColumn => ({ type, sql, help });

/** A column of hex that is a serialized Clarity value. */
export const clarityValue = (hexColumn: ViewColumn): ViewColumn => ({ ...hexColumn, isClarity: true });

export const integer = (sql: string, help: string) => column('integer', sql, help);
export const boolean = (sql: string, help: string) => column('boolean', `CAST(${sql} AS INTEGER)`, help);
export const text = (sql: string, help: string) => column('text', sql, help);
export const bytes = (sql: string, help: string) => column('bytes', sql, help);
/** An amount with decimal text in its column. */
export const amount = (sql: string, help: string) => column('amount', sql, help);

/** Hex of a column that is never null. */
export const hex = (sql: string, help: string) => column('hex', `CAST('0x' || lower(hex(${sql})) AS TEXT)`, help);

/** Hex of a column that may be null. */
export const optionalHex = (sql: string, help: string) => column('hex', hexOrNull(sql), help);

export const hexOrNull = (sql: string): string =>
  `CAST(CASE WHEN ${sql} IS NOT NULL THEN '0x' || lower(hex(${sql})) END AS TEXT)`;

/** A time with Unix seconds in its column. */
export const time = (sql: string, help: string) =>
  column('time', `CAST(strftime('%Y-%m-%dT%H:%M:%S.000Z', ${sql}, 'unixepoch') AS TEXT)`, help);

/** A time with units smaller than seconds in its column. @param perSecond units in a second: 1,000 or more */
export const fineTime = (sql: string, perSecond: number, help: string) =>
  column(
    'time',
    `CAST(strftime('%Y-%m-%dT%H:%M:%S.', ${sql} / ${perSecond}, 'unixepoch')
       || substr('00' || (${sql} / ${perSecond / 1000} % 1000), -3) || 'Z' AS TEXT)`,
    help,
  );

/** The decimal text of an amount that sorts as text (store/rows/formats.ts) and is not negative. */
export const unsigned = (sql: string): string => `CAST(substr(${sql}, 2) AS TEXT)`;

/** An enum name with a number in its column. @param shownName the name to show for others, if several numbers share one */
export const word = <W extends string>(
  sql: string,
  stored: EnumNames<W>,
  help: string,
  shownName: (word: W) => string = (same) => same,
) => {
  const cases = stored.names.map((name) => `WHEN ${stored.numberOf(name)} THEN '${shownName(name)}'`);
  const words = [...new Set(stored.names.map(shownName))].map((name) => `\`${name}\``);
  return column('text', `CAST(CASE ${sql} ${cases.join(' ')} END AS TEXT)`, `${help}: ${words.join(', ')}`);
};

/**
 * Joins blocks `b` with positions. Each side is found by the other's key, so that SQLite may begin with either.
 * @param position an expression
 */
export const inBlock = (position: string): string =>
  `b.height = ${position} >> ${PLACE_BITS}
     AND ${position} >= (${firstPositionIn('b.height')}) AND ${position} < (${firstPositionIn('(b.height + 1)')})`;

/** The statement that makes a view, as SQLite stores it. */
export function creationOf({ name, columns, from }: View): string {
  const parts = typeof from === 'string' ? [{ columns: Object.values(columns).map(({ sql }) => sql), from }] : from;
  const names = Object.keys(columns);
  const selects = parts.map(
    (part) => `SELECT ${part.columns.map((sql, i) => `${sql} AS ${names[i]}`).join(',\n  ')}\n  FROM ${part.from}`,
  );
  return `CREATE VIEW ${name} AS\n${selects.join('\nUNION ALL\n')}`;
}

/** Units of times that are finer than seconds. */
export const PER_SECOND = { microseconds: 1_000_000, milliseconds: 1_000 } as const;

/** @param table the alias of the table with the index for a list's order */
export const positionOf = (table: string): ViewColumn =>
  integer(`${table}.position`, `Place of the transaction in the chain: height * 2^${PLACE_BITS} + place in the block`);

/** The height of a block `b`, without a hint about searches. */
export const blockHeight = integer('b.height', 'Height of the block');

/** The columns for the place of a transaction `t` in its block `b`. */
export const placeColumns = {
  // For a range, SQLite reads all transactions and looks up the block of each.
  block_height: integer('b.height', 'Height of the block; use `position` for ranges'),
  tx_index: integer('t.tx_index', 'Index of the transaction in the block, as the node gives it'),
  position: positionOf('t'),
  tx_id: hex('t.tx_id', 'Transaction id'),
  tx_id_bytes: bytes('t.tx_id', 'Transaction id as bytes'),
  block_time: time(shownTime, 'Time of the block, or of block 0 for its transactions, which block 1 includes'),
} satisfies Record<string, ViewColumn>;

/** The columns of {@link placeColumns}, and the index block hash. */
export const positionColumns = {
  ...placeColumns,
  index_block_hash: hex('b.index_block_hash', 'Index block hash of the block'),
} satisfies Record<string, ViewColumn>;

/** The joins that {@link positionColumns} need, for a FROM with `transactions t`. */
export const joinBlock = `JOIN blocks b ON ${inBlock('t.position')}`;

export const statusColumn = word('t.status', storedTransactionStatus, 'Status of the transaction');

const typeColumn = (table: string): ViewColumn =>
  word(`${table}.type`, storedPayload, 'Type of the transaction', (type) => payloadTypes[type]);

/** The columns that mined and pending transactions have in common. @param t the table's alias */
export const spentColumns = (t: string) =>
  ({
    type: typeColumn(t),
    sender: text('sender.address', 'Address that signed the transaction'),
    nonce: integer(`${t}.nonce`, 'Nonce of the sender; null for operations made on Bitcoin'),
    sponsor: text('sponsor.address', 'Address that paid the fee for the sender'),
    sponsor_nonce: integer(`${t}.sponsor_nonce`, 'Nonce of the sponsor'),
    fee: amount(unsigned(`${t}.fee`), 'Fee in micro-STX'),
    recipient: text('recipient.address', 'Recipient of a token transfer, or of the reward of a coinbase'),
    amount: amount(`${t}.amount`, 'Amount of a token transfer in micro-STX'),
    memo: optionalHex(`${t}.memo`, 'Memo of a token transfer with its padding'),
    contract_id: text('contract.address', 'Contract that was called or deployed'),
    function_name: text(`${t}.function_name`, 'Function that was called'),
    clarity_version: integer(`${t}.clarity_version`, 'Clarity version that a deployment names'),
  }) satisfies Record<string, ViewColumn>;

/** Joins the principals of a mined or pending transaction. @param t alias of its table */
export const spentJoins = (t: string): string =>
  `JOIN principals sender ON sender.id = ${t}.sender_id
  LEFT JOIN principals sponsor ON sponsor.id = ${t}.sponsor_id
  LEFT JOIN principals recipient ON recipient.id = ${t}.recipient_id
  LEFT JOIN principals contract ON contract.id = ${t}.contract_id`;

/** The number of a type in conditions. */
export const CALL = PAYLOAD.contract_call;
