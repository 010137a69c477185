/** The writer's lock of a data directory. */
import { expect, test } from 'bun:test';
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { operatorErrorOf, StoreUnavailableError } from '../../src/base/system-errors.ts';
import { initCluster } from '../../src/commands/cluster/cluster.ts';
import { lockRebuild, lockWriter } from '../../src/store/files/lock.ts';
import { newIndexPath } from '../../src/store/files/new-index.ts';
import type { Ingest } from '../../src/store/ingest/ingest.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { emptyDirectory, ingestOf, openAt, openNew, simulatedEvents } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { everything, journalRows } from '../support/data/tables.ts';
import { manualClock } from '../support/time/manual-clock.ts';

const lockModule = join(import.meta.dir, '../../src/store/files/lock.ts');

/** Whether another process can get the writer's lock. */
function isFreeForOthers(directory: string): boolean {
  const code = `const { lockWriter } = await import(${JSON.stringify(lockModule)});
    try { lockWriter(${JSON.stringify(directory)}); } catch (error) { process.exit(error.name === 'LockHeldError' ? 1 : 2); }`;
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, '-e', code]);
  if (exitCode > 1) throw new Error(stderr.toString());
  return exitCode === 0;
}

test('cluster init refuses a directory that another process writes', async () => {
  using directory = ingestOf(simulatedEvents({ seed: 5, blocks: 1 }));
  const location = { data: directory.path, cluster: 'postgres://127.0.0.1:1/nothing' };
  const settings = { ...location, clusterPrefix: '', clusterKey: null };
  using _lock = lockWriter(directory.path);
  await expect(initCluster(settings)).rejects.toThrow(`Another Stackside writes to ${directory.path}.`);
});

test('the lock is held, for this process and for others, until it is released', () => {
  using directory = dataDirectory();
  {
    using lock = lockWriter(directory.path);
    // A second try in this process opens the file again: that must not end the lock.
    const expectRefusal = expect(() => lockWriter(directory.path));
    expectRefusal.toThrow(OperatorError);
    // Also for commands that don't have `--mode`.
    expectRefusal.toThrow(
      expect.objectContaining({
        remedy:
          'Stop that process first, or use another --data directory. Only serve --mode read and rebuild --beside can run next to it.',
      }),
    );
    expect(isFreeForOthers(directory.path)).toBe(false);
    expect(() => lock.requireHeld()).not.toThrow();
  }
  expect(isFreeForOthers(directory.path)).toBe(true);
});

const removals: Readonly<Record<string, (path: string) => void>> = {
  'is removed': (path) => rmSync(path),
  'is renamed': (path) => renameSync(path, `${path}.old`),
  'is replaced by a copy': (path) => {
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
  },
};

for (const [title, remove] of Object.entries(removals)) {
  test(`a lock is lost if its file ${title}`, () => {
    for (const [acquire, name] of [
      [lockWriter, 'writer.lock'],
      [lockRebuild, 'rebuild.lock'],
    ] as const) {
      using directory = dataDirectory();
      using lock = acquire(directory.path);
      remove(join(directory.path, name));
      expect(() => lock.requireHeld()).toThrow('was removed or replaced');
      using other = acquire(directory.path);
      expect(() => lock.requireHeld()).toThrow('was removed or replaced');
      expect(() => other.requireHeld()).not.toThrow();
    }
  });
}

const events = simulatedEvents({ seed: 4, blocks: 12, transactionsPerBlock: 2, forkEvery: 5 });

/** Ways to write, each after some events. */
const writes: Readonly<Record<string, (ingest: Ingest) => unknown>> = {
  'an event': (ingest) => ingest.receive(events[10]!),
  'an event of an import': (ingest) => {
    ingest.apply(events[10]!);
    ingest.commitToJournal();
  },
  'the end of an import': (ingest) => {
    ingest.apply(events[10]!);
    ingest.commit();
  },
  'a change of a local table': (ingest) => ingest.local(() => {}),
  'an event of a shared log': (ingest) => {
    ingest.entries.apply({ event: events[10]!, isShared: true }, 'end');
    ingest.entries.commit();
  },
};

