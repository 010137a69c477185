/** Errors of reads from the index. */
import { TransientError } from '../../base/errors.ts';

/** There is no snapshot to read: the store is closed, or the snapshot was in use for longer than allowed. */
export class NoSnapshotError extends TransientError {
  override readonly name: string = 'NoSnapshotError';
}

/** A cursor has a key that is none of its list: it was not made by this program. */
export class UnreadableCursorError extends Error {
  override readonly name = 'UnreadableCursorError';
}

/** Thrown if there is no readable index, for example while it is replaced. The message has the reason. */
export class IndexUnavailableError extends NoSnapshotError {
  override readonly name = 'IndexUnavailableError';
}

/** A walk over several snapshots can't continue: a fork or a rebuild replaced its chain. */
export class ChainReplacedError extends Error {
  override readonly name = 'ChainReplacedError';
}

/** Thrown if the log lacks the block of a cursor: another log made the cursor, or this one was restored to an earlier entry. */
export class UnknownCursorBlockError extends Error {
  override readonly name = 'UnknownPlaceError';
  constructor(readonly block: Uint8Array) {
    super(`no block 0x${block.toHex()} is known`);
  }
}
