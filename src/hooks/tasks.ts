/**
 * Tasks that take longer than a request: backfills, and hooks that catch up. They run in short turns between the events of
 * the node, each in a transaction of its own, so that neither waits for the other.
 */

import type { Clock } from '../base/clock.ts';
import type { HookReads } from '../store/hooks/store.ts';
import { type CommandsOf, turnOrFailure } from '../store/ingest/commands.ts';
import type { Task } from './commands/backfills.ts';
import { type HookLog, logTaskFailure } from './log-event.ts';
import type { HookCommands } from './machine.ts';

/** Maximum waiting deliveries of a hook that catches up; it goes on when some are delivered. */
const MOST_CAUGHT_UP = 1_000;
/** Maximum waiting deliveries of a backfill. */
const MOST_BACKFILLED = 100;
/** Milliseconds until a task is tried again after the database was unavailable. */
const RETRY_MS = 1_000;

/** Options of {@link hookTasks}. */
interface TaskOptions {
  store: HookReads;
  commands: CommandsOf<HookCommands>;
  log: HookLog;
  clock: Clock;
}

/** Runs the tasks, one turn at a time. */
export function hookTasks(options: TaskOptions) {
  const { store, commands, log, clock } = options;
  const { records, backfills } = store;
  let running = false;
  let stopped = true;
  let again = false;
  /** The failure that was logged last; empty after a success. */
  let said = '';
  let finished: Promise<void> = Promise.resolve();
  let cancelRetry = () => {};

  /**
   * Gives a task a turn.
   * @param failed called with the reason why the task can't go on, after the reason is written
   * @returns whether the task is done for now
   */
  const turn = (task: Task, failed: (cause: unknown) => void = () => {}): Promise<boolean> =>
    turnOrFailure(
      () => commands.runBatches('hook.advance', task),
      async (reason, cause) => {
        await commands.run('hook.fail', { task, reason });
        failed(cause);
      },
    );

  /** @returns whether the hook is live, or has to wait for its deliveries */
  const catchUpTurn = (hook: number): Promise<boolean> => turn({ of: 'catch_up', hook, most: MOST_CAUGHT_UP });

  /** @returns whether the backfill is done, or has to wait for its deliveries */
  async function backfillTurn(backfill: number): Promise<boolean> {
    const job = backfills.get(backfill);
    const record = job === undefined ? undefined : records.get(job.hookId);
    if (job === undefined || record === undefined) return true;
    return turn({ of: 'backfill', backfill, most: MOST_BACKFILLED }, (cause) =>
      log({ event: 'hook_backfill_failed', uuid: record.uuid, backfill: job.uuid, cause }),
    );
  }

  /** Gives each task a turn, and lets others have theirs in between. @returns whether there is more to do now */
  async function round(): Promise<boolean> {
    let more = false;
    for (const id of records.catchingUp()) {
      if (stopped) return true;
      more = !(await catchUpTurn(id)) || more;
      await clock.turn();
    }
    for (const id of backfills.next()) {
      if (stopped) return true;
      more = !(await backfillTurn(id)) || backfills.get(id)?.finishedAt !== null || more;
      await clock.turn();
    }
    return more;
  }

  async function run(): Promise<void> {
    running = true;
    try {
      // Let the caller finish first.
      await clock.turn();
      do {
        again = false;
        while (!stopped && (await round())) await clock.turn();
        said = '';
      } while (again && !stopped);
    } catch (error) {
      // What is away, such as an archive, is tried again every second.
      if (`${error}` !== said) logTaskFailure(log, error);
      said = `${error}`;
      if (!stopped) cancelRetry = clock.after(RETRY_MS, wake);
    } finally {
      running = false;
    }
  }

  function wake(): void {
    if (stopped) return;
    if (running) again = true;
    else finished = run();
  }

  return {
    /** Tasks may have work. */
    wake,
    /** Also starts again after `stop`. */
    start(): void {
      stopped = false;
      wake();
    },
    /** Resolves when the present turn is over. */
    async stop(): Promise<void> {
      stopped = true;
      cancelRetry();
      await finished;
    },
  };
}
