/**
 * A restore returns the state at the archive's last entry, whatever faults the storage and the writer had. The archive
 * contains every entry that its writer reported as archived.
 */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { listBases } from '../../src/archive/base.ts';
import { OperatorError } from '../../src/base/errors.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { s3Objects } from '../../src/storage/remote.ts';
import { archiverOf, baseIn, DEVNET, restoredFrom } from '../support/data/archive.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openNew, simulatedEvents } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';
import { assertSeeds, firstSeed, Seen } from '../support/property.ts';
import { fault, faulty, mortal } from '../support/servers/failing-store.ts';
import { s3Server } from '../support/servers/s3-server.ts';
import { impatientClock } from '../support/time/impatient-clock.ts';

const events = simulatedEvents({ seed: 21, blocks: 14, transactionsPerBlock: 1, forkEvery: 6, forkDepth: 2 });
const server = s3Server('bucket');
afterAll(() => server[Symbol.dispose]());

/** The archive in a bucket, which each case starts empty. */
const store = (): ObjectStore =>
  s3Objects({ url: 's3://bucket/archive', variables: server.variables, clock: impatientClock });

const life = fc.record({
  /** Events that come before the archiver runs. */
  events: fc.integer({ min: 1, max: 12 }),
  /** Requests after which the archiver stops. */
  requests: fc.integer({ min: 1, max: 30 }),
  isDone: fc.boolean(),
  host: fc.constantFrom('one', 'two'),
  /** Requests after which a simultaneous snapshot run stops. 0 starts none. */
  base: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 160 }) }),
});

const world = fc.record({
  lives: fc.array(life, { minLength: 1, maxLength: 5 }),
  faults: fc.array(fault, { minLength: 1, maxLength: 6 }),
  /** Changes that lists lack while the writers run. */
  lack: fc.nat(3),
});

/** States by the number of their last entry, for the comparison in every case. */
const states = new Map<number, ReturnType<typeof everything>>();
function stateAt(entry: number): ReturnType<typeof everything> {
  const cached = states.get(entry);
  if (cached !== undefined) return cached;
  using open = openNew({ chainId: DEVNET });
  for (const event of events) {
    if (open.ingest.lastEntry() === entry) break;
    open.ingest.apply(event);
    open.ingest.commit();
  }
  open.ingest.close();
  const state = everything(open.directory);
  states.set(entry, state);
  return state;
}

/** Number of tries of a restore. In the last one the server doesn't cut bodies. */
const TRIES = 4;

/**
 * Restores while the server fails, and retries as an operator would.
 * @returns the last entry, or 0 if nothing is archived
 */
async function restoredAtLast(path: string): Promise<number> {
  for (let tries = 1; ; tries++) {
    if (tries === TRIES) server.fail = () => null;
    try {
      return await restoredFrom(store(), path);
    } catch (error) {
      const { message } = error as OperatorError;
      if (message.startsWith('No archive found') || message.endsWith('is still empty.')) return 0;
      if (tries === TRIES) throw error;
      expect(message).toContain('is damaged: ');
    }
  }
}

/** Makes a snapshot, which may stop at any request, or fail. */
async function tryBase(directory: string, dying: ReturnType<typeof mortal>): Promise<void> {
  const ending = new AbortController();
  const base = baseIn(directory, dying.store, { signal: ending.signal }).then(
    (base) => (base === null ? 'no base' : 'base'),
    (error: unknown) => {
      if (!(error instanceof OperatorError)) expect((error as Error).message).toContain('nothing to make a base of');
      return 'no base' as const;
    },
  );
  seen.add(await Promise.race([base, dying.died.then(() => 'base died' as const)]));
  ending.abort();
}

const seen = new Seen({
  base: 1,
  'base died': 1,
  'no base': 0,
  'from a base': 1,
  refused: 2,
  torn: 2,
  unanswered: 2,
  late: 2,
  cut: 2,
  died: 2,
  lived: 2,
  'nothing archived': 0,
});

test('a restore equals the state at the last archived entry, table by table', () =>
  assertSeeds(
    fc.asyncProperty(fc.noShrink(world), async ({ lives, faults, lack }) => {
      server.clear();
      server.fail = faulty(faults, seen);
      server.listsLack = lack;
      const archived: number[] = [];
      using open = openNew({ chainId: DEVNET });
      let next = 0;
      for (const { events: count, host, base, ...lifetime } of lives) {
        for (const event of events.slice(next, next + count)) open.ingest.receive(event);
        next += count;
        const dying = mortal(store(), lifetime);
        using archiver = archiverOf(open.directory, dying.store, { archived: (entry) => archived.push(entry) });
        const round = archiver.round(host).then(
          () => 'lived' as const,
          (error: unknown) => {
            // If a list is too old, or the server fails too often, the next round tries again.
            expect(error).toBeInstanceOf(OperatorError);
            return 'died' as const;
          },
        );
        seen.add(await Promise.race([round, dying.died.then(() => 'died' as const)]));
        if (base > 0) await tryBase(open.directory, mortal(store(), { requests: base, isDone: lifetime.isDone }));
      }
      server.listsLack = 0;
      using into = dataDirectory();
      const path = join(into.path, 'restored');
      const last = await restoredAtLast(path);
      expect(last).toBeGreaterThanOrEqual(Math.max(0, ...archived));
      if (last === 0) return seen.add('nothing archived');
      // After a restore from a snapshot, the journal starts with the entries that the index may still read. In this
      // short chain, these are all entries.
      if ((await listBases(store())).length > 0) seen.add('from a base');
      expect(everything(path)).toEqual(stateAt(last));
    }),
    // From this seed on, four cases meet every situation.
    { seen, cases: 4, seed: firstSeed + 14 },
  ));

test('a restore with an outdated list reports damage or returns an earlier state', async () => {
  server.clear();
  server.fail = () => null;
  using source = ingestOf(events, { chainId: DEVNET });
  using archiver = archiverOf(source.path, store());
  await archiver.round();
  for (let lack = 0; lack < 6; lack++) {
    server.listsLack = lack;
    using into = dataDirectory();
    const path = join(into.path, 'restored');
    const last = await restoredFrom(store(), path).catch((error: unknown) => {
      expect((error as OperatorError).message).toContain('is damaged: ');
      return null;
    });
    if (last !== null && last > 0) expect(everything(path)).toEqual(stateAt(last));
  }
  server.listsLack = 0;
});
