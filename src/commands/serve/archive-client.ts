/** Sends work on the archive to a thread, one piece at a time. The thread is started when it is needed. */

import type { Round } from '../../archive/archiver.ts';
import type { BaseProgress, RetentionResult } from '../../archive/base-writer.ts';
import { type ErrorMessage, errorOfMessage, TemporaryError } from '../../base/errors.ts';
import { startThread, type Thread } from '../../base/thread.ts';
import { archiveThreadUrl } from '../../thread-urls.ts';

export interface ArchiveThreadStart {
  directory: string;
  location: string;
  /** Whether the archive is public, and signed with the key of the data directory. */
  isPublic: boolean;
}

export interface BaseSummary {
  entry: number;
  height: number;
  /** Unix milliseconds. */
  madeAt: number;
}

export type ArchiveWork =
  /** Whether the archive can probably be written. */
  | { kind: 'check' }
  | { kind: 'round'; round: Round }
  /** `make`: whether to make a base, or only to look at the newest. `keepDays`: days after which older bases are removed. */
  | { kind: 'base'; make: boolean; keepDays: number | null };

/** Progress and results of a piece of work. */
export type ArchiveNews =
  /** The archive has the entries up to this one. */
  | { kind: 'archived'; entry: number }
  | { kind: 'newest'; base: BaseSummary | null }
  | { kind: 'step'; step: BaseProgress }
  | { kind: 'made'; base: BaseSummary; sentParts: number; sentBytes: number }
  | ({ kind: 'retained' } & RetentionResult);

export type ToArchiveThread = ArchiveWork | { kind: 'end' };
export type FromArchiveThread = ArchiveNews | { kind: 'done' } | { kind: 'failed'; error: ErrorMessage };

export type ArchiveWorker = ReturnType<typeof archiveClient>;

/**
 * Makes a client. It starts a thread for the first piece of work, and another one after a thread ended. A thread ends after a
 * base, since it may need much memory.
 */
export function archiveClient(start: ArchiveThreadStart) {
  let thread: Thread<ToArchiveThread> | null = null;
  let current = { heard: (_news: ArchiveNews): void => {}, done: Promise.withResolvers<void>() };

  function ended(cause: unknown): void {
    thread = null;
    current.done.reject(new TemporaryError('The archive thread stopped.', 'Stackside starts another one.', { cause }));
  }

  function heard(message: FromArchiveThread): void {
    if (message.kind === 'done') current.done.resolve();
    else if (message.kind === 'failed') current.done.reject(errorOfMessage(message.error));
    else current.heard(message);
  }

  /** Ends the thread at once, and work under way with an error: an archive is sound whenever its writer ends. */
  async function stop(): Promise<void> {
    const stopped = thread?.stop();
    if (thread !== null) ended('it was stopped');
    await stopped;
  }

  return {
    /**
     * Does a piece of work.
     * @param tell receives progress and results
     * @param signal ends the work early
     * @throws OperatorError
     */
    async run(work: ArchiveWork, tell: (news: ArchiveNews) => void, signal: AbortSignal): Promise<void> {
      thread ??= startThread<FromArchiveThread, ToArchiveThread>({ module: archiveThreadUrl, start, heard, ended });
      current = { heard: tell, done: Promise.withResolvers() };
      const end = () => thread?.say({ kind: 'end' });
      signal.addEventListener('abort', end, { once: true });
      thread.say(work);
      try {
        await current.done.promise;
      } finally {
        signal.removeEventListener('abort', end);
        if (work.kind === 'base') await stop();
      }
    },
    stop,
  };
}
