/**
 * Whatever call of SQLite fails at whatever moment: an event is taken whole or not at all, the next one works without a
 * restart, and in the end index, journal and what hooks are told are those of a run that nothing disturbed.
 */
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { Prng } from '../../src/devnet/prng.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { StoreUnavailableError } from '../../src/store/files/store-failure.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import type { DataDirectory } from '../support/data-directory.ts';
import { casesOf } from '../support/property.ts';
import { everything } from '../support/tables.ts';
import { type Fault, faultStore, faults, never, type Plan } from './fault-store.ts';
import { copyOf, openWithHooks, stretch, template } from './stretch.ts';

/** More than any plan here lets fail. */
const MOST_RETRIES = 1_000;

type Open = ReturnType<typeof openWithHooks>;

/** Takes an event as a node sends it: again, until it is taken. @returns how often it was not */
function send({ ingest }: Open, event: ReceivedEvent): number {
  for (let failed = 0; failed < MOST_RETRIES; failed++) {
    try {
      ingest.receive(event);
      return failed;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }
  throw new Error('the event was never taken');
}

/** What subscribers are told, in order. */
function told(directory: string): string[] {
  using db = new Database(indexPath(directory), { readonly: true });
  return db
    .query<{ told: string }, []>("SELECT kind || ' ' || hex(subject) AS told FROM changes ORDER BY id")
    .all()
    .map((row) => row.told);
}
const standing = (directory: string) => ({ ...everything(directory), told: told(directory) });

interface Run {
  files: ReturnType<typeof standing>;
  calls: number;
  failed: number;
  said: string[];
}

/** Takes the stretch while calls fail as planned. */
function run(from: DataDirectory, journal: boolean, plan: Plan): Run {
  using directory = copyOf(from);
  const store = faultStore();
  using open = openWithHooks(directory.path, { journal, connect: store.connect });
  using beside = new Database(indexPath(directory.path), { readonly: true });
  const made = beside.prepare<{ made: number }, []>('SELECT count(*) AS made FROM hook_deliveries');
  store.follow(plan);
  let failed = 0;
  for (const event of stretch) {
    const before = made.get()?.made;
    open.woken.clear();
    failed += send(open, event);
    // Whatever was queued, somebody was told to send it.
    if (made.get()?.made !== before) expect(open.woken.size).toBeGreaterThan(0);
  }
  const calls = store.calls();
  store.follow(never);
  open.ingest.close();
  return { files: standing(directory.path), calls, failed, said: open.said.map(({ event }) => event) };
}

const expected = [true, false].map((journal) => {
  const from = template(journal);
  return { journal, from, undisturbed: run(from, journal, never) };
});
afterAll(() => {
  for (const { from } of expected) from[Symbol.dispose]();
});

/** Faults of chance, some hundred calls apart: far enough for an event to be taken between two of them. */
function rain(seed: string): Plan {
  const prng = new Prng(`faults/${seed}`);
  const gap = () => (prng.chance(0.2) ? prng.between(1, 30) : prng.between(30, 3_000));
  let next = gap();
  return ({ number }) => {
    if (number < next) return null;
    next = number + gap();
    return faults[prng.below(faults.length)] ?? null;
  };
}

const once =
  (at: number, fault: Fault): Plan =>
  ({ number }) =>
    number === at ? fault : null;

describe.each(expected)('journal: $journal', ({ journal, from, undisturbed }) => {
  test('the stretch has what is to be held: forks, deliveries that take blocks back, transactions that wait', () => {
    expect(undisturbed.failed).toBe(0);
    expect(undisturbed.said).toContain('block_reverted');
    expect(undisturbed.files.index.hook_deliveries!.filter((row) => row.includes('rollback')).length).toBeGreaterThan(
      3,
    );
    expect(undisturbed.files.index.mempool_transactions!.length).toBeGreaterThan(5);
    expect(undisturbed.files.journal.filter(({ path }) => path === '/stackerdb_chunks').length > 3).toBe(journal);
  });

  test('calls that fail again and again leave what a run leaves that nothing disturbed', () => {
    for (let seed = 0; seed < casesOf(2); seed++) {
      const { files, failed, said } = run(from, journal, rain(`${journal}/${seed}`));
      expect({ seed, failed }).not.toEqual({ seed, failed: 0 });
      expect({ seed, files }).toEqual({ seed, files: undisturbed.files });
      // Said once when it began, and once when it was over.
      const words = said.filter((word) => word.startsWith('writes_'));
      expect(words).toEqual(words.map((_, index) => (index % 2 === 0 ? 'writes_failing' : 'writes_resumed')));
    }
  });

  test('one call that fails, whichever and however, leaves the same', () => {
    const wanted = Math.min(undisturbed.calls, casesOf(6));
    for (let sample = 0; sample < wanted; sample++) {
      const at = Math.floor(((sample + 0.5) * undisturbed.calls) / wanted);
      const fault = faults[sample % faults.length]!;
      const { files } = run(from, journal, once(at, fault));
      expect({ at, fault, files }).toEqual({ at, fault, files: undisturbed.files });
    }
  });
});
