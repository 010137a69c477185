/** Writes and restores backups of data directories. */
import { type Backup, type BackupOptions, backUp } from '../../../src/archive/backup.ts';
import type { ArchiveRestoreOptions } from '../../../src/archive/restore.ts';
import { directoryFiles } from '../../../src/storage/location.ts';
import type { ObjectStore } from '../../../src/storage/object-store.ts';
import { impatientClock } from '../time/impatient-clock.ts';
import { restoredFrom } from './archive.ts';

const placeOf = (location: string | ObjectStore): ObjectStore =>
  typeof location === 'string' ? directoryFiles(location) : location;

/** Backs a data directory up. @param place a directory, or another place */
export const backupOf = (
  directory: string,
  store: string | ObjectStore,
  options: Partial<BackupOptions> = {},
): Promise<Backup> =>
  backUp({
    directory,
    store: placeOf(store),
    signer: null,
    keepDays: null,
    program: 'stackside test',
    clock: impatientClock,
    archived: () => {},
    report: () => {},
    ...options,
  });

/** Restores a backup. @param from the directory that it is in, or another place @returns its last entry */
export const restored = (
  from: string | ObjectStore,
  directory: string,
  options: Partial<ArchiveRestoreOptions> = {},
): Promise<number> => restoredFrom(placeOf(from), directory, options);
