/**
 * The whole server as a host of a cluster, in the world of `test/simulation`: hooks, deliveries, clients and readers while
 * the log takes its time for each event, and is now and then not reached. STACKSIDE_RUNS sets how many seeds are tried.
 */
import { test } from 'bun:test';
import fc from 'fast-check';
import { cases } from '../simulation/case.ts';
import { run } from '../simulation/run.ts';
import { assertSeeds, Seen } from '../support/property.ts';

/** The log matters at each event, not for the length of a chain. */
const SHORT_CHAIN = { stream: fc.nat(15), quarters: fc.integer({ min: 1, max: 2 }) };

test('under any disturbances, the laws of a server hold for a host of a cluster in the end', async () => {
  const seen = new Seen({ 'events of the trace': 20 });
  await assertSeeds(
    fc.asyncProperty(cases(SHORT_CHAIN), async (example) => {
      seen.add('events of the trace', (await run({ ...example, shared: true })).length);
    }),
    { seen, cases: 1, shrinkFor: 60_000 },
  );
});
