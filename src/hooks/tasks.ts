/**
 * Tasks that take longer than a request: backfills, and hooks that catch up. They run in short turns between the events of
 * the node, each in a separate transaction, so that neither waits for the other.
 */
import type { Clock } from '../base/clock.ts';
import { type Loop, startLoop } from '../base/service.ts';
import type { HookReads } from '../store/hooks/store.ts';
import { type CommandsOf, turnOrFailure } from '../store/ingest/commands.ts';
import type { Task } from './commands/backfills.ts';
import type { HookCommands } from './machine.ts';
import { type HookLog, logTaskFailure } from './reporting.ts';

/** Maximum waiting deliveries of a hook that catches up; it continues when some are delivered. */
const MAX_CAUGHT_UP = 1_000;
/** Maximum waiting deliveries of a backfill. */
const MAX_BACKFILLED = 100;
/** Milliseconds until a task is tried again after the database was unavailable. */
const RETRY_MS = 1_000;

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
  let loop: Loop | null = null;

  /**
   * Gives a task a turn.
   * @param failed called with the reason why the task can't continue, after the reason is written
   * @returns whether the task is done, or has to wait for its deliveries
   */
  const turn = (task: Task, failed: (cause: unknown) => void = () => {}): Promise<boolean> =>
    turnOrFailure(
      () => commands.runBatches('hook.advance', task),
      async (reason, cause) => {
        await commands.run('hook.fail', { task, reason });
        failed(cause);
      },
    );

  /** @returns whether the backfill is done, or has to wait for its deliveries */
  async function backfillTurn(backfill: number): Promise<boolean> {
    const job = backfills.get(backfill);
    const record = job === undefined ? undefined : records.get(job.hookId);
    if (job === undefined || record === undefined) return true;
    return turn({ of: 'backfill', backfill, most: MAX_BACKFILLED }, (cause) =>
      log({ event: 'hook_backfill_failed', uuid: record.uuid, backfill: job.uuid, cause }),
    );
  }

  /** Gives each task a turn, and lets others have theirs in between. @returns whether there is more to do now */
  async function round(signal: AbortSignal): Promise<boolean> {
    let more = false;
    for (const hook of records.catchingUp()) {
      if (signal.aborted) return false;
      if (!(await turn({ of: 'catch_up', hook, most: MAX_CAUGHT_UP }))) more = true;
      await clock.turn();
    }
    for (const id of backfills.next()) {
      if (signal.aborted) return false;
      const isWaiting = (await backfillTurn(id)) && backfills.get(id)?.finishedAt === null;
      // The next backfill of the hook can start when this one is over.
      if (!isWaiting) more = true;
      await clock.turn();
    }
    return more;
  }

  return {
    wake: () => loop?.wake(),
    /** Also starts again after `stop`. */
    start(): void {
      loop = startLoop({
        clock,
        everyMs: RETRY_MS,
        firstMs: 0,
        // Without more to do now, the tasks wait until they are woken.
        turn: async (signal) => ((await round(signal)) ? 0 : null),
        // A task that fails with any error must not stop the others.
        passes: (error) => error instanceof Error,
        failed: (error) => logTaskFailure(log, error),
      });
    },
    /** Resolves when the present turn is over. */
    stop: async (): Promise<void> => loop?.stop(),
  };
}