for (const [title, write] of Object.entries(writes)) {
  test(`a lost lock refuses ${title}, is reported once, and changes nothing`, async () => {
    using directory = emptyDirectory();
    const lockErrors: Error[] = [];
    using open = openAt(directory.path, { lockLost: (error) => lockErrors.push(error) });
    for (const event of events.slice(0, 10)) open.ingest.receive(event);
    const before = everything(directory.path);
    rmSync(join(directory.path, 'writer.lock'));
    for (let attempt = 0; attempt < 2; attempt++) {
      const error = await (async () => write(open.ingest))().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(operatorErrorOf(error, directory.path)).toBeInstanceOf(OperatorError);
    }
    expect(lockErrors).toHaveLength(1);
    expect(everything(directory.path)).toEqual(before);
  });
}

test('a lost lock keeps the pending group from the index, and the next process applies it from the journal', () => {
  using directory = emptyDirectory();
  const timer = manualClock();
  const lockErrors: Error[] = [];
  const open = openAt(directory.path, { clock: timer, lockLost: (error) => lockErrors.push(error) });
  for (const event of events.slice(0, 10)) open.ingest.receive(event);
  const before = everything(directory.path);
  rmSync(join(directory.path, 'writer.lock'));
  timer.endWaits();
  expect(lockErrors).toHaveLength(1);
  expect(everything(directory.path)).toEqual(before);
  using next = openAt(directory.path);
  expect(next.logged).toContainEqual({ event: 'journal_replayed', events: before.journal.length });
  const after = everything(directory.path);
  expect(after.journal).toEqual(before.journal);
  open.ingest.close();
  expect(everything(directory.path)).toEqual(after);
  expect(next.ingest.receive(events[10]!)).toBe('applied');
});

test('a probe reports a lost lock while no event arrives', () => {
  using directory = emptyDirectory();
  const lockErrors: Error[] = [];
  using open = openAt(directory.path, { lockLost: (error) => lockErrors.push(error) });
  open.ingest.probe();
  expect(lockErrors).toEqual([]);
  rmSync(join(directory.path, 'writer.lock'));
  open.ingest.probe();
  open.ingest.probe();
  expect(lockErrors).toHaveLength(1);
  expect(lockErrors[0]).toBeInstanceOf(OperatorError);
});

test('a directory that is written again after its lock was lost has each event once', () => {
  using directory = emptyDirectory();
  const first = openAt(directory.path, { lockLost: () => {} });
  for (const event of events.slice(0, 5)) first.ingest.receive(event);
  rmSync(join(directory.path, 'writer.lock'));
  using second = openAt(directory.path);
  for (const event of events.slice(5)) {
    // An event that is in the journal may be answered, since nothing is written.
    const isKnown = journalRows(directory.path).some(({ text }) => text === event.text);
    if (!isKnown) expect(() => first.ingest.receive(event)).toThrow(StoreUnavailableError);
    second.ingest.receive(event);
  }
  first.ingest.close();
  using expected = openNew();
  for (const event of events) expected.ingest.receive(event);
  expect(everything(directory.path)).toEqual(everything(expected.directory));
});

for (const name of ['writer.lock', 'rebuild.lock']) {
  test(`a rebuild that loses ${name} leaves the index as it was`, () => {
    using directory = ingestOf(events);
    const before = everything(directory.path);
    const making = () => rmSync(join(directory.path, name), { force: true });
    expect(() => rebuildIndex({ directory: directory.path, making })).toThrow('was removed or replaced');
    expect(everything(directory.path)).toEqual(before);
    expect(existsSync(newIndexPath(directory.path))).toBe(false);
  });
}
