/** `stackside rebuild`: makes a new index from the journal. */
import { silentMachine } from '../../hooks/machine.ts';
import type { SettingsOf } from '../../settings/config.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import { beginRebuild, type RebuildOptions } from '../../store/ingest/rebuild.ts';
import { etaText, progressLines, secondaryIndexReport } from '../cli/progress.ts';
import { commandLog } from './command-log.ts';
import { readAhead, threadsOfCores } from './read-ahead.ts';

interface RebuildCommand {
  /** Whether data that the journal lacks may be lost. */
  force: boolean;
  /** Whether another process may serve the present index during the rebuild. */
  beside: boolean;
  /** Number of threads that read ahead, for tests; by default, the cores decide. */
  threads?: number;
}

async function replay(ingest: Ingest, directory: string, threads: number): Promise<void> {
  const source = { directory, upTo: ingest.lastEntry() };
  for await (const entries of readAhead({ source, chainId: ingest.chainId() }, threads)) ingest.replay(entries);
}

/** Makes a new index from the journal. */
export async function runRebuild(
  settings: SettingsOf<'rebuild'>,
  { force, beside, threads = threadsOfCores() }: RebuildCommand,
): Promise<void> {
  using lines = progressLines(process.stderr);
  const log = commandLog(settings.logLevel);
  const draw = ({ entry, of }: { entry: number; of: number }) =>
    lines.draw((seconds) => `entry ${entry} of ${of}${etaText(seconds, entry, of - entry)}`);
  const { making, done } = secondaryIndexReport(lines);
  const options: RebuildOptions = {
    making,
    directory: settings.data,
    chainId: null,
    machine: silentMachine,
    log(event) {
      if (event.event === 'replay_progress') return draw(event);
      lines.erase();
      log(event);
    },
    force,
    beside,
  };
  using rebuild = beginRebuild(options);
  if (threads > 0) await replay(rebuild.ingest, settings.data, threads);
  const { tipHeight, isInstalled } = rebuild.finish();
  done();
  process.stdout.write(
    isInstalled
      ? `The index is at height ${tipHeight}.\n`
      : `The new index is at height ${tipHeight}. The running server switches to it within seconds and restarts.\n`,
  );
}
