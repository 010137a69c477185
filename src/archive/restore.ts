/**
 * Restores an archive into an empty data directory: its entries are applied in their order, as an import applies those of another
 * journal. What an interrupted restore has applied stays, and the next one goes on after it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { OperatorError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { mapAhead } from '../base/map-ahead.ts';
import { onFile, operatorErrorOf } from '../base/system-errors.ts';
import { chainIdText } from '../chain/network.ts';
import type { PlaceReads } from '../places/files.ts';
import { journalPath } from '../store/files/database.ts';
import { type Lock, lockUnfinished } from '../store/files/lock.ts';
import type { SecondaryIndexProgress } from '../store/files/secondary-indexes.ts';
import { beginMaking, installStagedFiles, isInstalled } from '../store/files/staged-files.ts';
import { markerPath, stagingOf } from '../store/files/unfinished.ts';
import { type Ingest, type IngestOptions, openIngest } from '../store/ingest/ingest.ts';
import { beginningAfter, leaveIn } from '../store/ingest/timelines.ts';
import { ForeignEntryError } from '../store/ingest/writer.ts';
import { type Entry, sameChain } from '../store/log/entry.ts';
import {
  ArchiveDamagedError,
  chainOfIdentity,
  chosenTimeline,
  contentsOf,
  holds,
  linkedFrom,
  newestOpenPart,
  requireIdentity,
  sealedSegment,
  timelinesIn,
} from './archive.ts';
import { type BaseManifest, baseOfName } from './base.ts';
import { type BaseChoice, begunBase, type ChosenBase, chosenBase, fillJournal, loadBase } from './base-restore.ts';
import type { Segment } from './segment.ts';
import type { Timeline } from './timeline.ts';

/** Microseconds in a millisecond. */
const MICROSECONDS = 1_000;

/** The end of a restore: the last entry, the highest block, or the latest time of receipt in Unix microseconds; all if null. */
export type Until = { entry: number } | { height: number } | { time: number } | null;

interface RestoreProgress {
  /** Number of the last entry that was applied, and the height of the tip. */
  entry: number;
  height: number;
  /** Number of the last entry of this run's beginning, and of the last entry that is known of. */
  from: number;
  last: number;
}

/** How far a base is loaded. */
interface BaseLoading {
  name: string;
  /** Last entry in the journal, and that of the base. */
  entry: number;
  position: number;
  /** Parts that are loaded, and all; both are 0 while the journal is filled. */
  part: number;
  parts: number;
}

export interface ArchiveRestoreOptions extends Pick<IngestOptions, 'machine' | 'log'> {
  directory: string;
  place: PlaceReads;
  /** The chain that the archive must have; null for any. */
  chainId: number | null;
  until: Until;
  /** The base to begin with; the newest that fits if omitted. */
  base?: BaseChoice;
  /** Called with each base that is skipped, and why, as the end of a sentence. */
  skipped?: (name: string, why: string) => void;
  /** Called while a base is loaded. */
  loading?: (progress: BaseLoading) => void;
  /** Name of the timeline; null for the newest one. */
  timeline: string | null;
  report: (progress: RestoreProgress) => void;
  /** Called with each secondary index before it is made. */
  making: (progress: SecondaryIndexProgress) => void;
  /** Awaited after each entry, so that signals are handled. */
  turn: () => Promise<void>;
  /** Unix milliseconds. */
  now: () => number;
}

/** The height of a block's event; null for any other entry. */
function heightOf({ path, text }: Entry): number | null {
  if (path !== '/new_block') return null;
  const height = Object(parsedJson(text)).block_height;
  return typeof height === 'number' ? height : null;
}

/** Whether an entry comes after the end of the restore. */
function isBeyond(entry: Entry, until: Until): boolean {
  if (until === null) return false;
  if ('entry' in until) return entry.id > until.entry;
  if ('time' in until) return entry.receivedAt > until.time;
  return (heightOf(entry) ?? 0) > until.height;
}

/** Whether a base has entries that come after the end of the restore. */
function isBaseBeyond({ position, received_at, highest }: BaseManifest, until: Until): boolean {
  if (until === null) return false;
  if ('entry' in until) return position > until.entry;
  return 'time' in until ? received_at > until.time : highest > until.height;
}

/** The segments from the one that has an entry on. @throws ArchiveDamagedError at a gap, once those before it were taken */
async function* segmentsFrom(place: PlaceReads, timeline: Timeline, entry: number): AsyncGenerator<Segment> {
  const { open, segments } = await contentsOf(place, timeline);
  const { linked, last, fault } = linkedFrom(segments, entry);
  yield* mapAhead(linked, ({ range, after }) => sealedSegment(place, range, after, timeline));
  if (fault !== null) throw new ArchiveDamagedError(place, fault);
  const part = await newestOpenPart(place, open, last, timeline);
  if (part !== null) yield part;
}

