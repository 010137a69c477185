/** A run of checks with its results. */
import { SQLiteError } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { unavailable } from '../../base/system-errors.ts';

export interface CheckResult {
  /** Name of the check that the operator sees. */
  name: string;
  /** Problems, at most {@link MAX_FINDINGS_SHOWN} and a count of the others; empty if there are none. */
  problems: string[];
}

/** Whether an error means that the check itself failed: another kind of file, or a read error other than damage. */
export const isCheckFailure = (error: Error): boolean =>
  (error instanceof SQLiteError && error.code === 'SQLITE_NOTADB') ||
  (unavailable(error)?.failure ?? 'damaged') !== 'damaged';

const MAX_FINDINGS_SHOWN = 10;

function summarize(problems: Iterable<string>): string[] {
  const first: string[] = [];
  let others = 0;
  for (const problem of problems) {
    if (first.length < MAX_FINDINGS_SHOWN) first.push(problem);
    else others += 1;
  }
  return others === 0 ? first : [...first, `and ${others} more`];
}

/**
 * Runs a check. An error that damaged values cause is a finding.
 * @throws SQLiteError if something other than damage keeps it from reading
 */
function runCheck(name: string, find: () => Iterable<string>): CheckResult {
  try {
    return { name, problems: summarize(find()) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (isCheckFailure(error)) throw error;
    const problem = error instanceof OperatorError ? error.message : `could not be checked: ${error.message}`;
    return { name, problems: [problem] };
  }
}

export interface CheckWatch {
  /**
   * A check begins, or has made progress.
   * @param step number of the check, of how many @param detail the progress in words; empty at the beginning
   */
  at(name: string, step: { number: number; of: number }, detail: string): void;
  /** A check ended. */
  found(result: CheckResult): void;
}

/** A listener that does nothing. */
const unwatched: CheckWatch = { at: () => {}, found: () => {} };

export class CheckRun {
  readonly results: CheckResult[] = [];
  private started = 0;
  private name = '';

  /** @param total number of checks so far */
  constructor(
    private total: number,
    private readonly watch: CheckWatch = unwatched,
  ) {}

  /** Adds checks that will be run to their number. */
  expect(checks: number): void {
    this.total += checks;
  }

  /**
   * Runs a check, and stores its result.
   * @returns whether it found no problem
   * @throws SQLiteError if something other than damage keeps it from reading
   */
  examine(name: string, find: () => Iterable<string>): boolean {
    this.started += 1;
    this.name = name;
    this.reportProgress('');
    const result = runCheck(name, find);
    this.add(result);
    return result.problems.length === 0;
  }

  reportProgress(detail: string): void {
    this.watch.at(this.name, { number: this.started, of: this.total }, detail);
  }

  add(result: CheckResult): void {
    this.results.push(result);
    this.watch.found(result);
  }

  get findings(): number {
    return this.results.filter(({ problems }) => problems.length > 0).length;
  }
}
