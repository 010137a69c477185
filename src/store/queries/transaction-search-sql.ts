/** The statements of v1's list of transactions, by what narrows it, its order and its direction. */
import type { TransactionOrder } from '../model/transaction.ts';
import { firstPositionIn, heightIn } from '../rows/expressions.ts';
import { PAYLOAD } from '../rows/words.ts';

/** The conditions: ?1 is a bit for each payload type; ?9 and ?10 bound the positions that can match. */
const matches = `(?1 IS NULL OR (?1 >> t.type) & 1)
   AND (?2 IS NULL OR t.sender_id = ?2)
   AND (?3 IS NULL OR (t.type = ${PAYLOAD.token_transfer} AND t.recipient_id = ?3))
   AND (?4 IS NULL OR (t.type = ${PAYLOAD.contract_call} AND t.contract_id = ?4))
   AND (?5 IS NULL OR (t.type = ${PAYLOAD.contract_call} AND t.function_name = ?5))
   AND (?6 IS NULL OR t.nonce = ?6)
   AND (?7 IS NULL OR (SELECT b.burn_block_time FROM blocks b WHERE b.height = ${heightIn('t.position')}) >= ?7)
   AND (?8 IS NULL OR (SELECT b.burn_block_time FROM blocks b WHERE b.height = ${heightIn('t.position')}) <= ?8)
   AND t.position BETWEEN ?9 AND ?10`;
/** What these look at. */
const looked = 't.position, t.type, t.sender_id, t.recipient_id, t.contract_id, t.function_name, t.nonce';

/** The index of each filter that narrows, and how it is sought. */
const narrowing = {
  types: ['INDEXED BY transactions_by_type', 't.type IN (?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)'],
  sender: ['INDEXED BY transactions_by_sender', 't.sender_id = ?2'],
  senderNonce: ['INDEXED BY transactions_by_sender_nonce', 't.sender_id = ?2 AND t.nonce = ?6'],
  recipient: ['INDEXED BY transactions_by_recipient', `t.type = ${PAYLOAD.token_transfer} AND t.recipient_id = ?3`],
  contract: ['INDEXED BY transactions_by_called_contract', `t.type = ${PAYLOAD.contract_call} AND t.contract_id = ?4`],
  functionName: ['INDEXED BY transactions_by_function', `t.type = ${PAYLOAD.contract_call} AND t.function_name = ?5`],
  call: [
    'INDEXED BY transactions_by_call',
    `t.type = ${PAYLOAD.contract_call} AND t.contract_id = ?4 AND t.function_name = ?5`,
  ],
  nonce: ['INDEXED BY transactions_by_nonce', 't.nonce = ?6'],
  // The positions of ?9 and ?10.
  span: ['NOT INDEXED', 'true'],
} as const;
export type Narrowing = keyof typeof narrowing;

/** The most payload types there are; a place in the statements for each. */
export const TYPE_PLACES = 9;

const directions = { asc: '', desc: ' DESC' } as const;
type By = TransactionOrder['by'];
const bys = ['block_height', 'burn_block_time', 'fee'] as const satisfies readonly By[];

const orderOf = (by: By, down: string): string => {
  const first = { block_height: '', fee: `t.fee${down}, `, burn_block_time: `a.burn_block_time${down}, ` }[by];
  return `ORDER BY ${first}t.position${down} LIMIT ?11 OFFSET ?12`;
};

/** Each type is in the order of the chain; SQLite merges them. */
const typesInOrder = (down: string): string => {
  const ofType = (_: unknown, place: number) =>
    `SELECT t.position AS position FROM transactions t INDEXED BY transactions_by_type
      WHERE t.type = ?${13 + place} AND ${matches}`;
  const terms = Array.from({ length: TYPE_PLACES }, ofType);
  return `${terms.join(' UNION ALL ')} ORDER BY position${down} LIMIT ?11 OFFSET ?12`;
};

/** The list by the index of a filter. It is sorted, unless the index is in its order. */
const byIndex = (name: Narrowing, by: By, down: string): string => {
  if (name === 'types' && by === 'block_height') return typesInOrder(down);
  const [index, sought] = narrowing[name];
  const times = by === 'burn_block_time' ? `CROSS JOIN blocks a ON a.height = ${heightIn('t.position')}` : '';
  return `SELECT t.position FROM transactions t ${index} ${times} WHERE ${sought} AND ${matches} ${orderOf(by, down)}`;
};

