/**
 * Restores an archive into an empty data directory. It applies the entries in order, as an import applies the entries of
 * another journal. An interrupted restore keeps the entries that it applied, and the next restore continues after them. It also
 * finds the entry from which a server follows an archive.
 */
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import type { ServiceEvent } from '../base/log-events.ts';
import { onFile, operatorErrorOf } from '../base/system-errors.ts';
import { chainIdText, chainWords } from '../chain/network.ts';
import type { ObjectStoreReads } from '../storage/object-store.ts';
import { journalPath } from '../store/files/database.ts';
import { type Lock, lockUnfinished } from '../store/files/lock.ts';
import type { SecondaryIndexProgress } from '../store/files/secondary-indexes.ts';
import { beginMaking, installStagedFiles, isInstalled } from '../store/files/staged-files.ts';
import { type DataState, dataStateOf } from '../store/files/status.ts';
import { markerPath, stagingOf } from '../store/files/unfinished.ts';
import { type Ingest, type IngestOptions, openIngest } from '../store/ingest/ingest.ts';
import { identityEntry, lastIdentityIn, newIdentity } from '../store/ingest/log-identity.ts';
import { ForeignEntryError } from '../store/ingest/writer.ts';
import type { Entry } from '../store/log/entry.ts';
import {
  ArchiveDamagedError,
  entriesAfter,
  type Identity,
  identityFault,
  linkedFrom,
  listContents,
  readNewestOpenPart,
  readSealedSegment,
  requireIdentity,
  restorableEntries,
} from './archive.ts';
import { IDENTITY } from './archive-directory.ts';
import { type BaseManifest, type NamedBase, parseBaseName } from './base.ts';
import { type BaseChoice, type ChosenBase, chooseBase, fillJournal, loadBase, readBase } from './base-restore.ts';

/** Microseconds in a millisecond. */
const MICROSECONDS = 1_000;
/** @param receivedAt Unix microseconds */
export const timeText = (receivedAt: number): string => new Date(receivedAt / MICROSECONDS).toISOString();

/** The end of a restore: the last entry, the highest block, or the latest time of receipt in Unix microseconds; all if null. */
export type Until = { entry: number } | { height: number } | { time: number } | null;

interface RestoreProgress {
  /** Number of the last entry that was applied, and the height of the tip. */
  entry: number;
  height: number;
  /** Number of the last entry when this run started, and of the last known entry. */
  from: number;
  last: number;
}

interface BaseLoading {
  name: string;
  /** Last entry in the journal, and the entry of the base. */
  entry: number;
  position: number;
  /** Number of loaded parts, and the total; both are 0 while the journal is filled. */
  part: number;
  parts: number;
}

export interface ArchiveRestoreOptions extends Pick<IngestOptions, 'machine' | 'log'> {
  directory: string;
  store: ObjectStoreReads;
  /** The chain that the archive must have; null for any. */
  chainId: number | null;
  until: Until;
  /** The base to start from; the newest that fits if omitted. */
  base?: BaseChoice;
  /** Called with each skipped base and the reason, as the end of a sentence. */
  skipped?: (name: string, reason: string) => void;
  /** Called while a base is loaded. */
  loading?: (progress: BaseLoading) => void;
  report: (progress: RestoreProgress) => void;
  /** Called with each secondary index before it is made. */
  making: (progress: SecondaryIndexProgress) => void;
  /** Its turns are awaited after each entry, so that signals are handled. */
  clock: Pick<Clock, 'turn' | 'now'>;
}

