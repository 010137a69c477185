/** How property tests run: how many cases, how long a broken one is shrunk, and how its failure is replayed. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';

/** Number of cases if a property doesn't give one. */
const DEFAULT_CASES = 100;

/**
 * Percentage of each property's number of cases to run. A property whose cases take over a second requests a tenth of its cases:
 * STACKSIDE_RUNS=1000 is the full run, nightly and before a release.
 */
const PER_CENT = Number(process.env.STACKSIDE_RUNS ?? 100);

/** Time limit of a test, in milliseconds: only a test that hangs takes so much, even on a busy machine. */
export const TEST_LIMIT = 10 * 60_000 * Math.max(1, PER_CENT / 100);

/**
 * The seed of everything that a test draws. Every run draws the same cases, so that a change never fails by chance; the nightly
 * run sets STACKSIDE_SEED to draw others. Tests that draw several times count on from it.
 */
export const firstSeed = Number(process.env.STACKSIDE_SEED || 1);

const SURROGATES = { first: 0xd8_00, count: 0x8_00 };
const CODE_POINTS = 0x11_00_00;

/**
 * Any character of Unicode, for `fc.string({ unit: character })`. The unit `binary` of fast-check is the same, and keeps a
 * table of all million of them in the process, which takes a second to make and slows each garbage collection.
 */
export const character = fc.nat(CODE_POINTS - SURROGATES.count - 1).map(
  (nth) => String.fromCodePoint(nth < SURROGATES.first ? nth : nth + SURROGATES.count),
  (text) => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
    if (code === undefined || text !== String.fromCodePoint(code) || !(text as string).isWellFormed()) {
      throw new Error('not one character');
    }
    return code < SURROGATES.first ? code : code - SURROGATES.count;
  },
);

/** Time to shrink a counterexample, in milliseconds: early steps shrink it most. */
const SHRINK_FOR = 5_000;

interface Shrinking {
  /** False if a case is too slow to run more cases for shrinking. */
  shrink?: boolean;
  /** Milliseconds of shrinking. */
  shrinkFor?: number;
}

/**
 * Counts, by name, the situations that the cases of a property reached. A property whose generator never reaches its
 * situation holds without testing anything. So the property counts the situations. If there are too few, more cases are
 * tried, and in the end it fails.
 */
export class Seen {
  readonly #least: Readonly<Record<string, number>>;
  readonly #counts = new Map<string, number>();

