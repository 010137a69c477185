/** Work that SIGINT and SIGTERM interrupt. */
import { EXIT } from '../../base/errors.ts';

/**
 * Runs work; a signal meanwhile ends the process with {@link EXIT.interrupted}.
 * @param leave brings files in order before the process ends; called by a signal alone
 * @throws what the work throws
 */
export async function interruptible<T>(leave: () => void, work: () => Promise<T>): Promise<T> {
  const interrupted = () => {
    leave();
    process.exit(EXIT.interrupted);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    return await work();
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
  }
}
