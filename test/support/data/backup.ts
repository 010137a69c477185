/** Snapshots in directories, as a test makes and restores them. */
import { type BackupOptions, makeSnapshot } from '../../../src/backup/backup.ts';
import { directorySource, directoryTarget } from '../../../src/backup/directory.ts';
import type { Manifest, SnapshotSource } from '../../../src/backup/manifest.ts';
import { type Restored, restoreSnapshot } from '../../../src/backup/restore.ts';
import { silentMachine } from '../../../src/hooks/machine.ts';

/** Makes a snapshot of a data directory. @param place a new directory; not used where the options have a target */
export const snapshotOf = (directory: string, place: string, options: Partial<BackupOptions> = {}): Promise<Manifest> =>
  makeSnapshot({
    directory,
    target: options.target ?? directoryTarget(place),
    public: false,
    machine: silentMachine,
    program: 'stackside test',
    now: () => Date.parse('2026-01-31'),
    report: () => {},
    ...options,
  });

/** Restores a snapshot. @param from the directory that it is in, or another place */
export const restored = (
  from: string | SnapshotSource,
  directory: string,
  chainId: number | null = null,
): Promise<Restored> =>
  restoreSnapshot({
    directory,
    source: typeof from === 'string' ? directorySource(from) : from,
    chainId,
    report: () => {},
  });
