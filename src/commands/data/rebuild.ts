/** `stackside rebuild`: makes a new index from the journal. */
import type { HookDefinition } from '../../hooks/definition/definition.ts';
import { silentMachine } from '../../hooks/machine.ts';
import { createLog } from '../../log.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { sendManyIn } from '../../settings/data.ts';
import type { LostHook } from '../../store/hooks/earlier-hooks.ts';
import { rebuildIndex } from '../../store/ingest/rebuild.ts';
import { writeNow } from '../cli/output.ts';
import { secondaryIndexReport } from '../cli/progress.ts';

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

/** Makes a new index from the journal. */
export function runRebuild(settings: SettingsOf<'rebuild'>, { force, beside }: RebuildCommand): void {
  const { making, done } = secondaryIndexReport();
  const { tipHeight, isInstalled } = rebuildIndex({
    making,
    directory: settings.data,
    chainId: null,
    sendMany: sendManyIn(settings),
    machine: silentMachine,
    log: createLog(settings.logLevel),
    force,
    beside,
    lost: printLost,
  });
  done();
  process.stdout.write(
    isInstalled
      ? `The index is at height ${tipHeight}.\n`
      : `The new index is at height ${tipHeight}. The running server puts it in its place within seconds, and starts anew.\n`,
  );
}
