/** What the benchmarks share: fresh processes on a core of their own. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';

export const ROOT = join(import.meta.dir, '..');
export const MAIN = join(ROOT, 'src', 'main.ts');

const MEMORY_POLL_MS = 10;
const MICROSECONDS_PER_SECOND = 1e6;

/** Whether a program can be kept on one core. */
export const canPin = process.platform === 'linux' && Bun.which('taskset') !== null && cpus().length > 1;

/** The command line that keeps a program on one core, where the system can; else the program's own. */
export const onCore = (core: 0 | 1, command: readonly string[]): string[] =>
  canPin ? ['taskset', '-c', String(core), ...command] : [...command];

/** The command line that keeps a program on the first cores, where the system can; else the program's own. */
export const onCores = (count: number, command: readonly string[]): string[] =>
  canPin ? ['taskset', '-c', `0-${count - 1}`, ...command] : [...command];

/** The command line of a TypeScript program. */
export const script = (file: string, ...args: readonly string[]): string[] => [process.execPath, file, ...args];

export interface Finished {
  /** From spawn to exit. */
  seconds: number;
  /** Processor time, of its children too. */
  cpuSeconds: number;
  /** Bytes; the peak of its resident set. */
  peakMemory: number;
  stdout: string;
}

/** The peak of a process's resident set so far. Unlike what `wait` tells, it has nothing of the parent's in it. */
function peakOf(pid: number): number {
  try {
    const found = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(found ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** Runs a program to its end in a process of its own. */
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
  /** From spawn to the line that says where it listens. */
  readyMs: number;
  /** Milliseconds of processor time that its main thread used until then; 0 where the system doesn't say. */
  readyCpuMs: number;
  /** Processor time it has used so far; 0 where the system doesn't say. */
  cpuSeconds(): number;
  /** Processor time that each of its threads has used so far, in seconds by the thread's id; empty where the system doesn't say. */
  threadSeconds(): Map<string, number>;
  /** Bytes of its resident set now; 0 where the system doesn't say. */
  memory(): number;
  /** Bytes that the process has written to the disk so far; 0 if the system does not tell. */
  written(): number;
  /** Where it accepts events; empty where it takes none. */
  events: string;
  stop(): Promise<void>;
}

const TICKS_PER_SECOND = 100;

function residentOf(pid: number): number {
  try {
    const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(found ?? 0) * 1024;
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

/** Processor time of each thread of a process, in seconds by its id. A thread that ends meanwhile has none. */
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
    // Behind the program's name, which may hold blanks: utime and stime are the 12th and 13th there.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

/** Starts a program that says where it listens: on the first line of its output, as JSON with `api`. */
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

/** Runs `work` in a new directory, which is gone afterwards. */
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

/** The commit that is checked out, where there is one; with `-dirty` where files differ from it. */
export function commit(): string {
  const { stdout, success } = Bun.spawnSync(['git', 'describe', '--always', '--abbrev=10', '--exclude=*', '--dirty'], {
    cwd: ROOT,
    stderr: 'ignore',
  });
  return success ? stdout.toString().trim() : 'unknown';
}
