/** The program as its users run it: a child process, from source or compiled. */
import { join, resolve } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { runProgram } from '../../src/commands/program.ts';
import { spawnedWithStdout } from '../support/servers/spawned.ts';

const named = process.env.STACKSIDE_BINARY;

/** The executable that STACKSIDE_BINARY names, or null if tests run the source. */
export const executable: string | null = named === undefined ? null : resolve(named);

/**
 * Command line of the program. It disables the compilers for frequently run code, of JavaScript and of WebAssembly. They
 * use a sixth of the processor time in processes as short as these.
 */
export const command: readonly string[] = [
  ...['/usr/bin/env', 'BUN_JSC_useDFGJIT=0', 'BUN_JSC_useOMGJIT=0'],
  ...(executable === null ? [process.execPath, join(import.meta.dir, '../../src/main.ts')] : [executable]),
];

export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** Additional environment variables of a command. */
export type Environment = Record<string, string>;

/**
 * Text that a failed command wrote to stderr, or null if it succeeded. On a busy machine, successful commands write
 * their progress to stderr.
 */
export const failureOf = ({ code, stderr }: Finished): string | null =>
  code === 0 ? null : `exit code ${code}: ${stderr}`;

/** Runs a command to its end. */
export const stackside = (...args: string[]): Promise<Finished> => stacksideIn({}, ...args);

/**
 * Runs a command like the function above, with additional variables. It runs without a compiler for JavaScript, which
 * costs such a short process more than it saves.
 */
export async function stacksideIn(environment: Environment, ...args: string[]): Promise<Finished> {
  const env = { ...process.env, BUN_JSC_useBaselineJIT: '0', ...environment };
  return finished(Bun.spawn([...command, ...args], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' }));
}

/** Waits for the end of a process. @returns its exit code and its output */
export async function finished(child: Bun.Subprocess<Bun.SpawnOptions.Writable, 'pipe', 'pipe'>): Promise<Finished> {
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

/** The height of a server's newest block; 0 if it has none. */
export async function tipHeight({ api }: { api: string }): Promise<number> {
  const body = (await (await fetch(`${api}/extended`)).json()) as { chain_tip?: { block_height: number } };
  return body.chain_tip?.block_height ?? 0;
}

/** Parses a text that has JSON on each line. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into lines of every shape
export const jsonLines = (text: string): any[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** Runs a command that fails in this process. @returns the two lines of its error */
export const problemOf = (...args: string[]): Promise<string> =>
  runProgram(args).then(
    () => `stackside ${args.join(' ')} succeeded`,
    (error: unknown) => (error instanceof OperatorError ? `${error.message}\n${error.remedy}\n` : String(error)),
  );

export interface Server {
  api: string;
  events: string;
  pid: number;
  /** The exit code, once the process is gone. */
  ended: Promise<number>;
  /** Resolves when the process has exited. */
  stop(signal?: NodeJS.Signals): Promise<number>;
  /** The text of stderr, after the process ended. */
  log(): Promise<string>;
}

/** The first line of a server's output, with its addresses, or null if the process ended earlier. */
export async function readyLine(
  child: Bun.Subprocess<Bun.SpawnOptions.Writable, 'pipe', Bun.SpawnOptions.Readable>,
): Promise<{ api: string; events: string } | null> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    const end = text.indexOf('\n');
    if (end >= 0) return JSON.parse(text.slice(0, end));
  }
  return null;
}

/** Starts a command that serves, on free ports, and waits for its ready line. */
export const startServer = (name: 'serve' | 'demo' | 'devnet', ...args: string[]): Promise<Server> =>
  startServerIn({}, name, ...args);

/** Starts a command like the function above, with additional variables. */
export async function startServerIn(
  environment: Environment,
  name: 'serve' | 'demo' | 'devnet',
  ...args: string[]
): Promise<Server> {
  const { child, printed: log } = spawnedWithStdout(
    [...command, name, '--api-port', '0', '--event-port', '0', ...args],
    { env: { ...process.env, ...environment } },
  );
  const ready = await readyLine(child);
  if (ready === null) throw new Error(`no ready line: ${await log}`);
  return {
    ...ready,
    pid: child.pid,
    ended: child.exited,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      return child.exited;
    },
    log: () => log,
  };
}
