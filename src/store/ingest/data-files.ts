/** The files of a data directory as the process that writes has them open. */
import { type Connect, openToWrite } from '../files/connection.ts';
import { indexPath, type Load, openWriter } from '../files/database.ts';
import { openLinkedJournal } from '../files/journal-link.ts';
import { lockWriter } from '../files/lock.ts';
import { clearDeserted, takeOffer } from '../files/new-index.ts';
import { clearDoneRestore } from '../files/restored.ts';
import { whyNotEmptied } from '../files/wal-upkeep.ts';
import type { IngestLog } from './event.ts';

export interface DataFilesOptions {
  directory: string;
  /** Where the index is made, by a caller that has the lock of the directory; else in the directory. */
  workshop?: string;
  log: IngestLog;
  /** What is written. The write-ahead log of `bulk` may grow, and is emptied in the end; `events` if omitted. */
  load?: Load;
  /** Bytes that the index may not grow beyond; as many as there are if omitted. */
  mostBytes?: number;
  /** Opens the files. */
  connect?: Connect;
}

export type DataFiles = ReturnType<typeof openDataFiles>;

/** Puts an index that a rebuild made beside the present one in its place. */
function takeNewIndex(directory: string, log: IngestLog): void {
  const offer = takeOffer(directory);
  if (offer === 'none') return;
  if (offer === 'usable') log({ event: 'index_replaced' });
  else log({ event: 'new_index_refused', reason: offer });
}

/**
 * Locks the directory and opens its files.
 * @param opened gets what closes again what was opened, in the order to close it in
 * @throws OperatorError
 */
export function openDataFiles(options: DataFilesOptions, opened: (() => void)[]) {
  const { directory, workshop, load = 'events', connect = openToWrite, mostBytes, log } = options;
  const home = workshop ?? directory;
  if (workshop === undefined) {
    opened.unshift(lockWriter(directory));
    clearDeserted(directory);
    takeNewIndex(directory, log);
    clearDoneRestore(directory);
  }
  const db = openWriter(home, { connect, load, ...(mostBytes === undefined ? {} : { mostBytes }) });
  opened.unshift(() => db.close());
  // SQLite empties the log with its last connection, but other processes may have the file open.
  if (load === 'bulk') opened.unshift(() => void whyNotEmptied(indexPath(home)));
  const journal = openLinkedJournal(directory, db, connect);
  opened.unshift(() => journal.close());
  return { home, db, journal };
}
