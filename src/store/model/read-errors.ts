/** Errors of reads from the index. */
import { TransientError } from '../../base/errors.ts';

/** There is no snapshot to read: the store is closed, or the snapshot was in use for longer than allowed. */
export class NoSnapshotError extends TransientError {
  override readonly name: string = 'NoSnapshotError';
}

/**
 * A cursor can't be used: its key is none of its list, or the log lacks its block, because another log made the cursor or this
 * one was restored to an earlier entry.
 */
export class UnreadableCursorError extends Error {
  override readonly name = 'UnreadableCursorError';
  constructor(
    message: string,
    /** The block that the log lacks; null for a key of another list. */
    readonly block: Uint8Array | null = null,
  ) {
    super(message);
  }
}

/** Thrown if there is no readable index, for example while it is replaced. The message has the reason. */
export class IndexUnavailableError extends NoSnapshotError {
  override readonly name = 'IndexUnavailableError';
}

/** A walk over several snapshots can't continue: a fork or a rebuild replaced its chain. */
export class ChainReplacedError extends Error {
  override readonly name = 'ChainReplacedError';
}
