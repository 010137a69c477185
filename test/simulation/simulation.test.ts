/**
 * The whole server in one process, in a world that a seed draws: whatever happens to its process, its power, its disk and
 * its network, and whatever its operator does meanwhile, the laws hold at the end. A failure prints its seed and the
 * shrunk case; put that into `casesThatOnceFailed`. STACKSIDE_RUNS sets how many seeds are tried.
 */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { assertProperty } from '../support/property.ts';
import { type Case, cases } from './case.ts';
import { run } from './run.ts';

const timeout = 24 * 3_600_000;

const casesThatOnceFailed: Case[] = [];

test(
  'whatever happens, the laws hold once all is calm',
  async () => {
    await assertProperty(
      fc.asyncProperty(cases(), async (one) => {
        await run(one);
      }),
      { cases: 5, examples: casesThatOnceFailed.map((one): [Case] => [one]) },
    );
  },
  timeout,
);

test('a run is a function of its seed', async () => {
  const [one] = fc.sample(cases(), { numRuns: 1, seed: 5 });
  if (one === undefined) throw new Error('there is no case');
  expect(await run(one)).toEqual(await run(one));
});
