/** The engine with its commands, as the state machine of an index. */
import type { CommandRegistry } from '../store/ingest/commands.ts';
import { type Ingest, type IngestOptions, openIngest } from '../store/ingest/ingest.ts';
import type { ComposeMachine, MachineParts, StateMachine } from '../store/ingest/state-machine.ts';
import { backfillCommands } from './commands/backfills.ts';
import { deliveryCommands } from './commands/deliveries.ts';
import { hookCommands } from './commands/hooks.ts';
import { HookEngine } from './engine.ts';
import type { HookLog } from './reporting.ts';
import { retentionCommands } from './retention.ts';

/** All commands of chainhooks. Each depends only on the tables, its arguments and its time. */
const commandsOfEngine = (engine: HookEngine) => ({
  ...hookCommands(engine),
  ...backfillCommands(engine),
  ...deliveryCommands(engine),
  ...retentionCommands(engine),
});

export type HookCommands = ReturnType<typeof commandsOfEngine>;

/** Returns a command that runs with the engine's time set to the command's. */
function timed(engine: HookEngine, command: CommandRegistry[string]): CommandRegistry[string] {
  if (typeof command === 'function') return (args, time) => engine.during(time, () => command(args, time));
  return {
    batch(args, time) {
      const batch = engine.during(time, () => command.batch(args, time));
      return () => engine.during(time, batch);
    },
  };
}

const timedCommands = <R extends CommandRegistry>(engine: HookEngine, commands: R): R =>
  Object.fromEntries(Object.entries(commands).map(([type, command]) => [type, timed(engine, command)])) as R;

export type HookMachine = ReturnType<typeof hookMachine>;

/** Makes the machine. The writer calls its engine for each block, and its commands. */
export function hookMachine(parts: MachineParts, log: HookLog) {
  const engine = new HookEngine(parts, log);
  const machine = { engine, follower: engine, commands: timedCommands(engine, commandsOfEngine(engine)) };
  return machine satisfies StateMachine;
}

/** Makes a machine without log and listeners, which brings tables up to a journal's entries. */
export const silentMachine: ComposeMachine = (parts) => hookMachine(parts, () => {});

/**
 * Opens a data directory for writing with the commands of chainhooks, and brings the index up to its journal.
 * @throws OperatorError
 */
export function openWithHooks(options: Omit<IngestOptions, 'machine'> & { log: HookLog }): {
  ingest: Ingest;
  machine: HookMachine;
} {
  // openIngest makes the machine before it returns.
  let machine!: HookMachine;
  const ingest = openIngest({
    ...options,
    machine(parts) {
      machine = hookMachine(parts, options.log);
      return machine;
    },
  });
  return { ingest, machine };
}
