/**
 * The version of this program, whose branch and commit `build.ts` sets in a compiled executable; and running a command of this
 * program in another process.
 */
import { setPriority } from 'node:os';
import manifest from '../../../package.json' with { type: 'json' };
import { versionText } from '../../http/respond.ts';

declare const STACKSIDE_BRANCH: string | undefined;
declare const STACKSIDE_COMMIT: string | undefined;

/** The version in the `X-API-Version` header, in `server_version` and in `--version`. */
export const serverVersion = versionText(
  manifest.version,
  typeof STACKSIDE_BRANCH === 'undefined' ? 'source' : STACKSIDE_BRANCH,
  typeof STACKSIDE_COMMIT === 'undefined' ? 'local' : STACKSIDE_COMMIT,
);

export interface OwnProcess {
  lines: AsyncIterable<string>;
  /** Resolves at its end, with its exit code (null after a signal) and its stderr. */
  ended: Promise<{ code: number | null; errors: string }>;
  kill(): void;
}

/** @param args the command and its options @param input the text of its stdin, which is empty by default */
export type StartOwnProcess = (args: readonly string[], input?: string) => OwnProcess;

/** The command line of this program: the executable, or Bun with the source. */
const program = (): string[] =>
  typeof STACKSIDE_COMMIT === 'undefined'
    ? [process.execPath, '--no-env-file', new URL('../../main.ts', import.meta.url).pathname]
    : [process.execPath];

/** Niceness of processes that must not slow down the server. */
const LOW_PRIORITY = 10;

/** The complete lines of a stream; a killed process may leave a partial one. */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}

/** Starts commands of a program with low priority. @param command the command line of the program */
export function processesOf(command: readonly string[]): StartOwnProcess {
  return (args, input = '') => {
    const child = Bun.spawn([...command, ...args], { stdin: Buffer.from(input), stdout: 'pipe', stderr: 'pipe' });
    setPriority(child.pid, LOW_PRIORITY);
    const errors = new Response(child.stderr).text();
    return {
      lines: linesOf(child.stdout),
      ended: child.exited.then(async () => ({ code: child.exitCode, errors: await errors })),
      kill: () => child.kill('SIGKILL'),
    };
  };
}

/** Starts a command of this program with low priority. */
export const startOwnProcess: StartOwnProcess = processesOf(program());
