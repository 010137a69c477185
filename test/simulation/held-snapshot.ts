/** A snapshot that another process holds open while the server writes, as a backup does. */
import { existsSync } from 'node:fs';
import { openToRead, versionOf } from '../../src/store/files/connection.ts';
import { indexPath } from '../../src/store/files/database.ts';

/** Reads whose results change with each block. */
const looks = [
  'SELECT count(*) AS n, max(height) AS tip FROM blocks',
  'SELECT count(*) AS n, max(position) AS last FROM transactions',
  'SELECT * FROM progress',
  'SELECT count(*) AS n FROM block_payloads',
];

export interface HeldSnapshot {
  /** Releases the snapshot. @returns whether it stayed unchanged */
  end(): boolean;
}

/** Opens a snapshot. Returns null if there is no index, or if its tables couldn't be created. */
export function heldSnapshot(directory: string): HeldSnapshot | null {
  const path = indexPath(directory);
  if (!existsSync(path)) return null;
  const db = openToRead(path);
  db.run('BEGIN');
  if (versionOf(db) === 0) {
    db.close();
    return null;
  }
  const seen = () => JSON.stringify(looks.map((sql) => db.query(sql).all()));
  const before = seen();
  return {
    end() {
      const isSame = seen() === before;
      db.close();
      return isSame;
    },
  };
}
