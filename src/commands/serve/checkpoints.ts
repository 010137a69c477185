/** Lets a thread copy write-ahead logs into their files. The thread is started for the first log. */
import { startThread, type Thread } from '../../base/thread.ts';
import { checkpointThreadUrl } from '../../thread-urls.ts';

/** A request to the thread to copy a log. */
export interface CopyLog {
  /** Path of the database file. */
  path: string;
}

/** The thread's answer. */
export interface CopiedLog extends CopyLog {
  isCopied: boolean;
}

/** @param crashed called with the cause if the thread ends by itself */
export function checkpointClient(crashed: (cause: unknown) => void) {
  let thread: Thread<CopyLog> | null = null;
  /** Running copies, by path. */
  const copying = new Map<string, PromiseWithResolvers<boolean>>();

  function copied({ path, isCopied }: CopiedLog): void {
    copying.get(path)?.resolve(isCopied);
    copying.delete(path);
  }

  return {
    /** Copies the log of a file. @returns whether that succeeded */
    copy(path: string): Promise<boolean> {
      const copy = Promise.withResolvers<boolean>();
      copying.set(path, copy);
      thread ??= startThread<CopiedLog, CopyLog>({
        ...{ module: checkpointThreadUrl, start: null, heard: copied, ended: crashed },
      });
      thread.say({ path });
      return copy.promise;
    },
    /** Ends the thread after the running copies. */
    async stop(): Promise<void> {
      await Promise.all([...copying.values()].map(({ promise }) => promise));
      await thread?.stop();
    },
  };
}
