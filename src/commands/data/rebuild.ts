/** `stackside rebuild`: makes a new index from the journal. */
import { silentMachine } from '../../hooks/machine.ts';
import { createLog } from '../../log.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { sendManyIn } from '../../settings/data.ts';
import { trimmedIn } from '../../store/files/journal.ts';
import type { OlderEntries } from '../../store/files/older-entries.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import { type RebuildOptions, rebuildIndex, rebuildIndexAhead } from '../../store/ingest/rebuild.ts';
import { secondaryIndexReport } from '../cli/progress.ts';
import { withArchive } from './archived-entries.ts';
import { readAhead, threadsOf } from './read-ahead.ts';

/** Options of a rebuild. */
interface RebuildCommand {
  /** Whether data that the journal lacks may be lost. */
  force: boolean;
  /** Whether another process may serve the present index meanwhile. */
  beside: boolean;
}

/** Replays a journal that threads read ahead. */
async function replayed(ingest: Ingest, directory: string, threads: number): Promise<void> {
  const { chainId, sendMany } = ingest.chainFacts();
  const source = { directory, upTo: ingest.lastEntry() };
  for await (const entries of readAhead({ source, chainId, sendMany }, threads)) ingest.replay(entries);
}

/**
 * Threads that read ahead read the journal alone: what an archive has instead is read by a thread of its own, as much of it as the
 * writer takes. A server may trim its journal meanwhile.
 */
const threadsFor = (settings: SettingsOf<'rebuild'>, beside: boolean, older: OlderEntries | null): number =>
  older !== null && (beside || trimmedIn(settings.data) > 0) ? 0 : threadsOf(settings);

/** Makes a new index from the journal, and from the archive what the journal lacks. */
export const runRebuild = (settings: SettingsOf<'rebuild'>, given: RebuildCommand): Promise<void> =>
  withArchive(settings, (older) => rebuiltWith(settings, given, older));

async function rebuiltWith(
  settings: SettingsOf<'rebuild'>,
  { force, beside }: RebuildCommand,
  older: OlderEntries | null,
): Promise<void> {
  const { making, done } = secondaryIndexReport();
  const options: RebuildOptions = {
    making,
    directory: settings.data,
    chainId: null,
    sendMany: sendManyIn(settings),
    machine: silentMachine,
    log: createLog(settings.logLevel),
    force,
    beside,
    older,
  };
  const threads = threadsFor(settings, beside, older);
  const { tipHeight, isInstalled } =
    threads === 0
      ? rebuildIndex(options)
      : await rebuildIndexAhead(options, (ingest) => replayed(ingest, settings.data, threads));
  done();
  process.stdout.write(
    isInstalled
      ? `The index is at height ${tipHeight}.\n`
      : `The new index is at height ${tipHeight}. The running server puts it in its place within seconds, and starts anew.\n`,
  );
}
