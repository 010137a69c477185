/** `serve --from`: an empty data directory is restored from an archive before the server starts. */
import { filesAt, loadSeenArchive, openArchive, openPatiently, saveSeenArchive, UNSIGNED } from '../../archive/open.ts';
import { restoreArchive } from '../../archive/restore.ts';
import type { Clock } from '../../base/clock.ts';
import { OperatorError, TemporaryError } from '../../base/errors.ts';
import { duration } from '../../base/format.ts';
import { chainIdText, chainWords } from '../../chain/network.ts';
import { silentMachine } from '../../hooks/machine.ts';
import { isLogged, type Log } from '../../log.ts';
import type { Settings } from '../../settings/config.ts';
import type { ObjectStoreReads } from '../../storage/object-store.ts';
import { type DataState, dataStateOf, fileSizes } from '../../store/files/status.ts';
import { isUnfinished } from '../../store/files/unfinished.ts';

/** Milliseconds between two lines of the log about a restore. */
const LOG_INTERVAL_MS = 5_000;

interface StartRestore {
  /** The location of the archive. */
  from: string;
  settings: Settings;
  clock: Clock;
  log: Log;
}

/** Opens the archive of --from. @param directory the data directory, if it records the archive's newest state */
export const openSource = (
  { from, settings, clock, log }: StartRestore,
  directory: string | null,
): Promise<ObjectStoreReads> => {
  const { location } = filesAt(from, settings.data, clock);
  return openArchive({
    location: from,
    directory,
    trust: settings,
    clock,
    lacks: (name, entry) => log({ event: 'archive_open_part_missing', place: location, name, entry }),
  });
};

/** Opens the archive at the start of the server, which waits for it. Logs if that takes long. @throws OperatorError */
function openAtStart(options: StartRestore, directory: string | null) {
  const { from, settings, clock, log } = options;
  const { location: place } = filesAt(from, settings.data, clock);
  const late = (reason: string) => log({ event: 'service_failing', service: 'following', place, reason });
  return openPatiently({ location: place, clock, late }, () => openSource(options, directory));
}

/**
 * Requires data of the archive's chain. Another log is allowed, because the server takes the archive's events like a node's.
 * @throws OperatorError
 */
async function requireSameChain(options: StartRestore, { chainId, position }: DataState): Promise<void> {
  const { from, settings, clock, log } = options;
  const { data: directory } = settings;
  const { location } = filesAt(from, directory, clock);
  if (position.id === 0) {
    throw new OperatorError(
      `${directory} has data files without entries, so Stackside can't restore into it.`,
      'Remove index.db and journal.db from it, and start again; or omit --from.',
    );
  }
  try {
    const { identity: archive } = await openAtStart(options, directory);
    if (chainId === null || chainId === archive.chain_id) return;
    throw new OperatorError(
      `The archive at ${location} belongs to ${chainWords(archive.chain_id)}, but the data in ${directory} to chain ${chainIdText(chainId)}.`,
      'Omit --from to serve the data, or use an empty --data directory.',
    );
  } catch (error) {
    // The data is served in any case. The server follows the archive once it can be read.
    if (!(error instanceof TemporaryError)) throw error;
    log({ event: 'service_failing', service: 'following', place: location, reason: error.message });
  }
}

async function restore(options: StartRestore): Promise<void> {
  const { settings, clock, log } = options;
  const { data: directory, network: chainId } = settings;
  const { store, identity: archive } = await openAtStart(options, directory);
  const { location } = store;
  log({ event: 'restore_begun', place: location, chain: chainIdText(archive.chain_id) });
  const startedAt = clock.monotonic();
  let lastLogged = startedAt;
  const isDue = (): boolean => {
    const now = clock.monotonic();
    if (now - lastLogged < LOG_INTERVAL_MS) return false;
    lastLogged = now;
    return true;
  };
  const { position, tip } = await restoreArchive({
    directory,
    store,
    chainId,
    until: null,
    machine: silentMachine,
    // The blocks go by by the thousand.
    log: (event) => isLogged(event.event, 'error') && log(event),
    report({ entry, from, last, height }) {
      if (!isDue()) return;
      const rate = ((entry - from) * 1_000) / (lastLogged - startedAt);
      log({ event: 'restore_progress', entry, of: last, height, left: duration((last - entry) / rate) });
    },
    loading({ entry, position, part, parts }) {
      if (isDue()) log({ event: 'restore_progress', entry, of: position, part, parts });
    },
    skipped: (name, why) => log({ event: 'restore_base_skipped', place: location, name, reason: why }),
    making(index) {
      if (isDue()) log({ event: 'secondary_index_begun', ...index });
    },
    clock,
  });
  const lastEntry = { entry: position.id, chain: position.chain.toHex() };
  // The head that was seen may have entries that are missing there now.
  saveSeenArchive(directory, { ...lastEntry, ...loadSeenArchive(directory), location, archive });
  log({ event: 'restored', place: location, entry: position.id, height: tip?.height ?? 0 });
}

/**
 * Restores an empty data directory from an archive, or continues an interrupted restore. Existing data must be of the
 * archive's chain, and are kept. So the same command starts the server every time.
 * @throws OperatorError
 */
export async function restoreOnStart(options: StartRestore): Promise<void> {
  const { from, settings, clock, log } = options;
  const { data: directory, mode, archiveUnsigned } = settings;
  if (mode === 'read') {
    throw new OperatorError(
      '--from is given, and --mode is read.',
      'Give --from to the process that writes to the data directory.',
    );
  }
  if (!isUnfinished(directory) && fileSizes(directory).size > 0) {
    await requireSameChain(options, dataStateOf(directory));
    return;
  }
  if (archiveUnsigned)
    log({
      event: 'setup_warning',
      place: filesAt(from, directory, clock).location,
      problem: UNSIGNED,
      remedy: 'Give --archive-public-key in place of --archive-unsigned.',
    });
  await restore(options);
}
