/** One run of the checks: what was found, and what is told of it meanwhile. */
import { type CheckResult, examined } from './result.ts';

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

  /** Tells how far the check that is under way has read. */
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
