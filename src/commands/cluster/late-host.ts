/** A host with an empty data directory whose log was trimmed begins with the archive. */
import { existsSync } from 'node:fs';
import { restoreArchive } from '../../archive/restore.ts';
import type { Clock } from '../../base/clock.ts';
import { PassingError } from '../../base/errors.ts';
import { silentMachine } from '../../hooks/machine.ts';
import type { Log } from '../../log.ts';
import { placeAt } from '../../places/place.ts';
import type { Settings } from '../../settings/config.ts';
import { sendManyIn } from '../../settings/data.ts';
import { dataStateOf } from '../../store/files/data-state.ts';
import { indexPath, journalPath } from '../../store/files/database.ts';
import { isUnfinished } from '../../store/files/unfinished.ts';
import { LogUnavailableError } from '../../store/log/shared-log.ts';
import type { OpenLog } from './host.ts';

/** Milliseconds between two log events about progress. */
const SAID_EVERY_MS = 60_000;

/** The last trimmed entry of the log; 0 where none was. @throws PassingError where the log can't be reached */
async function trimmedEntry(url: string, prefix: string, openLog: OpenLog, clock: Clock): Promise<number> {
  const { log } = await openLog(url, { prefix, clock });
  try {
    return (await log.trimmed()).id;
  } catch (error) {
    if (!(error instanceof LogUnavailableError)) throw error;
    const remedy =
      'Start this host again once the log can be reached: its data directory is empty, and may have to begin with the archive.';
    throw new PassingError(error.message, remedy, { cause: error });
  } finally {
    await log.close();
  }
}

/**
 * Restores the archive into the data directory of a host, if that is empty and the log no longer has its first entry; goes on
 * with a restore that was interrupted. The host then follows the log, whose next entry has to follow the restored one.
 * @throws OperatorError
 */
export async function beginWithArchive(
  settings: Settings,
  { openLog, clock }: { openLog: OpenLog; clock: Clock },
  log: Log,
): Promise<void> {
  const { cluster: url, clusterPrefix, archive, data: directory, network: chainId } = settings;
  if (url === null || archive === null) return;
  const isBegun = isUnfinished(directory);
  if (!isBegun && (existsSync(indexPath(directory)) || existsSync(journalPath(directory)))) return;
  const trimmed = await trimmedEntry(url, clusterPrefix, openLog, clock);
  if (trimmed === 0) return;
  log({ event: 'host_restoring', place: archive, trimmed });
  let saidAt = clock.monotonic();
  const say = (entry: number, last: number): void => {
    if (clock.monotonic() - saidAt < SAID_EVERY_MS) return;
    saidAt = clock.monotonic();
    log({ event: 'host_restore_progress', entry, last });
  };
  await restoreArchive({
    ...{ directory, place: placeAt(archive, directory), chainId, until: null, timeline: null },
    ...{ machine: silentMachine, sendMany: sendManyIn(settings), log, turn: clock.turn, now: clock.now },
    loading: ({ entry, position }) => say(entry, position),
    report: ({ entry, last }) => say(entry, last),
    making() {},
  });
  log({ event: 'host_restored', entry: dataStateOf(directory).position.id });
}
