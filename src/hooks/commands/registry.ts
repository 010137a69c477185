/**
 * The commands of chainhooks. Each is applied inside a transaction, and does what it does by the tables, its arguments and
 * its time alone.
 */
import type { ApplyCommand, CommandRegistry, SteppedCommand } from '../../store/ingest/commands.ts';
import type { CommandTime } from '../command-time.ts';
import { advanceCommands } from './advancing.ts';
import { backfillCommands } from './backfills.ts';
import { deliveryCommands } from './deliveries.ts';
import { managementCommands } from './managing.ts';
import { markCommands } from './marks.ts';
import type { CommandParts } from './parts.ts';
import { upkeepCommands } from './upkeep.ts';

/** Commands that see their own time as now, wherever it is asked for. */
function timed<R extends CommandRegistry>(commands: R, time: CommandTime): R {
  const steps = <A>(command: SteppedCommand<A>): SteppedCommand<A> => ({
    steps(args, at) {
      const step = time.at(at, () => command.steps(args, at));
      return () => time.at(at, step);
    },
  });
  const one =
    (command: ApplyCommand): ApplyCommand =>
    (args, at) =>
      time.at(at, () => command(args, at));
  return Object.fromEntries(
    Object.entries(commands).map(([type, command]) => [
      type,
      typeof command === 'function' ? one(command) : steps(command),
    ]),
  ) as R;
}

export type HookCommands = ReturnType<typeof hookCommands>;

/** All commands of chainhooks. */
export const hookCommands = (parts: CommandParts, time: CommandTime) =>
  timed(
    {
      ...managementCommands(parts),
      ...backfillCommands(parts),
      ...deliveryCommands(parts),
      ...markCommands(parts),
      ...advanceCommands(parts),
      ...upkeepCommands(parts),
    },
    time,
  );
