/** Failures of the store and of system calls: their texts for operators, and whether the same work may succeed later. */
import { basename } from 'node:path';
import { DiskFullError, OperatorError, TemporaryError, TransientError } from './errors.ts';

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

/** The operator's next step, as sentences. */
const remedies: Readonly<Record<StoreFailure, string>> = {
  busy: 'If this lasts, end the other program that uses the files of the data directory.',
  out_of_memory: 'Free memory on this machine, or raise the memory limit of the process.',
  read_only:
    "Let the server's user write to all files of the data directory (chown, chmod), and mount its disk read-write.",
  io_error: 'Look for disk errors in the system log, and repair the disk.',
  damaged:
    'Stop the server, and run stackside check. Rebuild a damaged index with stackside rebuild, or restore a backup.',
  full: 'Free space on the disk of the data directory.',
  not_openable: 'Check the owner and mode of the files in the data directory, and the limit of open files (ulimit -n).',
};

/** Thrown if the store can't be used now. The message contains neither SQL nor paths. */
export class StoreUnavailableError extends TransientError {
  override readonly name = 'StoreUnavailableError';
  constructor(
    readonly failure: StoreFailure,
    cause: unknown,
  ) {
    super(reasons[failure], { cause });
  }

  /** The operator's next step, as sentences. */
  get remedy(): string {
    return remedies[this.failure];
  }
}

