/** All views for analysts, and the functions that make them in a file. */
import type { Database } from 'bun:sqlite';
import { bitcoinViews, chain, chainViews } from './chain.ts';
import { eventViews } from './events.ts';
import { holdingViews } from './holdings.ts';
import { serviceViews } from './service.ts';
import { stakingViews } from './staking.ts';
import { creationOf, type View } from './view.ts';

/** Every view, in the order of the documentation. */
export const views: readonly View[] = [
  chain,
  ...chainViews,
  ...eventViews,
  ...holdingViews,
  ...bitcoinViews,
  ...stakingViews,
  ...serviceViews,
];

const statements = new Map(views.map((view) => [view.name, creationOf(view)]));

/** The views of a file by name, with their statements. */
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

/** Queries to begin with. */
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
