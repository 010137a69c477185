/** The thread that archives: it reads the journal by a connection of its own, so that no event waits for it. */
import { parentPort, workerData } from 'node:worker_threads';
import { Archiver } from '../../archive/archiver.ts';
import { placeAt } from '../../backup/place.ts';
import { lazy } from '../../base/cache.ts';
import { systemClock } from '../../base/clock.ts';
import { messageOfError } from '../../base/errors.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import { openJournalReader } from '../../store/files/journal.ts';
import type { ArchiveThreadStart, FromArchiveThread, ToArchiveThread } from './archiving.ts';

/** Runs rounds as the main thread asks for them, until it ends the thread. An unknown error ends the thread, too. */
export function runArchiveThread(): void {
  const port = parentPort;
  if (port === null) throw new Error('this runs in a thread of its own');
  const { directory, location } = workerData as ArchiveThreadStart;
  const say = (message: FromArchiveThread): void => port.postMessage(message);
  const archiver = lazy(
    () =>
      new Archiver({
        place: placeAt(location, directory),
        journal: openJournalReader(directory),
        clock: systemClock,
        archived: (entry) => say({ kind: 'archived', entry }),
      }),
  );
  let ending = new AbortController();
  port.on('message', async (message: ToArchiveThread) => {
    if (message.kind === 'end') return ending.abort();
    ending = new AbortController();
    try {
      await archiver().round(message.round, ending.signal);
      say({ kind: 'done' });
    } catch (error) {
      const known = operatorErrorOf(error, location);
      if (known === null) throw error;
      say({ kind: 'failed', ...messageOfError(known) });
    }
  });
}
