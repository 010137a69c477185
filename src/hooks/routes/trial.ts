/** Trying hooks: previews over past blocks, a test of the receiver, and backfills. */
import type { Cursor } from '../../store/model/page.ts';
import { search } from '../matching/scan.ts';
import type { Chainhooks } from '../service.ts';
import { type BackfillRange, backfillJobs } from './backfill-jobs.ts';
import type { Management } from './management.ts';
import { type PreviewRange, previews } from './preview.ts';
import { type TestChoice, testDeliveries } from './test-delivery.ts';

export type Trial = ReturnType<typeof trial>;

/** Every function takes the consumer, who sees nobody else's hooks. */
export function trial(hooks: Chainhooks, { own }: Management) {
  const searches = search(hooks.clock);
  const preview = previews(hooks, searches);
  const test = testDeliveries(hooks, searches);
  const jobs = backfillJobs(hooks);

  return {
    preview: preview.ofDefinition,
    previewOwn: (consumer: string, uuid: string, range: PreviewRange) => preview.ofHook(own(consumer, uuid), range),

    test: (consumer: string, uuid: string, choice: TestChoice) => test(() => own(consumer, uuid), choice),

    backfill: (consumer: string, uuid: string, range: BackfillRange) => jobs.start(own(consumer, uuid).id, range),
    getBackfill: (consumer: string, uuid: string, job: string) => jobs.get(own(consumer, uuid).id, job),
    backfills: (consumer: string, uuid: string, limit: number, at: Cursor | null) =>
      jobs.page(own(consumer, uuid).id, limit, at),
    cancelBackfill: (consumer: string, uuid: string, job: string) => jobs.cancel(own(consumer, uuid).id, job),
  };
}
