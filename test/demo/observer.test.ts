/** `demo --observer`: a second server receives the events of the simulated node. */
import { afterAll, expect, test } from 'bun:test';
import { until } from '../support/time/until.ts';
import { demo } from './demo.ts';

const received: { path: string; height: number }[] = [];
const observer = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { block_height: height = 0 } = JSON.parse(await request.text());
    received.push({ path: new URL(request.url).pathname, height });
    return new Response('ok');
  },
});
afterAll(() => observer.stop(true));

test('a demo posts its events to --observer', async () => {
  await using server = await demo({ pastBlocks: '12', observer: observer.url.origin });
  const heights = () => received.filter(({ path }) => path === '/new_block').map(({ height }) => height);
  await until(() => heights().at(-1) === 12, 'the past blocks');
  await server.steer('mine');
  await until(() => heights().at(-1) === 13, 'the next block');
  expect(heights()).toEqual(Array.from({ length: 14 }, (_, height) => height));
});

test('a demo with an observer keeps the blocks that another Stackside requests to fill its index', async () => {
  await using server = await demo({ pastBlocks: '105', traffic: '0', observer: observer.url.origin });
  for (const height of [1, 105]) {
    expect((await server.get(`/v3/blocks/height/${height}`)).status).toBe(200);
  }
});
