/** Where a snapshot is: in a directory, among the objects of S3, or on a web server. */

import type { SizeBounds } from './transfer.ts';

/** A place that a snapshot is read from. */
export interface SnapshotSource {
  /** The name of the place in messages, without passwords and keys. */
  readonly location: string;
  /**
   * The bytes of one of its files.
   * @param bounds of its bytes: a longer one is not read to its end, and a server that sends less is asked again
   * @returns null where there is no such file
   * @throws OperatorError where it can't be read, or is longer
   */
  read(name: string, bounds: SizeBounds): Promise<Uint8Array | null>;
}

/** A place that a snapshot is written to. */
export interface SnapshotTarget extends SnapshotSource {
  /** A directory to copy the data to meanwhile. Whoever writes the snapshot locks it, before anything else is done. */
  readonly workshop: string;
  /** Makes room for a new snapshot. @throws OperatorError where a snapshot is there already */
  begin(): Promise<void>;
  /** Writes one of its files. @throws OperatorError */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Makes a snapshot of what was written. The workshop is gone by then. @throws OperatorError */
  finish(): Promise<void>;
  /** Removes what was written, as far as that can be done. */
  discard(): Promise<void>;
}
