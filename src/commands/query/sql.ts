/** `stackside sql`: a query of the index, from the command line, from stdin, or as a request of the server. */
import { text } from 'node:stream/consumers';
import { type Static, Type } from '@sinclair/typebox';
import { EXIT, OperatorError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import type { SqlParameter } from '../../store/sql/result.ts';
import { isClosedOutput, printError, writeOutput } from '../cli/output.ts';
import type { Encoding } from './formats.ts';
import { BYTES_PER_MEGABYTE, requireReadable, type SqlOptions } from './options.ts';
import { printHistory, QueryLimitError, runQuery } from './run.ts';

const cutError = (rows: number): OperatorError =>
  new OperatorError(
    `The result has more rows. Only the first ${rows} are shown.`,
    'Raise --max-rows, or write the whole result with stackside export --query.',
  );

async function queryOnce(directory: string, sql: string, options: SqlOptions): Promise<void> {
  const { json, timeout, maxMemory, maxRows } = options;
  const format = json ? 'json' : options.format;
  requireReadable(format, process.stdout.isTTY);
  const start = { directory, source: { sql }, format, maxRows, printable: process.stdout.isTTY };
  const limits = { seconds: timeout, bytes: maxMemory * BYTES_PER_MEGABYTE };
  const end = await runQuery(start, limits, writeOutput);
  printHistory(end);
  if (end.cut) throw cutError(end.rows);
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
    else if (!isClosedOutput(error)) throw error;
  }
  process.exit();
}

/** A request, as the server writes it to stdin. Its limits are options of the command. */
export interface SqlRequest {
  query: string;
  parameters: readonly SqlParameter[];
  format: Encoding;
}

/** A line on stdout: a part of the result in base64, the end of the result, or the reason for a failure. */
export const SqlLine = Type.Union([
  Type.Object({ part: Type.String() }),
  Type.Object({ end: Type.Object({ rows: Type.Integer(), cut: Type.Boolean() }) }),
  Type.Object({
    refused: Type.Object({
      problem: Type.String(),
      remedy: Type.String(),
      reason: Type.Union([Type.Literal('query'), Type.Literal('limit'), Type.Literal('passes')]),
    }),
  }),
]);
export type SqlLine = Static<typeof SqlLine>;

const print = (line: SqlLine): Promise<void> => writeOutput(`${JSON.stringify(line)}\n`);

/** Whether the query is wrong, a limit was reached, or the same query may succeed later. */
function reasonOf(error: OperatorError): 'query' | 'limit' | 'passes' {
  if (error instanceof QueryLimitError) return 'limit';
  return error.exitCode === EXIT.temporary ? 'passes' : 'query';
}

/** Bytes of a line's part. */
const PART_BYTES = 1 << 16;

/** Runs the request on stdin, and ends the process, since nothing else stops a thread that runs SQLite. */
export async function runRequest(
  directory: string,
  { timeout, maxMemory, maxRows }: Pick<SqlOptions, 'timeout' | 'maxMemory' | 'maxRows'>,
): Promise<never> {
  const { query, parameters, format } = parsedJson(await text(process.stdin)) as SqlRequest;
  const source = { sql: query, parameters, onlyViews: true };
  try {
    const { rows, cut } = await runQuery(
      { directory, source, format, maxRows, printable: false },
      { seconds: timeout, bytes: maxMemory * BYTES_PER_MEGABYTE },
      async (bytes) => {
        for (let offset = 0; offset < bytes.length; offset += PART_BYTES)
          await print({ part: Buffer.from(bytes.subarray(offset, offset + PART_BYTES)).toString('base64') });
      },
    );
    await print({ end: { rows, cut } });
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    await print({ refused: { problem: error.message, remedy: error.remedy, reason: reasonOf(error) } });
  }
  process.exit();
}
