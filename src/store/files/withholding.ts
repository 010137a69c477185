/** Withholding entries of a journal that is published: their paths and texts go, and their hashes stay. */

import { compressed, withheld } from '../log/entry.ts';
import { openToWrite, prepared } from './connection.ts';
import { journalPath } from './database.ts';
import { openJournalReader } from './journal.ts';
import { requirePresentVersion } from './journal-file.ts';

/** Entries that are looked for at a time. */
const TOGETHER = 1_000;

/**
 * Withholds all entries of a path, in the journal of a directory that nobody else writes to: all or none. The bytes of what
 * goes are overwritten.
 * @throws JournalEntryError where one of them is not what was written, SQLiteError
 */
export function withholdEntries(directory: string, path: string): void {
  const file = journalPath(directory);
  using closing = new DisposableStack();
  const journal = openJournalReader(directory);
  closing.defer(() => journal.close());
  const db = prepared(openToWrite(file, 'FULL'), (opened) => {
    requirePresentVersion(opened, file);
    opened.run('PRAGMA secure_delete = ON');
  });
  closing.defer(() => db.close());
  const next = db.prepare<{ id: number }, [string, number]>(
    `SELECT id FROM events WHERE path = ?1 AND id > ?2 ORDER BY id LIMIT ${TOGETHER}`,
  );
  const update = db.prepare<null, [number, string, Uint8Array]>(
    'UPDATE events SET path = ?2, payload = ?3 WHERE id = ?1',
  );
  db.transaction(() => {
    for (let found = next.all(path, 0); found.length > 0; found = next.all(path, found.at(-1)!.id)) {
      for (const { id } of found) {
        const entry = withheld(journal.read(id)!);
        update.run(id, entry.path, compressed(entry.text));
      }
    }
  }).immediate();
}
