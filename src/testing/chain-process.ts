/** The Stackside executable that runs the chain, as a child process. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { DevnetError, within } from './errors.ts';

const LOG_LINES = 20;
const STOP_LIMIT_MS = 60_000;

const STOPPED_BY_RUNNER =
  'Probably a test or a hook exceeded its time limit: bun test then stops all child processes. Raise the limit with --timeout.';

/** Variables that the executable inherits. Settings of other servers must not change the chain. */
const INHERITED = /^(path|home|userprofile|te?mp|tmpdir|systemroot|ld_library_path)$/i;

/** The line that reports that the server is ready. */
interface Ready {
  /** URL of the API. */
  api: string;
  /** The accounts of a Clarinet project. */
  accounts?: readonly { name: string; address: string }[];
}

export interface ChainProcess {
  readonly url: string;
  /** Addresses of the accounts of a Clarinet project, by name; empty for a simulated chain. */
  readonly accounts: ReadonlyMap<string, string>;
  /** Resolves when the process has ended, with the error for all later calls. */
  readonly ended: Promise<DevnetError>;
  stop(): Promise<void>;
}

/** Lets this process end while its child runs. The child ends with its stdin. */
function detach(child: ChildProcessWithoutNullStreams): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) {
    (stream as { unref?: () => void }).unref?.();
  }
}

const passedOn = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => INHERITED.test(name)));

/** Resolves with the line that reports that the server is ready. */
async function readyLine({ stdout }: ChildProcessWithoutNullStreams): Promise<Ready> {
  // The interface also reads later lines, so that the pipe doesn't fill up.
  const [line] = (await once(createInterface(stdout), 'line')) as [string];
  try {
    return JSON.parse(line) as Ready;
  } catch (cause) {
    throw new DevnetError('not_started', `The executable is not Stackside: it printed ${line}`, { cause });
  }
}

/** Returns a function that explains the end of the process: a probable cause if there is one, and the last log lines. */
function explainEnd(child: ChildProcessWithoutNullStreams): () => string {
  let text = '';
  let hint = '';
  child.once('exit', (code, signal) => {
    // Something asked the chain to end: a crash has another code or signal.
    if (code === 0 || signal === 'SIGTERM') hint = `${STOPPED_BY_RUNNER} `;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text = `${text}${chunk}`
      .split('\n')
      .slice(-LOG_LINES - 1)
      .join('\n');
  });
  return () => hint + (text.trim() === '' ? 'Its log is empty.' : `Its last log lines:\n${text.trimEnd()}`);
}

/**
 * Starts the executable, and waits until the chain is ready.
 * @throws DevnetError if the executable is missing, ends, or isn't ready at the limit
 */
export async function startProcess(
  executable: string,
  args: readonly string[],
  limitMs: number,
): Promise<ChainProcess> {
  const child = spawn(executable, args, { env: passedOn(), windowsHide: true });
  const log = explainEnd(child);
  let phase: 'starting' | 'running' | 'stopping' = 'starting';
  // Writing to a child that has ended fails. Its end is reported below.
  child.stdin.on('error', () => {});
  const ended = new Promise<DevnetError>((resolve) => {
    child.once('error', (cause: NodeJS.ErrnoException) => {
      const message = `The executable ${executable} can't be started (${cause.code ?? cause.message}). Install the package stackside, or name the executable by the option executable or the variable STACKSIDE_EXECUTABLE.`;
      resolve(new DevnetError('executable_missing', message, { cause }));
    });
    child.once('close', (code, signal) => {
      if (phase === 'stopping') return resolve(new DevnetError('stopped', 'The chain was stopped.'));
      const end = signal === null ? `ended with exit code ${code}` : `ended by ${signal}`;
      resolve(
        phase === 'starting'
          ? new DevnetError('not_started', `The chain did not start: it ${end}. ${log()}`)
          : new DevnetError('ended', `The chain ${end}. ${log()}`),
      );
    });
  });
  const failed = ended.then((error) => Promise.reject(error));
  // Nothing awaits this promise after the chain has started.
  failed.catch(() => {});
  try {
    const ready = Promise.race([readyLine(child), failed]);
    const { api: url, accounts = [] } = await within(limitMs, `the chain to start. ${executable}`, ready);
    phase = 'running';
    detach(child);
    return { url, accounts: new Map(accounts.map(({ name, address }) => [name, address])), ended, stop };
  } catch (error) {
    detach(child);
    child.kill('SIGTERM');
    throw error;
  }

  async function stop(): Promise<void> {
    phase = 'stopping';
    child.ref();
    child.stdin.end();
    try {
      await within(STOP_LIMIT_MS, 'the chain to end', ended);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }
}
