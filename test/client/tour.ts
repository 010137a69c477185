/** Shared parts of the client tests: a simulated chain behind the API. */
import createClient from 'openapi-fetch';
import { lazy } from '../../src/base/cache.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { paths } from '../../src/console/app/api/openapi.d.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { checkedApp } from '../support/api/checked-app.ts';
import { received } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';

/** The API over the chain, one for all tours of a process: nobody writes to it. */
const sharedApp = lazy(() => {
  const events = [...devnetEvents({ seed: 5, blocks: 60, transactionsPerBlock: 12, forkEvery: 15, staking: 40 })];
  return checkedApp({
    snapshots: memoryIndex(events.map(received)),
    version: 'stackside v0.0.0 (test:tour)',
    log: () => {},
    clock: { ...systemClock, now: () => events.at(-1)?.time ?? 0 },
  });
});

/** A client of an API that checks each body against its schema. */
export async function startTour() {
  const app = sharedApp();
  const answer = await app.handle(new Request('http://localhost/docs/json'));
  const document = (await answer.json()) as { paths: Record<string, { get?: { deprecated?: boolean } }> };
  const fetch = (request: Request): Promise<Response> => Promise.resolve(app.handle(request));
  const client = createClient<paths>({ baseUrl: 'http://localhost', fetch });
  return { client, fetch, document };
}

/** Body of an answer; an error fails the test with its text. */
export async function data<T>(answer: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data: body, error } = await answer;
  if (body === undefined) throw new Error(JSON.stringify(error));
  return body;
}
