/** A read-ahead thread that ends after its first batch, as if the system had killed it. */
import { parentPort, workerData } from 'node:worker_threads';
import type { ReaderStart } from '../../../src/commands/data/read-ahead.ts';
import { preparedRows, type RecordingSource } from '../../../src/commands/data/recording-rows.ts';

const { source, share } = workerData as ReaderStart;
const isOwn = (batch: number): boolean => batch % share.threads === share.index;
for await (const batch of preparedRows(source as RecordingSource, () => null, isOwn)) {
  parentPort?.postMessage({ kind: 'value', value: batch });
  break;
}
parentPort?.close();
