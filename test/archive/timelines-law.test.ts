/**
 * Whatever happens to the place and to those who write: each timeline has what its writers knew to be archived, is restored as its
 * log is, and nothing of another one is ever replaced.
 */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { timelinesIn, verifiedArchive } from '../../src/archive/archive.ts';
import { timelineName } from '../../src/archive/timeline.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import type { Place } from '../../src/places/files.ts';
import { s3Objects } from '../../src/places/remote.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { COMMAND_PATH } from '../../src/store/ingest/commands.ts';
import { archiverOf, DEVNET, restoredFrom } from '../support/data/archive.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { everything, journalRows } from '../support/data/tables.ts';
import { assertSeeds, Seen, timeout } from '../support/property.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';
import { fault, faulty, mortal } from '../support/servers/failing-place.ts';
import { s3Server } from '../support/servers/s3-server.ts';
import { impatientClock } from '../support/time/impatient-clock.ts';

const events = [...devnetEvents({ seed: 22, blocks: 20, transactionsPerBlock: 1, forkEvery: 6, forkDepth: 2 })].map(
  received,
);
const server = s3Server('bucket');
afterAll(() => server[Symbol.dispose]());
const place = (): Place =>
  s3Objects({ url: 's3://bucket/archive', variables: server.variables, clock: impatientClock });

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      of: fc.constant('life' as const),
      who: fc.nat(),
      events: fc.integer({ min: 0, max: 10 }),
      /** Requests after which the writer ends. */
      requests: fc.integer({ min: 1, max: 40 }),
      isDone: fc.boolean(),
      host: fc.constantFrom('one', 'two'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ of: fc.constant('restore' as const), who: fc.nat(), entry: fc.nat() }) },
);
const world = fc.record({
  /** Events and requests of the first server's first life. */
  begins: fc.integer({ min: 8, max: 20 }),
  steps: fc.array(step, { minLength: 3, maxLength: 10 }),
  faults: fc.array(fault, { minLength: 1, maxLength: 6 }),
  lack: fc.nat(2),
});

/** A server's log, which is of a timeline of its own. */
interface Log {
  directory: string;
  timeline: string;
  /** The last entry that its writers knew to be archived. */
  archived: number;
}

const seen = new Seen({
  refused: 5,
  torn: 5,
  unanswered: 5,
  late: 5,
  cut: 5,
  died: 5,
  lived: 5,
  branched: 5,
  'branched from a branch': 2,
  'several timelines from one': 2,
});

/** Tries of a restore while the server fails. */
const TRIES = 4;

/** Calls work again and again, as an operator would; at last the server doesn't fail, and lists everything. */
async function atLast<T>(work: () => Promise<T>): Promise<T> {
  const { fail, listsLack } = server;
  try {
    for (let tries = 1; ; tries++) {
      if (tries === TRIES) Object.assign(server, { fail: () => null, listsLack: 0 });
      try {
        return await work();
      } catch (error) {
        if (tries === TRIES || !(error instanceof OperatorError)) throw error;
      }
    }
  } finally {
    Object.assign(server, { fail, listsLack });
  }
}

/** Name of the timeline that begins with the last entry of a directory. */
function newTimeline(directory: string): string {
  const journal = openJournalReader(directory);
  try {
    return timelineName(journal.read(journal.lastId())!);
  } finally {
    journal.close();
  }
}

/** Objects that are never replaced, with their bytes. */
const sealed = (): Map<string, string> =>
  new Map(
    [...server.objects]
      .filter(([name]) => !/open-[^/]*$/.test(name))
      .map(([name, bytes]) => [name, Buffer.from(bytes).toString('hex')]),
  );

test(
  'each timeline is restored as its log is, and nothing is replaced',
  () =>
    assertSeeds(
      fc.asyncProperty(fc.noShrink(world), async ({ begins, steps, faults, lack }) => {
        server.clear();
        Object.assign(server, { fail: faulty(faults, seen), listsLack: lack });
        const made: DataDirectory[] = [ingestOf(events.slice(0, begins), { chainId: DEVNET })];
        const folder = (): string => {
          const directory = dataDirectory();
          made.push(directory);
          return join(directory.path, 'new');
        };
        const logs: Log[] = [{ directory: made[0]!.path, timeline: 'first', archived: 0 }];
        const left = new Map<string, number>();

        async function live(log: Log, lifetime: { requests: number; isDone: boolean; host: string }): Promise<void> {
          const dying = mortal(place(), lifetime);
          using archiver = archiverOf(log.directory, dying.place, {
            archived: (entry) => {
              log.archived = Math.max(log.archived, entry);
            },
          });
          const round = archiver.round(lifetime.host).then(
            () => 'lived' as const,
            (error: unknown) => {
              expect(error).toBeInstanceOf(OperatorError);
              return 'died' as const;
            },
          );
          seen.add(await Promise.race([round, dying.died.then(() => 'died' as const)]));
        }

        /** Restores a timeline up to an entry that is not its last one. */
        async function branch({ timeline, archived }: Log, chosen: number): Promise<void> {
          const directory = folder();
          const entry = 1 + (chosen % (archived - 1));
          await atLast(() => restoredFrom(place(), directory, { timeline, until: { entry } }));
          logs.push({ directory, timeline: newTimeline(directory), archived: 0 });
          seen.add('branched');
          if (timeline !== 'first') seen.add('branched from a branch');
          left.set(timeline, (left.get(timeline) ?? 0) + 1);
          if (left.get(timeline) === 2) seen.add('several timelines from one');
        }

        try {
          await live(logs[0]!, { requests: 1_000, isDone: true, host: 'one' });
          for (const one of steps) {
            const before = sealed();
            const log = logs[one.who % logs.length]!;
            if (one.of === 'restore') {
              if (log.archived > 1) await branch(log, one.entry);
            } else {
              const known = journalRows(log.directory).filter(({ path }) => path !== COMMAND_PATH).length;
              using open = openAt(log.directory);
              for (const event of events.slice(known, known + one.events)) {
                open.ingest.receive({ ...event, receivedAt: event.receivedAt + logs.indexOf(log) });
              }
              await live(log, one);
            }
            const after = sealed();
            for (const [name, bytes] of before) expect([name, after.get(name)]).toEqual([name, bytes]);
          }
          Object.assign(server, { fail: () => null, listsLack: 0 });
          for await (const { fault: found } of verifiedArchive(place())) expect(found).toBeNull();
          const { timelines } = await timelinesIn(place());
          for (const { directory, timeline, archived } of logs) {
            if (archived === 0) continue;
            expect(timelines.map(({ name }) => name)).toContain(timeline);
            const into = folder();
            const last = await restoredFrom(place(), into, { timeline });
            expect(last).toBeGreaterThanOrEqual(archived);
            const rows = journalRows(directory);
            expect(journalRows(into)).toEqual(rows.slice(0, last));
            if (last === rows.length) expect(everything(into)).toEqual(everything(directory));
            else {
              const checks = checkAndRecount(into, { deep: silentMachine });
              expect(checks.filter(({ problems }) => problems.length > 0)).toEqual([]);
            }
          }
        } finally {
          for (const directory of made) directory[Symbol.dispose]();
        }
      }),
      { seen, cases: 10 },
    ),
  timeout,
);
