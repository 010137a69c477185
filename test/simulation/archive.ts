/**
 * The archive of the server: objects in a store that outlives its machines and fails as the network does. A restore returns the data of
 * the lost machine, up to the last archived entry or an earlier one.
 */
import { expect } from 'bun:test';
import { cpSync, existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ArchiveDamagedError, verifySegments } from '../../src/archive/archive.ts';
import { Archiver } from '../../src/archive/archiver.ts';
import { verifyBases } from '../../src/archive/base.ts';
import { systemClock } from '../../src/base/clock.ts';
import { OperatorError, TemporaryError } from '../../src/base/errors.ts';
import type { ArchiveWorker } from '../../src/commands/serve/archive-client.ts';
import { runBase } from '../../src/commands/serve/archive-thread.ts';
import { secretsKeyFile } from '../../src/hooks/delivery/sealing.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { stagingOf } from '../../src/store/files/unfinished.ts';
import { restoredFrom } from '../support/data/archive.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { type JournalRow, journalRows } from '../support/data/tables.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';
import type { World } from './world.ts';

/** Location of the archive in the settings; nothing is written there. */
export const LOCATION = join(tmpdir(), 'simulated-archive');

/** Short segments and small parts, so that a short chain has several. */
const SEGMENT = { entries: 12, bytes: 100_000 };
const PART = { min: 2_000, target: 8_000, max: 40_000, share: 1 / 50 };

/** Milliseconds that a request and its answer take at most, each. */
const DELAY = 3;
/** Number of the newest objects that a list may omit. */
const LACKED = 3;

type Fate = 'done' | 'refused' | 'unanswered';

/** The number of the last entry of a journal. */
export function lastEntryOf(directory: string): number {
  const journal = openJournalReader(directory);
  try {
    return journal.lastId();
  } finally {
    journal.close();
  }
}

export class Archive {
  readonly #world: World;
  /** Objects by name, in the order of their creation. */
  #objects = new Map<string, Buffer>();
  readonly #restored: DataDirectory[] = [];
  /** Number of the last entry that the present log's writers have confirmed as archived. */
  last = 0;
  /** The archive of the earlier log, and the last entry that the present log has from it; null if there is no earlier log. */
  #origin: { objects: Map<string, Buffer>; until: { entry: number } } | null = null;
  /** The journals that were archived before their machines were lost. */
  readonly #lost: JournalRow[][] = [];
  #isAway = false;
  #isCalm = false;
  /** Number of bases that are being made; each holds a snapshot. */
  #making = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Whether the archive rejects all requests. */
  setAway(isAway: boolean): void {
    this.#isAway = isAway;
  }

  get isMakingBase(): boolean {
    return this.#making > 0;
  }

  /** From now on, no request fails, lists are complete, and no base is started. */
  calm(): void {
    this.#isAway = false;
    this.#isCalm = true;
  }

