/**
 * A backup: an archive that is brought up to the last entry of a data directory, with a base of its index. A server may write the
 * directory meanwhile, and archive to the same place. Repeated, it sends only what is new.
 */
import type { Clock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { operatorErrorOf } from '../base/system-errors.ts';
import type { Place } from '../places/files.ts';
import { type BaseSnapshot, snapshotForBase } from '../store/base/snapshot.ts';
import { dataStateOf } from '../store/files/data-state.ts';
import { type JournalReader, openJournalReader } from '../store/files/journal.ts';
import { requireFit } from '../store/files/journal-link.ts';
import { Archiver, type Round } from './archiver.ts';
import { baseName } from './base.ts';
import { type BaseProgress, makeBase } from './base-writer.ts';
import { retain } from './retention.ts';
import type { Signer } from './signing.ts';

/** In the name of the open part that a backup writes, beside those of servers. */
const HOST = 'backup';

export interface BackupOptions {
  directory: string;
  place: Place;
  /** Signs an archive that is for everybody; null for a private one. */
  signer: Signer | null;
  /** Days after which bases are removed, but for the newest; null for never. */
  keepDays: number | null;
  /** Version of this program. */
  program: string;
  clock: Clock;
  /** Called with the last entry that is archived, and the last of the journal. */
  archived: (entry: number, last: number) => void;
  report: (progress: BaseProgress) => void;
}

/** What a backup came to. */
export interface Backup {
  /** The last entry in it. */
  entry: number;
  /** The base of the index. */
  base: { name: string; entry: number; height: number };
  /** Bytes that were sent. */
  sent: number;
}

/** The place, which counts the bytes that it is sent. */
function counting(place: Place): { place: Place; sent: () => number } {
  let sent = 0;
  const counted: Place = {
    ...place,
    async create(name, bytes) {
      const isNew = await place.create(name, bytes);
      if (isNew) sent += bytes.length;
      return isNew;
    },
    async write(name, bytes) {
      await place.write(name, bytes);
      sent += bytes.length;
    },
  };
  return { place: counted, sent: () => sent };
}

/** @throws OperatorError where there is nothing to begin an archive with */
function requireChain(directory: string): Pick<Round, 'chainId' | 'identity'> {
  const { chainId, identity, tip } = dataStateOf(directory);
  if (chainId !== null && identity !== null && tip !== null) return { chainId, identity };
  throw new OperatorError(
    `Nothing to back up: ${directory} doesn't contain a block yet.`,
    'Check --data, or wait for the first block.',
  );
}

/** @throws OperatorError where the index has to be rebuilt first */
function stateOf(directory: string, { state }: BaseSnapshot): NonNullable<BaseSnapshot['state']> {
  if (state !== null) return state;
  throw new OperatorError(
    `The entries of ${directory} are archived, but without a base: an older version of Stackside wrote the index.`,
    'Rebuild the index (stackside rebuild), and run the command again.',
  );
}

async function makeBackup(options: BackupOptions, journal: JournalReader): Promise<Backup> {
  const { directory, signer, keepDays, program, clock, archived, report } = options;
  const { place, sent } = counting(options.place);
  const { signal } = new AbortController();
  const chain = requireChain(directory);
  let entry = 0;
  const archiver = new Archiver({
    ...{ place, journal, clock, signer },
    archived(last) {
      entry = last;
      archived(last, Math.max(last, journal.lastId()));
    },
  });
  const archive = (base: number | null = null): Promise<void> =>
    archiver.round({ ...chain, host: HOST, epoch: null, base }, signal);

  // The first archive of a long journal takes hours, in which the write-ahead log of the index is to be emptied.
  await archive();
  using snapshot = snapshotForBase(directory, signer !== null);
  const state = stateOf(directory, snapshot);
  requireFit(directory, state.position, journal);
  await archive();
  await makeBase({ place, snapshot, journal, program, clock, signal, report }, state);
  // A public archive names its base, signed.
  if (signer !== null) await archive(state.position.id);
  await retain({ place, keepDays, now: clock.now(), signal });
  const { position, tip } = state;
  const base = { name: baseName(position), entry: position.id, height: tip.height };
  return { entry, base, sent: sent() };
}

/**
 * Makes a backup.
 * @throws OperatorError where the data can't be read, the place can't be written, or has an archive of another log; what was written
 *   until then is sound, and the next backup goes on there
 */
export async function backUp(options: BackupOptions): Promise<Backup> {
  const journal = openJournalReader(options.directory);
  try {
    return await makeBackup(options, journal);
  } catch (error) {
    // Places name themselves in their errors: what is left is of the data.
    throw operatorErrorOf(error, options.directory) ?? error;
  } finally {
    journal.close();
  }
}
