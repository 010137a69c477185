/** A thread that reads a recording or a journal ahead of the writer. */
import { sendStream } from './base/thread.ts';
import { preparer } from './chain/prepared.ts';
import { preparedEntries, type ReaderStart } from './commands/data/read-ahead.ts';
import { preparedRows, type RowBatch } from './commands/data/recording-rows.ts';
import type { PreparedEntry } from './store/ingest/event.ts';

/** Batches of a thread that wait for the writer. */
const MAX_WAITING = 3;

// Sends the batches of this thread's share.
await sendStream<ReaderStart, RowBatch | PreparedEntry[], void>(MAX_WAITING, ({ source, chainId, share }) => {
  const prepare = preparer(chainId);
  const isOwn = (batch: number): boolean => batch % share.threads === share.index;
  return 'file' in source ? preparedRows(source, prepare, isOwn) : preparedEntries(source, prepare, isOwn);
});
