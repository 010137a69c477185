/** Counts the pages of an index that a request reads if SQLite's cache is empty. */
import { constants, Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';
import { indexPath, openReader } from '../../../src/store/files/database.ts';
import { openJournalReader } from '../../../src/store/files/journal.ts';
import type { WorkLimits } from '../../../src/store/read/index-reader.ts';
import type { Snapshots } from '../../../src/store/read/snapshots.ts';
import { appOf } from '../api/app.ts';
import { readerIn } from './memory-index.ts';

/** The smallest pages that SQLite has: each row more that a request looks at is likely to be on another page. */
export const PAGE_BYTES = 512;

/** Whether this machine can report how much a thread has read. */
export const canCountReads = process.platform === 'linux';

/** Bytes that this thread has read so far, from disk or from the system's memory. Sockets and mapped files don't count. */
export function bytesRead(): number {
  const read = /^rchar: (\d+)$/m.exec(readFileSync('/proc/thread-self/io', 'utf8'))?.[1];
  if (read === undefined) throw new Error('/proc/thread-self/io lacks rchar');
  return Number(read);
}

/** Gives a closed index small pages. */
export function withSmallPages(directory: string): void {
  using db = new Database(indexPath(directory));
  db.run('PRAGMA journal_mode = DELETE');
  db.run(`PRAGMA page_size = ${PAGE_BYTES}`);
  db.run('VACUUM');
  db.run('PRAGMA journal_mode = WAL');
}

export interface Cost {
  status: number;
  pages: number;
}

/** The API over an index of {@link withSmallPages}; `using` closes it, and leaves the directory. */
export function countedApi(directory: string, limits: WorkLimits) {
  const db = openReader(directory);
  const journal = openJournalReader(directory);
  const reader = readerIn(db, limits, journal);
  let bytes = 0;
  /** Begins a snapshot. @returns its end */
  function begin(): Disposable {
    db.fileControl(constants.SQLITE_FCNTL_RESET_CACHE);
    const before = bytesRead();
    db.run('BEGIN');
    return {
      [Symbol.dispose]() {
        db.run('COMMIT');
        bytes += bytesRead() - before;
      },
    };
  }
  const snapshots: Snapshots = {
    read(request) {
      using _ = begin();
      return request(reader);
    },
    async readLong(request) {
      using _ = begin();
      return await request(reader);
    },
    close() {
      db.close();
      journal?.close();
    },
  };
  const app = appOf({ snapshots });
  const ask = (url: string): Promise<Response> => app.handle(new Request(`http://localhost${url}`));
  return {
    document: async (): Promise<unknown> => (await ask('/docs/json')).json(),
    async costOf(url: string): Promise<Cost> {
      bytes = 0;
      const response = await ask(url);
      await response.arrayBuffer();
      return { status: response.status, pages: Math.round(bytes / PAGE_BYTES) };
    },
    [Symbol.dispose]: () => snapshots.close(),
  };
}
