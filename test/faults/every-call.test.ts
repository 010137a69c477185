/**
 * The k-th SQLite call fails while an event is accepted: for each event, every k, with a random failure. The files equal
 * those of an undisturbed run. The suite draws a few; with STACKSIDE_RUNS=250000 each of more than 400 events is
 * accepted once for every call. STACKSIDE_SEED selects other failures.
 */
import { expect, test } from 'bun:test';
import { Prng } from '../../src/devnet/prng.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { casesOf, firstSeed } from '../support/property.ts';
import { type Committed, run, runOnCopy, waysToCommit } from './disturbed-run.ts';
import { endlessEvents, template } from './event-range.ts';
import { type Fault, faults, never } from './fault-store.ts';

/** Number of single failures to try for each way to commit. */
const FAILURES = casesOf(12);
/** Events between two copies of the files: a run goes over one section. */
const SECTION = 40;
/** Number of events without failures between two failures of a run, to show the effects of the first. */
const CALM = 2;

/** A call that fails while an event of the section is accepted for the first time. */
interface Failure {
  event: number;
  call: number;
  fault: Fault;
}

/** A part of the stream, with the result of an undisturbed run over it. */
interface Section {
  committed: Committed;
  from: DataDirectory;
  events: readonly ReceivedEvent[];
  undisturbed: ReturnType<typeof run>;
}

/** Runs over the section while the calls fail. @returns whether the files differ from those of an undisturbed run */
function outcomeOf({ committed, from, events, undisturbed }: Section, failures: readonly Failure[]) {
  const failureOf = new Map(failures.map((failure) => [failure.event, failure]));
  /** Failures that didn't happen, since their call wasn't made: an earlier failure changed which events share a commit. */
  const missed = new Set(failures);
  let next: { number: number; failure: Failure } | null = null;
  const { files } = runOnCopy(from, {
    committed,
    events,
    begins(event, calls) {
      const failure = failureOf.get(event);
      next = failure === undefined ? null : { number: calls + failure.call, failure };
    },
    plan({ number }) {
      if (number !== next?.number) return null;
      missed.delete(next.failure);
      return next.failure.fault;
    },
  });
  return { differs: !Bun.deepEquals(files, undisturbed.files), missed: [...missed] };
}

/** Whether a failure with no other before it happens, and leaves the files as they are without it. */
function survivesAlone(section: Section, failure: Failure): boolean {
  const { differs, missed } = outcomeOf(section, [failure]);
  return !differs && missed.length === 0;
}

/** Returns every call of the section with a random failure, by event, in random order. */
function failuresOf({ undisturbed: { calls } }: Section, prng: Prng): Failure[][] {
  return calls.map((count, event) =>
    prng.shuffle(Array.from({ length: count }, (_, call) => ({ event, call, fault: prng.pick(faults) }))),
  );
}

/** Removes one failure of each event that has some left, with enough distance between the events. Each turn starts at another event. */
function together(remaining: Failure[][], turn: number): Failure[] {
  const failures: Failure[] = [];
  let calmUntil = turn % (CALM + 1);
  for (const [event, ofEvent] of remaining.entries()) {
    if (event < calmUntil || ofEvent.length === 0) continue;
    failures.push(ofEvent.pop()!);
    calmUntil = event + CALM + 1;
  }
  return failures;
}

/** Tries failures of a section until none is left or the limit is reached. @returns how many */
function tryFailures(section: Section, limit: number, prng: Prng): number {
  const remaining = failuresOf(section, prng);
  let tried = 0;
  for (let turn = 0; tried < limit && remaining.some((ofEvent) => ofEvent.length > 0); turn++) {
    const failures = together(remaining, turn);
    tried += failures.length;
    if (failures.length === 0) continue;
    const { differs, missed } = outcomeOf(section, failures);
    const guilty = (differs ? failures : missed).filter((failure) => !survivesAlone(section, failure));
    if (!differs && guilty.length === 0) continue;
    throw new Error(`the remaining changes differ: ${JSON.stringify({ alone: guilty, together: failures }, null, 1)}`);
  }
  return tried;
}

test.each(waysToCommit)('one call that fails, in any way, changes nothing in the end; commits %s', (committed) => {
  const prng = new Prng(`every call/${committed}/${firstSeed}`);
  const stream = endlessEvents();
  const sum = { events: 0, calls: 0, failures: 0, reverted: 0, deliveries: 0 };
  let from = template();
  while (sum.failures < FAILURES) {
    const events = Array.from({ length: SECTION }, () => stream.next().value);
    const undisturbed = run(from, { committed, events, plan: never });
    sum.failures += tryFailures({ committed, from, events, undisturbed }, FAILURES - sum.failures, prng);
    from[Symbol.dispose]();
    from = undisturbed.directory;
    sum.events += events.length;
    sum.calls += undisturbed.calls.reduce((total, count) => total + count, 0);
    sum.reverted += undisturbed.logged.filter((event) => event === 'block_reverted').length;
    sum.deliveries = undisturbed.files.index.hook_deliveries?.length ?? 0;
    process.stderr.write(`every call (${committed}, seed ${firstSeed}): ${JSON.stringify(sum)}\n`);
  }
  from[Symbol.dispose]();
  expect(sum.reverted).toBeGreaterThan(0);
  expect(sum.deliveries).toBeGreaterThan(0);
});
