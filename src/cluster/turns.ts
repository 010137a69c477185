/** Whose turn it is to append to the log: events of this host's node, and commands that clients and deliveries send. */
import { WriterQueue } from '../store/ingest/writer-queue.ts';
import { LogUnavailableError, type SharedLog } from '../store/log/shared-log.ts';
import type { Race } from './races.ts';
import type { Standing } from './standing.ts';

interface TurnOptions {
  log: Pick<SharedLog, 'head'>;
  at: Standing;
  /** The order of all that is written. */
  queue: Pick<WriterQueue, 'run'>;
  race: Race;
  /** @throws LogUnavailableError once the host has ended, or stops */
  requireRunning: () => void;
}

/** An attempt to append, which returns `conflict` where another host's entry came before. */
type Attempt<T> = () => Promise<T | 'conflict'>;

/** Makes what gives events and commands their turns. What they throw: LogUnavailableError, and what the attempt throws. */
export function turns({ log, at, queue, race, requireRunning }: TurnOptions) {
  /** Commands wait for each other before they wait for others, so that an event waits for one of them at most. */
  const commands = new WriterQueue();

  /** Notes where the log could not be reached. */
  async function noting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof LogUnavailableError) at.failed(error);
      throw error;
    }
  }

  /** Nothing is applied, and nothing kept in the way of other writers, as long as the log is away. */
  async function requireLog(): Promise<void> {
    if (!at.isReachable()) at.reached((await noting(() => log.head())).seq);
  }

  const inTurn = <T>(attempt: Attempt<T>): Promise<T> =>
    queue.run(() => {
      // What ends the host may happen while the job waits.
      requireRunning();
      // So may an outage: if each tried by itself, the last would be answered after the time-outs of all of them.
      if (!at.isReachable()) throw new LogUnavailableError('the log did not answer');
      return noting(() => race(attempt));
    });

  return {
    async event<T>(attempt: Attempt<T>): Promise<T> {
      await requireLog();
      return inTurn(attempt);
    },
    async command<T>(attempt: Attempt<T>): Promise<T> {
      await requireLog();
      return commands.run(() => inTurn(attempt));
    },
  };
}
