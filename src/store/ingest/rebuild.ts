/** Rebuilds the index from the journal. The present index stays until the new index is complete. */

import { existsSync } from 'node:fs';
import { DiskFullError, OperatorError } from '../../base/errors.ts';
import { isPresent } from '../../base/files.ts';
import { indexPath, journalPath } from '../files/database.ts';
import { type JournalReads, openJournal } from '../files/journal.ts';
import { fitOf, positionOfFile } from '../files/journal-link.ts';
import { LockHeldError, lockRebuild, lockWriter } from '../files/lock.ts';
import { clearStaging, installOffer, offerIndex, openStaging } from '../files/new-index.ts';
import type { SecondaryIndexProgress } from '../files/secondary-indexes.ts';
import { freeBytes } from '../files/status.ts';
import { requireFinished } from '../files/unfinished.ts';
import type { Head } from '../log/entry.ts';
import { type Ingest, type IngestOptions, openIngest } from './ingest.ts';

/** Returns a sentence about data that the present index has and a new one would lack; null if there is none. */
function wouldBeLost(position: Head, journal: JournalReads): string | null {
  switch (fitOf(position, journal)) {
    case 'fits':
      return null;
    case 'behind':
      return `The index contains ${position.id} events, but its journal only ${journal.lastId()}: the others would be lost.`;
    case 'other':
      return `The journal doesn't belong to the index: event ${position.id} differs.`;
  }
}

/** @throws OperatorError if only the index has data, or, without `force`, if it has data that the journal lacks */
function requireNothingLost({ directory, force }: RebuildOptions): void {
  const path = indexPath(directory);
  using journal = openJournal(directory);
  const isEmpty = journal.lastId() === 0;
  // With `force`, the rebuild also replaces an index that can't be opened.
  if ((force && !isEmpty) || !existsSync(path)) return;
  const position = positionOfFile(path);
  if (isEmpty && position?.id !== 0) {
    throw new OperatorError(
      `Can't rebuild the index: the journal in ${directory} is empty.`,
      'Put the journal.db of this index back, or restore a backup or import a recording into another directory.',
    );
  }
  const lost = position === null ? null : wouldBeLost(position, journal);
  if (lost !== null) throw new OperatorError(lost, 'Add --force to rebuild from the journal anyway.');
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

/** Bytes of free disk space that a rebuild leaves to a running server. */
const LEFT_FREE = 1_000_000_000;

/**
 * Returns how large the new index may become without filling the disk of a running server.
 * @returns maximum bytes
 * @throws DiskFullError
 */
function requireServable({ directory, free = freeBytes }: RebuildOptions): number {
  const maxBytes = (free(directory) ?? Number.POSITIVE_INFINITY) - LEFT_FREE;
  if (maxBytes <= 0) {
    throw new DiskFullError(
      `The disk of ${directory} has too little room: a rebuild leaves ${LEFT_FREE / 1e9} GB of it free for the server.`,
      'Make room on the disk, or stop the server and run stackside rebuild.',
    );
  }
  return Math.min(maxBytes, Number.MAX_SAFE_INTEGER);
}

/** Leaves the new index to a running server, or installs it if no server runs. @returns whether it is installed */
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

export interface Rebuilt {
  tipHeight: number;
  /** False if the index isn't installed yet, because a running server will install it. */
  isInstalled: boolean;
}

/** A rebuild in progress. Disposing it removes its files, unless it is finished. */
export interface Rebuild extends Disposable {
  /** The new, empty index, into which entries of the journal can be replayed. */
  ingest: Ingest;
  /** Replays the remaining entries, and replaces the old index. @throws LockHeldError if the lock is lost */
  finish(): Rebuilt;
}

/**
 * Starts to replay the journal into a new index. If this fails or is stopped, the old index is unchanged.
 * @throws OperatorError if the journal lacks data of the index and `force` is false, or a restore is unfinished; LockHeldError
 *   if another process writes or makes an index, or the lock is lost
 */
export function beginRebuild(options: RebuildOptions): Rebuild {
  const { directory, force, beside = false, making = () => {} } = options;
  requireFinished(directory);
  if (!isPresent(journalPath(directory))) {
    throw new OperatorError(
      `Can't rebuild the index: ${directory} doesn't contain a journal.`,
      'Check --data. If the journal is lost, restore a backup or import a recording.',
    );
  }
  using resources = new DisposableStack();
  const writing = beside ? null : resources.use(lockWriter(directory));
  const lock = resources.use(lockRebuild(directory));
  resources.defer(() => clearStaging(directory));
  requireNothingLost(options);
  const limit: Pick<IngestOptions, 'maxBytes'> = beside ? { maxBytes: requireServable(options) } : {};
  const staging = openStaging(directory, force);
  const opened = resources.use(new DisposableStack());
  const ingest = openIngest({ ...options, ...limit, load: 'bulk', staging, replayTo: 0 });
  opened.defer(() => ingest.close());
  const stack = resources.move();

  function finish(): Rebuilt {
    ingest.catchUp();
    for (const progress of ingest.makeSecondaryIndexes()) making(progress);
    ingest.catchUp();
    const tipHeight = ingest.tipHeight();
    opened.dispose();
    // Without the locks, the files in the staging directory may belong to another rebuild.
    lock.requireHeld();
    writing?.requireHeld();
    offerIndex(directory);
    if (beside) return { tipHeight, isInstalled: handOver(directory) };
    installOffer(directory);
    return { tipHeight, isInstalled: true };
  }

  return { ingest, finish, [Symbol.dispose]: () => stack.dispose() };
}
