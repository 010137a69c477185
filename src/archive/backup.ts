/**
 * Makes a backup: an archive with all entries of a data directory and a base of its index. During a backup, a server may write
 * to the directory and archive to the same place. The next backup sends only new objects.
 */
import type { Clock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { onFile, operatorErrorOf } from '../base/system-errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { type BaseSnapshot, snapshotForBase } from '../store/base/snapshot.ts';
import { indexPath, requireIndex } from '../store/files/database.ts';
import { type JournalReader, openJournalReader } from '../store/files/journal.ts';
import { requireFit } from '../store/files/journal-link.ts';
import { dataStateOf } from '../store/files/status.ts';
import { Archiver, type Round } from './archiver.ts';
import { baseName } from './base.ts';
import { type BaseProgress, makeBase, retain } from './base-writer.ts';
import type { Signer } from './signing.ts';

/** Host in the name of the open part that a backup writes. Servers use their own names. */
const HOST = 'backup';

export interface BackupOptions {
  directory: string;
  store: ObjectStore;
  /** Signs a public archive; null for a private archive. */
  signer: Signer | null;
  /** Days after which bases are removed, except the newest; null to keep all. */
  keepDays: number | null;
  program: string;
  clock: Clock;
  /** Called with the last archived entry and the last entry of the journal. */
  archived: (entry: number, last: number) => void;
  report: (progress: BaseProgress) => void;
}

export interface Backup {
  /** The last entry in the backup. */
  entry: number;
  base: { name: string; entry: number; height: number };
  /** Bytes that were sent. */
  sent: number;
}

function countSent(store: ObjectStore): { store: ObjectStore; sent: () => number } {
  let sent = 0;
  const countingStore: ObjectStore = {
    ...store,
    async create(name, bytes) {
      const isNew = await store.create(name, bytes);
      if (isNew) sent += bytes.length;
      return isNew;
    },
    async write(name, bytes) {
      await store.write(name, bytes);
      sent += bytes.length;
    },
  };
  return { store: countingStore, sent: () => sent };
}

/** @throws OperatorError if the directory has no index, or no block to archive yet */
function requireChain(directory: string): Pick<Round, 'chainId' | 'identity'> {
  requireIndex(directory);
  const { chainId, identity, tip } = onFile(indexPath(directory), () => dataStateOf(directory));
  if (chainId !== null && identity !== null && tip !== null) return { chainId, identity };
  throw new OperatorError(
    `Nothing to back up: ${directory} doesn't contain a block yet.`,
    'Check --data, or wait for the first block.',
  );
}

/** @throws OperatorError if the index must be rebuilt first */
function requireState(directory: string, { state }: BaseSnapshot): NonNullable<BaseSnapshot['state']> {
  if (state !== null) return state;
  throw new OperatorError(
    `The entries of ${directory} are archived, but without a base: an older version of Stackside wrote the index.`,
    'Rebuild the index (stackside rebuild), and run the command again.',
  );
}

async function makeBackup(options: BackupOptions, journal: JournalReader): Promise<Backup> {
  const { directory, signer, keepDays, program, clock, archived, report } = options;
  const { store, sent } = countSent(options.store);
  const { signal } = new AbortController();
  const chain = requireChain(directory);
  let entry = 0;
  const archiver = new Archiver({
    store,
    journal,
    clock,
    signer,
    archived(last) {
      entry = last;
      archived(last, Math.max(last, journal.lastId()));
    },
  });
  const archive = (base: number | null = null): Promise<void> =>
    archiver.round({ ...chain, host: HOST, epoch: null, base }, signal);

  // Archive before opening the snapshot: the first archive of a long journal takes hours, and a snapshot would block the WAL.
  await archive();
  using snapshot = snapshotForBase(directory, signer !== null);
  const state = requireState(directory, snapshot);
  requireFit(directory, state.position, journal);
  await archive();
  await makeBase({ store, snapshot, journal, program, clock, signal, report }, state);
  // The signed head of a public archive names the base.
  if (signer !== null) await archive(state.position.id);
  await retain({ store, keepDays, now: clock.now(), signal });
  const { position, tip } = state;
  const base = { name: baseName(position), entry: position.id, height: tip.height };
  return { entry, base, sent: sent() };
}

/**
 * Makes a backup.
 * @throws OperatorError if the data can't be read, the store can't be written, or the store has an archive of another log; the
 *   objects written before the error are sound, and the next backup continues after them
 */
export async function backUp(options: BackupOptions): Promise<Backup> {
  const journal = openJournalReader(options.directory);
  try {
    return await makeBackup(options, journal);
  } catch (error) {
    // Errors of a store already name the store, so any other error concerns the data directory.
    throw operatorErrorOf(error, options.directory) ?? error;
  } finally {
    journal.close();
  }
}
