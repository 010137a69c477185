/** The thread that reads entries of an archive, for a thread that waits for each answer or goes on meanwhile. */
import { workerData } from 'node:worker_threads';
import { ArchiveDamagedError } from '../../archive/archive.ts';
import { archivedEntries, sealedUpTo, UnfitArchiveError } from '../../archive/entries.ts';
import { lazy } from '../../base/cache.ts';
import { messageOfError } from '../../base/errors.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import { placeAt } from '../../places/place.ts';
import { lastWithheldIn } from '../../store/files/journal.ts';
import type { ArchiveAnswer, ArchiveReadingStart, ArchiveRequest } from './archived-entries.ts';

/** Answers requests until the thread is ended. */
export function runArchiveReadingThread(): void {
  const { location, directory, port, answers } = workerData as ArchiveReadingStart;
  // Made with the first answer, which says what is wrong with the location.
  const place = lazy(() => placeAt(location, directory));
  const withholds = lazy(() => lastWithheldIn(directory) !== null);
  const entries = lazy(() => archivedEntries(place(), withholds));

  async function answerOf(request: ArchiveRequest): Promise<ArchiveAnswer['answer']> {
    try {
      return request.kind === 'entries'
        ? { entries: await entries().from(request.id, request.lacked, request.most) }
        : { sealed: await sealedUpTo(place(), withholds, request.first, request.last) };
    } catch (error) {
      const known = operatorErrorOf(error, location);
      const lasts = error instanceof ArchiveDamagedError || error instanceof UnfitArchiveError;
      if (known !== null) return { ...messageOfError(known), lasts };
      return { failed: error instanceof Error ? `${error.stack}` : String(error) };
    }
  }

  port.on('message', async ({ number, request }: { number: number; request: ArchiveRequest }) => {
    const answer = await answerOf(request);
    port.postMessage({ number, answer } satisfies ArchiveAnswer);
    // Wakes the other thread if it waits.
    Atomics.add(answers, 0, 1);
    Atomics.notify(answers, 0);
  });
}