/** The last entry that was applied; undefined where there is none. */
const lastApplied = ({ entries }: Ingest): Entry | undefined => [...entries.entriesAfter(entries.lastId() - 1)][0];

/**
 * Whether the last entry that was applied is the one that this restore began a timeline with, after its end.
 * @throws ArchiveDamagedError where this restore began with entries of another log
 */
function hasBegun(place: PlaceReads, { entries }: Segment, ingest: Ingest): boolean {
  const { id, chain } = ingest.position();
  const before = entries.find((entry) => entry.id === id);
  if (before === undefined || sameChain(before.chain, chain)) return false;
  const last = lastApplied(ingest);
  if (last !== undefined && leaveIn(last) !== null) return true;
  throw new ArchiveDamagedError(place, `it has another entry ${id} than when this restore began`);
}

/** Begins a timeline of the log's own after the last entry: the archive has later ones, or may get them from the log's last host. */
async function beginTimeline(ingest: Ingest, { turn, now }: ArchiveRestoreOptions): Promise<void> {
  const last = lastApplied(ingest);
  if (last === undefined) return;
  // A timeline is never older than the one that it leaves, whatever this machine's clock says.
  const receivedAt = Math.max(now() * MICROSECONDS, last.receivedAt);
  await ingest.entries.follow([beginningAfter(last, receivedAt)], false, turn);
}

/** Whether an entry is the one that the restore ends with, so that what comes after it need not even be sound. */
const isEnd = (entry: number, until: Until): boolean => until !== null && 'entry' in until && entry >= until.entry;

/**
 * Applies the entries up to the end; after an end that was named, the log begins a timeline. A restore takes hours, in which the archive
 * grows: then what came meanwhile follows.
 */
async function applyEntries(
  ingest: Ingest,
  options: ArchiveRestoreOptions,
  timeline: Timeline,
  last: number,
): Promise<void> {
  const from = ingest.position().id;
  for (
    let begin = from;
    !(await applyListed(ingest, options, timeline, { from, last }));
    begin = ingest.position().id
  ) {
    if (ingest.position().id === begin) return;
  }
}

/** Applies the entries of the segments that the archive lists now. @returns whether an earlier end was reached */
async function applyListed(
  ingest: Ingest,
  options: ArchiveRestoreOptions,
  timeline: Timeline,
  { from, last }: { from: number; last: number },
): Promise<boolean> {
  const { place, until, report, turn } = options;
  const begun = lastApplied(ingest);
  // Whether a restore that was interrupted had begun a timeline is told by what the archive has in place of its last entry.
  const first = ingest.position().id + (begun !== undefined && leaveIn(begun) !== null ? 0 : 1);
  for await (const segment of segmentsFrom(place, timeline, first)) {
    const position = ingest.position();
    if (hasBegun(place, segment, ingest)) return true;
    const left = segment.entries.filter(({ id }) => id > position.id);
    const beyond = left.findIndex((entry) => isBeyond(entry, until));
    await ingest.entries.follow(beyond < 0 ? left : left.slice(0, beyond), false, turn);
    const entry = ingest.position().id;
    if (left.length > 0) report({ entry, height: ingest.tipHeight(), from, last: Math.max(last, entry) });
    if (beyond >= 0 || isEnd(entry, until)) {
      await beginTimeline(ingest, options);
      return true;
    }
  }
  return false;
}

/**
 * Returns the last entry of those that follow each other.
 * @param wanted open parts are read only if the sealed segments end before it
 * @throws ArchiveDamagedError if a segment before it is missing
 */
async function lastUpTo(place: PlaceReads, timeline: Timeline, wanted: number): Promise<number> {
  const { open, segments } = await contentsOf(place, timeline);
  const { last: sealed, fault } = linkedFrom(segments, 1);
  if (wanted <= sealed.id) return sealed.id;
  if (fault !== null) throw new ArchiveDamagedError(place, fault);
  return (await newestOpenPart(place, open, sealed, timeline))?.last ?? sealed.id;
}

/**
 * Returns the last entry that is to be restored, as far as it is known before.
 * @throws OperatorError if the archive ends before an entry that was named
 */
async function lastEntry({ place, until }: ArchiveRestoreOptions, timeline: Timeline): Promise<number> {
  if (until === null || !('entry' in until)) return lastUpTo(place, timeline, 0);
  const last = await lastUpTo(place, timeline, until.entry);
  if (until.entry <= last) return until.entry;
  throw new OperatorError(
    `The archive at ${place.location} ends with entry ${last}, before entry ${until.entry}.`,
    'Give an entry that it has; stackside archive status shows the last one.',
  );
}

