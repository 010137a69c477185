/** `stackside sql --request`: a query of the server, which runs it in this process and can end it at any moment. */
import { text } from 'node:stream/consumers';
import { type Static, Type } from '@sinclair/typebox';
import { EXIT, OperatorError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import type { SqlParameter } from '../../store/sql/result.ts';
import type { Encoding } from './formats.ts';
import { BYTES_PER_MEGABYTE, type SqlOptions } from './options.ts';
import { QueryLimitError, runQuery } from './run.ts';

/** A request, as the server writes it to stdin. Its limits are options of the command. */
export interface SqlRequest {
  query: string;
  parameters: readonly SqlParameter[];
  format: Encoding;
}

/** A line on stdout: a part of the result in base64, its end, or why there is none. */
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

const print = (line: SqlLine): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(`${JSON.stringify(line)}\n`, (error) => (error ? reject(error) : resolve()));
  });

/** Whether the query is wrong, a limit was reached, or the same query may succeed later. */
function reasonOf(error: OperatorError): 'query' | 'limit' | 'passes' {
  if (error instanceof QueryLimitError) return 'limit';
  return error.exitCode === EXIT.again ? 'passes' : 'query';
}

/** Bytes of a line's part. */
const PART_BYTES = 1 << 16;

/** Runs the request on stdin, and ends the process, since nothing else stops a thread that runs SQLite. */
export async function runRequest(
  directory: string,
  { timeout, maxMemory, maxRows }: Pick<SqlOptions, 'timeout' | 'maxMemory' | 'maxRows'>,
): Promise<never> {
  const { query, parameters, format } = parsedJson(await text(process.stdin)) as SqlRequest;
  const source = { sql: query, parameters, viewsAlone: true };
  try {
    const { rows, cut } = await runQuery(
      { directory, source, format, maxRows, printable: false },
      { seconds: timeout, bytes: maxMemory * BYTES_PER_MEGABYTE },
      async (bytes) => {
        for (let at = 0; at < bytes.length; at += PART_BYTES)
          await print({ part: Buffer.from(bytes.subarray(at, at + PART_BYTES)).toString('base64') });
      },
    );
    await print({ end: { rows, cut } });
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    await print({ refused: { problem: error.message, remedy: error.remedy, reason: reasonOf(error) } });
  }
  process.exit();
}
