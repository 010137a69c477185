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
function found(db: Database): Map<string, string> {
  const rows = db
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM main.sqlite_schema WHERE type = 'view'")
    .all();
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}

/** Names of the views that a file lacks, or has with other statements than this program's. */
function outdated(db: Database): string[] {
  const present = found(db);
  return [...statements].filter(([name, statement]) => present.get(name) !== statement).map(([name]) => name);
}

/**
 * The views of a file that are not as this program makes them, by name. A file that has none is older than the views, and
 * nothing is wrong with it.
 */
export function differingViews(db: Database): string[] {
  const present = found(db);
  return [...statements.keys()].some((name) => present.has(name)) ? outdated(db) : [];
}

/** Whether a file has all views with this program's statements. */
export const hasViews = (db: Database): boolean => outdated(db).length === 0;

/** Removes the views from a file: SQLite would change their statements when tables that they read are changed. */
export function dropViews(db: Database): void {
  for (const name of statements.keys()) db.run(`DROP VIEW IF EXISTS ${name}`);
}

/** Makes the views that a file lacks, or has with other statements. Other views stay. */
export function makeViews(db: Database): void {
  for (const name of outdated(db)) {
    db.run(`DROP VIEW IF EXISTS ${name}`);
    db.run(statements.get(name) ?? '');
  }
}

/**
 * Makes this program's views for a connection that only reads. They hide the file's views of the same names, and are temporary:
 * the file is unchanged.
 */
export function makeTemporaryViews(db: Database): void {
  const missing = outdated(db);
  if (missing.length === 0) return;
  db.run('PRAGMA query_only = OFF');
  for (const name of missing) db.run((statements.get(name) ?? '').replace('CREATE VIEW', 'CREATE TEMP VIEW'));
  db.run('PRAGMA query_only = ON');
}
