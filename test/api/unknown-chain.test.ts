/** While the server doesn't know its chain, routes of the chain return 503 and all others answer. */
import { expect, test } from 'bun:test';
import type { Readiness } from '../../src/api/operations.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import { routesOf } from '../support/api/app.ts';
import { checkedApp } from '../support/api/checked-app.ts';
import { received } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { targetOf } from '../support/generate/examples.ts';
import { emptyIndex, VERSION } from './test-app.ts';

const REASON = 'The node posted no event yet.';
const standing: Readiness = {
  ready: false,
  state: 'waiting_for_the_first_event',
  reason: REASON,
  next: 'Wait.',
  observer: null,
  height: null,
  node_height: null,
  tip_age_seconds: null,
  seconds_left: null,
};

function askOf(snapshots: Snapshots) {
  const app = checkedApp({
    snapshots,
    version: VERSION,
    log: () => {},
    operations: { readiness: async () => standing, metrics: async () => '' },
  });
  return (target: string): Promise<Response> => Promise.resolve(app.handle(new Request(`http://localhost${target}`)));
}

const routes = routesOf(VERSION).filter(({ method, snapshot }) => method === 'GET' && snapshot);

const targets = routes.map((route) => {
  const needed = route.detail.parameters.filter(({ required }) => required);
  return { route, target: targetOf(route, Object.fromEntries(needed.map(({ name, example }) => [name, example]))) };
});

/** Routes that read the index and answer without a chain. */
const WITHOUT_CHAIN = [
  '/extended',
  '/extended/v1/info/network_block_times',
  '/extended/v1/info/network_block_time/{network}',
  '/v2/prices/namespaces/{tld}',
];

test("every route of the chain returns 503 with the server's state until the chain is known", async () => {
  const ask = askOf(memoryIndex([]));
  const answered: string[] = [];
  for (const { route, target } of targets) {
    const response = await ask(target);
    if (response.status < 400) {
      answered.push(route.path);
      continue;
    }
    expect([target, response.status, response.headers.get('retry-after')]).toEqual([target, 503, '5']);
    expect([target, await response.text()]).toEqual([
      target,
      expect.stringContaining(`This server's chain is still unknown. ${REASON}`),
    ]);
  }
  expect(answered.sort()).toEqual(WITHOUT_CHAIN.sort());
  expect(await (await ask('/extended/v3/transactions')).json()).toMatchObject({ code: 'CHAIN_UNKNOWN' });
});

test('health, metrics, docs and console answer while the chain is unknown', async () => {
  const ask = askOf(memoryIndex([]));
  for (const path of ['/health', '/metrics', '/', '/docs', '/docs/json', '/extended']) {
    expect([path, (await ask(path)).status < 400]).toEqual([path, true]);
  }
  expect((await ask('/ready')).status).toBe(503);
  expect(await (await ask('/ready')).json()).toEqual(standing);
});

test('a server with a configured chain or a block answers', async () => {
  const genesis = [...devnetEvents({ seed: 1, blocks: 1, forkEvery: 0 })]
    .filter(({ path }) => path === '/new_block')
    .slice(0, 1);
  for (const index of [emptyIndex(), memoryIndex(genesis.map(received))]) {
    const ask = askOf(index);
    for (const { target } of targets) expect([target, (await ask(target)).status]).not.toEqual([target, 503]);
  }
});
