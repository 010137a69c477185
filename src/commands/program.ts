/** The command line, a table of contents: one line per command. */
import { Command } from 'commander';
import { addClusterCommands } from './cluster-commands.ts';
import { addCommand } from './command.ts';
import {
  acceptJournal,
  backup,
  check,
  exportRecording,
  importRecordings,
  rebuild,
  restore,
  status,
  tables,
} from './data-commands.ts';
import { addHookCommands } from './hooks-commands.ts';
import { demo, devnet, openConsole, serve, showSettings } from './server-commands.ts';
import { serverVersion } from './version.ts';

const EXIT_CODES = `
Exit codes:
  0    success, or stopped by a signal
  1    a problem that only you can resolve; the second line says how
  2    stackside check found a difference
  75   starting again may help
  130  an import or export was stopped by a signal

Example:
  stackside demo`;

/** The program. Parsing the command line runs a command, and throws instead of ending the process. */
export function createProgram(): Command {
  const program = new Command('stackside')
    .description('The Stacks chain-data API beside your node: one executable, one data directory.')
    .version(serverVersion)
    .showHelpAfterError('Try --help for what is accepted.')
    .addHelpText('after', EXIT_CODES)
    .exitOverride();

  addCommand(program, serve);
  addCommand(program, demo);
  addCommand(program, importRecordings);
  addCommand(program, exportRecording);
  addCommand(program, rebuild);
  addCommand(program, acceptJournal);
  addCommand(program, backup);
  addCommand(program, restore);
  addCommand(program, check);
  addCommand(program, tables);
  addCommand(program, status);
  addCommand(program, showSettings);
  addCommand(program, openConsole);
  addHookCommands(program);
  addClusterCommands(program);
  addCommand(program, devnet);
  return program;
}
