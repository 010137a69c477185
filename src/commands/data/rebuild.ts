/** `stackside rebuild`: makes a new index from the journal. */
import type { HookDefinition } from '../../hooks/definition/definition.ts';
import { silentMachine } from '../../hooks/machine.ts';
import { createLog } from '../../log.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { sendManyIn } from '../../settings/data.ts';
import { trimmedIn } from '../../store/files/journal.ts';
import type { OlderEntries } from '../../store/files/older-entries.ts';
import type { LostHook } from '../../store/hooks/earlier-hooks.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import { type RebuildOptions, rebuildIndex, rebuildIndexAhead } from '../../store/ingest/rebuild.ts';
import { writeNow } from '../cli/output.ts';
import { secondaryIndexReport } from '../cli/progress.ts';
import { withArchive } from './archived-entries.ts';
import { readAhead, threadsOf } from './read-ahead.ts';

/** A chainhook's definition for `stackside hooks add`: one line of JSON. */
export function definitionLine({ definition, isEnabled }: LostHook): string {
  const { options, ...rest } = JSON.parse(definition) as HookDefinition;
  return JSON.stringify({ ...rest, options: { ...options, enable_on_registration: isEnabled } });
}

/** Prints chainhooks for `stackside hooks add`: definitions on stdout, one per line, and their consumers on stderr. */
function printLost(hooks: readonly LostHook[]): void {
  process.stderr.write(
    'These chainhooks were not made by entries of the journal, so the new index lacks them. Register each with stackside hooks add.\n',
  );
  for (const hook of hooks) {
    process.stderr.write(`stackside hooks add - --consumer ${hook.consumer}\n`);
    writeNow(`${definitionLine(hook)}\n`);
  }
}

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
    lost: printLost,
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
