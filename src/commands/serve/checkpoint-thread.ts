/** The thread that copies write-ahead logs into their files. */
import { parentPort } from 'node:worker_threads';
import { copyLog } from '../../store/files/checkpointer.ts';
import type { CopiedLog, CopyLog } from './checkpoints.ts';

/** Copies the logs that the main thread names. */
export function runCheckpointThread(): void {
  const port = parentPort;
  if (port === null) throw new Error('this runs in a separate thread');
  port.on('message', ({ path }: CopyLog) => {
    const copied: CopiedLog = { path, isCopied: copyLog(path) };
    port.postMessage(copied);
  });
}
