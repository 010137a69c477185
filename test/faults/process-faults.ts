/**
 * Makes calls fail in the whole process: of all connections of SQLite, and of the file system. They are counted together, in
 * order.
 */
import { Database } from 'bun:sqlite';
import { spyOn } from 'bun:test';
// A namespace import: modules with named imports don't see spies on the default export.
import * as files from 'node:fs';
import { type Fault, Front, type Plan } from './fault-store.ts';

const systemCodes: Readonly<Record<Fault['code'], string>> = { full: 'ENOSPC', io: 'EIO', busy: 'EACCES' };

/** An error as `node:fs` throws it. */
function systemError(code: Fault['code'], syscall: string): Error {
  return Object.assign(new Error(`a fault: ${systemCodes[code]}, ${syscall}`), { code: systemCodes[code], syscall });
}

const { openSync, fsyncSync, renameSync, rmSync, writeFileSync, mkdirSync } = files;
const real = { openSync, fsyncSync, renameSync, rmSync, writeFileSync, mkdirSync };

/** A call of the file system that was done. */
export interface FileCall {
  name: keyof typeof real;
  /** Arguments: paths and file descriptors. */
  parameters: unknown[];
  /** Result: the file descriptor, if the call opened a file. */
  result: unknown;
}

export interface ProcessFaults extends Disposable {
  calls(): number;
  fileCalls: readonly FileCall[];
}

/** From now on all calls follow a plan, until it is disposed of. Calls of the file system have their name in place of SQL. */
export function processFaults(plan: Plan): ProcessFaults {
  const front = new Front();
  front.follow(plan);
  const fileCalls: FileCall[] = [];
  const { run, prepare } = Database.prototype;
  const rollbackOf = (db: Database) => () => run.call(db, 'ROLLBACK');
  function prepared(this: Database, sql: string, ...rest: never[]) {
    return front.passing(this, sql, rollbackOf(this), prepare.call(this, sql, ...rest));
  }
  const spies = [
    spyOn(Database.prototype, 'run').mockImplementation(function (this: Database, ...parameters: [string, ...never[]]) {
      return front.pass(this, parameters[0], rollbackOf(this), () => run.apply(this, parameters));
    } as typeof run),
    spyOn(Database.prototype, 'prepare').mockImplementation(prepared as typeof prepare),
    spyOn(Database.prototype, 'query').mockImplementation(prepared as never),
    ...(Object.keys(real) as (keyof typeof real)[]).map((name) => {
      const call = real[name] as (...parameters: unknown[]) => unknown;
      return spyOn(files, name).mockImplementation(((...parameters: unknown[]) => {
        const fault = front.fate(name, String(parameters[0]));
        if (fault !== null && fault.effect !== 'done') throw systemError(fault.code, name);
        fileCalls.push({ name, parameters, result: call(...parameters) });
        if (fault !== null && name !== 'openSync') throw systemError(fault.code, name);
        return fileCalls.at(-1)?.result;
      }) as never);
    }),
  ];
  return {
    calls: () => front.calls,
    fileCalls,
    [Symbol.dispose]() {
      for (const spy of spies) spy.mockRestore();
    },
  };
}
