/** A thread that reads a recording or a journal ahead of the writer. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { messageOfError, OperatorError } from '../../base/errors.ts';
import { preparer } from '../../chain/prepared.ts';
import { preparedEntries } from './journal-entries.ts';
import type { FromReader, ReaderStart } from './read-ahead.ts';
import { preparedRows } from './recording-rows.ts';

/** Batches that wait for the writer at most, of each thread. */
const MAX_WAITING = 2;

function batchesOf({ source, chainId, share }: ReaderStart) {
  const prepare = preparer(chainId);
  const isOwn = (batch: number): boolean => batch % share.of === share.index;
  return 'file' in source ? preparedRows(source, prepare, isOwn) : preparedEntries(source, prepare, isOwn);
}

async function handOn(start: ReaderStart, port: MessagePort): Promise<void> {
  let waiting = 0;
  let allow = (): void => undefined;
  port.on('message', () => {
    waiting -= 1;
    allow();
  });
  for await (const batch of batchesOf(start)) {
    while (waiting >= MAX_WAITING) {
      await new Promise<void>((resolve) => {
        allow = resolve;
      });
    }
    waiting += 1;
    port.postMessage({ kind: 'batch', batch } satisfies FromReader);
  }
}

/** Reads a recording or a journal, as the thread's data say. */
export async function runReadingThread(): Promise<void> {
  if (parentPort === null) throw new Error('a thread that reads ahead needs a main thread');
  const port = parentPort;
  const say = (message: FromReader) => port.postMessage(message);
  try {
    await handOn(workerData as ReaderStart, port);
    say({ kind: 'end' });
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    say({ kind: 'refused', ...messageOfError(error) });
  }
  port.close();
}
