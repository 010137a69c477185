/** Errors of the operating system and of SQLite, in the operator's words. */
import { OperatorError } from './errors.ts';

/** What is wrong with a file or directory, and what mends it. */
type Explanation = (path: string) => readonly [problem: string, remedy: string];

const SPACE = 'Free space there, or raise the quota, and repeat the command.';
const OWNER = 'Change its owner or mode (chown, chmod), or run Stackside as the user that owns it.';
const DISK = 'Look for errors of the disk in the system log; restore a backup where the file is lost.';

const diskFull: Explanation = (path) => [`The disk of ${path} is full.`, SPACE];
const notAllowed: Explanation = (path) => [`${path} may not be read or written by ${userName()}.`, OWNER];
const failing: Explanation = (path) => [`The disk of ${path} fails to read or write.`, DISK];
const notADirectory: Explanation = (path) => [
  `${path} is not a directory, or lies below what is none.`,
  'Give another path, or move the file out of the way.',
];
const tooManyFiles: Explanation = (path) => [
  `${path} can't be opened: too many files are open.`,
  'Raise the limit of open files (ulimit -n, LimitNOFILE of systemd).',
];
const damaged: Explanation = (path) => [
  `${path} is damaged.`,
  'An index is made anew by stackside rebuild; a journal comes back from a backup. stackside check says more.',
];

/** By the code of the error. */
const explanations: Readonly<Record<string, Explanation>> = {
  ENOENT: (path) => [`File does not exist: ${path}`, 'Check the path.'],
  ENOTDIR: notADirectory,
  EEXIST: notADirectory,
  EISDIR: (path) => [`${path} is a directory.`, 'Give the path of a file.'],
  EACCES: notAllowed,
  EPERM: notAllowed,
  EROFS: (path) => [
    `${path} is on a file system that is mounted read-only.`,
    'Mount it to be written, or give another path.',
  ],
  ENOSPC: diskFull,
  EDQUOT: diskFull,
  EFBIG: (path) => [
    `${path} would grow larger than a file may be.`,
    'Raise the limit (ulimit -f), or use another file system.',
  ],
  EIO: failing,
  EMFILE: tooManyFiles,
  ENFILE: tooManyFiles,
  ENAMETOOLONG: (path) => [`The path ${path} is too long.`, 'Give a shorter one.'],
  ELOOP: (path) => [`${path} is a symbolic link to itself.`, 'Mend the link, or give another path.'],
  SQLITE_FULL: diskFull,
  SQLITE_IOERR: failing,
  SQLITE_NOTADB: (path) => [
    `${path} is not a database.`,
    'Check --data; move the file out of the way where it is none of Stackside.',
  ],
  SQLITE_CORRUPT: damaged,
  SQLITE_READONLY: notAllowed,
  SQLITE_PERM: notAllowed,
  SQLITE_CANTOPEN: (path) => [
    `${path} can't be opened.`,
    'Look whether it is a file, who owns it, and whether others use it.',
  ],
};

const userName = (): string => (process.getuid === undefined ? 'this user' : `user ${process.getuid()}`);

const codeOf = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;

/** SQLite's extended codes, such as `SQLITE_IOERR_WRITE`, mean what the code they extend means. */
const explanationOf = (code: string): Explanation | undefined =>
  explanations[code] ?? explanations[code.split('_').slice(0, 2).join('_')];

const pathOf = (error: Error): string | null =>
  'path' in error && typeof error.path === 'string' && error.path !== '' ? error.path : null;

/**
 * What the operator reads where a file or a disk is the cause.
 * @param at the file or directory in hand, where the error names none
 * @returns null for every other error
 */
export function operatorErrorOf(error: unknown, at: string): OperatorError | null {
  const explain = explanationOf(codeOf(error) ?? '');
  if (!(error instanceof Error) || explain === undefined) return null;
  const [problem, remedy] = explain(pathOf(error) ?? at);
  return new OperatorError(problem, remedy, { cause: error });
}

/** Runs what works on a file or directory. @throws OperatorError where that is the cause of a failure */
export function onFile<T>(at: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw operatorErrorOf(error, at) ?? error;
  }
}
