/** Writes and restores archives of data directories, with short segments. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifySegments } from '../../../src/archive/archive.ts';
import { Archiver, type ArchiverOptions, type Round } from '../../../src/archive/archiver.ts';
import { verifyBases } from '../../../src/archive/base.ts';
import { type BaseWriterOptions, makeBase, type NewBase } from '../../../src/archive/base-writer.ts';
import { type ArchiveRestoreOptions, restoreArchive } from '../../../src/archive/restore.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { OperatorError } from '../../../src/base/errors.ts';
import { silentMachine } from '../../../src/hooks/machine.ts';
import type { ObjectStore, ObjectStoreReads } from '../../../src/storage/object-store.ts';
import { snapshotForBase } from '../../../src/store/base/snapshot.ts';
import { openJournalReader } from '../../../src/store/files/journal.ts';
import { dataStateOf } from '../../../src/store/files/status.ts';
import { failureOf } from '../failure.ts';
import { impatientClock } from '../time/impatient-clock.ts';

/** Ends segments early, so that a short chain has several. */
const SHORT = { entries: 7, bytes: 60_000 };

export const DEVNET = 0x8000_0000;

/** An archiver of a directory that another process may be writing; `using` closes its journal. */
export function archiverOf(directory: string, store: ObjectStore, options: Partial<ArchiverOptions> = {}) {
  const journal = openJournalReader(directory);
  const archived: number[] = [];
  const archiver = new Archiver({
    store,
    journal,
    clock: impatientClock,
    signer: null,
    segment: SHORT,
    archived: (entry) => archived.push(entry),
    ...options,
  });
  return {
    /** Last entries of the archive, as the archiver reported them. */
    archived,
    round(
      host = 'one',
      {
        epoch = null,
        chainId = DEVNET,
        identity = dataStateOf(directory).identity ?? '',
        base = null,
      }: Partial<Round> = {},
      signal = new AbortController().signal,
    ) {
      return archiver.round({ chainId, identity, host, epoch, base }, signal);
    },
    [Symbol.dispose]: () => journal.close(),
  };
}

/** Archives all that a directory has. */
export async function archive(
  directory: string,
  store: ObjectStore,
  host = 'one',
  options: Partial<ArchiverOptions> = {},
): Promise<void> {
  using archiver = archiverOf(directory, store, options);
  await archiver.round(host);
}

/** Restores an archive. @returns its last entry */
export async function restoredFrom(
  store: ObjectStoreReads,
  directory: string,
  options: Partial<ArchiveRestoreOptions> = {},
): Promise<number> {
  const { position } = await restoreArchive({
    directory,
    store,
    chainId: null,
    until: null,
    machine: silentMachine,
    log: () => {},
    report: () => {},
    making: () => {},
    clock: systemClock,
    ...options,
  });
  return position.id;
}

/** Returns the message of the OperatorError that the work fails with. */
export const refusal = async (work: Promise<unknown>): Promise<string> =>
  (await failureOf(OperatorError, work)).message;

/** All objects in a directory, with their bytes in hex. */
export const objectsIn = (path: string): Record<string, string> =>
  existsSync(path)
    ? Object.fromEntries(readdirSync(path).map((name) => [name, readFileSync(join(path, name)).toHex()]))
    : {};

/** Returns the faults that `stackside archive verify` finds. */
export async function faultsIn(store: ObjectStoreReads): Promise<string[]> {
  const faults: (string | null)[] = [];
  for await (const { fault } of verifySegments(store)) faults.push(fault);
  for await (const { fault } of verifyBases(store)) faults.push(fault);
  return faults.filter((fault) => fault !== null);
}

/** A store that notes the name, or the beginning of names, of each request of some kinds. */
export function noting(store: ObjectStore, ...kinds: ('read' | 'list' | 'create' | 'write')[]) {
  const names: string[] = [];
  const noted: ObjectStore = { ...store };
  for (const kind of kinds) {
    const call = store[kind] as (...args: unknown[]) => Promise<never>;
    noted[kind] = (name: string, ...more: unknown[]) => {
      names.push(name);
      return call(name, ...more);
    };
  }
  return { store: noted, names };
}

/** Small parts, so that a short chain has several. */
const SMALL = { min: 2_000, target: 4_000, max: 20_000, share: 1 / 50 };

/** Adds a snapshot of a directory to the archive that has its entries. @returns null if the archive already had it */
export async function baseIn(
  directory: string,
  store: ObjectStore,
  options: Partial<BaseWriterOptions> = {},
  isPublic = false,
): Promise<NewBase | null> {
  using closing = new DisposableStack();
  const journal = openJournalReader(directory);
  closing.defer(() => journal.close());
  const snapshot = closing.use(snapshotForBase(directory, isPublic));
  if (snapshot.state === null) throw new Error('there is nothing to make a base of');
  const parts = { store, snapshot, journal, program: 'test', clock: impatientClock, size: SMALL };
  const signal = new AbortController().signal;
  return await makeBase({ ...parts, report: () => {}, signal, ...options }, snapshot.state);
}
