/** The command line: one line per command. */
import { EXIT, OperatorError } from '../base/errors.ts';
import type { CommandName } from '../settings/setting.ts';
import { addCommand, type Declaration, OwnCommand } from './cli/command.ts';
import { serverVersion } from './cli/this-program.ts';
import {
  addArchiveCommands,
  addClusterCommands,
  backup,
  check,
  compareServers,
  exportRecording,
  importRecordings,
  rebuild,
  restore,
  sql,
  status,
} from './data/commands.ts';
import { addHookCommands } from './hooks/commands.ts';
import { addDevnetCommands, demo, doctor, openConsole, serve, simulate } from './serve/commands.ts';

/** The exit codes of all commands, with their meanings. */
export const exitCodes: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'success, or stopped by a signal'],
  [EXIT.operator, 'a problem that you must resolve; the second line is the remedy'],
  [EXIT.difference, 'check, compare, archive or cluster status found a difference or damage'],
  [EXIT.temporary, 'a temporary problem; try again'],
  [EXIT.interrupted, 'an import, export or comparison was stopped by a signal'],
];

/** The command that runs if the command line has none. */
export const DEFAULT_COMMAND: string = serve.name;

const AFTER_HELP = `
Without a command, stackside runs ${DEFAULT_COMMAND}.

Exit codes:
${exitCodes.map(([code, meaning]) => `  ${String(code).padEnd(3)}  ${meaning}`).join('\n')}

Examples:
  stackside demo
  stackside --data /srv/stacks`;

/** A command with its subcommands. */
interface CommandEntry {
  name: string;
  add(program: OwnCommand): void;
}

const entry = <C extends CommandName, Options, Arguments extends readonly unknown[]>(
  declared: Declaration<C, Options, Arguments>,
): CommandEntry => ({ name: declared.name, add: (program) => addCommand(program, declared) });

/** The commands by task, in the order of the help. */
const groups: readonly (readonly [task: string, commands: readonly CommandEntry[]])[] = [
  ['Run a server', [entry(serve), entry(openConsole)]],
  ['See how it is doing', [entry(status), entry(doctor)]],
  [
    'Get and keep the data',
    [
      entry(importRecordings),
      entry(restore),
      entry(backup),
      { name: 'archive', add: addArchiveCommands },
      entry(exportRecording),
      entry(rebuild),
      { name: 'cluster', add: addClusterCommands },
    ],
  ],
  ['Read and verify the data', [entry(sql), entry(check), entry(compareServers)]],
  ['Manage chainhooks', [{ name: 'hooks', add: addHookCommands }]],
  ['Simulate a chain', [{ name: 'devnet', add: addDevnetCommands }, entry(demo), entry(simulate)]],
];

/**
 * Makes the program. Parsing the command line runs a command, and throws instead of ending the process.
 * @param first the first argument of the command line. If it names a command, only that one is added, since making the options
 *   of all would slow down the start
 */
export function createProgram(first?: string): OwnCommand {
  const program = new OwnCommand('stackside')
    .description('The Stacks chain-data API next to your node: one executable, one data directory.')
    .version(serverVersion)
    .addHelpText('after', AFTER_HELP)
    .exitOverride();

  const only = groups.flatMap(([, commands]) => commands).find(({ name }) => name === first);
  if (only !== undefined) only.add(program);
  else {
    for (const [task, commands] of groups) {
      program.commandsGroup(`${task}:`);
      for (const { add } of commands) add(program);
    }
  }
  return program;
}

/** The options of the program itself. Any other option at the start belongs to the default command. */
const PROGRAM_OPTIONS = new Set(['-h', '--help', '-V', '--version']);

const lacksCommand = (first: string | undefined): boolean =>
  first === undefined || (first.startsWith('-') && !PROGRAM_OPTIONS.has(first));

const isCommand = (name: string): boolean =>
  groups.some(([, commands]) => commands.some((command) => command.name === name));

/** Whether the word after `help` names no command. Commander would print the program's help instead of an error. */
const isUnknown = (name: string): boolean => name !== 'help' && !name.startsWith('-') && !isCommand(name);

/** Runs the default command. A name of a command after options is an argument, and this command takes none. */
function runDefault(args: readonly string[]): Promise<unknown> {
  const program = createProgram(DEFAULT_COMMAND);
  for (const command of program.commands) command.allowExcessArguments();
  program.hook('preAction', (_, { args: [name] }) => {
    if (name === undefined) return;
    throw new OperatorError(
      `${name} comes after an option, and stackside without a command starts a server.`,
      isCommand(name)
        ? `Options come after the command: stackside ${name} [options].`
        : 'Run stackside --help to see the commands.',
    );
  });
  return program.parseAsync([DEFAULT_COMMAND, ...args], { from: 'user' });
}

/**
 * Runs a command line.
 * @param args the arguments, without the program
 * @throws OperatorError, or CommanderError after help or the version was printed
 */
export async function runProgram(args: readonly string[]): Promise<void> {
  const [first, name] = args;
  if (first === 'help' && name !== undefined && isUnknown(name)) return runProgram([name]);
  await (lacksCommand(first) ? runDefault(args) : createProgram(first).parseAsync(args, { from: 'user' }));
}