/** Failures by primary code of SQLite, and by code of the operating system, from this program's calls on the files. */
const failures: Readonly<Record<string, StoreFailure>> = {
  SQLITE_BUSY: 'busy',
  SQLITE_CANTOPEN: 'not_openable',
  SQLITE_CORRUPT: 'damaged',
  SQLITE_FULL: 'full',
  SQLITE_INTERRUPT: 'busy',
  SQLITE_IOERR: 'io_error',
  SQLITE_LOCKED: 'busy',
  SQLITE_NOMEM: 'out_of_memory',
  SQLITE_NOTADB: 'damaged',
  SQLITE_PROTOCOL: 'busy',
  SQLITE_READONLY: 'read_only',
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

const field = (error: Error, name: 'code' | 'path'): string | null => {
  const value = (error as { code?: unknown; path?: unknown })[name];
  return typeof value === 'string' && value !== '' ? value : null;
};

/**
 * Returns an error's code; for SQLite's extended codes, such as `SQLITE_IOERR_WRITE`, the primary code. An exception: if the
 * index of a write-ahead log (`-shm`) can't grow, the disk is full.
 */
function codeOf(error: Error): string {
  const code = field(error, 'code') ?? '';
  if (code === 'SQLITE_IOERR_SHMSIZE') return 'SQLITE_FULL';
  return code.startsWith('SQLITE_') ? code.split('_').slice(0, 2).join('_') : code;
}

/**
 * Converts an error to one of an unavailable store. Returns null for any other error, such as a mistake in the
 * requested work.
 */
export function unavailable(error: unknown): StoreUnavailableError | null {
  if (error instanceof StoreUnavailableError) return error;
  const failure = error instanceof Error ? failures[codeOf(error)] : undefined;
  return failure === undefined ? null : new StoreUnavailableError(failure, error);
}

/** Reports whether a failure passes without a restart: without help, or after the operator has acted. */
export const isTransient = (error: unknown): error is Error =>
  error instanceof TransientError ||
  error instanceof TemporaryError ||
  error instanceof DiskFullError ||
  unavailable(error) !== null;

/** Makes the problem and the remedy for a file or directory. */
type Explanation = (path: string) => readonly [problem: string, remedy: string];

const SPACE =
  'Free space on the disk, or raise the quota. Then repeat the command; a running server retries by itself.';
const OWNER = 'Change its owner or mode (chown, chmod), or run Stackside as the user that owns it.';
const DISK = 'Look for disk errors in the system log; restore a backup if the file is lost.';

const diskFull: Explanation = (path) => [`The disk of ${path} is full.`, SPACE];
const notAllowed: Explanation = (path) => [`${path} may not be read or written by ${userName()}.`, OWNER];
const failing: Explanation = (path) => [`The disk of ${path} has read or write errors.`, DISK];
const notADirectory: Explanation = (path) => [
  `${path} can't be used: a part of the path is a file, not a directory.`,
  'Give another path, or move the file away.',
];
const tooManyFiles: Explanation = (path) => [
  `${path} can't be opened: too many files are open.`,
  'Raise the limit of open files (ulimit -n, LimitNOFILE of systemd).',
];
/** Remedies for damage, by file of the data directory. */
const damageRemedies = new Map([
  ['index.db', 'Rebuild the index from its journal: stackside rebuild.'],
  ['journal.db', 'Restore a backup into a new directory: stackside restore ARCHIVE --data NEW.'],
]);
const damaged: Explanation = (path) => [
  `${path} is damaged.`,
  damageRemedies.get(basename(path)) ??
    'Rebuild an index from its journal (stackside rebuild); restore a journal or a recording from a backup.',
];

const permanentErrors: Readonly<Record<string, Explanation>> = {
  ENOENT: (path) => [`${path} doesn't exist.`, 'Check the path.'],
  ENOTDIR: notADirectory,
  EEXIST: notADirectory,
  EISDIR: (path) => [`${path} is a directory.`, 'Give the path of a file.'],
  EACCES: notAllowed,
  EPERM: notAllowed,
  EROFS: (path) => [
    `${path} is on a file system that is mounted read-only.`,
    'Mount it read-write, or give another path.',
  ],
  EFBIG: (path) => [
    `${path} would exceed the maximum size of a file.`,
    'Raise the limit (ulimit -f), or use another file system.',
  ],
  EIO: failing,
  EMFILE: tooManyFiles,
  ENFILE: tooManyFiles,
  ENAMETOOLONG: (path) => [`The path ${path} is too long.`, 'Give a shorter path.'],
  ELOOP: (path) => [`${path} is a symbolic link to itself.`, 'Correct the link, or give another path.'],
  SQLITE_IOERR: failing,
  SQLITE_NOTADB: (path) => [
    `${path} is not a database.`,
    `Check --data. ${damageRemedies.get(basename(path)) ?? 'If the file does not belong to Stackside, move it away.'}`,
  ],
  SQLITE_CORRUPT: damaged,
  SQLITE_READONLY: notAllowed,
  SQLITE_PERM: notAllowed,
  SQLITE_CANTOPEN: (path) => [
    `${path} can't be opened.`,
    'Check that it is a file, who owns it, and whether another program uses it.',
  ],
};

const userName = (): string => (process.getuid === undefined ? 'this user' : `user ${process.getuid()}`);

const inUse: Explanation = (path) => [
  `${path} is in use by another process.`,
  'Wait until that process ends, or end it, and repeat the command.',
];

const temporaryErrors: Readonly<Record<string, Explanation>> = { SQLITE_BUSY: inUse, SQLITE_LOCKED: inUse };

const fullDiskCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);

/**
 * Converts an error of a file or disk to an OperatorError.
 * @param error the error, or an error with it as the cause
 * @param defaultPath the file or directory, if the error has no path
 * @returns null for any other error
 */
export function operatorErrorOf(error: unknown, defaultPath: string): OperatorError | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof OperatorError) return error;
  const code = codeOf(error);
  const path = field(error, 'path') ?? defaultPath;
  if (fullDiskCodes.has(code)) return new DiskFullError(...diskFull(path), { cause: error });
  if (temporaryErrors[code] !== undefined) return new TemporaryError(...temporaryErrors[code](path), { cause: error });
  if (permanentErrors[code] !== undefined) return new OperatorError(...permanentErrors[code](path), { cause: error });
  return operatorErrorOf(error.cause, defaultPath);
}

/** Runs a function that works on a file or directory. @throws OperatorError if the file or directory causes a failure */
export function onFile<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw operatorErrorOf(error, path) ?? error;
  }
}
