/** Ends a process whose memory may be damaged. */
import { EXIT } from '../../base/errors.ts';
import type { Log } from '../../log.ts';

/** Ends the process at once: acknowledged events are on the disk, but the state in memory may be wrong. */
export function crash(log: Log, cause: unknown): never {
  try {
    log({ event: 'crashed', cause });
  } finally {
    process.exit(EXIT.again);
  }
}
