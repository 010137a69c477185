/**
 * Any SQLite call may fail at any moment: an event is accepted completely or not at all, the next one is accepted without a
 * restart, and in the end index, journal and hook deliveries equal those of an undisturbed run.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { casesOf, firstSeed } from '../support/property.ts';
import { rain, runOnCopy, waysToCommit } from './disturbed-run.ts';
import { eventRange, template } from './event-range.ts';
import { never } from './fault-store.ts';

const expected = waysToCommit.map((committed) => {
  const from = template();
  return { committed, from, undisturbed: runOnCopy(from, { committed, events: eventRange, plan: never }) };
});
afterAll(() => {
  for (const { from } of expected) from[Symbol.dispose]();
});

describe.each(expected)('commits $committed', ({ committed, from, undisturbed }) => {
  test('the range has forks, deliveries with rollbacks, and pending transactions', () => {
    expect(undisturbed.failed).toBe(0);
    expect(undisturbed.logged).toContain('block_reverted');
    expect(undisturbed.files.index.hook_deliveries!.filter((row) => row.includes('rollback')).length).toBeGreaterThan(
      3,
    );
    expect(undisturbed.files.index.mempool_transactions!.length).toBeGreaterThan(5);
    expect(undisturbed.files.journal.filter(({ path }) => path === '/stackerdb_chunks').length > 3).toBe(true);
  });

  const disturbs = () => {
    for (let seed = firstSeed; seed < firstSeed + casesOf(2); seed++) {
      const plan = rain(`${committed}/${seed}`);
      const { files, failed, logged } = runOnCopy(from, { committed, events: eventRange, plan });
      expect({ seed, failed }).not.toEqual({ seed, failed: 0 });
      expect({ seed, files }).toEqual({ seed, files: undisturbed.files });
      // Logged once at the start and once at the end.
      const words = logged.filter((word) => word.startsWith('service_'));
      expect(words).toEqual(words.map((_, index) => (index % 2 === 0 ? 'service_failing' : 'service_resumed')));
    }
  };
  test('repeated failures leave the same data as an undisturbed run', disturbs);
});
