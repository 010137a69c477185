/**
 * Posts the events of a recording one after the other, as a node does, and prints their times. Arguments: the recording, the
 * URL, milliseconds between two events, the server's process, and the number of blocks before the measurement. After those,
 * it prints a line and waits for one.
 */
import { readFileSync } from 'node:fs';
import { postEvent } from '../../src/devnet/node-event.ts';
import { recordedEvents } from '../dataset.ts';

const [file, url, pause = '0', pid, history = '0'] = process.argv.slice(2);

/** Returns the processor time of the server's main thread so far, in nanoseconds; 0 if unknown. */
const serverTime = (): number =>
  pid === undefined ? 0 : Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]);

interface Posted {
  path: string;
  /** From the request to the response. */
  ms: number;
  /** Processor time since the previous response, including commits in between. */
  cpuMs: number;
}

async function waitForLine(): Promise<void> {
  process.stdout.write('ready\n');
  for await (const _ of process.stdin) return;
}

let [blocks, cpu, begun] = [0, 0, 0];
const posted: Posted[] = [];
for await (const { path, text: body, receivedAt } of recordedEvents(file!)) {
  const isMeasured = blocks >= Number(history);
  if (isMeasured && posted.length === 0) {
    if (history !== '0') await waitForLine();
    cpu = serverTime();
    begun = performance.now();
  }
  if (path === '/new_block') blocks += 1;
  if (isMeasured && pause !== '0') await Bun.sleep(Number(pause));
  const start = performance.now();
  await postEvent({ path, body, time: receivedAt / 1000 }, url!);
  if (!isMeasured) continue;
  const ms = performance.now() - start;
  const now = serverTime();
  posted.push({ path, ms, cpuMs: (now - cpu) / 1e6 });
  cpu = now;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function timesOf(events: readonly Posted[]) {
  const times = events.map(({ ms }) => ms).sort((a, b) => a - b);
  const quantile = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? 0;
  return {
    events: events.length,
    medianMs: quantile(0.5),
    p99Ms: quantile(0.99),
    mostMs: quantile(1),
    cpuMs: sum(events.map(({ cpuMs }) => cpuMs)),
    mostCpuMs: Math.max(0, ...events.map(({ cpuMs }) => cpuMs)),
  };
}
export type PostedTimes = ReturnType<typeof timesOf>;

const kinds = [...Map.groupBy(posted, ({ path }) => path)].sort(([a], [b]) => (a < b ? -1 : 1));
process.stdout.write(
  JSON.stringify({
    seconds: sum(posted.map(({ ms }) => ms)) / 1000,
    /** Including the pauses between events. */
    elapsedSeconds: (performance.now() - begun) / 1000,
    ...timesOf(posted),
    kinds: Object.fromEntries(kinds.map(([path, events]) => [path, timesOf(events)])),
  }),
);