/** Returns the height of a block's event; null for any other entry. */
export function heightOf({ path, text }: Pick<Entry, 'path' | 'text'>): number | null {
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

const lastApplied = ({ entries }: Ingest): Entry | undefined => [...entries.after(entries.head().id - 1)][0];

/** Gives the log a new identity: from here on, its entries differ from the archive's log. */
function changeIdentity(ingest: Ingest, identity: string, { clock }: ArchiveRestoreOptions): void {
  const last = lastApplied(ingest);
  if (last === undefined) return;
  // Times of entries never decrease, even if this machine's clock is behind.
  const receivedAt = Math.max(clock.now() * MICROSECONDS, last.receivedAt);
  ingest.entries.apply({ entry: identityEntry(last, receivedAt, identity) }, 'each', false);
}

function requireNamedIdentity({ location }: ObjectStoreReads, named: string, { identity }: Ingest): void {
  const storedIdentity = identity();
  if (storedIdentity === named) return;
  throw new OperatorError(
    `The archive at ${location} can't be restored to its end: ${identityFault(named, storedIdentity ?? 'none')}.`,
    `If it was to store data restored to an earlier point, restore the archive that the data came from, into a new directory. Otherwise put ${IDENTITY} back from a copy of the archive.`,
  );
}

/** Whether the restore ends with this entry. Later entries may then even be damaged. */
const isEnd = (entry: number, until: Until): boolean => until !== null && 'entry' in until && entry >= until.entry;

/** Applies the entries up to the end. The archive grows during a long restore, so it then applies the new entries. */
async function applyEntries(
  ingest: Ingest,
  options: ArchiveRestoreOptions,
  { archive, last }: Pick<Restore, 'archive' | 'last'>,
): Promise<void> {
  const from = ingest.position().id;
  let begin: number;
  do {
    begin = ingest.position().id;
    if (await applyListed(ingest, options, { archive, from, last })) return;
  } while (ingest.position().id > begin);
}

/** Applies the entries of the segments that the archive lists now. @returns whether an earlier end was reached */
async function applyListed(
  ingest: Ingest,
  options: ArchiveRestoreOptions,
  { archive, from, last }: Pick<Restore, 'archive' | 'last'> & { from: number },
): Promise<boolean> {
  const { store, until, report, clock } = options;
  if (isEnd(ingest.position().id, until)) return true;
  for await (const entries of restorableEntries(store, ingest.position(), archive.public === true)) {
    const beyond = entries.findIndex((entry) => isBeyond(entry, until));
    await ingest.entries.follow(beyond < 0 ? entries : entries.slice(0, beyond), 'group', false, clock.turn);
    const entry = ingest.position().id;
    report({ entry, height: ingest.tipHeight(), from, last: Math.max(last, entry) });
    if (beyond >= 0 || isEnd(entry, until)) return true;
  }
  return false;
}

/**
 * Returns the last of the entries that follow each other.
 * @param number open parts are read only if the sealed segments end before it
 * @throws ArchiveDamagedError if a segment before it is missing
 */
async function findLastUpTo(store: ObjectStoreReads, number: number): Promise<number> {
  const { open, segments } = await listContents(store);
  const { last: sealed, fault } = linkedFrom(segments, 1);
  if (number <= sealed.id) return sealed.id;
  if (fault !== null) throw new ArchiveDamagedError(store, fault);
  return (await readNewestOpenPart(store, open, sealed))?.last ?? sealed.id;
}

/** @throws OperatorError if an archive begins after a time of receipt */
async function requireEntryBy(store: ObjectStoreReads, time: number): Promise<void> {
  for await (const [first] of entriesAfter(store, { id: 0 })) {
    if (first === undefined || first.receivedAt <= time) return;
    throw new OperatorError(
      `The archive at ${store.location} begins at ${timeText(first.receivedAt)}, after ${timeText(time)}.`,
      'Give a later time. stackside archive status shows the time of the last entry.',
    );
  }
}

/**
 * Returns the last entry to restore, as far as it is known in advance.
 * @throws OperatorError if the archive ends before the given entry, or begins after the given time
 */
async function findLastEntry({ store, until }: ArchiveRestoreOptions): Promise<number> {
  if (until !== null && 'time' in until) await requireEntryBy(store, until.time);
  if (until === null || !('entry' in until)) return findLastUpTo(store, 0);
  const last = await findLastUpTo(store, until.entry);
  if (until.entry <= last) return until.entry;
  throw new OperatorError(
    `The archive at ${store.location} ends with entry ${last}, before entry ${until.entry}.`,
    'Give an entry that it has; stackside archive status shows the last one.',
  );
}

/** Brings the journal and the index to the entry of a base. */
async function startFromBase(
  options: ArchiveRestoreOptions,
  staging: string,
  base: ChosenBase,
  isPublic: boolean,
): Promise<void> {
  const { store, making, clock, loading = () => {} } = options;
  const { turn } = clock;
  await fillJournal({
    staging,
    store,
    base,
    isPublic,
    turn,
    report: (entry) => loading({ name: base.name, entry, position: base.position, part: 0, parts: 0 }),
  });
  await loadBase({
    staging,
    store,
    base,
    isPublic,
    making,
    turn,
    report: (part, parts) => loading({ name: base.name, entry: base.position, position: base.position, part, parts }),
  });
}

interface Restore {
  archive: Identity;
  /** New identity of the log if the user gave an end; null if the log keeps the archive's identity. */
  identity: string | null;
  base: ChosenBase | null;
  last: number;
}

async function makeFiles(options: ArchiveRestoreOptions, { archive, identity, base, last }: Restore): Promise<void> {
  const { directory, store, making, machine, log } = options;
  const staging = stagingOf(directory);
  if (base !== null) await startFromBase(options, staging, base, archive.public === true);
  const ingest = openIngest({ directory: staging, chainId: archive.chain_id, machine, log, load: 'bulk' });
  try {
    const lastEntry = lastApplied(ingest);
    const isChanged = identity !== null && lastEntry !== undefined && lastIdentityIn([lastEntry]) === identity;
    if (!isChanged) await applyEntries(ingest, options, { archive, last });
    ingest.commit();
    if (identity === null) requireNamedIdentity(store, archive.identity, ingest);
    else if (!isChanged) changeIdentity(ingest, identity, options);
    for (const progress of ingest.makeSecondaryIndexes()) making(progress);
  } catch (error) {
    if (!(error instanceof ForeignEntryError)) throw error;
    throw new ArchiveDamagedError(store, `entry ${error.id} doesn't follow entry ${error.id - 1}`, { cause: error });
  } finally {
    ingest.close();
  }
}

/** The base and the new identity of an interrupted restore, each null if it has none. */
type InterruptedRestore = { base: NamedBase | null; identity: string | null };

/** Reads the marker of an interrupted restore into the directory; null if there is none. */
function readInterrupted(directory: string): InterruptedRestore | null {
  const path = markerPath(directory);
  if (!existsSync(path)) return null;
  const { base, identity } = Object(parsedJson(readFileSync(path, 'utf8')));
  return {
    base: typeof base === 'string' ? parseBaseName(base) : null,
    identity: typeof identity === 'string' ? identity : null,
  };
}

/** Returns the base to start from. Without a choice, an interrupted restore keeps its base, even if a newer one was made since. */
async function chooseStart(
  options: ArchiveRestoreOptions,
  interrupted: InterruptedRestore | null,
  chainId: number,
): Promise<ChosenBase | null> {
  const { store, until, base: choice = null, skipped = () => {} } = options;
  if (interrupted !== null && choice === null)
    return interrupted.base === null ? null : readBase(store, interrupted.base);
  return chooseBase({
    store,
    chainId,
    choice,
    skipped,
    isAfter: (base) => isBaseBeyond(base, until),
    findLastUpTo: ({ position }) => findLastUpTo(store, position),
  });
}

async function restoreLocked(options: ArchiveRestoreOptions, lock: Lock): Promise<void> {
  const { directory, store, chainId, until } = options;
  const archive = await requireIdentity(store);
  if (chainId !== null && chainId !== archive.chain_id) {
    throw new OperatorError(
      `The archive at ${store.location} belongs to ${chainWords(archive.chain_id)}, but --network is chain ${chainIdText(chainId)}.`,
      'Use an archive of that chain, or correct --network.',
    );
  }
  const interrupted = readInterrupted(directory);
  const base = await chooseStart(options, interrupted, archive.chain_id);
  const { segments, open } = await listContents(store);
  if (segments.length === 0 && open.length === 0) {
    throw new OperatorError(
      `The archive at ${store.location} is still empty.`,
      'Check the location, or wait until its server has written entries. stackside archive status lists them.',
    );
  }
  const last = await findLastEntry(options);
  const identity = until === null ? null : (interrupted?.identity ?? newIdentity());
  const marker = { archive, until, identity, base: base?.name ?? null };
  beginMaking(directory, Buffer.from(JSON.stringify(marker)));
  // If a restore was killed while it moved the files, the files are complete.
  const isMade = isInstalled(directory, basename(journalPath(directory)));
  if (!isMade) await makeFiles(options, { archive, identity, base, last });
  lock.requireHeld();
  installStagedFiles(directory);
}

/**
 * Restores an archive, or continues an interrupted restore. Until it is done, no command opens the directory for writing.
 * @returns the state of the restored data
 * @throws OperatorError if the directory has data, or the archive is missing, damaged, of another chain, or of a newer program
 */
export async function restoreArchive(options: ArchiveRestoreOptions): Promise<DataState> {
  const { directory } = options;
  using lock = onFile(directory, () => lockUnfinished(directory));
  try {
    await restoreLocked(options, lock);
    return dataStateOf(directory);
  } catch (error) {
    throw operatorErrorOf(error, directory) ?? error;
  }
}

/** The server receives events from the archive, or can't. `height` is the height of the tip. */
export type FollowEvent = { event: 'archive_followed'; place: string; blocks: number; height: number } | ServiceEvent;

type Linked = ReturnType<typeof linkedFrom>['linked'];

/** Returns the height of the first block in a range of segments, and the index of its segment; null without a block. */
async function findFirstBlock(store: ObjectStoreReads, linked: Linked, from: number, to: number) {
  for (let index = from; index < to; index++) {
    const { range, previous } = linked[index]!;
    const { entries } = await readSealedSegment(store, range, previous);
    for (const entry of entries) {
      const height = heightOf(entry);
      if (height !== null) return { index, height };
    }
  }
  return null;
}

/**
 * Finds the newest sealed segment that begins at or below a block. Reads only a few segments, even of a large archive.
 * @param height of the block
 * @returns number of its first entry; 1 without such a segment
 * @throws ArchiveDamagedError; OperatorError if the store can't be read
 */
export async function findEntryBelow(store: ObjectStoreReads, height: number): Promise<number> {
  const { linked } = linkedFrom((await listContents(store)).segments, 1);
  let [low, high] = [0, linked.length];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const block = await findFirstBlock(store, linked, middle, high);
    if (block === null || block.height > height) high = middle;
    else low = block.index;
  }
  return linked[low]?.range.first ?? 1;
}

/** Returns the first entry of the last segment that begins before an entry; without one, the given entry. */
export async function findEntryBefore(store: ObjectStoreReads, entry: number): Promise<number> {
  const { linked } = linkedFrom((await listContents(store)).segments, 1);
  return linked.findLast(({ range }) => range.first < entry)?.range.first ?? entry;
}
