/** Reproducible archives: their bytes depend only on the files, not on the machine, its clock, or the order of its folders. */
import { gzipSync } from 'bun';
import { type Zippable, zipSync } from 'fflate';
import { packTar } from 'modern-tar';

export interface ArchivedFile {
  /** The path in the archive, with slashes. */
  path: string;
  bytes: Uint8Array<ArrayBuffer>;
  isExecutable: boolean;
}

/** 0: not compressed; 9: small, at the cost of seconds for a hundred megabytes. */
export type Compression = 0 | 9;

/** A text in UTF-8. */
export const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** Makes a file of an archive from a text. */
export const textFile = (path: string, text: string): ArchivedFile => ({
  path,
  bytes: bytesOf(text),
  isExecutable: false,
});

const modeOf = ({ isExecutable }: ArchivedFile): number => (isExecutable ? 0o755 : 0o644);

const sorted = (files: readonly ArchivedFile[]): ArchivedFile[] => files.toSorted((a, b) => (a.path < b.path ? -1 : 1));

/**
 * A tar archive, compressed with gzip, of files that belong to root.
 * @param time modification time of all files
 */
export async function tarGz(
  files: readonly ArchivedFile[],
  time: Date,
  level: Compression = 9,
): Promise<Uint8Array<ArrayBuffer>> {
  const owner = { uid: 0, gid: 0, uname: 'root', gname: 'root' };
  const entries = sorted(files).map((file) => ({
    header: { name: file.path, size: file.bytes.length, mode: modeOf(file), mtime: time, ...owner },
    body: file.bytes,
  }));
  return gzipSync(await packTar(entries), { library: 'libdeflate', level });
}

/** Returns the time that has the same date and hour in this machine's time zone as the given time in UTC. */
const asIfHere = (time: Date): Date =>
  new Date(
    time.getUTCFullYear(),
    time.getUTCMonth(),
    time.getUTCDate(),
    time.getUTCHours(),
    time.getUTCMinutes(),
    time.getUTCSeconds(),
  );

const UNIX = 3;
const REGULAR_FILE = 0o100000;
/** Position of a file's mode in the attributes of a zip archive. */
const MODE_SHIFT = 16;

/** A zip archive. @param time modification time of all files, which the archive holds without a time zone */
export function zip(files: readonly ArchivedFile[], time: Date, level: Compression = 9): Uint8Array<ArrayBuffer> {
  const mtime = asIfHere(time);
  const entries = sorted(files).map((file): [string, Zippable[string]] => {
    // Unsigned: the highest bit is part of the mode.
    const attrs = ((REGULAR_FILE | modeOf(file)) << MODE_SHIFT) >>> 0;
    return [file.path, [file.bytes, { mtime, os: UNIX, attrs, level }]];
  });
  return zipSync(Object.fromEntries(entries)) as Uint8Array<ArrayBuffer>;
}
