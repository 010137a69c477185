/** Backups in directories, as a test makes and restores them. */
import { type BackupOptions, makeBackup } from '../../../src/backup/backup.ts';
import { directorySource, directoryTarget } from '../../../src/backup/directory.ts';
import type { BackupSource, Manifest } from '../../../src/backup/manifest.ts';
import { type Restored, restoreBackup } from '../../../src/backup/restore.ts';
import { silentMachine } from '../../../src/hooks/machine.ts';

/** Makes a backup of a data directory. @param place a new directory; not used where the options have a target */
export const backupOf = (directory: string, place: string, options: Partial<BackupOptions> = {}): Promise<Manifest> =>
  makeBackup({
    directory,
    target: options.target ?? directoryTarget(place),
    public: false,
    machine: silentMachine,
    program: 'stackside test',
    now: () => Date.parse('2026-01-31'),
    report: () => {},
    ...options,
  });

/** Restores a backup. @param from the directory that it is in, or another place */
export const restored = (
  from: string | BackupSource,
  directory: string,
  chainId: number | null = null,
): Promise<Restored> =>
  restoreBackup({
    directory,
    source: typeof from === 'string' ? directorySource(from) : from,
    chainId,
    report: () => {},
  });
