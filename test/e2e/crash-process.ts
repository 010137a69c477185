/** Stackside in a process that tests kill. */
import type { Subprocess } from 'bun';
import { command, finished } from './stackside.ts';

export type Stackside = Subprocess<'ignore', 'pipe', 'pipe'>;

export const stackside = (...args: string[]): Stackside =>
  Bun.spawn([...command, ...args], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });

/** @throws Error with the text of stderr if it failed */
export async function outputOf(child: Stackside): Promise<string> {
  const { code, stdout, stderr } = await finished(child);
  if (code !== 0) throw new Error(`stackside ended with ${code}: ${stderr}`);
  return stdout;
}

/** @returns true if the process was still running when it was killed */
export async function killAndWait(child: Stackside): Promise<boolean> {
  child.kill('SIGKILL');
  await child.exited;
  return child.signalCode === 'SIGKILL';
}
