/** `stackside sql`: a query of the index, from the command line, from stdin, or one after the other at a prompt. */
import { text } from 'node:stream/consumers';
import { OperatorError } from '../../base/errors.ts';
import { closedOutput, printError } from '../cli/output.ts';
import { requireReadable, type SqlOptions } from './options.ts';
import { runQuery } from './run.ts';

const BYTES_PER_MEGABYTE = 1_000_000;

/** Writes to stdout, and waits until it was taken. */
const write = (bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
  });

const cutError = (rows: number): OperatorError =>
  new OperatorError(
    `The result has more than ${rows} rows, and the others are left out.`,
    'Raise --max-rows, or write the whole result with stackside export --query.',
  );

async function queryOnce(directory: string, sql: string, options: SqlOptions): Promise<void> {
  const { format, timeout, maxMemory, maxRows } = options;
  requireReadable(format, process.stdout.isTTY);
  const start = { directory, source: { sql }, format, maxRows, printable: process.stdout.isTTY };
  const limits = { seconds: timeout, bytes: maxMemory * BYTES_PER_MEGABYTE };
  const { rows, cut } = await runQuery(start, limits, write);
  if (cut) throw cutError(rows);
}

/**
 * Runs a query and ends the process, since a thread in which SQLite still works can't be ended otherwise.
 * @param query the query; undefined to read it from stdin
 */
async function queryAndEnd(directory: string, query: string | undefined, options: SqlOptions): Promise<never> {
  try {
    await queryOnce(directory, query ?? (await text(process.stdin)), options);
  } catch (error) {
    if (error instanceof OperatorError) printError(error);
    else if (!closedOutput(error)) throw error;
  }
  process.exit();
}

/** Runs `stackside sql`. @param query undefined where stdin has it, or a person at a terminal */
export async function runSql(directory: string, query: string | undefined, options: SqlOptions): Promise<void> {
  if (query !== undefined || !process.stdin.isTTY) await queryAndEnd(directory, query, options);
  const { runPrompt } = await import('./prompt.ts');
  await runPrompt(directory, options);
}
