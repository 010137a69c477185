/** The threads that archive: they read journal and index through separate connections, so that no event waits for them. */
import { parentPort, workerData } from 'node:worker_threads';
import { Archiver } from '../../archive/archiver.ts';
import { type BaseManifest, readNewestBase } from '../../archive/base.ts';
import { type BaseWriterOptions, makeBase, retain } from '../../archive/base-writer.ts';
import { loadRequiredSigner } from '../../archive/signing.ts';
import { lazy } from '../../base/cache.ts';
import { systemClock } from '../../base/clock.ts';
import { messageOfError } from '../../base/errors.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import { objectStoreAt } from '../../storage/location.ts';
import { snapshotForBase } from '../../store/base/snapshot.ts';
import { openJournalReader } from '../../store/files/journal.ts';
import { serverVersion } from '../cli/this-program.ts';
import type {
  ArchiveNews,
  ArchiveThreadStart,
  BaseSummary,
  FromArchiveThread,
  ToArchiveThread,
} from './archive-client.ts';

const summaryOf = ({ position, height, created_at }: BaseManifest): BaseSummary => ({
  entry: position,
  height,
  madeAt: Date.parse(created_at),
});

/** Reads the newest base, and makes another one if `make` is set. @param tools the archive, and its time */
export async function runBase(
  { directory, isPublic }: Pick<ArchiveThreadStart, 'directory' | 'isPublic'>,
  tools: Pick<BaseWriterOptions, 'store' | 'clock' | 'size'>,
  { make, keepDays }: { make: boolean; keepDays: number | null },
  tell: (news: ArchiveNews) => void,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = tools;
  const newest = await readNewestBase(store);
  tell({ kind: 'newest', base: newest === null ? null : summaryOf(newest) });
  if (!make || signal.aborted) return;
  using closing = new DisposableStack();
  const journal = openJournalReader(directory);
  closing.defer(() => journal.close());
  const snapshot = closing.use(snapshotForBase(directory, isPublic));
  if (snapshot.state === null) return;
  const base = await makeBase(
    { ...tools, snapshot, journal, program: serverVersion, signal, report: (step) => tell({ kind: 'step', step }) },
    snapshot.state,
  );
  if (base === null) return;
  const { manifest, sentParts, sentBytes } = base;
  tell({ kind: 'made', base: summaryOf(manifest), sentParts, sentBytes });
  const retained = await retain({ store, keepDays, now: clock.now(), signal });
  if (retained !== null) tell({ kind: 'retained', ...retained });
}

/** Runs the rounds and bases that the main thread requests, until it ends the thread. An unknown error also ends the thread. */
export function runArchiveThread(): void {
  const port = parentPort;
  if (port === null) throw new Error('this code runs only in a separate thread');
  const start = workerData as ArchiveThreadStart;
  const { directory, location, isPublic } = start;
  const say = (message: FromArchiveThread): void => port.postMessage(message);
  const tools = lazy(() => ({ store: objectStoreAt(location, directory, isPublic), clock: systemClock }));
  const archiver = lazy(
    () =>
      new Archiver({
        ...tools(),
        journal: openJournalReader(directory),
        signer: isPublic ? loadRequiredSigner(directory) : null,
        archived: (entry) => say({ kind: 'archived', entry }),
      }),
  );
  let ending = new AbortController();
  port.on('message', async (message: ToArchiveThread) => {
    if (message.kind === 'end') return ending.abort();
    ending = new AbortController();
    try {
      if (message.kind === 'check') await tools().store.check();
      else if (message.kind === 'round') await archiver().round(message.round, ending.signal);
      else await runBase(start, tools(), message, say, ending.signal);
      say({ kind: 'done' });
    } catch (error) {
      const operatorError = operatorErrorOf(error, directory);
      if (operatorError === null) throw error;
      say({ kind: 'failed', error: messageOfError(operatorError) });
    }
  });
}
