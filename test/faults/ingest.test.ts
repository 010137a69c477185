/**
 * Any SQLite call may fail at any moment: an event is accepted completely or not at all, the next one is accepted without a
 * restart, and in the end index, journal and hook deliveries equal those of an undisturbed run.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { casesOf, firstSeed, timeout } from '../support/property.ts';
import { type Committed, rain, run, waysToCommit } from './disturbed-run.ts';
import { eventRange, template } from './event-range.ts';
import { never, type Plan } from './fault-store.ts';

/** Accepts the range while calls fail as planned. */
function runDisturbed(from: DataDirectory, committed: Committed, plan: Plan) {
  const result = run(from, { committed, events: eventRange, plan });
  result.directory[Symbol.dispose]();
  return result;
}

const expected = waysToCommit.map((committed) => {
  const from = template();
  return { committed, from, undisturbed: runDisturbed(from, committed, never) };
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
      const { files, failed, logged } = runDisturbed(from, committed, rain(`${committed}/${seed}`));
      expect({ seed, failed }).not.toEqual({ seed, failed: 0 });
      expect({ seed, files }).toEqual({ seed, files: undisturbed.files });
      // Logged once at the start and once at the end.
      const words = logged.filter((word) => word.startsWith('service_'));
      expect(words).toEqual(words.map((_, index) => (index % 2 === 0 ? 'service_failing' : 'service_resumed')));
    }
  };
  test('repeated failures leave the same data as an undisturbed run', disturbs, timeout);
});
