/**
 * Programs whose output goes to a file. After much output, Bun sometimes stops reading a child's pipe: a test that waits for
 * the end of the output then never ends.
 */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory } from '../data/data-directory.ts';

interface SpawnOptions {
  cwd?: string;
  uid?: number;
  gid?: number;
  env?: Record<string, string | undefined>;
}

/** @param use starts the program with the file for its output */
function withFile<Child extends { exited: Promise<number> }>(use: (output: number) => Child) {
  const directory = dataDirectory();
  const file = join(directory.path, 'output');
  const output = openSync(file, 'a');
  const child = use(output);
  closeSync(output);
  const printed = child.exited.then(() => {
    const text = readFileSync(file, 'utf8');
    directory[Symbol.dispose]();
    return text;
  });
  return { child, printed };
}

/** Starts a program. `printed` is all that it wrote, once it has ended. */
export const spawned = (command: string[], options: SpawnOptions) =>
  withFile((output) => Bun.spawn(command, { ...options, stdin: 'ignore', stdout: output, stderr: output }));

/** Starts a program whose stdout is read while it runs. `printed` resolves to its stderr after it has ended. */
export const spawnedWithStdout = (command: string[], options: SpawnOptions) =>
  withFile((output) => Bun.spawn(command, { ...options, stdin: 'ignore', stdout: 'pipe', stderr: output }));