  remove(): void {
    for (const directory of this.#restored) directory[Symbol.dispose]();
  }

  /** Archives the log of a directory, and makes bases of its index, while its process is alive. */
  worker(directory: string, isAlive: () => boolean): ArchiveWorker {
    let isStopped = false;
    const isRunning = () => isAlive() && !isStopped;
    const clock = this.#world.busyClock;
    const journal = openJournalReader(directory);
    let archived = (_entry: number): void => {};
    const archiver = new Archiver({
      store: this.#placeFor('archiver', isRunning),
      journal,
      clock,
      signer: null,
      segment: SEGMENT,
      archived: (entry) => archived(entry),
    });
    const tools = { store: this.#placeFor('bases', isRunning), clock, size: PART };
    return {
      run: (work, tell, signal) => {
        if (work.kind === 'check') return this.#world.busy(() => tools.store.check());
        if (work.kind === 'round') {
          archived = (entry) => {
            if (isAlive()) this.last = Math.max(this.last, entry);
            tell({ kind: 'archived', entry });
          };
          return this.#world.busy(() => archiver.round(work.round, signal));
        }
        const task = { ...work, make: work.make && !this.#isCalm };
        this.#making += 1;
        return this.#world
          .busy(() => runBase({ directory, isPublic: false }, tools, task, tell, signal))
          .finally(() => {
            this.#making -= 1;
          });
      },
      async stop() {
        isStopped = true;
        journal.close();
      },
    };
  }

  /**
   * Makes the data of a new machine.
   * @param lostDirectory the data of the lost machine, to compare with the new one
   * @param back number of entries to leave out at the end of the archive; 0 for none
   */
  async restoreLost(directory: string, lostDirectory: string, back: number): Promise<void> {
    const rows = journalRows(lostDirectory);
    this.#lost.push(rows);
    // The operator has a copy of the key elsewhere.
    if (existsSync(secretsKeyFile(lostDirectory))) cpSync(secretsKeyFile(lostDirectory), secretsKeyFile(directory));
    const lastEntry = this.last;
    let until = back === 0 || lastEntry === 0 ? null : { entry: Math.max(1, lastEntry - back) };
    this.last = 0;
    const restore = () =>
      restoredFrom(this.#place, directory, {
        until,
        clock: { ...systemClock, now: () => Math.floor(this.#world.time) },
      });
    try {
      await restore();
    } catch (error) {
      if (!(error instanceof OperatorError) || error instanceof ArchiveDamagedError) throw error;
      this.#world.note(`not restored: ${error.message}`);
      if (this.#origin === null) {
        if (lastEntry > 0) throw error;
        // The archive is empty: the new machine starts without data, and with a new archive.
        this.#objects.clear();
        return;
      }
      // The upload ended before the entry that gives the log its identity: the operator restores the archive it came from.
      ({ until } = this.#origin);
      expect(lastEntry).toBeLessThanOrEqual(until.entry);
      this.#objects = new Map(this.#origin.objects);
      rmSync(stagingOf(directory), { recursive: true, force: true });
      await restore();
    }
    const restored = journalRows(directory);
    this.#world.note(`restored ${restored.length} of ${rows.length}, until ${until?.entry}`);
    expect(restored.length).toBeGreaterThanOrEqual(until?.entry ?? lastEntry);
    requireBeginningOf(lastEntry > 0 ? [rows] : this.#lost, until === null ? restored : restored.slice(0, -1));
    requireSound(directory);
    if (until === null) return;
    // Data restored to an earlier point is another log, which the operator gives another place.
    this.#origin = { objects: this.#objects, until };
    this.#objects = new Map();
  }

  /** All of it is sound, and is restored as its log was. @param directory of the server that has stopped */
  async holdsItsLaws(directory: string): Promise<void> {
    // A log whose chain is still unknown isn't archived yet.
    if (this.last === 0 && this.#objects.size === 0) return;
    const store = this.#place;
    for await (const { name, fault } of verifySegments(store)) expect({ name, fault }).toEqual({ name, fault: null });
    for await (const { name, fault } of verifyBases(store)) expect({ name, fault }).toEqual({ name, fault: null });
    const logs = [...this.#lost, journalRows(directory)];
    const into = dataDirectory();
    this.#restored.push(into);
    const last = await restoredFrom(store, join(into.path, 'new'));
    expect(last).toBeGreaterThanOrEqual(this.last);
    expect(journalRows(join(into.path, 'new'))).toEqual(logs.at(-1)!.slice(0, last));
  }

  /** Returns a store for a process. After the process has ended, requests don't take effect or aren't answered. */
  #placeFor(whose: string, isAlive: () => boolean): ObjectStore {
    const world = this.#world;
    const prng = world.prng(`archive/${whose}/${world.time}`);
    const through =
      <A extends unknown[], R>(call: (...parameters: A) => Promise<R>) =>
      (...parameters: A): Promise<R> =>
        world.idle(this.#request(prng.below(DELAY), this.#fate(prng), isAlive, () => call(...parameters)));
    const { location, check, read, list, create, write, remove } = this.#place;
    return {
      location,
      check: through(check),
      read: through(read),
      create: through(create),
      write: through(write),
      remove: through(remove),
      list: through(async (beginning) => {
        const names = await list(beginning);
        if (this.#isCalm || !prng.chance(0.1)) return names;
        const lacked = new Set([...this.#objects.keys()].slice(-1 - prng.below(LACKED)));
        return names.filter((name) => !lacked.has(name));
      }),
    };
  }

  #fate(prng: ReturnType<World['prng']>): Fate {
    const fate = prng.weighted<Fate>([
      [96, 'done'],
      [2, 'refused'],
      [2, 'unanswered'],
    ]);
    if (this.#isAway) return 'refused';
    return this.#isCalm ? 'done' : fate;
  }

  async #request<T>(delay: number, fate: Fate, isAlive: () => boolean, call: () => Promise<T>): Promise<T> {
    await this.#world.pause(delay);
    if (fate === 'refused' || !isAlive()) throw new TemporaryError('The archive does not answer.', 'Wait.');
    const result = await call();
    await this.#world.pause(delay);
    if (fate === 'unanswered' || !isAlive()) throw new TemporaryError('The archive did not answer.', 'Wait.');
    return result;
  }

  /** The objects, as they are. */
  readonly #place: ObjectStore = {
    location: LOCATION,
    check: async () => {},
    read: async (name) => this.#objects.get(name) ?? null,
    list: async (beginning) => [...this.#objects.keys()].filter((name) => name.startsWith(beginning)).sort(),
    create: async (name, bytes) => {
      if (this.#objects.has(name)) return false;
      this.#objects.set(name, Buffer.from(bytes));
      return true;
    },
    write: async (name, bytes) => {
      this.#objects.set(name, Buffer.from(bytes));
    },
    remove: async (name) => {
      this.#objects.delete(name);
    },
  };
}

/** Requires that one of the logs starts with these rows. */
function requireBeginningOf(logs: readonly JournalRow[][], rows: readonly JournalRow[]): void {
  if (logs.some((log) => Bun.deepEquals(log.slice(0, rows.length), rows))) return;
  expect(rows).toEqual(logs.at(-1)!.slice(0, rows.length));
}

/** Requires that the index equals a rebuild from the entries. */
function requireSound(directory: string): void {
  expect(checkAndRecount(directory, { deep: silentMachine }).flatMap(({ problems }) => problems)).toEqual([]);
}
