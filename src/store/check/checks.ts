/** The interface of a check of the index, the two forms that most checks have, and a run of checks. */
import { type Database, SQLiteError } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { unavailable } from '../files/store-failure.ts';

/** Compares derived rows with the rows that they were made from. Its time is linear in the rows that it reads. */
export interface Check {
  /** What is checked, as shown to the operator. */
  name: string;
  /** Whether {@link find} can be limited to blocks from a height on and the rows that they wrote. */
  isLimited: boolean;
  /**
   * Yields a sentence for each problem.
   * @param since lowest height that is checked; 0 for all. A check that isn't limited ignores it
   */
  find(db: Database, since: number): Iterable<string>;
}

export interface CheckResult {
  /** What was checked, as shown to the operator. */
  name: string;
  /** Problems, at most {@link MOST_SHOWN} and a count of the others; empty where there are none. */
  problems: string[];
}

/** Whether an error is no finding: a file of another kind, or a failure of reading other than damage. */
export const isNoFinding = (error: Error): boolean =>
  (error instanceof SQLiteError && error.code === 'SQLITE_NOTADB') ||
  (unavailable(error)?.failure ?? 'damaged') !== 'damaged';

const MOST_SHOWN = 10;

function shown(problems: Iterable<string>): string[] {
  const first: string[] = [];
  let others = 0;
  for (const problem of problems) {
    if (first.length < MOST_SHOWN) first.push(problem);
    else others += 1;
  }
  return others === 0 ? first : [...first, `and ${others} more`];
}

/**
 * Runs a check. An error that damaged values cause is a finding.
 * @throws SQLiteError where something other than damage keeps it from reading
 */
export function examined(name: string, find: () => Iterable<string>): CheckResult {
  try {
    return { name, problems: shown(find()) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (isNoFinding(error)) throw error;
    const problem = error instanceof OperatorError ? error.message : `could not be checked: ${error.message}`;
    return { name, problems: [problem] };
  }
}

/** Makes a check whose query finds a row for each problem. @param sql has `$since` where it can be limited */
export function none<Row>(name: string, sql: string, sentence: (row: Row) => string): Check {
  const isLimited = sql.includes('$since');
  return {
    name,
    isLimited,
    *find(db, since) {
      const rows = db.query<Row, { since: number }[]>(sql);
      for (const row of isLimited ? rows.iterate({ since }) : rows.iterate()) yield sentence(row);
    },
  };
}

/** Makes a check of a stored number against a count. @param sql a query of one row: `stored` and `counted` */
export const equal = (name: string, sql: string): Check => ({
  name,
  isLimited: false,
  find(db) {
    const row = db.query<{ stored: number; counted: number }, []>(sql).get();
    return row !== null && row.stored === row.counted ? [] : [`stored ${row?.stored}, counted ${row?.counted}`];
  },
});

/** The listener of a run of checks. */
export interface CheckWatch {
  /**
   * A check begins, or has made progress.
   * @param step number of the check, of how many @param detail the progress in words; empty at the beginning
   */
  at(name: string, step: { number: number; of: number }, detail: string): void;
  /** A check ended. */
  found(result: CheckResult): void;
  /** A check is left out, since it can't be limited to some heights. */
  leftOut(name: string): void;
}

/** A listener that does nothing. */
const unwatched: CheckWatch = { at: () => {}, found: () => {}, leftOut: () => {} };

export class CheckRun {
  readonly results: CheckResult[] = [];
  private begun = 0;
  private name = '';

  /** @param of maximum number of checks */
  constructor(
    private readonly of: number,
    private readonly watch: CheckWatch = unwatched,
  ) {}

  /**
   * Runs a check, and stores its result.
   * @returns whether it found no problem
   * @throws SQLiteError where something other than damage keeps it from reading
   */
  examine(name: string, find: () => Iterable<string>): boolean {
    this.begun += 1;
    this.name = name;
    this.wentOn('');
    const result = examined(name, find);
    this.add(result);
    return result.problems.length === 0;
  }

  /** Reports progress of the present check. */
  wentOn(detail: string): void {
    this.watch.at(this.name, { number: this.begun, of: this.of }, detail);
  }

  add(result: CheckResult): void {
    this.results.push(result);
    this.watch.found(result);
  }

  leaveOut(name: string): void {
    this.begun += 1;
    this.watch.leftOut(name);
  }

  /** Number of checks with problems. */
  get findings(): number {
    return this.results.filter(({ problems }) => problems.length > 0).length;
  }
}
