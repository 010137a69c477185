/** What keeps a request from being answered out of the index. */

/** There is no snapshot to read, or no longer. */
export class NoSnapshotError extends Error {
  override readonly name: string = 'NoSnapshotError';
}

/** A cursor holds a key that its list's cursors never hold: somebody made it up. */
export class UnreadableCursorError extends Error {
  override readonly name = 'UnreadableCursorError';
}

/** The store is closed, as when the process is stopping. */
export class StoreClosedError extends NoSnapshotError {
  override readonly name = 'StoreClosedError';
}

/** There is no index that can be read, as while it is replaced; its message says why. */
export class IndexUnavailableError extends NoSnapshotError {
  override readonly name = 'IndexUnavailableError';
}

/** The snapshot was in use for longer than one may be. */
export class SnapshotCutOffError extends NoSnapshotError {
  override readonly name = 'SnapshotCutOffError';
}

/** A walk that takes several snapshots can't go on: a fork or a rebuild replaced the chain that it is on. */
export class ChainReplacedError extends Error {
  override readonly name = 'ChainReplacedError';
}
