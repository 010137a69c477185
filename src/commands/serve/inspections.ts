/**
 * Runs inspections of the index while a server runs. Each is a separate process: a SQLite call that reads for an hour can't be
 * interrupted in a thread, while a process that only reads can be killed at any moment.
 */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import {
  CheckFinding,
  type InspectionKind,
  type Inspections,
  type InspectionsState,
  TableSize,
} from '../../api/stackside/system.ts';
import type { Clock } from '../../base/clock.ts';
import { EXIT } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import type { OwnProcess, StartOwnProcess } from '../cli/this-program.ts';

const Step = Type.Object({ number: Type.Integer(), of: Type.Integer(), name: Type.String(), detail: Type.String() });

const lineOf = <T extends TSchema>(found: T) => Type.Union([Type.Object({ at: Step }), Type.Object({ found })]);
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
  /** The running inspection; `cancelled` is called before its process is killed. */
  let running: { process: OwnProcess; cancelled: () => void; over: Promise<unknown> } | null = null;
  const seconds = (): number => Math.floor(clock.now() / 1_000);

  /** Parses a line. @returns whether it has the command's format */
  function read(inspection: Check | Tables, line: string): boolean {
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
      if (read(inspection, line)) continue;
      inspection.problem = UNKNOWN_LINE;
      process.kill();
      break;
    }
    const { code, errors } = await process.ended;
    inspection.ended_at = seconds();
    inspection.progress = null;
    running = null;
    if (inspection.state === 'cancelled') return;
    const isDone = inspection.problem === null && (code === 0 || code === EXIT.found);
    inspection.state = isDone ? 'done' : 'failed';
    if (!isDone) inspection.problem ??= problemOf(errors);
  }

  function cancel(): boolean {
    if (running === null) return false;
    running.cancelled();
    running.process.kill();
    return true;
  }

  return {
    state: () => newest,
    start(kind: InspectionKind) {
      if (running !== null) return false;
      const command = kind === 'check' ? ['check'] : ['status', '--tables'];
      const process = start([...command, '--data', directory, '--json']);
      const begun = { state: 'running', started_at: seconds(), ended_at: null, progress: null, problem: null } as const;
      const inspection: Check | Tables = kind === 'check' ? { ...begun, findings: [] } : { ...begun, sizes: [] };
      if ('findings' in inspection) newest.check = inspection;
      else newest.tables = inspection;
      const cancelled = () => {
        inspection.state = 'cancelled';
      };
      running = { process, cancelled, over: follow(process, inspection) };
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
