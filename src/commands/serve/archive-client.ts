/** Sends work on the archive to a thread, one piece at a time. The thread is started when it is needed. */
import { errorOfMessage, PassingError } from '../../base/errors.ts';
import { startThread, type Thread } from '../../base/thread.ts';
import { archiveThreadUrl } from '../../thread-urls.ts';
import type { ArchiveThreadStart, ArchiveWork, FromArchiveThread, ToArchiveThread } from './archive-messages.ts';

/** Makes a client. It starts a thread for the first piece of work, and another one after a thread ended. */
export function archiveClient(start: ArchiveThreadStart) {
  let thread: Thread<ToArchiveThread> | null = null;
  let current = { heard: (_message: FromArchiveThread): void => {}, done: Promise.withResolvers<void>() };

  function ended(cause: unknown): void {
    thread = null;
    current.done.reject(new PassingError('The archive thread stopped.', 'Stackside starts another one.', { cause }));
  }

  function heard(message: FromArchiveThread): void {
    if (message.kind === 'done') current.done.resolve();
    else if (message.kind === 'failed') current.done.reject(errorOfMessage(message));
    else current.heard(message);
  }

  return {
    /**
     * Sends work to the thread, and waits until it is done.
     * @param onMessage receives each message of the thread
     * @param signal ends the work early
     * @throws OperatorError
     */
    async run(work: ArchiveWork, onMessage: (message: FromArchiveThread) => void, signal: AbortSignal): Promise<void> {
      thread ??= startThread<FromArchiveThread, ToArchiveThread>({ module: archiveThreadUrl, start, heard, ended });
      current = { heard: onMessage, done: Promise.withResolvers() };
      const end = () => thread?.say({ kind: 'end' });
      signal.addEventListener('abort', end, { once: true });
      thread.say(work);
      try {
        await current.done.promise;
      } finally {
        signal.removeEventListener('abort', end);
      }
    },
    /** Ends the thread at once, and work under way with an error: an archive is sound whenever its writer ends. */
    async stop(): Promise<void> {
      const stopped = thread?.stop();
      if (thread !== null) ended('it was stopped');
      await stopped;
    },
  };
}
