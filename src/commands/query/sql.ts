/** `stackside sql`: a query of the index, from the command line or from stdin. */
import { text } from 'node:stream/consumers';
import { OperatorError } from '../../base/errors.ts';
import { closedOutput, printError } from '../cli/output.ts';
import { BYTES_PER_MEGABYTE, requireReadable, type SqlOptions } from './options.ts';
import { runQuery } from './run.ts';

/** Writes to stdout; resolves when it is written. */
const write = (bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
  });

const cutError = (rows: number): OperatorError =>
  new OperatorError(
    `The result has more rows. Only the first ${rows} are shown.`,
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
 * Runs `stackside sql` and ends the process, since nothing else stops a thread that runs SQLite.
 * @param query undefined to read it from stdin
 * @throws OperatorError if there is no query and stdin is a terminal
 */
export async function runSql(directory: string, query: string | undefined, options: SqlOptions): Promise<never> {
  if (query === undefined && process.stdin.isTTY) {
    throw new OperatorError('stackside sql needs a query.', 'Pass the query as an argument, or pipe it to stdin.');
  }
  try {
    await queryOnce(directory, query ?? (await text(process.stdin)), options);
  } catch (error) {
    if (error instanceof OperatorError) printError(error);
    else if (!closedOutput(error)) throw error;
  }
  process.exit();
}
