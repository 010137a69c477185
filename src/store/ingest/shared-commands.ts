/** What takes this host's commands into a log that several hosts share. */
import type { Clock } from '../../base/clock.ts';
import { placeAfter } from '../files/journal-link.ts';
import type { DataFiles } from './data-files.ts';
import type { EntryCommands, SentCommand } from './entry-commands.ts';
import type { AppendEntry, KeepEntry } from './entry-keeper.ts';
import type { Transactions } from './transactions.ts';

interface SharedCommandOptions {
  files: Pick<DataFiles, 'places'>;
  transaction: Transactions;
  commands: EntryCommands;
  keep: KeepEntry;
}

export interface TakenCommand {
  /** What the command's function returned, or whether the work of a slice is done. */
  result: unknown;
  /** Whether the host appended an entry for it. */
  isAppended: boolean;
}

/**
 * Makes what takes a command: it is applied in an open transaction, appended to the log, and committed. One that changes
 * nothing is not appended.
 */
export function commandTaker({ files: { places }, transaction, commands, keep }: SharedCommandOptions) {
  /**
   * @param receivedAt Unix microseconds
   * @returns `conflict` where the log has another entry; then nothing has changed
   * @throws what the command's function throws, and as the taker of events
   */
  return async (
    command: SentCommand,
    receivedAt: number,
    clock: Pick<Clock, 'monotonic'>,
    append: AppendEntry,
  ): Promise<TakenCommand | 'conflict'> => {
    transaction.begin();
    const head = transaction.guarded(places.current);
    const { result, event } = transaction.step(() => {
      const proposed = commands.propose(command, receivedAt, clock);
      if (proposed.event !== null) places.set(placeAfter(head, proposed.event));
      return proposed;
    });
    if (event === null) {
      transaction.rollback();
      return { result, isAppended: false };
    }
    const entry = { ...event, ...transaction.guarded(places.current) };
    return (await keep(entry, head, append)) === 'conflict' ? 'conflict' : { result, isAppended: true };
  };
}
