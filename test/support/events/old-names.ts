/** Names from before the chain, added as commands of a single host. */
import { systemClock } from '../../../src/base/clock.ts';
import { commandsOf } from '../../../src/store/ingest/commands.ts';
import { type OldNameCommands, type OldNameRow, oldNameParts } from '../../../src/store/ingest/old-names.ts';
import { openAt } from '../data/ingest.ts';

/** Adds the rows to the index of a directory. */
export async function addOldNames(directory: string, rows: () => AsyncIterable<OldNameRow>): Promise<void> {
  using open = openAt(directory);
  const { run } = commandsOf<OldNameCommands>(open.ingest.commander(systemClock));
  for await (const part of oldNameParts(rows())) await run('names.add', part);
}
