/**
 * Several hosts over one log in memory, in a world that a seed draws: two nodes for each host post the same and different events
 * of a chain with forks at once, while processes end at any await, disks fail, and calls of the log are lost, late or cut.
 * At the end all hosts have the same journal and the same tables, and nothing that was acknowledged is lost. A failure
 * prints its seed and the shrunk case; put that into `casesThatOnceFailed`. STACKSIDE_RUNS sets how many seeds are tried.
 */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { assertSeeds, Seen } from '../support/property.ts';
import { type Case, cases, type Disturbance } from './case.ts';
import { run } from './run.ts';

/** Milliseconds that a broken law is shrunk for. */
const SHRINK_FOR = 60_000;

/** Shrunk cases of failures that were mended, and of mends that were reverted to see it; they are tried first. */
const casesThatOnceFailed: Case[] = [];

test('under any disturbances, all hosts reach the same state', async () => {
  const seen = new Seen({ 'events of the trace': 20, 'appends of several entries': 1 });
  await assertSeeds(
    fc.asyncProperty(cases, async (example) => {
      const { trace, groups } = await run(example);
      seen.add('events of the trace', trace.length);
      seen.add('appends of several entries', groups);
    }),
    { seen, cases: 1, examples: casesThatOnceFailed.map((example): [Case] => [example]), shrinkFor: SHRINK_FOR },
  );
});

test('a run is a function of its seed', async () => {
  const disturbances: Disturbance[] = [
    { after: 200, host: 0, befalls: 'crash_between', steps: 20, kept: 0 },
    { after: 100, host: 1, befalls: 'log_away', milliseconds: 200 },
  ];
  const sample: Case = { seed: 8, hosts: 2, late: false, stream: 0, delivering: true, lostInHundred: 12, disturbances };
  expect(await run(sample)).toEqual(await run(sample));
});
