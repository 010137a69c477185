/** The simulated disk at a power failure keeps all synced data, and may lose the rest. */
import type { Database } from 'bun:sqlite';
import { afterEach, expect, test } from 'bun:test';
import { indexPath } from '../../src/store/files/database.ts';
import { Disk } from './disk.ts';
import { World } from './world.ts';

const opened: { disks: Disk[]; connections: Database[] } = { disks: [], connections: [] };
afterEach(() => {
  for (const db of opened.connections.splice(0)) db.close();
  for (const disk of opened.disks.splice(0)) disk.remove();
});

/** A process that writes numbers to an index on a disk. */
function writer(disk: Disk) {
  opened.disks.push(disk);
  const path = indexPath(disk.path);
  const db = disk.connect(path, 'NORMAL');
  opened.connections.push(db);
  db.run('CREATE TABLE IF NOT EXISTS numbers (n)');
  return {
    db,
    /** @param pages that the commit writes at least */
    write(n: number, pages = 1): void {
      db.run('BEGIN');
      for (let page = 0; page < pages; page++) db.run('INSERT INTO numbers VALUES (?1 || zeroblob(3000))', [n]);
      db.run('COMMIT');
    },
    numbers: () =>
      db
        .query<{ n: number }, []>('SELECT DISTINCT CAST(n AS INTEGER) AS n FROM numbers ORDER BY 1')
        .all()
        .map(({ n }) => n),
    /** Writes the committed frames to the database file, and syncs it. */
    checkpoint: () => db.run('PRAGMA wal_checkpoint(PASSIVE)'),
    afterPowerLoss: (share: number) => writer(disk.image(share)),
  };
}

test('unsynced writes are lost, and the rest stays', () => {
  const disk = writer(new Disk(new World(1)));
  disk.write(1);
  disk.checkpoint();
  disk.write(2);
  expect(disk.afterPowerLoss(0).numbers()).toEqual([1]);
  expect(disk.afterPowerLoss(1).numbers()).toEqual([1, 2]);
});

test('a write over a torn commit is on the disk after it is synced', () => {
  const disk = writer(new Disk(new World(1)));
  disk.write(1);
  disk.checkpoint();
  disk.write(2, 20);
  const torn = disk.afterPowerLoss(0.5);
  expect(torn.numbers()).toEqual([1]);
  torn.write(3);
  expect(torn.afterPowerLoss(0).numbers()).toEqual([1]);
  torn.checkpoint();
  expect(torn.afterPowerLoss(0).numbers()).toEqual([1, 3]);
});