/** Brings the journal and the index to the entry of a base. */
async function makeBase(
  options: ArchiveRestoreOptions,
  timeline: Timeline,
  staging: string,
  base: ChosenBase,
): Promise<void> {
  const { place, making, turn, loading = () => {} } = options;
  await fillJournal({
    ...{ staging, place, base, turn },
    segmentsFrom: (entry) => segmentsFrom(place, timeline, entry),
    report: (entry) => loading({ name: base.name, entry, position: base.position, part: 0, parts: 0 }),
  });
  await loadBase({
    ...{ staging, place, base, making, turn },
    report: (part, parts) => loading({ name: base.name, entry: base.position, position: base.position, part, parts }),
  });
}

async function makeFiles(
  options: ArchiveRestoreOptions,
  timeline: Timeline,
  chainId: number,
  last: number,
  base: ChosenBase | null,
): Promise<void> {
  const { directory, place, making, machine, log } = options;
  const staging = stagingOf(directory);
  if (base !== null) await makeBase(options, timeline, staging, base);
  const ingest = openIngest({ directory: staging, chainId, machine, log, load: 'bulk' });
  try {
    await applyEntries(ingest, options, timeline, last);
    for (const one of ingest.makeSecondaryIndexes()) making(one);
  } catch (error) {
    if (!(error instanceof ForeignEntryError)) throw error;
    throw new ArchiveDamagedError(place, `entry ${error.id} doesn't follow entry ${error.id - 1}`, { cause: error });
  } finally {
    ingest.close();
  }
}

/** The base that an interrupted restore into the directory began with, by its name; undefined where none was interrupted. */
function begunWith(directory: string): string | null | undefined {
  const path = markerPath(directory);
  if (!existsSync(path)) return undefined;
  const { base } = Object(parsedJson(readFileSync(path, 'utf8')));
  return typeof base === 'string' && baseOfName(base) !== null ? base : null;
}

/** The base to begin with: that of an interrupted restore, even if a newer one was made since. */
async function baseOf(options: ArchiveRestoreOptions, timeline: Timeline, chainId: number): Promise<ChosenBase | null> {
  const { directory, place, until, base: choice = null, skipped = () => {} } = options;
  const begun = begunWith(directory);
  if (begun === null) return null;
  if (begun !== undefined) return begunBase(place, begun);
  const isOnly = (await timelinesIn(place)).timelines.length === 1;
  return chosenBase({
    ...{ place, chainId, choice, skipped },
    isAfter: (base) => isBaseBeyond(base, until),
    lastUpTo: ({ position }) => lastUpTo(place, timeline, position),
    // Where there is one timeline, a base that doesn't fit is damaged, and that is said.
    isOfTimeline: async ({ position: id, chain }) =>
      isOnly || (await holds(place, timeline, { id, chain: Uint8Array.fromHex(chain) })) === 'this',
  });
}

async function restoreLocked(options: ArchiveRestoreOptions, lock: Lock): Promise<void> {
  const { directory, place, chainId, until } = options;
  const identity = await requireIdentity(place);
  if (chainId !== null && chainId !== identity.chain_id) {
    throw new OperatorError(
      `The archive at ${place.location} is of ${chainOfIdentity(identity)}, but the setting names chain ${chainIdText(chainId)}.`,
      'Give the archive of the chain that you want, or correct --network.',
    );
  }
  const timeline = await chosenTimeline(place, options.timeline);
  const base = await baseOf(options, timeline, identity.chain_id);
  const { segments, open } = await contentsOf(place, timeline);
  if (segments.length === 0 && open.length === 0) {
    throw new OperatorError(
      `The archive at ${place.location} has no entries yet.`,
      'Check the location, or wait until its server has written some; stackside archive status shows what it has.',
    );
  }
  const last = await lastEntry(options, timeline);
  const marker = { archive: identity, timeline: timeline.name, until, base: base?.name ?? null };
  beginMaking(directory, Buffer.from(JSON.stringify(marker)));
  // A restore that was killed while it moved the files had made them whole.
  const isMade = isInstalled(directory, basename(journalPath(directory)));
  if (!isMade) await makeFiles(options, timeline, identity.chain_id, last, base);
  lock.requireHeld();
  installStagedFiles(directory);
}

/**
 * Restores an archive, or continues an interrupted restore. Until it is done, no command opens the directory for writing.
 * @throws OperatorError if the directory has data, or the archive is missing, damaged, of another chain, or of a newer program
 */
export async function restoreArchive(options: ArchiveRestoreOptions): Promise<void> {
  const { directory } = options;
  using lock = onFile(directory, () => lockUnfinished(directory));
  try {
    await restoreLocked(options, lock);
  } catch (error) {
    throw operatorErrorOf(error, directory) ?? error;
  }
}
