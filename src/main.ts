#!/usr/bin/env bun
/** Runs a command; {@link runProgram} chooses it. {@link EXIT} has the exit codes. */
import { CommanderError } from 'commander';
import { EXIT, OperatorError } from './base/errors.ts';
import { guardOutput, printError } from './commands/cli/output.ts';
import { runProgram } from './commands/program.ts';

guardOutput();
try {
  await runProgram(process.argv.slice(2));
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed the help or the version.
    process.exitCode = error.exitCode === 0 ? 0 : EXIT.operator;
  } else if (error instanceof OperatorError) {
    printError(error);
  } else {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? String(error)) : String(error)}\n`);
    process.exitCode = EXIT.temporary;
  }
}