/** All transactions in an order that isn't the chain's; in that they are counted by block. */
type Sorted = Exclude<By, 'block_height'>;
const sorted = ['burn_block_time', 'fee'] as const satisfies readonly Sorted[];

const inOrder = (by: Sorted, down: string): { from: string; order: string } =>
  by === 'fee'
    ? { from: 'transactions t INDEXED BY transactions_by_fee', order: `t.fee${down}, t.position${down}` }
    : {
        // Bitcoin's clock may run back a little, so that time goes by its blocks.
        from: `anchor_burn_blocks a INDEXED BY anchor_burn_blocks_by_time CROSS JOIN transactions t
                 ON t.position >= ${firstPositionIn('a.first_block')} AND t.position < ${firstPositionIn('(a.first_block + a.blocks)')}`,
        order: `a.time${down}, a.ordinal${down}, t.position${down}`,
      };

/** The first ?13 rows in an order, without what the filters refuse. */
const walk = (by: Sorted, down: string): string => {
  const { from, order } = inOrder(by, down);
  const span =
    by === 'burn_block_time' ? 'WHERE a.time BETWEEN coalesce(?7, 0) AND coalesce(?8, 9007199254740991)' : '';
  return `SELECT t.position FROM (SELECT ${looked} FROM ${from} ${span} ORDER BY ${order} LIMIT ?13) t
           WHERE ${matches} LIMIT ?11 OFFSET ?12`;
};

const all = (by: Sorted, down: string): string => {
  const { from, order } = inOrder(by, down);
  return `SELECT t.position FROM ${from} ORDER BY ${order} LIMIT ?1 OFFSET ?2`;
};

type Statements = Readonly<Record<string, string>>;

const lists: Statements = Object.fromEntries(
  Object.entries(directions).flatMap(([direction, down]) => [
    ...sorted.flatMap((by) => [
      [`all.${by}.${direction}`, all(by, down)],
      [`walk.${by}.${direction}`, walk(by, down)],
    ]),
    ...bys.flatMap((by) =>
      Object.keys(narrowing).map((name) => [`index.${name}.${by}.${direction}`, byIndex(name as Narrowing, by, down)]),
    ),
  ]),
);

const counts: Statements = Object.fromEntries(
  Object.entries(narrowing).map(([name, [index, sought]]) => [
    `count.${name}`,
    `SELECT count(*) AS total FROM transactions t ${index} WHERE ${sought} AND ${matches}`,
  ]),
);

/** How many each filter lets through by itself. */
export const sizes = {
  all: 'SELECT transactions AS size FROM totals',
  type: 'SELECT transactions AS size FROM transaction_types WHERE type = ?1',
  principal: `SELECT p.id, a.sent, a.paid, a.calls FROM principals p JOIN accounts a ON a.principal_id = p.id
               WHERE p.address = ?1`,
  functionName: 'SELECT calls AS size FROM called_functions WHERE name = ?1',
  // These two aren't kept: they are counted up to a limit, in the index alone.
  nonce: 'SELECT count(*) AS size FROM (SELECT 1 FROM transactions WHERE nonce = ?1 LIMIT ?2)',
  call: `SELECT count(*) AS size FROM (SELECT 1 FROM transactions INDEXED BY transactions_by_call
                                        WHERE type = ${PAYLOAD.contract_call} AND contract_id = ?1 AND function_name = ?2 LIMIT ?3)`,
  // The blocks of a span of time, with few others: Bitcoin's clock may run back a little.
  between: `SELECT min(first_block) AS first, max(first_block + blocks - 1) AS last, coalesce(sum(rows), 0) AS size
              FROM anchor_burn_blocks WHERE time BETWEEN ?1 AND ?2`,
} satisfies Statements;

export const sql: Statements = {
  ...lists,
  ...counts,
  ...sizes,
  // The block that holds the n-th transaction of the chain, by how many come before the block.
  byOrdinal: `SELECT height, preceding_transactions AS preceding FROM blocks WHERE preceding_transactions < ?1
               ORDER BY preceding_transactions DESC, height DESC LIMIT 1`,
  fromOrdinal: 'SELECT position FROM transactions WHERE position >= ?1 ORDER BY position LIMIT ?2 OFFSET ?3',
};
