/** `demo --observer`: a second server receives the events of the simulated node. */
import { afterAll, expect, test } from 'bun:test';
import { until } from '../support/time/until.ts';
import { demo } from './demo.ts';

const received: { path: string; height: number }[] = [];
const other = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { block_height: height = 0 } = JSON.parse(await request.text());
    received.push({ path: new URL(request.url).pathname, height });
    return new Response('ok');
  },
});
afterAll(() => other.stop(true));

test('a demo posts the events after --start-late to --observer', async () => {
  await using server = await demo({ pastBlocks: '12', observer: other.url.origin, startLate: '10' });
  const heights = () => received.filter(({ path }) => path === '/new_block').map(({ height }) => height);
  await until(() => heights().length === 2, 'the blocks above 10');
  await server.steer('/stackside/v1/devnet/mine');
  await until(() => heights().length === 3, 'the next block');
  expect(heights()).toEqual([11, 12, 13]);
});

test('a demo with an observer keeps the blocks that another Stackside requests to fill its index', async () => {
  await using server = await demo({ pastBlocks: '105', traffic: '0', observer: other.url.origin, startLate: '105' });
  for (const height of [1, 105]) {
    expect((await server.get(`/v3/blocks/height/${height}`)).status).toBe(200);
  }
});

test('a demo rejects --start-late without --observer', async () => {
  await expect(demo({ startLate: '10' })).rejects.toThrow('--start-late is given without an observer.');
});
