/**
 * Runs inspections of the index, and SQL queries of the operator, while a server runs. Each is a separate process: a SQLite
 * call that reads for an hour can't be interrupted in a thread, while a process that only reads can be killed at any moment.
 */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type Queries, type QueryRequest, SQL_LIMITS } from '../../api/stackside/sql.ts';
import {
  CheckFinding,
  type InspectionKind,
  type Inspections,
  type InspectionsState,
  TableSize,
} from '../../api/stackside/system.ts';
import type { Clock } from '../../base/clock.ts';
import { EXIT } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { parsedJson } from '../../base/json.ts';
import { ApiError } from '../../http/errors.ts';
import type { OwnProcess, StartOwnProcess } from '../cli/this-program.ts';
import { SqlLine, type SqlRequest } from '../query/sql.ts';

const Step = Type.Object({ number: Type.Integer(), of: Type.Integer(), name: Type.String(), detail: Type.String() });

const lineOf = <T extends TSchema>(item: T) => Type.Union([Type.Object({ at: Step }), Type.Object({ found: item })]);
const CheckLine = lineOf(CheckFinding);
const TableLine = lineOf(TableSize);
/** A line of `stackside check --json`. */
export type CheckLine = Static<typeof CheckLine>;
/** A line of `stackside status --tables --json`. */
export type TableLine = Static<typeof TableLine>;

type Check = NonNullable<InspectionsState['check']>;
type Tables = NonNullable<InspectionsState['tables']>;

const UNKNOWN_LINE = 'The process printed an unexpected line. If the executable was replaced, restart the server.';
const ENDED_EARLY = 'The process ended before its work was done.';
/** Characters of a stored error text. */
const MAX_PROBLEM = 1_000;

const problemOf = (errors: string): string => errors.trim().slice(-MAX_PROBLEM) || ENDED_EARLY;

export interface InspectionsOptions {
  directory: string;
  clock: Pick<Clock, 'now'>;
  start: StartOwnProcess;
}

/** Makes the inspections of a server. @returns them, and a function that ends the running one */
export function inspections({ directory, clock, start }: InspectionsOptions): Inspections & { stop(): Promise<void> } {
  const newest: InspectionsState = { check: null, tables: null };
  let running: { inspection: Check | Tables; process: OwnProcess; over: Promise<void> } | null = null;
  const seconds = (): number => Math.floor(clock.now() / 1_000);

  /** Parses a line. @returns whether it has the command's format */
  function addLine(inspection: Check | Tables, line: string): boolean {
    const message = parsedJson(line);
    if ('findings' in inspection) {
      if (!Value.Check(CheckLine, message)) return false;
      if ('at' in message) inspection.progress = message.at;
      else inspection.findings.push(message.found);
    } else {
      if (!Value.Check(TableLine, message)) return false;
      if ('at' in message) inspection.progress = message.at;
      else inspection.sizes.push(message.found);
    }
    return true;
  }

  async function follow(process: OwnProcess, inspection: Check | Tables): Promise<void> {
    for await (const line of process.lines) {
      if (addLine(inspection, line)) continue;
      inspection.problem = UNKNOWN_LINE;
      process.kill();
      break;
    }
    const { code, errors } = await process.ended;
    inspection.ended_at = seconds();
    inspection.progress = null;
    running = null;
    if (inspection.state === 'cancelled') return;
    const isDone = inspection.problem === null && (code === 0 || code === EXIT.difference);
    inspection.state = isDone ? 'done' : 'failed';
    if (!isDone) inspection.problem ??= problemOf(errors);
  }

  function cancel(): boolean {
    if (running === null) return false;
    running.inspection.state = 'cancelled';
    running.process.kill();
    return true;
  }

  return {
    state: () => newest,
    start(kind: InspectionKind) {
      if (running !== null) return false;
      const command = kind === 'check' ? ['check'] : ['status', '--tables'];
      const process = start([...command, '--data', directory, '--json']);
      const base = { state: 'running', started_at: seconds(), ended_at: null, progress: null, problem: null } as const;
      const inspection: Check | Tables = kind === 'check' ? { ...base, findings: [] } : { ...base, sizes: [] };
      if ('findings' in inspection) newest.check = inspection;
      else newest.tables = inspection;
      running = { inspection, process, over: follow(process, inspection) };
      return true;
    },
    cancel,
    async stop() {
      const { over } = running ?? {};
      cancel();
      await over;
    },
  };
}

const { atOnce, bytes: maxBytes, megabytes, rows: maxRowLimit } = SQL_LIMITS;

const TOO_MUCH = 'TOO_MUCH_WORK';
const LIMITED =
  'Read fewer rows by a column that an index finds (GET /stackside/v1/sql lists them), or use stackside sql or stackside export.';

function refusal({ problem, remedy, reason }: Extract<SqlLine, { refused: unknown }>['refused']): ApiError {
  if (reason === 'limit') return new ApiError(400, `${problem} ${LIMITED}`, TOO_MUCH);
  const message = `${problem} ${remedy}`;
  return reason === 'query' ? new ApiError(400, message, 'VALIDATION') : new ApiError(503, message);
}

const tooLargeError = (what: string, remedy = LIMITED): ApiError =>
  new ApiError(400, `The result has more than ${what}. ${remedy}`, TOO_MUCH);

/** The error of a cut result. @param maxRows the request's limit */
const cutError = (maxRows: number): ApiError =>
  tooLargeError(plural(maxRows, 'row'), maxRows < maxRowLimit ? `Raise max_rows, up to ${maxRowLimit}.` : LIMITED);

const tooManyQueries = (): ApiError =>
  new ApiError(429, `${atOnce} queries are running; cancel one, or wait until it ends`, 'RATE_LIMIT', {
    headers: { 'retry-after': '1' },
  });

async function readOutput({ lines, ended }: OwnProcess): Promise<{ parts: Buffer[]; cut: boolean }> {
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
    if (bytes > maxBytes) throw tooLargeError(`${maxBytes / 1e6} MB`);
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

  function begin({ query, parameters, format, maxRows, timeout }: QueryRequest): OwnProcess {
    if (running.size >= atOnce) throw tooManyQueries();
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
        const { parts, cut } = await readOutput(process);
        if (query.format !== 'json' && cut) throw cutError(query.maxRows);
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
