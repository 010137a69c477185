/** The views for analysts: all of them, and making them in a file. */
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

/** The views of a file, with the statements that made them. */
function found(db: Database): Map<string, string> {
  const rows = db
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM main.sqlite_schema WHERE type = 'view'")
    .all();
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}

/** The views that a file lacks, or has in another form than this program's, by name. */
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

/** Whether a file has all views in the form of this program. */
export const hasViews = (db: Database): boolean => outdated(db).length === 0;

/** Removes the views from a file, since SQLite would change their statements with the tables that they read. */
export function dropViews(db: Database): void {
  for (const name of statements.keys()) db.run(`DROP VIEW IF EXISTS ${name}`);
}

/** Makes the views that a file lacks, or has in another form. Other views stay. */
export function makeViews(db: Database): void {
  for (const name of outdated(db)) {
    db.run(`DROP VIEW IF EXISTS ${name}`);
    db.run(statements.get(name) ?? '');
  }
}

/**
 * Makes views for a connection that only reads: those of this program, in place of what the file has under their names.
 * They are gone with the connection, and the file stays as it is.
 */
export function makeTemporaryViews(db: Database): void {
  const missing = outdated(db);
  if (missing.length === 0) return;
  db.run('PRAGMA query_only = OFF');
  for (const name of missing) db.run((statements.get(name) ?? '').replace('CREATE VIEW', 'CREATE TEMP VIEW'));
  db.run('PRAGMA query_only = ON');
}
