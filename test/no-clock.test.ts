/** Tests wait for events and never for time to pass. None has a time limit that a busy machine could exceed. */
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Code that reads the clock, waits for it or sets a time limit. Comments and programs in strings count as well. */
const clocks = new RegExp(
  [
    /\bsleep(Sync)?\b/,
    /\bset(Timeout|Interval)\b/,
    /\btimers\/promises\b/,
    /\bscheduler\b/,
    /\bAbortSignal\.timeout\b/,
    /\bDate\.now\b/,
    /\bnew Date\(\)/,
    /\bDate\(\)/,
    /\bperformance\b/,
    /\bhrtime\b/,
    /\bnanoseconds\b/,
    /\bcpuUsage\b/,
    /\bsystemClock\.(?!turn\()\w+\(/,
    /\bpause\b.*\/clock\.ts/,
    // A test's time limit: as an option, and as the last argument.
    /\btimeout\s*[:=]\s*\d/,
    /\},\s*\d[\d_]{2,}\s*,?\s*\)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

/** The uses that a file may have, with the reason. */
const allowed: Readonly<Record<string, { use: readonly string[]; because: string }>> = {
  'support/time/until.ts': {
    use: ['sleep'],
    because: 'a moment passes between two looks at a condition; looks are counted',
  },
  'support/time/moment.ts': { use: ['sleep'], because: 'nothing depends on the progress of another process' },
  'support/time/held-clock.ts': {
    use: ['systemClock.after(', 'systemClock.every('],
    because: "a timer that the clock doesn't hold is passed on",
  },
  'base/clock.test.ts': { use: ['systemClock.every('], because: 'the test is about this clock' },
  'hooks/delivery-rules.test.ts': {
    use: ['systemClock.after('],
    because: "a timer that the clock doesn't hold is passed on",
  },
  'faults/hook-changes.test.ts': { use: ['scheduler'], because: 'promises are put in order by it, and by no clock' },
  'faults/hostile/witness.ts': {
    use: ['AbortSignal.timeout', 'performance'],
    because:
      'the time of a busy machine is subtracted from a response time, and the test must notice a server that hangs',
  },
  'e2e/cluster-hosts.ts': {
    use: ['performance'],
    because: 'how long a node waited is printed, and nothing is expected of it',
  },
  'mutants/run.ts': {
    use: ['performance', 'setInterval'],
    because: 'a changed program may hang, and only a time limit finds that',
  },
  'operations/operations.test.ts': {
    use: ['systemClock.monotonic('],
    because: 'its clock may run on, and jumps by whole minutes',
  },
  'operations/sql.test.ts': { use: ['timeout: 1'], because: 'a query without an end reaches its limit on any machine' },
  'console/receivers.test.ts': {
    use: ['Date.now'],
    because: 'receivers in other processes compare it with their clock, with minutes to spare',
  },
  'support/stand-in-engine.ts': {
    use: ['new Date()'],
    because: 'like the real engine, it begins with the present time',
  },
  'codec/malformed.test.ts': { use: ['cpuUsage'], because: 'this time stands still while other processes run' },
};
/** This file, which contains the rejected words. */
const THIS_FILE = 'no-clock.test.ts';

/** Returns the words of a text that refer to the clock. */
const clocksIn = (text: string): string[] => [...text.matchAll(clocks)].map(([words]) => words);

test('tests and their helpers read no clock', () => {
  const files = readdirSync(import.meta.dir, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.[cm]?[jt]sx?$/.test(file) && file !== THIS_FILE,
  );
  const used = files.flatMap((file) => {
    const words = new Set(clocksIn(readFileSync(join(import.meta.dir, file), 'utf8')));
    return words.size === 0 ? [] : [[file, [...words].sort()] as const];
  });
  // A permission that is no longer used must be removed.
  expect(Object.fromEntries(used)).toEqual(
    Object.fromEntries(Object.entries(allowed).map(([file, { use }]) => [file, [...use].sort()])),
  );
});

test.each([
  'await Bun.sleep(30);',
  "import { setTimeout as wait } from 'node:timers/promises';",
  'const { setInterval: again } = globalThis;',
  'sleepSync(5)',
  "import { sleep as wait } from 'bun';",
  'const start = performance.now();',
  'const { now } = Date; Date.now',
  'new Date().getTime()',
  'process.hrtime.bigint()',
  'signal: AbortSignal.timeout(150)',
  'await systemClock.after(5, call)',
  "import { pause } from '../../src/base/clock.ts';",
  'const timeout = 5_000;',
  '}, 10_000);',
  '{ timeout: 600 }',
])('refused: %s', (text) => {
  expect(clocksIn(text)).not.toEqual([]);
});

test.each([
  'socket.pause()',
  'timeoutMs: 30',
  'clock: systemClock',
  'await systemClock.turn()',
  'until(() => heard === 1)',
  "new Date('2027-01-15')",
])('allowed: %s', (text) => {
  expect(clocksIn(text)).toEqual([]);
});
