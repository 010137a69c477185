/** All views for analysts, and the functions that make them in a file. */
import type { Database } from 'bun:sqlite';
import { mempoolStatuses, storedMempoolState, storedReason, storedState, storedStatus } from '../rows/enums.ts';
import { fromHooks, hookNow, isEnabledHook } from '../rows/expressions.ts';
import { bitcoinViews, chain, chainViews } from './chain.ts';
import { eventViews } from './events.ts';
import { holdingViews } from './holdings.ts';
import { stakingViews } from './staking.ts';
import {
  boolean,
  bytes,
  creationOf,
  fineTime,
  hex,
  integer,
  optionalHex,
  PER_SECOND,
  spentColumns,
  spentJoins,
  text,
  type View,
  type ViewColumn,
  view,
  word,
} from './view.ts';

const mempool = view({
  name: 'mempool_transactions',
  help: 'One row per transaction that was announced and is not on the canonical chain.',
  columns: {
    tx_id: hex('m.tx_id', 'Transaction id'),
    tx_id_bytes: bytes('m.tx_id', 'Transaction id as bytes'),
    status: word('m.state', storedMempoolState, 'Status', (state) => mempoolStatuses[state]),
    receipt_time: fineTime('m.received_at', PER_SECOND.microseconds, 'Time when the transaction arrived'),
    receipt_block_height: integer('m.receipt_block_height', 'Height of the chain at that time'),
    replaced_by_tx_id: optionalHex('m.replaced_by_tx_id', 'Transaction that replaced this one'),
    ...spentColumns('m'),
    size_bytes: integer('m.size', 'Bytes of the raw transaction'),
    raw: hex('m.raw', 'Raw transaction'),
  },
  from: `mempool_transactions m ${spentJoins('m')}`,
  indexed: ['tx_id_bytes', 'sender'],
});

const millisecondTime = (sql: string, help: string): ViewColumn => fineTime(sql, PER_SECOND.milliseconds, help);

const hooks = view({
  name: 'hooks',
  help: 'One row per chainhook, without its URL and filters, which may contain credentials.',
  columns: {
    uuid: text('h.uuid', 'Identifier of the chainhook'),
    consumer: text('h.consumer', 'Owner of the API key that registered the chainhook'),
    name: text("CAST(json_extract(h.definition, '$.name') AS TEXT)", 'Name that its definition gives'),
    status: word(hookNow.status, storedStatus, 'Status'),
    is_enabled: boolean(isEnabledHook, '1 if blocks are evaluated'),
    created_at: millisecondTime('h.created_at', 'Time of the registration'),
    deleted_at: millisecondTime('h.deleted_at', 'Time of the deletion; null for a chainhook that exists'),
    evaluated_block_count: integer(`CAST(${hookNow.evaluated} AS INTEGER)`, 'Blocks that were evaluated'),
    occurrence_count: integer('h.occurrences', 'Blocks that matched'),
    last_evaluated_at: millisecondTime(hookNow.last_evaluated_at, 'Time of the last evaluation'),
    last_evaluated_block_height: integer(
      `CAST(${hookNow.last_evaluated_height} AS INTEGER)`,
      'Height of the block that was evaluated last',
    ),
    last_occurrence_at: millisecondTime('h.last_occurrence_at', 'Time of the last match'),
    last_occurrence_block_height: integer('h.last_occurrence_height', 'Height of the last matching block'),
    consecutive_failures: integer('h.consecutive_failures', 'Failed attempts since the last success in any queue'),
    last_delivery_at: millisecondTime('h.last_delivery_at', 'Time of the last attempt'),
    last_delivery_status_code: integer('h.last_delivery_status', 'Status code of the last attempt'),
    interrupted_reason: text('h.interrupted_reason', 'Reason for the interruption'),
  },
  from: fromHooks.replace(/^FROM /, ''),
  indexed: ['uuid'],
});

const hookDeliveries = view({
  name: 'hook_deliveries',
  help: 'One row per delivery of a chainhook, without its body.',
  columns: {
    webhook_id: text('d.webhook_id', 'Identifier that the receiver gets'),
    hook_uuid: text('h.uuid', 'Identifier of the chainhook'),
    state: word('d.state', storedState, 'State'),
    reason: word('d.reason', storedReason, 'Reason'),
    sequence: integer('d.sequence', 'Number of a live delivery'),
    created_at: millisecondTime('d.created_at', 'Time when the delivery was queued'),
    next_attempt_at: millisecondTime('d.next_attempt_at', 'Time of the next attempt'),
    delivered_at: millisecondTime('d.delivered_at', 'Time when the receiver accepted the delivery'),
    attempt_count: integer('d.attempts', 'Number of attempts'),
    min_block_height: integer('d.min_height', 'Lowest height of its blocks'),
    max_block_height: integer('d.max_height', 'Greatest height of its blocks'),
    body_bytes: integer('d.body_bytes', 'Bytes of the body'),
    body_sha256: text('CAST(lower(hex(d.body_sha256)) AS TEXT)', 'SHA-256 of the body'),
    problem: text('d.problem', 'Reason for a missing body'),
  },
  from: 'hook_deliveries d JOIN hooks h ON h.id = d.hook_id',
  indexed: ['webhook_id', 'hook_uuid'],
});

