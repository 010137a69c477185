/** A new index, built next to the present one while another process writes. */

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { copyFileSync, existsSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { indexPath, openWriter, SCHEMA_VERSION } from '../../src/store/files/database.ts';
import { newIndexPath } from '../../src/store/files/new-index.ts';
import type { RebuildOptions } from '../../src/store/ingest/rebuild.ts';
import { copyOf, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { everything } from '../support/data/tables.ts';

const chainOf = (seed: number) =>
  simulatedEvents({ seed, blocks: 40, accounts: 10, transactionsPerBlock: 2, forkEvery: 5 });
const events = chainOf(3);
const [half, almostAll] = [events.length >> 1, events.length - 5];

const rebuildBeside = (directory: string, options: Partial<RebuildOptions> = {}) =>
  rebuildIndex({ directory, beside: true, ...options });

const inode = (path: string): number => statSync(path).ino;

/** The contents of a directory, except the changes for subscribers. */
function contents(directory: string) {
  const { changes, ...index } = everything(directory).index;
  return index;
}

const plain = ingestOf(events);
afterAll(() => plain[Symbol.dispose]());

describe('a rebuild next to a writer', () => {
  test("has the writer's new events, and the next start installs it", () => {
    using directory = ingestOf(events.slice(0, half));
    using writer = openAt(directory.path);
    const before = inode(indexPath(directory.path));
    let accepted = half;
    const making = () => {
      const event = events[accepted];
      if (event === undefined || accepted === almostAll) return;
      writer.ingest.receive(event);
      accepted += 1;
    };
    expect(rebuildBeside(directory.path, { making }).isInstalled).toBe(false);
    expect(accepted).toBeGreaterThan(half);
    {
      using fresh = new Database(newIndexPath(directory.path), { readonly: true });
      expect(fresh.query('SELECT journal_id FROM progress').get()).toEqual({ journal_id: writer.ingest.position().id });
    }
    for (const event of events.slice(accepted, almostAll)) writer.ingest.receive(event);
    expect(inode(indexPath(directory.path))).toBe(before);
    writer[Symbol.dispose]();

    using reopened = openAt(directory.path);
    expect(reopened.logged[0]).toEqual({ event: 'new_index', outcome: 'used' });
    expect(reopened.logged.map(({ event }) => event)).toContain('journal_replayed');
    expect(inode(indexPath(directory.path))).not.toBe(before);
    for (const event of events.slice(almostAll)) reopened.ingest.receive(event);
    reopened[Symbol.dispose]();
    expect(contents(directory.path)).toEqual(contents(plain.path));
    expect(readdirSync(directory.path)).not.toContain('rebuild');
  });

  test('installs it by itself if nobody writes', () => {
    using directory = copyOf(plain);
    const before = inode(indexPath(directory.path));
    expect(rebuildBeside(directory.path).isInstalled).toBe(true);
    expect(inode(indexPath(directory.path))).not.toBe(before);
    expect(contents(directory.path)).toEqual(contents(plain.path));
  });

  test('continues although the writer restarts, and is the only rebuild', () => {
    using directory = copyOf(plain);
    const making = () => {
      openAt(directory.path).ingest.close();
      expect(() => rebuildBeside(directory.path)).toThrow(`The index in ${directory.path} is being rebuilt.`);
      expect(() => rebuildBeside(directory.path, { beside: false })).toThrow('is being rebuilt');
    };
    expect(rebuildBeside(directory.path, { making }).isInstalled).toBe(true);
    expect(contents(directory.path)).toEqual(contents(plain.path));
  });

  test('that was killed leaves nothing once the writer starts', () => {
    using directory = copyOf(plain);
    openWriter(`${directory.path}/rebuild`).close();
    openAt(directory.path).ingest.close();
    expect(readdirSync(directory.path)).not.toContain('rebuild');
    expect(contents(directory.path)).toEqual(contents(plain.path));
  });

  test('leaves room on the disk for the server', () => {
    using directory = copyOf(plain);
    using writer = openAt(directory.path);
    const before = readdirSync(directory.path).sort();
    expect(() => rebuildBeside(directory.path, { free: () => 1_000_000_000 })).toThrow('leaves 1 GB of it free');
    expect(() => rebuildBeside(directory.path, { free: () => 1_000_400_000 })).toThrow('disk is full');
    expect(
      readdirSync(directory.path)
        .filter((name) => name !== 'rebuild.lock')
        .sort(),
    ).toEqual(before);
    writer[Symbol.dispose]();
    expect(contents(directory.path)).toEqual(contents(plain.path));
  });
});

describe('a new index that is offered', () => {
  /** A directory with a whole chain and a new index that waits. */
  function offerIndex(change: (path: string) => void) {
    const directory = copyOf(plain);
    copyFileSync(indexPath(plain.path), newIndexPath(directory.path));
    change(newIndexPath(directory.path));
    return directory;
  }
  const version = (number: number) => (path: string) => {
    using db = new Database(path);
    db.run(`PRAGMA user_version = ${number}`);
  };

  test.each([
    ['of an older program', version(SCHEMA_VERSION - 1)],
    [
      'of another journal',
      (path: string) => {
        using foreign = ingestOf(chainOf(4));
        copyFileSync(indexPath(foreign.path), path);
      },
    ],
    ['that is no index', (path: string) => writeFileSync(path, 'text')],
    ['that was cut off', (path: string) => truncateSync(path, 5_000)],
    ['that is empty', (path: string) => truncateSync(path, 0)],
  ])('%s is removed', (_, change) => {
    using directory = offerIndex(change);
    using open = openAt(directory.path);
    expect(open.logged[0]).toEqual({ event: 'new_index', outcome: 'unfit' });
    open[Symbol.dispose]();
    expect(existsSync(newIndexPath(directory.path))).toBe(false);
    expect(contents(directory.path)).toEqual(contents(plain.path));
  });

  test('stays unchanged if a newer program made it', () => {
    using directory = offerIndex(version(SCHEMA_VERSION + 1));
    using open = openAt(directory.path);
    expect(open.logged[0]).toEqual({ event: 'new_index', outcome: 'newer' });
    expect(existsSync(newIndexPath(directory.path))).toBe(true);
  });

  test('replaces an index that is damaged or lost its log in a kill', () => {
    using directory = offerIndex(() => {});
    truncateSync(indexPath(directory.path), 8_192);
    openAt(directory.path).ingest.close();
    expect(contents(directory.path)).toEqual(contents(plain.path));
  });

  test('is removed if the directory has no journal and no index', () => {
    using directory = dataDirectory();
    copyFileSync(indexPath(plain.path), newIndexPath(directory.path));
    using open = openAt(directory.path);
    expect(open.logged[0]).toEqual({ event: 'new_index', outcome: 'unfit' });
  });
});
