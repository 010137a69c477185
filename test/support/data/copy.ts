/** Copies the files of a data directory, and redacts entries in a copy. */
import { existsSync, mkdirSync } from 'node:fs';
import { openToRead, openToWrite } from '../../../src/store/files/connection.ts';
import { indexPath, journalPath } from '../../../src/store/files/database.ts';
import { openJournalReader } from '../../../src/store/files/journal.ts';
import { compressed, withheld } from '../../../src/store/log/entry.ts';

/** Copies a file of SQLite while others write it. */
export function copyFile(from: string, to: string): void {
  using db = openToRead(from);
  db.run('PRAGMA query_only = OFF');
  db.run('VACUUM INTO ?1', [to]);
}

/** Copies a data directory. @param into a directory without these files */
export function copyData(directory: string, into: string): void {
  mkdirSync(into, { recursive: true });
  for (const path of [indexPath, journalPath]) if (existsSync(path(directory))) copyFile(path(directory), path(into));
}

/** Redacts a path's entries in the journal of a directory that no server has open. @throws OperatorError if one is damaged */
export function withholdEntries(directory: string, path: string, isWithheld = (_text: string): boolean => true): void {
  const journal = openJournalReader(directory);
  using db = openToWrite(journalPath(directory), 'FULL');
  try {
    const rows = db.query<{ id: number }, [string]>('SELECT id FROM events WHERE path = ?1 ORDER BY id').all(path);
    for (const { id } of rows) {
      const stored = journal.read(id)!;
      if (!isWithheld(stored.text)) continue;
      const entry = withheld(stored);
      db.run('UPDATE events SET path = ?2, payload = ?3 WHERE id = ?1', [id, entry.path, compressed(entry.text)]);
    }
  } finally {
    journal.close();
  }
}
