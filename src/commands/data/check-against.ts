/** `stackside check --against`: compares this data directory's tables with another directory's or server's, at one entry. */
import { Value } from '@sinclair/typebox/value';
import { Digests, LONGEST_WAIT } from '../../api/stackside/journal.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { OperatorError, PassingError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import { fromHex } from '../../codec/hex.ts';
import { strictText } from '../../codec/utf8.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { type CheckResult, CheckRun, type CheckWatch } from '../../store/check/checks.ts';
import type { IndexSnapshot } from '../../store/check/index-snapshot.ts';
import { firstDifference, type TableDigest } from '../../store/check/row-digests.ts';
import { type Head, sameChain } from '../../store/log/entry.ts';
import type { OutputFormat } from '../cli/command.ts';
import { chainIn, digestOfWire, snapshotFrom } from './index-digests.ts';
import { directoryJournal, type JournalSource, lastCommon, peerJournal } from './journal-sources.ts';
import { isUrl, type Peer, peerAt, peerUrl, requireAnother } from './peer.ts';
import { checkWatch } from './report.ts';

/** Tables by name. */
type Tables = ReadonlyMap<string, TableDigest>;

/** The state of the other index. */
interface Found {
  position: Head;
  /** Its chain value for the requested entry; null if unknown. */
  chainAsked: Uint8Array | null;
  schema: number;
  /** Null if it is not at the requested entry. */
  tables: Tables | null;
}

/** The data to compare with. */
export interface Other {
  readonly location: string;
  /** Waits for an entry, and digests the tables at it. */
  at(id: number): Promise<Found>;
  /** @throws OperatorError if it has no journal */
  journal(): JournalSource;
}

export interface AgainstOptions {
  directory: string;
  /** Maximum wait until both are at one entry, in seconds. */
  wait: number;
  clock: Clock;
  /** Called with each table before its rows are read. */
  reading: (what: string) => void;
}

/** Digests all tables; null if that was cancelled. */
async function tablesOf(
  snapshot: IndexSnapshot,
  location: string,
  { clock, reading }: Pick<AgainstOptions, 'clock' | 'reading'>,
  signal?: AbortSignal,
): Promise<Tables | null> {
  const tables = new Map<string, TableDigest>();
  for (const { table, ...read } of snapshot.digests()) {
    if (read.digest !== null) tables.set(table, read.digest);
    else reading(`${location}, ${table}: row ${read.rows}`);
    await clock.turn();
    if (signal?.aborted === true) return null;
  }
  return tables;
}

/** Another data directory, which a server may be writing. @throws OperatorError if it is this one */
function otherDirectory(location: string, { directory, wait, clock, reading }: AgainstOptions): Other {
  requireAnother('--against', location, directory);
  return {
    location,
    async at(id) {
      using snapshot = await snapshotFrom(location, id, wait, clock);
      const { position, schema } = snapshot;
      const isThere = position.id === id;
      const chainAsked = isThere ? position.chain : chainIn(location, id);
      const tables = isThere ? await tablesOf(snapshot, location, { clock, reading }) : null;
      return { position, chainAsked, schema, tables };
    },
    journal: () => directoryJournal(location, null),
  };
}

const DIGESTS_PATH = '/stackside/v1/digests';
/** Maximum bytes of an answer: each table needs a few kilobytes. */
const LONGEST_DIGESTS = 50_000_000;
/** Maximum bytes of an event; the journal is only read for chain values, one entry at a time. */
const LONGEST_EVENT = 2_000_000_000;

function refused(location: string, status: number): OperatorError {
  if (status === 409) {
    return new PassingError(
      `${location} inspects its index at the moment.`,
      'Repeat the command once that is done, or cancel it on the page System of its console.',
    );
  }
  return new OperatorError(
    `${location} refuses to digest its tables, with status ${status}.`,
    'Check the URL: it is that of the API of a Stackside of this version that accepts events.',
  );
}

function foundIn(location: string, bytes: Uint8Array | null): Found {
  const answer = bytes === null ? null : parsedJson(strictText(bytes) ?? '');
  if (!Value.Check(Digests, answer)) {
    throw new OperatorError(`${location} sent an answer without digests.`, 'Check the URL.');
  }
  const { stand, error, tables } = answer;
  if (error !== undefined || stand == null) {
    const why = error?.error ?? 'it gave no reason';
    throw new PassingError(`${location} could not digest its tables: ${why}.`, 'Read the log of that server.');
  }
  return {
    position: { id: stand.entry, chain: fromHex(stand.chain) },
    chainAsked: stand.chain_asked === null ? null : fromHex(stand.chain_asked),
    schema: stand.schema,
    tables: tables.length === 0 ? null : new Map(tables.map((table) => [table.name, digestOfWire(table)])),
  };
}