/** Every view, in the order of the documentation. */
export const views: readonly View[] = [
  chain,
  ...chainViews,
  ...eventViews,
  ...holdingViews,
  ...bitcoinViews,
  ...stakingViews,
  mempool,
  hooks,
  hookDeliveries,
];

const statements = new Map(views.map((view) => [view.name, creationOf(view)]));

function viewsIn(db: Database): Map<string, string> {
  const rows = db
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM main.sqlite_schema WHERE type = 'view'")
    .all();
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}

/** Names of the views that a file lacks, or has with other statements than this program's. */
function outdatedViews(db: Database): string[] {
  const present = viewsIn(db);
  return [...statements].filter(([name, statement]) => present.get(name) !== statement).map(([name]) => name);
}

/**
 * The views of a file that are not as this program makes them, by name. A file that has none is older than the views, and
 * nothing is wrong with it.
 */
export function differingViews(db: Database): string[] {
  const present = viewsIn(db);
  return [...statements.keys()].some((name) => present.has(name)) ? outdatedViews(db) : [];
}

/** Whether a file has all views with this program's statements. */
export const hasViews = (db: Database): boolean => outdatedViews(db).length === 0;

/** Removes the views from a file: SQLite would change their statements when tables that they read are changed. */
export function dropViews(db: Database): void {
  for (const name of statements.keys()) db.run(`DROP VIEW IF EXISTS ${name}`);
}

/** Makes the views that a file lacks, or has with other statements. Other views stay. */
export function makeViews(db: Database): void {
  for (const name of outdatedViews(db)) {
    db.run(`DROP VIEW IF EXISTS ${name}`);
    db.run(statements.get(name) ?? '');
  }
}

/**
 * Makes this program's views for a connection that only reads. They hide the file's views of the same names, and are temporary:
 * the file is unchanged.
 */
export function makeTemporaryViews(db: Database): void {
  const missing = outdatedViews(db);
  if (missing.length === 0) return;
  db.run('PRAGMA query_only = OFF');
  for (const name of missing) db.run((statements.get(name) ?? '').replace('CREATE VIEW', 'CREATE TEMP VIEW'));
  db.run('PRAGMA query_only = ON');
}

/** A query of some rows of a view. */
export const someRows = ({ name }: Pick<View, 'name'>): string => `SELECT *\nFROM ${name}\nLIMIT 20`;

/** A condition for the rows of the newest thousand blocks. */
const LATELY = 'position >= ((SELECT max(block_height) FROM v1_blocks) - 1000) << 20';

export const exampleQueries: readonly { title: string; query: string }[] = [
  {
    title: 'Transactions a day',
    query: `SELECT substr(block_time, 1, 10) AS day, count(*) AS blocks, sum(tx_count) AS transactions
FROM v1_blocks
WHERE block_time_unix >= (SELECT max(block_time_unix) FROM v1_blocks) - 30 * 86400
GROUP BY day ORDER BY day DESC`,
  },
  {
    title: 'Most called contracts',
    query: `SELECT contract_id, count(*) AS calls, count(DISTINCT sender) AS senders
FROM v1_contract_calls
WHERE ${LATELY}
GROUP BY contract_id ORDER BY calls DESC LIMIT 20`,
  },
  {
    title: 'Highest fees lately',
    query: `SELECT block_time, tx_id, type, sender, fee
FROM v1_transactions
WHERE ${LATELY}
ORDER BY fee_real DESC LIMIT 20`,
  },
  {
    title: 'Largest transfers lately',
    query: `SELECT block_height, sender, recipient, amount
FROM v1_events
WHERE type = 'stx_transfer' AND ${LATELY}
ORDER BY amount_real DESC LIMIT 20`,
  },
  {
    title: 'Size of blocks',
    query: `SELECT block_height, block_time, tx_count
FROM v1_blocks
ORDER BY block_height DESC LIMIT 200`,
  },
];
