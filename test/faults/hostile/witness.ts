/**
 * A normal client of a server under attack: measures whether the server answers, how long it takes, and how much memory it
 * uses.
 */
import { readdirSync, readFileSync } from 'node:fs';

const NANOSECONDS_PER_MILLISECOND = 1_000_000;
/** Time limit of an answer in milliseconds. Even a busy machine takes less, so it only ends a hang. */
const LIMIT_MS = 60_000;
const isLinux = process.platform === 'linux';

/** Returns the memory of a process in bytes, or 0 if the system doesn't report it. */
function memoryOf(pid: number): number {
  if (!isLinux) return 0;
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1_024;
}

/** Milliseconds that a thread ran, and that it could have run but had no processor. */
interface Times {
  ran: number;
  waited: number;
}

function timesOf(task: string): Times {
  const [ran = 0, waited = 0] = readFileSync(`${task}/schedstat`, 'utf8').split(' ').map(Number);
  return { ran: ran / NANOSECONDS_PER_MILLISECOND, waited: waited / NANOSECONDS_PER_MILLISECOND };
}

function timesOfThreads(pid: number): Map<string, Times> {
  const times = new Map<string, Times>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      times.set(thread, timesOf(`/proc/${pid}/task/${thread}`));
    } catch (error) {
      // It has ended.
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return times;
}

/** Reads the clocks, so that time used by a busy machine and by this process can be subtracted. */
function clocks(pid: number) {
  const time = performance.now();
  if (!isLinux) return { time, ownTime: 0, threads: new Map<string, Times>() };
  const { ran, waited } = timesOf(`/proc/self/task/${process.pid}`);
  return { time, ownTime: ran + waited, threads: timesOfThreads(pid) };
}

type Clocks = ReturnType<typeof clocks>;

/** Returns the largest advance of a clock among the server's threads between two moments. */
const advance = (clock: keyof Times, before: Clocks, after: Clocks): number =>
  Math.max(
    0,
    ...[...after.threads].map(([thread, times]) => times[clock] - (before.threads.get(thread)?.[clock] ?? 0)),
  );

/** Returns the milliseconds between two moments in which this process was idle and the server didn't wait for a processor. */
const usedByServer = (before: Clocks, after: Clocks): number =>
  after.time - before.time - (after.ownTime - before.ownTime) - advance('waited', before, after);

export interface Seen {
  /** Status codes of the answers. */
  statuses: ReadonlySet<number>;
  answers: number;
  /** Milliseconds that the server took for one answer at most. */
  slowest: number;
  /** Longest time that a server thread ran until an answer, in milliseconds; 0 if the system doesn't report it. */
  busiest: number;
  /** Growth of the process's memory since the start, in bytes. */
  growth: number;
}

/**
 * Watches a server during an attack.
 * @param ask a URL that must be answered as usual
 * @param attack the attack, which may never end if the server hangs
 * @throws Error if there is no answer, or no connection
 */
export async function watch(pid: number, ask: string, attack: Promise<unknown>): Promise<Seen> {
  const statuses = new Set<number>();
  const memory = memoryOf(pid);
  let [answers, slowest, busiest, growth, running] = [0, 0, 0, 0, true];
  const asking = (async () => {
    while (running) {
      const before = clocks(pid);
      const response = await fetch(ask, { signal: AbortSignal.timeout(LIMIT_MS) });
      await response.arrayBuffer();
      statuses.add(response.status);
      answers += 1;
      const after = clocks(pid);
      slowest = Math.max(slowest, usedByServer(before, after));
      busiest = Math.max(busiest, advance('ran', before, after));
      growth = Math.max(growth, memoryOf(pid) - memory);
    }
  })();
  try {
    await Promise.race([attack, asking]);
  } finally {
    running = false;
  }
  await asking;
  return { statuses, answers, slowest, busiest, growth };
}
