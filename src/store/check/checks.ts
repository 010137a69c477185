/** What a check of the index looks at and found, the two forms most checks have, and a run of them. */
import { type Database, SQLiteError } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { unavailable } from '../files/store-failure.ts';

/** A comparison of what the index keeps with what it was made from. Its time is linear in the rows that it reads. */
export interface Check {
  /** What is checked, in words. */
  name: string;
  /** Whether {@link find} can be limited to what the blocks from a height on wrote. */
  isLimited: boolean;
  /**
   * Looks for what is wrong, and yields a sentence for each problem.
   * @param since the minimum height that is looked at; 0 for all. A check that isn't limited ignores it
   */
  find(db: Database, since: number): Iterable<string>;
}

export interface CheckResult {
  /** What was checked, in words. */
  name: string;
  /** What is wrong; empty where nothing is. At most {@link MOST_SHOWN}, and a count of the rest. */
  problems: string[];
}

/** A file of another kind, and what keeps a check from reading, are no findings. */
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
 * Runs a check that may meet damaged values: what they make it throw is what it found.
 * @throws SQLiteError where something else keeps it from reading
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

/** Rows of a query that should find none, each as a sentence. @param sql with `$since` where it can be limited */
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

/** A number that is stored against the same counted anew. @param sql a query of one row: `stored` and `counted` */
export const equal = (name: string, sql: string): Check => ({
  name,
  isLimited: false,
  find(db) {
    const row = db.query<{ stored: number; counted: number }, []>(sql).get();
    return row !== null && row.stored === row.counted ? [] : [`stored ${row?.stored}, counted ${row?.counted}`];
  },
});

/** The listener of a run. */
export interface CheckWatch {
  /**
   * A check begins, or has read more.
   * @param step which of how many it is @param detail how far it has read, in words; empty where it begins
   */
  at(name: string, step: { number: number; of: number }, detail: string): void;
  /** A check ended. */
  found(result: CheckResult): void;
  /** A check is left out, since it can't be limited to some heights. */
  leftOut(name: string): void;
}

/** A run that nobody watches. */
const unwatched: CheckWatch = { at: () => {}, found: () => {}, leftOut: () => {} };

export class CheckRun {
  readonly results: CheckResult[] = [];
  private begun = 0;
  private name = '';

  /** @param of the most checks there will be */
  constructor(
    private readonly of: number,
    private readonly watch: CheckWatch = unwatched,
  ) {}

  /**
   * Runs a check, and keeps what it found.
   * @returns whether it found nothing
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

  /** Called with the progress of the check that is under way. */
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

  /** How many checks found something. */
  get findings(): number {
    return this.results.filter(({ problems }) => problems.length > 0).length;
  }
}
