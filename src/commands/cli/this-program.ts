/**
 * The version of this program, whose branch and commit `build.ts` sets for a compiled executable, and how the program runs a
 * command of its own in another process.
 */
import { setPriority } from 'node:os';
import manifest from '../../../package.json' with { type: 'json' };
import { versionText } from '../../http/respond.ts';

declare const STACKSIDE_BRANCH: string | undefined;
declare const STACKSIDE_COMMIT: string | undefined;

/** The version text in the `X-API-Version` header, in `server_version` and of `--version`. */
export const serverVersion = versionText(
  manifest.version,
  typeof STACKSIDE_BRANCH === 'undefined' ? 'source' : STACKSIDE_BRANCH,
  typeof STACKSIDE_COMMIT === 'undefined' ? 'local' : STACKSIDE_COMMIT,
);

/** A command that runs. */
export interface OwnProcess {
  /** The lines that it prints. */
  lines: AsyncIterable<string>;
  /** Resolves once it ended: to its exit code, null where a signal ended it, and to what it wrote to stderr. */
  ended: Promise<{ code: number | null; errors: string }>;
  /** Ends it at once. */
  kill(): void;
}

/** @param args the command and its options */
export type StartOwnProcess = (args: readonly string[]) => OwnProcess;

/** What starts this program: the executable, or Bun with the source. */
export const program = (): string[] =>
  typeof STACKSIDE_COMMIT === 'undefined'
    ? [process.execPath, '--no-env-file', new URL('../../main.ts', import.meta.url).pathname]
    : [process.execPath];

/** The niceness of a process that must not be in the way of the server. */
const LOW_PRIORITY = 10;

/** The whole lines of a stream: a process that is ended may leave a part of one. */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}

/** Starts a command of this program with low priority. */
export const startOwnProcess: StartOwnProcess = (args) => {
  const child = Bun.spawn([...program(), ...args], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  setPriority(child.pid, LOW_PRIORITY);
  const errors = new Response(child.stderr).text();
  return {
    lines: linesOf(child.stdout),
    ended: child.exited.then(async () => ({ code: child.exitCode, errors: await errors })),
    kill: () => child.kill('SIGKILL'),
  };
};
