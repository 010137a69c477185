/** A process without a free file descriptor continues: clients can hold all of them with open connections. */
import { expect, test } from 'bun:test';
import { resolve } from 'node:path';

const source = (path: string): string => resolve(import.meta.dir, '../../src', path);

/** Runs a script that calls `exhaust()`, which opens files until no descriptor is free. @returns its output */
function runLimited(script: string): string {
  const exhaust = `
    import { openSync } from 'node:fs';
    const exhaust = () => { try { for (;;) openSync('/dev/null', 'r'); } catch {} };`;
  const { stdout, stderr } = Bun.spawnSync([
    'sh',
    '-c',
    'ulimit -n 300; exec "$0" -e "$1"',
    process.execPath,
    `${exhaust}\n${script}`,
  ]);
  return stdout.toString() || stderr.toString();
}

test.if(process.platform === 'linux')('samples and metrics contain the last known memory and descriptors', () => {
  const output = runLimited(`
    import { Registry } from 'prom-client';
    import { systemClock } from '${source('base/clock.ts')}';
    import { lastHour, RequestCounts } from '${source('metrics/last-hour.ts')}';
    import { processMetrics } from '${source('metrics/server.ts')}';
    const registry = new Registry();
    processMetrics(registry);
    const hour = lastHour({ clock: systemClock, requests: new RequestCounts() });
    hour.sample();
    exhaust();
    hour.sample();
    const [first, second] = hour.samples().map(({ memoryBytes }) => memoryBytes);
    const text = await registry.metrics();
    console.log(first > 0 && first === second, text.includes('process_resident_memory_bytes ' + first));`);
  expect(output).toBe('true true\n');
});

test.if(process.platform !== 'win32')('a thread that starts fails with an error that passes', () => {
  const output = runLimited(`
    import { startThread } from '${source('base/thread.ts')}';
    exhaust();
    try {
      startThread({ module: new URL('file://${source('reading-thread.ts')}'), start: null, heard() {}, ended() {} });
    } catch (error) {
      console.log(error.name, error.message);
    }`);
  expect(output).toBe("TemporaryError A thread can't start: too many files and connections are open.\n");
});