/** Another server, which digests its tables itself. */
function otherServer(peer: Peer, { wait }: AgainstOptions): Other {
  const { location } = peer;
  return {
    location,
    async at(id) {
      const answer = await peer.get({
        path: DIGESTS_PATH,
        query: { at: String(id), wait: String(Math.min(wait, LONGEST_WAIT)) },
        most: LONGEST_DIGESTS,
        refused: ({ status }) => refused(location, status),
      });
      return foundIn(location, answer);
    },
    journal: () => peerJournal(peer, LONGEST_EVENT),
  };
}

/**
 * Opens the data to compare with.
 * @param against a data directory, or the URL of an API
 * @param key the server's admin key; null for none
 * @throws OperatorError if it is this data directory
 */
export const otherAt = (against: string, key: string | null, options: AgainstOptions): Other =>
  isUrl(against) ? otherServer(peerAt(peerUrl(against), key, systemClock), options) : otherDirectory(against, options);

/** Digests the tables here and there at the same time. @returns no tables if both are at different entries */
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
      isThere = their.tables !== null && their.position.id === snapshot.position.id;
      return their;
    } finally {
      if (!isThere) giveUp.abort();
    }
  }
  // Both must have ended before the snapshot is closed.
  const [theirs, own] = await Promise.allSettled([
    found(),
    tablesOf(snapshot, options.directory, options, giveUp.signal),
  ]);
  if (theirs.status === 'rejected') throw theirs.reason;
  if (own.status === 'rejected') throw own.reason;
  return { their: theirs.value, ours: own.value };
}

/**
 * The chain values of the last entry that both have; null if one is unknown.
 * @param asked the entry requested from the other
 */
function sharedChains(directory: string, our: Head, their: Found, asked: number): [Uint8Array, Uint8Array] | null {
  const { position, chainAsked } = their;
  const ours = position.id >= our.id ? our.chain : chainIn(directory, position.id);
  const theirs = position.id <= our.id ? position.chain : asked === our.id ? chainAsked : null;
  return ours === null || theirs === null ? null : [ours, theirs];
}

/** Names the first entry that differs. @param id an entry that differs */
async function divergence(directory: string, other: Other, id: number): Promise<string> {
  const journal = other.journal();
  try {
    const common = await lastCommon(directory, journal, { id });
    return `entry ${common.id + 1} is the first that is known to differ`;
  } finally {
    journal.close();
  }
}

/** The error for data that didn't reach a common entry. */
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

/** Describes the first difference of rows. @param key names a row of this data */
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

/** Maximum attempts to find both at one entry while events come. */
const TRIES = 20;

/** An attempt that found the two at different entries. */
interface Missed {
  /** The requested entry; null for the last one of this data. */
  target: number | null;
  ours: number;
  theirs: number;
  /** The entry of this data at the attempt before. */
  before: number;
}

/**
 * The entry for the next attempt: one slightly ahead, so that both wait for it before it exists; null for the last one of this
 * data.
 * @returns `apart` if another attempt is pointless
 */
function nextTarget({ target, ours, theirs, before }: Missed, tries: number): number | null | 'apart' {
  // No events come here while the other is ahead, or the other doesn't get as far.
  if (tries === TRIES || ours === before || (target === null && theirs < ours)) return 'apart';
  // No more events come.
  if (target !== null && ours < target) return null;
  return Math.max(ours, theirs) + 2 * (Math.abs(theirs - ours) + tries);
}

/**
 * Compares the tables of a data directory with those of another.
 * @returns the compared tables and their differences
 * @throws OperatorError if they can't be compared, since their entries or versions differ
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
    // Its error is handled below.
    early?.catch(() => {});
    using snapshot = await snapshotFrom(directory, target ?? 0, wait, clock);
    const { position, schema } = snapshot;
    const asked: number = target ?? position.id;
    const { their, ours } = await digestBoth(snapshot, early ?? other.at(asked), options);
    const run = new CheckRun(snapshot.tables, watch);
    const chains = sharedChains(directory, position, their, asked);
    const name = `journals up to entry ${Math.min(position.id, their.position.id)}`;
    if (chains !== null && !sameChain(...chains)) {
      run.add({ name, problems: [await divergence(directory, other, Math.min(position.id, their.position.id))] });
      return run.results;
    }
    if (their.schema !== schema) throw otherSchema(other.location, their.schema, schema);
    if (ours !== null && their.tables !== null && their.position.id === position.id) {
      run.add({ name, problems: [] });
      compareTables(run, snapshot, ours, their.tables);
      return run.results;
    }
    const next = nextTarget({ target, ours: position.id, theirs: their.position.id, before }, tries);
    if (next === 'apart') throw apart(other.location, position.id, their.position.id);
    [target, before] = [next, position.id];
  }
}

/**
 * Compares a data directory with another one or a server, and prints equal and different tables.
 * @param against a data directory, or the URL of an API
 * @returns whether all are equal
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
