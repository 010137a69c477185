/**
 * Servers from the system's packages (PostgreSQL, Redis, nginx, HAProxy) for tests that need a real one. A test starts a server
 * in a new directory, on the loopback. Tests never touch the servers that the system runs, or their data.
 */
import { afterAll, describe } from 'bun:test';
import { chownSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../../../src/base/errors.ts';
import { type DataDirectory, dataDirectory } from '../data/data-directory.ts';
import { until } from '../time/until.ts';
import { spawned } from './spawned.ts';

/** PostgreSQL refuses to run as root; there, servers run as nobody. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** A directory that the servers' user owns; see {@link dataDirectory}. */
export function serverDirectory(): DataDirectory {
  const directory = dataDirectory();
  if (user.uid !== undefined) chownSync(directory.path, user.uid, user.gid);
  return directory;
}

/** Debian has PostgreSQL's programs by version, and few of them in the path. */
const DEBIAN = '/usr/lib/postgresql';
const debianFolders = (): string[] =>
  existsSync(DEBIAN)
    ? readdirSync(DEBIAN)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => join(DEBIAN, version, 'bin'))
    : [];

/** Returns the path of an installed program, or null if it isn't installed. */
export function programNamed(name: string): string | null {
  // Debian's path of a user who isn't root lacks the last.
  return Bun.which(name, { PATH: [...debianFolders(), process.env.PATH ?? '', '/usr/sbin'].join(':') });
}

/** Tests that need an installed program, as one group with its name, which .ci/run counts. They are skipped without it. */
export function describeWith(
  program: 'PostgreSQL' | 'Redis' | 'nginx' | 'HAProxy' | 'curl' | 'Clarity',
  isInstalled: boolean,
  tests: () => void,
): void {
  describe.skipIf(!isInstalled)(program, tests);
  if (!isInstalled) afterAll(() => void process.stderr.write(`${program} is not installed: its tests are skipped.\n`));
}

/** Starts a program as the user that servers run as. */
const spawnAsServer = (command: string[]) => spawned(command, { ...user, cwd: '/' });

/** Runs a program of a server to its end. @throws Error with its output if it fails */
export async function runAsServer(...command: string[]): Promise<void> {
  const { child, printed } = spawnAsServer(command);
  const text = await printed;
  if (child.exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${child.exitCode}: ${text}`);
}

export interface ServerProcess {
  readonly pid: number;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/**
 * Starts a server in the foreground, and waits until it is ready.
 * @throws Error with its output if it ends before that
 */
export async function startAsServer(
  command: string[],
  isReady: () => boolean | Promise<boolean>,
): Promise<ServerProcess> {
  const { child, printed } = spawnAsServer(command);
  await until(async () => child.exitCode !== null || child.signalCode !== null || (await isReady()), command[0]);
  if (child.exitCode !== null || child.signalCode !== null) {
    throw new Error(`${command.join(' ')} ended: ${await printed}`);
  }
  return {
    pid: child.pid,
    async end(signal) {
      child.kill(signal);
      await printed;
    },
  };
}

/** Port range below the ports that systems assign to connections and to servers without a fixed port. */
const PORTS = { first: 21_000, end: 32_000 };
/** Ports of each process that runs test files. No process uses that many, so two processes never use the same port. */
const PORTS_PER_WORKER = 200;
const worker = Number(process.env.BUN_TEST_WORKER_ID ?? 0);
/** Suites that run at the same time also start at different ports. */
let next = (process.ppid * 7 + worker) * PORTS_PER_WORKER;

/** Returns a port of the loopback that nobody uses. No other process gets it before its server is started, or while it is down. */
export function freePort(): number {
  for (;;) {
    const port = PORTS.first + (next++ % (PORTS.end - PORTS.first));
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true);
      return port;
    } catch (error) {
      if (!hasCode(error, 'EADDRINUSE')) throw error;
    }
  }
}
