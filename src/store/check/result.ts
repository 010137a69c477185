/** What a check of the index found, and the two forms most checks have. */
import { type Database, SQLiteError } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { unavailable } from '../files/store-failure.ts';

export interface CheckResult {
  /** What was checked, in words. */
  name: string;
  /** What is wrong; empty where nothing is. At most {@link MOST_SHOWN}, and a count of the rest. */
  problems: string[];
}

/** A file of another kind, and what keeps a check from reading, are no findings. */
const isNoFinding = (error: Error): boolean =>
  (error instanceof SQLiteError && error.code === 'SQLITE_NOTADB') ||
  (unavailable(error)?.failure ?? 'damaged') !== 'damaged';

/**
 * A check that may meet damaged values: what they make it throw is what it found.
 * @throws SQLiteError where something else keeps it from reading
 */
export function examined(name: string, find: () => string[]): CheckResult {
  try {
    return { name, problems: shown(find()) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (isNoFinding(error)) throw error;
    const problem = error instanceof OperatorError ? error.message : `could not be checked: ${error.message}`;
    return { name, problems: [problem] };
  }
}

/** Checks of one kind; where a damaged value makes one throw, that is the result of them all. */
export function examinedAll(name: string, checks: () => CheckResult[]): CheckResult[] {
  let results: CheckResult[] = [];
  const whole = examined(name, () => {
    results = checks();
    return [];
  });
  return whole.problems.length === 0 ? results : [whole];
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
