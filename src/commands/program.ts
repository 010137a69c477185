/** The command line, a table of contents: one line per command. */
import { Command } from 'commander';
import { EXIT } from '../base/errors.ts';
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
  sql,
  status,
  tables,
  upgrade,
} from './data-commands.ts';
import { addHookCommands } from './hooks-commands.ts';
import { demo, devnet, health, openConsole, serve, showSettings } from './server-commands.ts';
import { serverVersion } from './version.ts';

/** The exit codes of all commands, with their meaning. */
export const exitCodes: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'success, or stopped by a signal'],
  [EXIT.operator, 'a problem that only you can resolve; the second line says how'],
  [EXIT.found, 'stackside check found a difference, or stackside upgrade --check something to do first'],
  [EXIT.again, 'starting again may help'],
  [EXIT.interrupted, 'an import or export was stopped by a signal'],
];

const AFTER_HELP = `
Exit codes:
${exitCodes.map(([code, meaning]) => `  ${String(code).padEnd(3)}  ${meaning}`).join('\n')}

Example:
  stackside demo`;

/** The program. Parsing the command line runs a command, and throws instead of ending the process. */
export function createProgram(): Command {
  const program = new Command('stackside')
    .description('The Stacks chain-data API beside your node: one executable, one data directory.')
    .version(serverVersion)
    .showHelpAfterError('Try --help for what is accepted.')
    .addHelpText('after', AFTER_HELP)
    .exitOverride();

  addCommand(program, serve);
  addCommand(program, demo);
  addCommand(program, importRecordings);
  addCommand(program, exportRecording);
  addCommand(program, sql);
  addCommand(program, rebuild);
  addCommand(program, acceptJournal);
  addCommand(program, backup);
  addCommand(program, restore);
  addCommand(program, check);
  addCommand(program, tables);
  addCommand(program, status);
  addCommand(program, upgrade);
  addCommand(program, showSettings);
  addCommand(program, openConsole);
  addCommand(program, health);
  addHookCommands(program);
  addClusterCommands(program);
  addCommand(program, devnet);
  return program;
}
