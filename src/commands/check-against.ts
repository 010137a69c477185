/** `stackside check --against`: the tables of this data against those of another directory or server, at one entry. */
import { systemClock } from '../base/clock.ts';
import { OperatorError, PassingError } from '../base/errors.ts';
import type { SettingsOf } from '../settings/config.ts';
import type { IndexSnapshot } from '../store/check/index-snapshot.ts';
import type { CheckResult } from '../store/check/result.ts';
import { firstDifference, type TableDigest } from '../store/check/row-digests.ts';
import { CheckRun, type CheckWatch } from '../store/check/run.ts';
import { sameChain } from '../store/files/journal-entry.ts';
import type { Place } from '../store/files/journal-link.ts';
import { type AgainstOptions, type Found, type Other, otherAt, type Tables, tablesOf } from './check-others.ts';
import { chainIn, snapshotFrom } from './index-digests.ts';
import { lastCommon } from './last-common.ts';
import type { OutputFormat } from './option-values.ts';
import { checkWatch } from './report.ts';

/** Asks the other for its tables where this data stands, and digests those of this data meanwhile. */
async function digestBoth(
  snapshot: IndexSnapshot,
  other: Other,
  options: AgainstOptions,
): Promise<{ their: Found; ours: Tables | null }> {
  const giveUp = new AbortController();
  const own = tablesOf(snapshot, options.directory, options, giveUp.signal);
  try {
    const their = await other.at(snapshot.place.id);
    if (their.tables === null) giveUp.abort();
    return { their, ours: await own };
  } finally {
    giveUp.abort();
    await own;
  }
}

/** The chain values of the last entry that both have; null where one of them doesn't know it. */
function sharedChains(directory: string, our: Place, their: Found): [ours: Uint8Array, theirs: Uint8Array] | null {
  const isOurs = their.place.id >= our.id;
  const ours = isOurs ? our.chain : chainIn(directory, their.place.id);
  const theirs = isOurs ? their.chainAsked : their.place.chain;
  return ours === null || theirs === null ? null : [ours, theirs];
}

/** The first entry that differs, in words. @param id one that differs */
async function divergence(directory: string, other: Other, id: number): Promise<string> {
  const journal = other.journal();
  try {
    const common = await lastCommon(directory, journal, { id });
    return `entry ${common.id + 1} is the first that is known to differ`;
  } finally {
    journal.close();
  }
}

/** The error of data that come to no common entry. */
function apart(location: string, our: number, their: number): OperatorError {
  const [ahead, behind] = our > their ? ['This data', location] : [location, 'this data'];
  return new PassingError(
    `${ahead} is at entry ${Math.max(our, their)}, and ${behind} at entry ${Math.min(our, their)}: tables can only be compared at one entry.`,
    'Let the one that is behind follow the other, and repeat the command; a longer --wait helps where events come quickly.',
  );
}

const otherSchema = (location: string, theirs: number, ours: number): OperatorError =>
  new OperatorError(
    `The index of ${location} has schema ${theirs}, and this one schema ${ours}: their rows have other forms.`,
    'Compare indexes that one version of Stackside wrote.',
  );

/** The rows that differ first, in words. @param key what a row of this data is found by */
function differenceOf(ours: TableDigest, theirs: TableDigest, key: (row: number) => string): string[] {
  const range = firstDifference(ours, theirs);
  if (range === null) return [];
  const counts = ours.rows === theirs.rows ? '' : `; ${ours.rows} rows here, ${theirs.rows} there`;
  const { first, last } = range;
  if (first > ours.rows) return [`rows are missing from row ${first} on${counts}`];
  if (first === last) return [`row ${first} differs: ${key(first)}${counts}`];
  return [`some of the rows ${first} to ${last} differ, which begin at ${key(first)}${counts}`];
}

const NO_ROWS: TableDigest = { rows: 0, rangeRows: 1, ranges: [] };

/** Compares all tables of two indexes at one entry. */
function compareTables(run: CheckRun, snapshot: IndexSnapshot, ours: Tables, theirs: Tables): void {
  for (const name of new Set([...ours.keys(), ...theirs.keys()])) {
    run.examine(`table ${name}`, () =>
      differenceOf(ours.get(name) ?? NO_ROWS, theirs.get(name) ?? NO_ROWS, (row) => snapshot.key(name, row)),
    );
  }
}

/** Tries to find both at one entry while events come. */
const TRIES = 20;

/**
 * Compares the tables of a data directory with those of another one.
 * @returns what was compared, with what differs
 * @throws OperatorError where they can't be compared: their entries or versions are not the same
 */
export async function compareWith(
  other: Other,
  options: AgainstOptions,
  watch: CheckWatch,
): Promise<readonly CheckResult[]> {
  const { directory, wait, clock } = options;
  let wanted = 0;
  for (let tries = 1; ; tries++) {
    using snapshot = await snapshotFrom(directory, wanted, wait, clock);
    const { place, schema } = snapshot;
    const run = new CheckRun(snapshot.tables, watch);
    if (place.id < wanted) throw apart(other.location, place.id, wanted);
    const { their, ours } = await digestBoth(snapshot, other, options);
    const chains = sharedChains(directory, place, their);
    const shared = Math.min(place.id, their.place.id);
    const isOneHistory = chains === null || sameChain(...chains);
    const problems = isOneHistory ? [] : [await divergence(directory, other, shared)];
    if (!isOneHistory || (ours !== null && their.tables !== null)) {
      run.add({ name: `journals up to entry ${shared}`, problems });
    }
    if (!isOneHistory) return run.results;
    if (their.schema !== schema) throw otherSchema(other.location, their.schema, schema);
    if (ours !== null && their.tables !== null) {
      compareTables(run, snapshot, ours, their.tables);
      return run.results;
    }
    if (their.place.id <= place.id || tries === TRIES) throw apart(other.location, place.id, their.place.id);
    wanted = their.place.id;
  }
}

/**
 * Compares a data directory with another one or with a server, and prints what is equal and what differs.
 * @param against a data directory, or the URL of an API
 * @returns whether nothing differs
 * @throws OperatorError
 */
export async function reportAgainst(
  { data: directory, peerKey }: SettingsOf<'check'>,
  against: string,
  { wait, format }: { wait: number; format: OutputFormat },
): Promise<boolean> {
  const { reading, ...watch } = checkWatch(format);
  const options = { directory, wait, clock: systemClock, reading };
  const results = await compareWith(otherAt(against, peerKey, options), options, watch);
  return results.every(({ problems }) => problems.length === 0);
}
