/** Trying definitions and receivers, and telling hooks of the past. */
import { Type } from '@sinclair/typebox';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { type Route, route } from '../../http/route.ts';
import { invalidField } from '../problem.ts';
import type { HookFamily } from './family.ts';
import type { PreviewRange } from './preview.ts';
import {
  BackfillBody,
  BackfillResponse,
  PreviewBody,
  PreviewResponse,
  TestBody,
  TestResponse,
  Uuid,
} from './schemas.ts';

const uuid = { uuid: Uuid };
const job = { uuid: Uuid, job: Uuid };
const NO_HOOK = 'Chainhook not found: this consumer has none with this id';
const NO_JOB = 'Backfill not found: the chainhook has none with this id';

/** A range may stand in `block_height` or beside it. */
function rangeOf({ block_height: height, ...rest }: (typeof PreviewBody)['static']): PreviewRange {
  const { index_block_hash, from_height, to_height } = rest;
  return {
    ...(index_block_hash === undefined ? {} : { index_block_hash }),
    ...(from_height === undefined ? {} : { from_height }),
    ...(to_height === undefined ? {} : { to_height }),
    ...(typeof height === 'number' ? { block_height: height } : height),
  };
}

/** The routes of previews, test deliveries and backfills. */
export const trialRoutes = ({ at, family }: HookFamily): Route[] => [
  route({
    ...family,
    method: 'POST',
    path: `${at}/preview`,
    operationId: 'previewDefinition',
    summary: 'Preview a definition',
    description:
      'Returns what the given filters and options would have delivered for past blocks. Nothing is stored or sent.',
    body: PreviewBody,
    response: PreviewResponse,
    notFound: 'Block not found: the canonical chain has no such block',
    handle: ({ body, caller: { consumer, api } }) =>
      api.trial.preview(consumer, body.filters, body.options, rangeOf(body)),
  }),
  route({
    ...family,
    method: 'POST',
    path: `${at}/me/{uuid}/preview`,
    operationId: 'previewChainhook',
    summary: 'Preview a chainhook',
    description: 'Returns what a registered chainhook would have delivered for past blocks. Nothing is stored or sent.',
    params: uuid,
    body: PreviewBody,
    response: PreviewResponse,
    notFound: 'Chainhook not found, or the canonical chain has no such block',
    handle: ({ params, body, caller: { consumer, api } }) => {
      for (const name of ['filters', 'options'] as const) {
        if (body[name] !== undefined) throw invalidField(name, 'is not allowed; those of the chainhook are taken');
      }
      return api.trial.previewOwn(consumer, params.uuid, rangeOf(body));
    },
  }),
  route({
    ...family,
    method: 'POST',
    path: `${at}/me/{uuid}/test`,
    operationId: 'testChainhook',
    summary: 'Test a receiver',
    description:
      'Sends one delivery immediately and returns the response of the receiver. The newest matching block among the last thousand is used (fewer if they are large); if none matches, a block is made up with zeros for hashes. `searched_from_height` is the lowest block that was searched. The delivery is neither queued, logged nor counted.',
    params: uuid,
    body: TestBody,
    optionalBody: true,
    response: TestResponse,
    notFound: 'Chainhook not found, or the canonical chain has no such block',
    refusals: {
      ...family.refusals,
      409: 'The chainhook has no filters, or the server can not read the signing secret',
    },
    handle: ({ params, body, caller: { consumer, api } }) => api.trial.test(consumer, params.uuid, body),
  }),
  route({
    ...family,
    method: 'POST',
    path: `${at}/me/{uuid}/backfills`,
    operationId: 'startBackfill',
    summary: 'Start a backfill',
    description:
      'Queues deliveries for past blocks that match, lowest block first, one block in each delivery, and returns the backfill.',
    params: uuid,
    body: BackfillBody,
    status: 202,
    response: BackfillResponse,
    notFound: NO_HOOK,
    handle: ({ params, body, caller: { consumer, api } }) =>
      api.trial.backfill(consumer, params.uuid, {
        from: body.from_height,
        to: body.to_height,
        dryRun: body.dry_run ?? false,
      }),
  }),
  route({
    ...family,
    method: 'GET',
    path: `${at}/me/{uuid}/backfills`,
    operationId: 'getBackfills',
    summary: 'Backfills',
    description: 'Returns the backfills of a chainhook, newest first.',
    params: uuid,
    query: cursorQuery,
    response: CursorPage(BackfillResponse),
    notFound: NO_HOOK,
    handle: ({ params, query, caller: { consumer, api } }) => {
      const list = `backfills ${params.uuid.toLowerCase()}`;
      const page = api.trial.backfills(consumer, params.uuid, query.limit, pageCursor(list, query.cursor));
      return cursorPage(list, query.limit, page, (one) => one);
    },
  }),
  route({
    ...family,
    method: 'GET',
    path: `${at}/me/{uuid}/backfills/{job}`,
    operationId: 'getBackfill',
    summary: 'One backfill',
    description: 'Returns the progress of a backfill.',
    params: job,
    response: BackfillResponse,
    notFound: NO_JOB,
    handle: ({ params, caller: { consumer, api } }) => api.trial.getBackfill(consumer, params.uuid, params.job),
  }),
  route({
    ...family,
    method: 'DELETE',
    path: `${at}/me/{uuid}/backfills/{job}`,
    operationId: 'cancelBackfill',
    summary: 'Cancel a backfill',
    description: 'Stops a backfill and cancels the deliveries it has queued.',
    params: job,
    status: 204,
    response: Type.Void(),
    notFound: NO_JOB,
    handle: ({ params, caller: { consumer, api } }) => api.trial.cancelBackfill(consumer, params.uuid, params.job),
  }),
];
