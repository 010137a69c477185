/** Backfills: consumers start, read and cancel them. */
import { type Static, Type } from '@sinclair/typebox';
import { CursorPage, cursorList, cursorQuery } from '../../http/pagination.ts';
import { type Route, route } from '../../http/route.ts';
import type { Cursor } from '../../store/model/page.ts';
import { requireBackfill } from '../commands/backfills.ts';
import { ownHook } from '../commands/hooks.ts';
import { requireRange } from '../problem.ts';
import type { Chainhooks } from '../service.ts';
import { type HookFamily, type HookReader, ONE_HOOK, type ReadHooks } from './family.ts';
import { BackfillBody, BackfillResponse, serializedBackfill, Uuid } from './schemas.ts';

/** Maximum unfinished backfills of a hook. */
const MAX_BACKFILLS = 100;

export type Backfills = ReturnType<typeof hookBackfills>;

/** Manages backfills. Every function takes the consumer and finds only this consumer's hooks. */
export function hookBackfills({ commands, random }: Pick<Chainhooks, 'commands' | 'random'>, read: ReadHooks) {
  /** The id of a hook of the consumer. @throws HookProblem 404 */
  const idOf = ({ hooks }: HookReader, consumer: string, uuid: string): number => ownHook(hooks, { consumer, uuid }).id;

  /** @throws HookProblem 404 */
  const get = (now: HookReader, consumer: string, uuid: string, job: string) =>
    serializedBackfill(requireBackfill(now.hooks, { hook: idOf(now, consumer, uuid), job }));

  return {
    get,

    page(now: HookReader, consumer: string, uuid: string, limit: number, cursor: Cursor | null) {
      const page = now.hooks.backfills.page(idOf(now, consumer, uuid), limit, cursor);
      return { ...page, items: page.items.map(serializedBackfill) };
    },

    /** @throws HookProblem 400 for the range, 404 for an unknown hook, 429 if too many backfills wait */
    async start(consumer: string, uuid: string, body: Static<typeof BackfillBody>) {
      const { hook, tip } = read((now) => ({ hook: idOf(now, consumer, uuid), tip: now.height() }));
      const { from_height: from, to_height: to = tip, dry_run: dryRun = false } = body;
      requireRange(from, to, tip);
      const job = random.uuid();
      await commands.run('backfill.start', { hook, job, from, to, dryRun, most: MAX_BACKFILLS });
      return read(({ hooks }) => serializedBackfill(requireBackfill(hooks, { hook, job })));
    },

    /** Also cancels the deliveries that the backfill has queued. @throws HookProblem 404 */
    async cancel(consumer: string, uuid: string, job: string): Promise<void> {
      const hook = read((now) => idOf(now, consumer, uuid));
      await commands.run('backfill.cancel', { hook, job });
    },
  };
}

const job = { uuid: Uuid, job: Uuid };
const NO_JOB = 'Backfill not found: the chainhook has none with this id';

export const backfillRoutes = ({ prefix, reads, commands }: HookFamily<{ backfills: Backfills }>): Route[] => [
  route({
    ...commands,
    method: 'POST',
    path: `${prefix}/me/{uuid}/backfills`,
    operationId: 'startBackfill',
    summary: 'Start a backfill',
    description:
      'Queues deliveries for past blocks that match, lowest block first, one block in each delivery, and returns the backfill.',
    ...ONE_HOOK,
    body: BackfillBody,
    status: 202,
    response: BackfillResponse,
    handle: ({ params, body, caller: { consumer, api } }) => api.backfills.start(consumer, params.uuid, body),
  }),
  route({
    ...reads,
    path: `${prefix}/me/{uuid}/backfills`,
    operationId: 'getBackfills',
    summary: 'Backfills',
    description: 'Returns the backfills of a chainhook, newest first.',
    ...ONE_HOOK,
    query: cursorQuery,
    response: CursorPage(BackfillResponse),
    handle: ({ read, params, query, caller: { consumer, api } }) => {
      const list = cursorList(`backfills ${params.uuid.toLowerCase()}`, query);
      return list.page(api.backfills.page(read, consumer, params.uuid, ...list.start), (item) => item);
    },
  }),
  route({
    ...reads,
    path: `${prefix}/me/{uuid}/backfills/{job}`,
    operationId: 'getBackfill',
    summary: 'One backfill',
    description: 'Returns the progress of a backfill.',
    params: job,
    response: BackfillResponse,
    notFound: NO_JOB,
    handle: ({ read, params, caller: { consumer, api } }) => api.backfills.get(read, consumer, params.uuid, params.job),
  }),
  route({
    ...commands,
    method: 'DELETE',
    path: `${prefix}/me/{uuid}/backfills/{job}`,
    operationId: 'cancelBackfill',
    summary: 'Cancel a backfill',
    description: 'Stops a backfill and cancels the deliveries it has queued.',
    params: job,
    status: 204,
    response: Type.Void(),
    notFound: NO_JOB,
    handle: ({ params, caller: { consumer, api } }) => api.backfills.cancel(consumer, params.uuid, params.job),
  }),
];
