/**
 * Runs the operator's SQL queries while a server runs. Each is a separate process, like `stackside sql`: a SQLite call that
 * works for an hour can't be interrupted in a thread, while a process that only reads can be killed at any moment.
 */
import { Value } from '@sinclair/typebox/value';
import { type AskedQuery, type Queries, SQL_LIMITS } from '../../api/stackside/sql.ts';
import { parsedJson } from '../../base/json.ts';
import { ApiError } from '../../http/errors.ts';
import type { OwnProcess, StartOwnProcess } from '../cli/this-program.ts';
import { SqlLine, type SqlRequest } from '../query/sql.ts';

const { atOnce, bytes: mostBytes, megabytes } = SQL_LIMITS;

const TOO_MUCH = 'TOO_MUCH_WORK';
const LIMITED =
  'Read fewer rows by a column that an index finds (docs/sql.md), or use stackside sql or stackside export.';
const STATUS = { query: 400, limit: 400, passes: 503 } as const;

const refusal = ({ problem, remedy, reason }: Extract<SqlLine, { refused: unknown }>['refused']): ApiError =>
  reason === 'limit'
    ? new ApiError(400, `${problem} ${LIMITED}`, TOO_MUCH)
    : new ApiError(STATUS[reason], `${problem} ${remedy}`);

const tooLarge = (what: string): ApiError =>
  new ApiError(400, `The result has more than ${what}. ${LIMITED}`, TOO_MUCH);

async function outputOf({ lines, ended }: OwnProcess): Promise<{ parts: Buffer[]; cut: boolean }> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const line of lines) {
    const message = parsedJson(line);
    if (!Value.Check(SqlLine, message)) break;
    if ('end' in message) return { parts, cut: message.end.cut };
    if ('refused' in message) throw refusal(message.refused);
    const part = Buffer.from(message.part, 'base64');
    parts.push(part);
    bytes += part.length;
    if (bytes > mostBytes) throw tooLarge(`${mostBytes / 1e6} MB`);
  }
  const { errors } = await ended;
  throw new ApiError(503, `The query process stopped before the query ended. ${errors.trim().slice(-1_000)}`.trim());
}

/** Makes the queries of a server. @returns them, and a function that ends those under way */
export function queries({
  directory,
  start,
}: {
  directory: string;
  start: StartOwnProcess;
}): Queries & { stop(): Promise<void> } {
  const running = new Set<OwnProcess>();

  function begin({ query, parameters, format, maxRows, timeout }: AskedQuery): OwnProcess {
    if (running.size >= atOnce)
      throw new ApiError(429, `${atOnce} queries are running; cancel one, or wait until it ends`);
    const request: SqlRequest = { query, parameters, format: format === 'json' ? 'rows' : format };
    const limits = { '--timeout': timeout, '--max-memory': megabytes, '--max-rows': maxRows };
    const options = Object.entries(limits).flatMap(([name, limit]) => [name, `${limit}`]);
    return start(['sql', '--request', '--data', directory, ...options], JSON.stringify(request));
  }

  return {
    async run(query, signal) {
      const process = begin(query);
      running.add(process);
      const cancel = () => process.kill();
      signal.addEventListener('abort', cancel);
      if (signal.aborted) cancel();
      try {
        const { parts, cut } = await outputOf(process);
        if (query.format !== 'json' && cut) throw tooLarge(`${query.maxRows} rows`);
        return Buffer.concat(query.format === 'json' ? [...parts, Buffer.from(`,"cut":${cut}}`)] : parts);
      } catch (error) {
        if (signal.aborted) throw new ApiError(400, 'The client closed the connection');
        throw error;
      } finally {
        signal.removeEventListener('abort', cancel);
        process.kill();
        await process.ended;
        running.delete(process);
      }
    },
    async stop() {
      for (const process of running) process.kill();
      await Promise.all([...running].map(({ ended }) => ended));
    },
  };
}
