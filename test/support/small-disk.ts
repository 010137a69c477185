/** A real file system that is small, for tests of a disk that is full. Only root may mount one, on Linux. */
import { spawnSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../../src/base/errors.ts';
import { dataDirectory } from './data-directory.ts';

export interface SmallDisk extends Disposable {
  readonly path: string;
  /** Leaves no room. */
  fill(): void;
  /** Makes the room again that was taken by {@link fill}. */
  empty(): void;
}

const run = (...[program = '', ...given]: string[]): boolean => spawnSync(program, given).status === 0;

/** @returns null where none can be mounted */
export function smallDisk(bytes: number): SmallDisk | null {
  const directory = dataDirectory();
  const { path } = directory;
  if (process.platform !== 'linux' || !run('mount', '-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path)) {
    directory[Symbol.dispose]();
    return null;
  }
  const filler = join(path, 'filler');
  return {
    path,
    fill() {
      const { bsize, bavail } = statfsSync(path);
      try {
        writeFileSync(filler, Buffer.alloc(bsize * (bavail + 1)), { flag: 'a' });
      } catch (error) {
        if (!hasCode(error, 'ENOSPC')) throw error;
      }
    },
    empty: () => rmSync(filler, { force: true }),
    [Symbol.dispose]() {
      // A process that ends may still hold its files.
      run('umount', '--lazy', path);
      directory[Symbol.dispose]();
    },
  };
}

/** Whether tests may mount one. */
export const canMount = ((): boolean => {
  const disk = smallDisk(65_536);
  disk?.[Symbol.dispose]();
  return disk !== null;
})();
