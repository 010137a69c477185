/** `stackside check --against`: the tables of this data against those of another directory or server, at one entry. */
import { systemClock } from '../../base/clock.ts';
import { OperatorError, PassingError } from '../../base/errors.ts';
import type { SettingsOf } from '../../settings/config.ts';
import type { IndexSnapshot } from '../../store/check/index-snapshot.ts';
import type { CheckResult } from '../../store/check/result.ts';
import { firstDifference, type TableDigest } from '../../store/check/row-digests.ts';
import { CheckRun, type CheckWatch } from '../../store/check/run.ts';
import { type Head, sameChain } from '../../store/log/entry.ts';
import type { OutputFormat } from '../cli/option-values.ts';
import { type AgainstOptions, type Found, type Other, otherAt, type Tables, tablesOf } from './check-others.ts';
import { chainIn, snapshotFrom } from './index-digests.ts';
import { lastCommon } from './last-common.ts';
import { checkWatch } from './report.ts';

/** Digests the tables of this data while the other finds its own. @returns no tables where both are at different entries */
async function digestBoth(
  snapshot: IndexSnapshot,
  finding: Promise<Found>,
  options: AgainstOptions,
): Promise<{ their: Found; ours: Tables | null }> {
  const giveUp = new AbortController();
  async function found(): Promise<Found> {
    let isThere = false;
    try {
      const their = await finding;
      isThere = their.tables !== null && their.place.id === snapshot.place.id;
      return their;
    } finally {
      if (!isThere) giveUp.abort();
    }
  }
  // The snapshot is used until both have ended.
  const [theirs, own] = await Promise.allSettled([
    found(),
    tablesOf(snapshot, options.directory, options, giveUp.signal),
  ]);
  if (theirs.status === 'rejected') throw theirs.reason;
  if (own.status === 'rejected') throw own.reason;
  return { their: theirs.value, ours: own.value };
}

/**
 * The chain values of the last entry that both have; null where one of them isn't known.
 * @param asked the entry that the other was asked for
 */
function sharedChains(directory: string, our: Head, their: Found, asked: number): [Uint8Array, Uint8Array] | null {
  const { place, chainAsked } = their;
  const ours = place.id >= our.id ? our.chain : chainIn(directory, place.id);
  const theirs = place.id <= our.id ? place.chain : asked === our.id ? chainAsked : null;
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

/** A try that found the two at different entries. */
interface Missed {
  /** The entry that was waited for; null where it was the last one of this data. */
  target: number | null;
  ours: number;
  theirs: number;
  /** Where this data was at the try before. */
  before: number;
}

/**
 * The entry that the next try waits for: one that comes soon, so that both wait for it before it is there; null for the last
 * one of this data.
 * @returns `apart` where no further try helps
 */
function nextTarget({ target, ours, theirs, before }: Missed, tries: number): number | null | 'apart' {
  // Nothing comes here while the other is further on, or the other does not come as far.
  if (tries === TRIES || ours === before || (target === null && theirs < ours)) return 'apart';
  // Events have ceased.
  if (target !== null && ours < target) return null;
  return Math.max(ours, theirs) + 2 * (Math.abs(theirs - ours) + tries);
}

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
  let target: number | null = null;
  let before = -1;
  for (let tries = 1; ; tries++) {
    const early: Promise<Found> | null = target === null ? null : other.at(target);
    // What it fails with is met below.
    early?.catch(() => {});
    using snapshot = await snapshotFrom(directory, target ?? 0, wait, clock);
    const { place, schema } = snapshot;
    const asked: number = target ?? place.id;
    const { their, ours } = await digestBoth(snapshot, early ?? other.at(asked), options);
    const run = new CheckRun(snapshot.tables, watch);
    const chains = sharedChains(directory, place, their, asked);
    const name = `journals up to entry ${Math.min(place.id, their.place.id)}`;
    if (chains !== null && !sameChain(...chains)) {
      run.add({ name, problems: [await divergence(directory, other, Math.min(place.id, their.place.id))] });
      return run.results;
    }
    if (their.schema !== schema) throw otherSchema(other.location, their.schema, schema);
    if (ours !== null && their.tables !== null && their.place.id === place.id) {
      run.add({ name, problems: [] });
      compareTables(run, snapshot, ours, their.tables);
      return run.results;
    }
    const next = nextTarget({ target, ours: place.id, theirs: their.place.id, before }, tries);
    if (next === 'apart') throw apart(other.location, place.id, their.place.id);
    [target, before] = [next, place.id];
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
