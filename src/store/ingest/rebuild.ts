/** Rebuilds the index from the journal, beside the present index, which stays until the new one is whole. */

import { existsSync } from 'node:fs';
import { DiskFullError, OperatorError } from '../../base/errors.ts';
import { indexPath, journalPath } from '../files/database.ts';
import { type JournalReads, openJournal } from '../files/journal.ts';
import { fitOf, positionOfFile } from '../files/journal-link.ts';
import { LockHeldError, lockRebuild, lockWriter } from '../files/lock.ts';
import { clearStaging, installOffer, offerIndex, openStaging } from '../files/new-index.ts';
import type { SecondaryIndexProgress } from '../files/secondary-indexes.ts';
import { freeBytes } from '../files/status.ts';
import type { Head } from '../log/entry.ts';
import { type Ingest, type IngestOptions, openIngest } from './ingest.ts';

/** A sentence that says what the present index has and a new one would lack; null where nothing. */
function wouldBeLost(position: Head, journal: JournalReads): string | null {
  switch (fitOf(position, journal)) {
    case 'fits':
      return null;
    case 'behind':
      return `The index holds ${position.id} events and its journal ${journal.lastId()}: the others would be lost.`;
    case 'other':
      return `The journal is not that of the index: event ${position.id} is another in each.`;
  }
}

function requireNothingLost(directory: string, journal: JournalReads): void {
  const path = indexPath(directory);
  const position = existsSync(path) ? positionOfFile(path) : null;
  const lost = position === null ? null : wouldBeLost(position, journal);
  if (lost !== null) throw new OperatorError(lost, 'Add --force to rebuild from the journal all the same.');
}

export interface RebuildOptions extends Omit<IngestOptions, 'staging'> {
  /** Whether to rebuild although the journal lacks data of the present index. */
  force: boolean;
  /** Whether another process may serve the present index and write to it during the rebuild. */
  beside?: boolean;
  /** Returns the free bytes on the disk of a directory; tests replace it. */
  free?: (directory: string) => number | null;
  /** Called with each secondary index before it is made. */
  making?: (progress: SecondaryIndexProgress) => void;
}

/** Replays the journal into the index of a staging directory. @returns the height of its tip */
function* makeIndex({ making = () => {}, ...options }: RebuildOptions, staging: string): Generator<Ingest, number> {
  const ingest = openIngest({ ...options, load: 'bulk', staging, replayTo: 0 });
  try {
    yield ingest;
    ingest.catchUp();
    for (const one of ingest.makeSecondaryIndexes()) making(one);
    ingest.catchUp();
    return ingest.tipHeight();
  } finally {
    ingest.close();
  }
}

/** Bytes of disk space that a rebuild leaves to the server beside it. */
const LEFT_FREE = 1_000_000_000;

/**
 * Checks that a rebuild beside a server doesn't fill its disk.
 * @returns maximum bytes of the new index
 * @throws DiskFullError
 */
function requireServable({ directory, free = freeBytes }: RebuildOptions): number {
  const mostBytes = (free(directory) ?? Number.POSITIVE_INFINITY) - LEFT_FREE;
  if (mostBytes <= 0) {
    throw new DiskFullError(
      `The disk of ${directory} has too little room: a rebuild leaves ${LEFT_FREE / 1e9} GB of it free for the server.`,
      'Make room on the disk, or stop the server and run stackside rebuild.',
    );
  }
  return Math.min(mostBytes, Number.MAX_SAFE_INTEGER);
}

/** Leaves the new index to a running server, or installs it where none runs. @returns whether it is installed */
function handOver(directory: string): boolean {
  try {
    using _lock = lockWriter(directory);
    installOffer(directory);
    return true;
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error;
    return false;
  }
}

/** A rebuilt index. */
interface Rebuilt {
  /** The height of its tip. */
  tipHeight: number;
  /** Whether it is installed: beside a server, the server does so. */
  isInstalled: boolean;
}

/**
 * Replays the journal into a new index, and installs it in place of the old one. If this fails or is stopped, the old index
 * is unchanged.
 * @throws OperatorError if the journal lacks data of the index and `force` is false; LockHeldError while
 *   another process writes, or makes an index, or the lock is lost
 */
export function rebuildIndex(options: RebuildOptions): Rebuilt {
  const steps = rebuilding(options);
  steps.next();
  return ended(steps.next());
}

/** As {@link rebuildIndex}, where entries are read ahead. @param replay replays entries of the journal, all or the first ones */
export async function rebuildIndexAhead(
  options: RebuildOptions,
  replay: (ingest: Ingest) => Promise<void>,
): Promise<Rebuilt> {
  const steps = rebuilding(options);
  const { value } = steps.next();
  try {
    await replay(value as Ingest);
  } catch (error) {
    return ended(steps.throw(error));
  }
  return ended(steps.next());
}

function ended({ done, value }: IteratorResult<Ingest, Rebuilt>): Rebuilt {
  if (done !== true) throw new Error('a rebuild has one step');
  return value;
}

/** Yields the new index while it is empty. */
function* rebuilding(options: RebuildOptions): Generator<Ingest, Rebuilt> {
  const { directory, force, beside = false } = options;
  if (!existsSync(journalPath(directory))) {
    throw new OperatorError(
      `There is no journal in ${directory} to rebuild the index from.`,
      'Import a recording of the chain, or let a node that starts from an empty chainstate send its events.',
    );
  }
  using locks = new DisposableStack();
  const writing = beside ? null : locks.use(lockWriter(directory));
  const making = locks.use(lockRebuild(directory));
  try {
    const journal = openJournal(directory);
    try {
      if (!force) requireNothingLost(directory, journal);
    } finally {
      journal.close();
    }
    const limit = beside ? { mostBytes: requireServable(options) } : {};
    const staging = openStaging(directory, force);
    const tipHeight = yield* makeIndex({ ...options, ...limit }, staging);
    // Without them, the files in the staging directory may be those of another rebuild.
    making.requireHeld();
    writing?.requireHeld();
    offerIndex(directory);
    if (beside) return { tipHeight, isInstalled: handOver(directory) };
    installOffer(directory);
    return { tipHeight, isInstalled: true };
  } finally {
    clearStaging(directory);
  }
}
