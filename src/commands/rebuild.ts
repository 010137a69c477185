/** `stackside rebuild`: the index anew from the journal. */
import { silentMachine } from '../hooks/machine.ts';
import { createLog } from '../log.ts';
import type { SettingsOf } from '../settings/config.ts';
import { sendManyIn } from '../settings/data.ts';
import { rebuildIndex } from '../store/ingest/rebuild.ts';
import { listIndexReport } from './list-indexes.ts';

/** Makes the index again from the journal. @param force whether data that the journal lacks may be lost */
export function runRebuild(settings: SettingsOf<'rebuild'>, force: boolean): void {
  const { making, done } = listIndexReport();
  const { tipHeight } = rebuildIndex({
    making,
    directory: settings.data,
    chainId: null,
    sendMany: sendManyIn(settings),
    machine: silentMachine,
    log: createLog(settings.logLevel),
    force,
  });
  done();
  process.stdout.write(`The index is at height ${tipHeight}.\n`);
}
