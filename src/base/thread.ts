/** Threads of this process. */
import { Worker } from 'node:worker_threads';
import type { Service } from './service.ts';

interface ThreadOptions<From> {
  module: URL;
  start: unknown;
  /** Called with each message from the thread. */
  heard(message: From): void;
  /** Called once if the thread ends before it is stopped. @param cause the uncaught error, or the exit code */
  ended(cause: unknown): void;
}

export interface Thread<To> extends Service {
  say(message: To): void;
  /** Ends the thread at once. */
  stop(): Promise<void>;
}

/** Starts a thread. @typeParam From messages of the thread @typeParam To messages to the thread */
export function startThread<From, To>({ module, start, heard, ended }: ThreadOptions<From>): Thread<To> {
  let isOver = false;
  const finish = (cause: unknown): void => {
    if (!isOver) ended(cause);
    isOver = true;
  };
  const worker = new Worker(module, { workerData: start });
  worker.on('message', heard).on('error', finish).on('exit', finish);
  return {
    say: (message) => worker.postMessage(message),
    async stop() {
      isOver = true;
      await worker.terminate();
    },
  };
}
