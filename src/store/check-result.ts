/** What a check of the index found, and the two forms most checks have. */
import type { Database } from 'bun:sqlite';

export interface CheckResult {
  /** What was checked, in words. */
  name: string;
  /** What is wrong; empty where nothing is. At most {@link MOST_SHOWN}, and a count of the rest. */
  problems: string[];
}

const MOST_SHOWN = 10;

export const shown = (problems: string[]): string[] =>
  problems.length <= MOST_SHOWN
    ? problems
    : [...problems.slice(0, MOST_SHOWN), `and ${problems.length - MOST_SHOWN} more`];

/** Rows of a query that should find none, each as a sentence. */
export function none<Row>(db: Database, name: string, sql: string, sentence: (row: Row) => string): CheckResult {
  return { name, problems: shown(db.query<Row, []>(sql).all().map(sentence)) };
}

export function equal(db: Database, name: string, sql: string): CheckResult {
  const row = db.query<{ kept: number; counted: number }, []>(sql).get();
  const problems = row !== null && row.kept === row.counted ? [] : [`kept ${row?.kept}, counted ${row?.counted}`];
  return { name, problems };
}
