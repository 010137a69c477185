/** Starts and measures processes, each on one core. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DirectoryStatus } from '../src/store/files/status.ts';

export const ROOT = join(import.meta.dir, '..');
/** The environment variable with the directory of another revision whose program is measured. */
export const MEASURED = 'BENCH_MEASURED';
/** The tree of the program that is measured. */
export const TREE = process.env[MEASURED] ?? ROOT;
export const MAIN = join(TREE, 'src', 'main.ts');

const MEMORY_POLL_MS = 10;
const MICROSECONDS_PER_SECOND = 1e6;

/** Whether this system can pin a process to a core. */
export const canPin = process.platform === 'linux' && Bun.which('taskset') !== null && cpus().length > 1;

/** Returns a command line that pins a program to one core, if the system supports that. */
export const onCore = (core: 0 | 1, command: readonly string[]): string[] =>
  canPin ? ['taskset', '-c', String(core), ...command] : [...command];

/** Returns a command line that pins a program to the first cores, if the system supports that. */
export const onCores = (count: number, command: readonly string[]): string[] =>
  canPin ? ['taskset', '-c', `0-${count - 1}`, ...command] : [...command];

/** Returns the command line of a TypeScript program. */
export const script = (file: string, ...args: readonly string[]): string[] => [process.execPath, file, ...args];

export interface Finished {
  /** From start to exit. */
  seconds: number;
  /** Processor time, including that of its children. */
  cpuSeconds: number;
  /** Peak of the resident set, in bytes. */
  peakMemory: number;
  stdout: string;
}

/** Returns the peak of a process's resident set so far. Unlike the value of `wait`, it excludes the parent's memory. */
function peakOf(pid: number): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** Runs a program to its end. */
export async function run(command: readonly string[], env = process.env): Promise<Finished> {
  const start = performance.now();
  const child = Bun.spawn([...command], { stdout: 'pipe', stderr: 'inherit', cwd: ROOT, env });
  let peakMemory = 0;
  const poll = setInterval(() => {
    peakMemory = Math.max(peakMemory, peakOf(child.pid));
  }, MEMORY_POLL_MS);
  const [stdout, code] = await Promise.all([child.stdout.text(), child.exited]);
  const seconds = (performance.now() - start) / 1000;
  clearInterval(poll);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}`);
  const usage = child.resourceUsage();
  const cpuSeconds = Number(usage?.cpuTime.total ?? 0) / MICROSECONDS_PER_SECOND;
  return { seconds, cpuSeconds, peakMemory: peakMemory || (usage?.maxRSS ?? 0), stdout };
}

export interface Server {
  url: string;
  pid: number;
  /** From start to the line with its addresses. */
  readyMs: number;
  /** Processor time of the main thread until then, in milliseconds; 0 if unknown. */
  readyCpuMs: number;
  /** Returns its processor time so far; 0 if unknown. */
  cpuSeconds(): number;
  /** Returns the processor time of each thread so far, in seconds by thread id; empty if unknown. */
  threadSeconds(): Map<string, number>;
  /** Returns its resident set in bytes; 0 if unknown. */
  memory(): number;
  /** Returns the bytes that it has written to the disk so far; 0 if unknown. */
  written(): number;
  /** The URL of its event port; empty if it accepts no events. */
  events: string;
  stop(): Promise<void>;
}

const TICKS_PER_SECOND = 100;

function residentOf(pid: number): number {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes ?? 0) * 1024;
  } catch {
    return 0;
  }
}

function writtenBy(pid: number): number {
  const io = `/proc/${pid}/io`;
  if (!existsSync(io)) return 0;
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(io, 'utf8'))?.[1] ?? 0);
}

const NANOSECONDS_PER_MILLISECOND = 1e6;
const NANOSECONDS_PER_SECOND = 1e9;

/** Returns the processor time of each thread, in seconds by thread id. A thread that just ended has none. */
function threadSecondsOf(pid: number): Map<string, number> {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return new Map();
  const seconds = readdirSync(tasks).map((id): [string, number] => {
    const file = join(tasks, id, 'schedstat');
    const nanoseconds = existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ')[0]) : 0;
    return [id, nanoseconds / NANOSECONDS_PER_SECOND];
  });
  return new Map(seconds);
}

function mainThreadMilliseconds(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / NANOSECONDS_PER_MILLISECOND;
  } catch {
    return 0;
  }
}

function cpuSecondsOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name may contain blanks. After it, utime and stime are the 12th and 13th fields.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

/** Starts a program that prints its addresses as JSON on its first line, and waits for that line. */
export async function startServer(command: readonly string[]): Promise<Server> {
  const start = performance.now();
  const child = Bun.spawn([...command], { stdout: 'pipe', stderr: 'inherit', cwd: ROOT });
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes('\n')) break;
  }
  const readyMs = performance.now() - start;
  const readyCpuMs = mainThreadMilliseconds(child.pid);
  const { api, events } = JSON.parse(text) as { api: string; events?: string | null };
  return {
    url: api,
    pid: child.pid,
    readyMs,
    readyCpuMs,
    written: () => writtenBy(child.pid),
    events: events ?? '',
    cpuSeconds: () => cpuSecondsOf(child.pid),
    threadSeconds: () => threadSecondsOf(child.pid),
    memory: () => residentOf(child.pid),
    async stop() {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

/** Reads the status of a data directory with the measured program, because the files may have another revision's version. */
export async function statusOf(directory: string): Promise<DirectoryStatus> {
  return JSON.parse((await run(script(MAIN, 'status', '--data', directory, '--json'))).stdout);
}

/** Runs `work` with a temporary directory. */
export async function withDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'stackside-bench-'));
  try {
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export const say = (line = ''): void => {
  process.stdout.write(`${line}\n`);
};

/** Returns the checked-out commit, with `-dirty` if files differ from it. */
export function commit(): string {
  const { stdout, success } = Bun.spawnSync(['git', 'describe', '--always', '--abbrev=10', '--exclude=*', '--dirty'], {
    cwd: ROOT,
    stderr: 'ignore',
  });
  return success ? stdout.toString().trim() : 'unknown';
}
