/** Turns of backfills and of hooks that catch up. */
import { expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { hookTasks } from '../../src/hooks/tasks.ts';
import { until } from '../support/time/until.ts';
import { directHooks } from './direct.ts';
import { definition, everything, NOWHERE } from './server.ts';

type Options = Parameters<typeof hookTasks>[0];
/** The work of a turn: a hook that catches up, or a backfill. */
type Turn = { of: 'catch_up'; hook: number } | { of: 'backfill'; backfill: number };

/** Tasks whose turns wait until the test ends one. The turns after it end at once, so that a wrong one is seen. */
function heldTasks(hooks: readonly number[], backfills: readonly number[]) {
  const turns: string[] = [];
  let answer = Promise.withResolvers<boolean>();
  const tasks = hookTasks({
    store: {
      records: { catchingUp: () => hooks, get: () => ({ uuid: 'hook' }) },
      backfills: { next: () => backfills, get: () => ({ hookId: 1, uuid: 'backfill', finishedAt: null }) },
    },
    commands: {
      runBatches(_: string, turn: Turn) {
        turns.push(turn.of === 'catch_up' ? `hook ${turn.hook}` : `backfill ${turn.backfill}`);
        return answer.promise;
      },
    },
    bring: (work: () => unknown) => work(),
    log: () => {},
    clock: systemClock,
  } as unknown as Options);
  return {
    turns,
    start(): void {
      answer = Promise.withResolvers<boolean>();
      tasks.start();
    },
    stop: tasks.stop,
    endTurn: () => answer.resolve(true),
  };
}

test.each([
  ['hooks that catch up', [1, 2, 3], [], ['hook 1']],
  ['a hook before backfills', [1], [7, 8], ['hook 1']],
  ['backfills', [], [7, 8, 9], ['backfill 7']],
] as const)(
  'a stop waits for the running turn, and no other turn starts: %s',
  async (_, hooks, backfills, expected) => {
    const { turns, start, stop, endTurn } = heldTasks(hooks, backfills);
    start();
    await until(() => turns.length > 0, 'the first turn');
    let isStopped = false;
    const stopped = stop().then(() => {
      isStopped = true;
    });
    await systemClock.turn();
    expect(isStopped).toBe(false);
    endTurn();
    await stopped;
    expect(turns).toEqual([...expected]);
  },
);

test('tasks start with the first one after a restart', async () => {
  const { turns, start, stop, endTurn } = heldTasks([1, 2], []);
  for (const round of [1, 2]) {
    start();
    await until(() => turns.length === round, 'a turn');
    const stopped = stop();
    endTurn();
    await stopped;
  }
  expect(turns).toEqual(['hook 1', 'hook 1']);
});

test('a dry run does not wait for an earlier backfill of its chainhook', async () => {
  await using direct = directHooks();
  const uuid = await direct.register(definition(NOWHERE, everything, {}));
  const { id: hookId } = direct.record(uuid);
  const { backfills } = direct.tables;
  for (const [job, dryRun] of [false, false, true, true].entries())
    backfills.add({ uuid: `00000000-0000-4000-8000-00000000000${job}`, hookId, dryRun, from: 1, to: 5 }, 0);
  expect(backfills.next()).toEqual([1, 3]);
  backfills.finish(3, 'completed', 0);
  expect(backfills.next()).toEqual([1, 4]);
});