  /** @param minimums how often the default number of cases must reach each situation, in proportion for other numbers; 0 requires nothing */
  constructor(minimums: Readonly<Record<string, number>>) {
    this.#least = Object.fromEntries(
      Object.entries(minimums).map(([situation, count]) => [situation, count === 0 ? 0 : casesOf(count)]),
    );
    for (const situation of Object.keys(minimums)) this.#counts.set(situation, 0);
  }

  /** Counts something that a case shows. */
  add(situation: string, count = 1): void {
    const before = this.#counts.get(situation);
    if (before === undefined) throw new Error(`undeclared situation: ${situation}`);
    this.#counts.set(situation, before + count);
  }

  /** The names of the counts. */
  get names(): string[] {
    return [...this.#counts.keys()];
  }

  get isEnough(): boolean {
    return [...this.#counts].every(([situation, count]) => count >= this.#least[situation]!);
  }

  /** @throws Error that names the situations that were too rare */
  require(): void {
    const missing = [...this.#counts].filter(([situation, count]) => count < this.#least[situation]!);
    if (missing.length === 0) return;
    const list = missing.map(([situation, count]) => `${situation}: ${count} of ${this.#least[situation]}`);
    throw new Error(`Too few cases have the situations that the property needs: ${list.join(', ')}`);
  }
}

/** Proof that the cases of a property test something: counts, or the reason why every case does. */
type Showing = { seen: Seen; always?: never } | { always: string; seen?: never };

interface Tried<Ts> extends Shrinking {
  /** Number of random cases if STACKSIDE_RUNS isn't set. */
  cases?: number;
  /** Cases to try before the random ones, in addition to them. */
  examples?: Ts[];
  /** The first seed, in place of {@link firstSeed}. */
  seed?: number;
}

type Options<Ts> = Tried<Ts> & Showing;

/** Fewer cases than usual may show nothing. */
function requireSeen({ seen }: Showing): void {
  if (PER_CENT >= 100) seen?.require();
}

/** Rounds of cases to try if the counts are too low. A generator that can't reach a situation still fails. */
const MAX_ROUNDS = 10;

const showsTooLittle = ({ seen }: Showing): boolean => PER_CENT >= 100 && seen?.isEnough === false;

/** Returns the number of cases, scaled by STACKSIDE_RUNS; at least one. */
export const casesOf = (count: number): number => Math.max(1, Math.ceil((count * PER_CENT) / 100));

/** Whether everything is tried, as nightly and before a release. */
export const isFullRun = PER_CENT >= 1000;

/** Characters of a failure that a test prints; all of a longer one are in a file. */
const MAX_FAILURE_CHARS = 4_000;
/** Characters of the counterexample, and of its error, that the summary of a longer failure shows. */
const SUMMARY_CHARS = 400;

const summaryOf = (text: string): string => (text.length > SUMMARY_CHARS ? `${text.slice(0, SUMMARY_CHARS)}…` : text);

/** Makes the error of a failed property. A long counterexample is written to a file, which the error names. */
function failureOf<Ts>(details: fc.RunDetails<Ts>): Error {
  const report = fc.defaultReportMessage(details) ?? '';
  const cause = details.errorInstance;
  const stack = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  if (report.length + stack.length <= MAX_FAILURE_CHARS) return new Error(report, { cause });
  const { seed, counterexamplePath, numRuns, numShrinks } = details;
  const path = join(mkdtempSync(join(tmpdir(), 'stackside-counterexample-')), `seed-${seed}.txt`);
  writeFileSync(path, `${report}\n\n${stack}\n`);
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return new Error(
    [
      `Property failed after ${numRuns} tests. The whole counterexample is in ${path}`,
      `{ seed: ${seed}, path: ${JSON.stringify(counterexamplePath)} }`,
      `Counterexample: ${summaryOf(fc.stringify(details.counterexample))}`,
      `Shrunk ${numShrinks} time(s)`,
      summaryOf(cause instanceof Error ? cause.message : String(cause)),
      ...frames.slice(0, 5),
    ].join('\n'),
  );
}

/** Runs a property. @throws Error that shows the smallest counterexample, its seed and its path */
function assertRuns<Ts>(
  property: fc.IAsyncProperty<Ts> | fc.IProperty<Ts>,
  runs: fc.Parameters<Ts>,
  { shrink = true, shrinkFor = SHRINK_FOR }: Shrinking,
): Promise<void> | void {
  const parameters = { ...runs, includeErrorInReport: true };
  /** Repeats a failure from its seed, to shrink it. If it doesn't fail again, the original failure is reported. */
  const replay = ({ seed, counterexamplePath }: fc.RunDetails<Ts>) =>
    fc.check(property as fc.IProperty<Ts>, {
      ...parameters,
      seed,
      path: counterexamplePath ?? '',
      interruptAfterTimeLimit: shrinkFor,
    });
  const report = (first: fc.RunDetails<Ts>, shrunk: fc.RunDetails<Ts>): void => {
    const details = shrunk.counterexample === null ? first : shrunk;
    throw failureOf(details);
  };
  const result = fc.check(property, { ...parameters, endOnFailure: true });
  if (result instanceof Promise) {
    return result.then(async (details) => {
      if (details.failed) report(details, shrink ? await replay(details) : details);
    });
  }
  if (result.failed) report(result, shrink ? replay(result) : result);
}

/**
 * Asserts a property. Time limits only the shrinking, so that a slow machine tries as many cases as a fast one.
 * @throws Error that shows the smallest counterexample, its seed and its path
 */
export function assertProperty<Ts>(property: fc.IAsyncProperty<Ts>, options: Options<Ts>): Promise<void>;
export function assertProperty<Ts>(property: fc.IProperty<Ts>, options: Options<Ts>): void;
export function assertProperty<Ts>(
  property: fc.IAsyncProperty<Ts> | fc.IProperty<Ts>,
  options: Options<Ts>,
): Promise<void> | void {
  const { cases = DEFAULT_CASES, examples = [], seed = firstSeed, ...shrinking } = options;
  const tryRound = (round: number): Promise<void> | void => {
    const first = round === 0 ? examples : [];
    const drawn = { numRuns: first.length + casesOf(cases), examples: first, seed: seed + round };
    const outcome = assertRuns(property, drawn, shrinking);
    const next = () => (showsTooLittle(options) && round + 1 < MAX_ROUNDS ? tryRound(round + 1) : requireSeen(options));
    return outcome instanceof Promise ? outcome.then(next) : next();
  };
  return tryRound(0);
}

/**
 * Asserts a property whose cases have a seed each, counted up from the first: processes share a long run by ranges of
 * seeds, and one seed reproduces a failure.
 * @throws Error as {@link assertProperty} does
 */
export async function assertSeeds<Ts>(property: fc.IAsyncProperty<Ts>, options: Options<Ts>): Promise<void> {
  const { cases = DEFAULT_CASES, examples = [], seed = firstSeed, ...shrinking } = options;
  if (examples.length > 0) await assertRuns(property, { numRuns: examples.length, examples }, shrinking);
  const total = casesOf(cases);
  const isDue = (tried: number): boolean => tried < total || (tried < MAX_ROUNDS * total && showsTooLittle(options));
  for (let tried = 0; isDue(tried); tried++) {
    await assertRuns(property, { numRuns: 1, seed: seed + tried }, shrinking);
  }
  requireSeen(options);
}
