/** A small file system for tests of a full disk. Only root can mount it, and only on Linux. */
import { spawnSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../../../src/base/errors.ts';
import { dataDirectory } from './data-directory.ts';

/** Files and directories that the disk can hold. */
const MAX_FILES = 200;

export interface SmallDisk extends Disposable {
  readonly path: string;
  /** Fills the disk, except for a number of bytes and of new files. */
  fill(bytes?: number, files?: number): void;
  /** Frees the space that {@link fill} took. */
  empty(): void;
}

const run = (...[program = '', ...args]: string[]): boolean => spawnSync(program, args).status === 0;

/** @returns null if none can be mounted */
export function smallDisk(bytes: number): SmallDisk | null {
  const directory = dataDirectory();
  const { path } = directory;
  if (
    process.platform !== 'linux' ||
    !run('mount', '-t', 'tmpfs', '-o', `size=${bytes},nr_inodes=${MAX_FILES}`, 'tmpfs', path)
  ) {
    directory[Symbol.dispose]();
    return null;
  }
  const filler = join(path, 'filler');
  return {
    path,
    fill(bytes = 0, files = Number.POSITIVE_INFINITY) {
      const { bsize, bavail } = statfsSync(path);
      try {
        writeFileSync(filler, Buffer.alloc(bsize * (bavail + (bytes === 0 ? 1 : 0)) - bytes), { flag: 'a' });
      } catch (error) {
        if (!hasCode(error, 'ENOSPC')) throw error;
      }
      const count = Math.max(0, statfsSync(path).ffree - files);
      for (let file = 0; file < count; file++) writeFileSync(`${filler}-${file}`, '');
    },
    empty: () => rmSync(filler, { force: true }),
    [Symbol.dispose]() {
      // A process that ends may still hold its files.
      run('umount', '--lazy', path);
      directory[Symbol.dispose]();
    },
  };
}

/** Whether tests can mount a file system. */
export const canMount = ((): boolean => {
  const disk = smallDisk(65_536);
  disk?.[Symbol.dispose]();
  return disk !== null;
})();
