/**
 * Failures of the store, as opposed to mistakes in the requested work. The same call may succeed when the disk has
 * room, the lock is free, or the operator has acted.
 */
import { DiskFullError, TemporaryError, TransientError } from './errors.ts';

const reasons = {
  busy: 'the database is busy',
  out_of_memory: 'out of memory',
  read_only: 'the database is read-only',
  io_error: 'disk I/O error',
  damaged: 'the database is damaged',
  full: 'disk is full',
  not_openable: "the database can't be opened",
} as const;

/** Reasons why a store can't be used, as labels of metrics. */
export type StoreFailure = keyof typeof reasons;
export const storeFailures = Object.keys(reasons) as StoreFailure[];

/** Thrown if the store can't be used now. The message contains neither SQL nor paths. */
export class StoreUnavailableError extends TransientError {
  override readonly name = 'StoreUnavailableError';
  constructor(
    readonly failure: StoreFailure,
    cause: unknown,
  ) {
    super(reasons[failure], { cause });
  }
}

/** Failures by SQLite's primary result code, which extended codes start with: `IOERR` in `SQLITE_IOERR_WRITE`. */
const byResultCode: Readonly<Record<string, StoreFailure>> = {
  BUSY: 'busy',
  CANTOPEN: 'not_openable',
  CORRUPT: 'damaged',
  FULL: 'full',
  INTERRUPT: 'busy',
  IOERR: 'io_error',
  LOCKED: 'busy',
  NOMEM: 'out_of_memory',
  NOTADB: 'damaged',
  PROTOCOL: 'busy',
  READONLY: 'read_only',
};

/** Failures by error code of the operating system, from this program's calls on the files. */
const bySystemCode: Readonly<Record<string, StoreFailure>> = {
  EACCES: 'not_openable',
  EDQUOT: 'full',
  EIO: 'io_error',
  EMFILE: 'not_openable',
  ENFILE: 'not_openable',
  ENOMEM: 'out_of_memory',
  ENOSPC: 'full',
  EPERM: 'not_openable',
  EROFS: 'read_only',
};

function failureOf(error: Error): StoreFailure | null {
  if (!('code' in error) || typeof error.code !== 'string') return null;
  // The file `-shm` of a write-ahead log can't grow.
  if (error.code === 'SQLITE_IOERR_SHMSIZE') return 'full';
  const [system, primary = ''] = error.code.split('_');
  return (system === 'SQLITE' ? byResultCode[primary] : bySystemCode[error.code]) ?? null;
}

/**
 * Converts an error to one of an unavailable store. Returns null for any other error, such as a mistake in the
 * requested work.
 */
export function unavailable(error: unknown): StoreUnavailableError | null {
  if (error instanceof StoreUnavailableError) return error;
  const failure = error instanceof Error ? failureOf(error) : null;
  return failure === null ? null : new StoreUnavailableError(failure, error);
}

/** Reports whether a failure passes without a restart: without help, or after the operator has acted. */
export const isTransient = (error: unknown): error is Error =>
  error instanceof TransientError ||
  error instanceof TemporaryError ||
  error instanceof DiskFullError ||
  unavailable(error) !== null;
