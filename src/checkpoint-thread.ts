/** The thread that copies write-ahead logs into their files. */
import { parentPort } from 'node:worker_threads';
import type { CopyLog, CopyResult } from './commands/serve/writable-index.ts';
import { copyLog } from './store/files/checkpointer.ts';

parentPort?.on('message', ({ path }: CopyLog) => {
  const copied: CopyResult = { path, isCopied: copyLog(path) };
  parentPort?.postMessage(copied);
});
