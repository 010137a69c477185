/** What the main thread asks of its API threads. */
import { expect, test } from 'bun:test';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { serving } from '../support/serving.ts';

test('what waits for the metrics of a thread ends with their arrival, so that it holds up no end of the process', async () => {
  const waits: { milliseconds: number; ended: boolean }[] = [];
  const clock: Clock = {
    ...systemClock,
    after(milliseconds, call) {
      const wait = { milliseconds, ended: false };
      waits.push(wait);
      const cancel = systemClock.after(milliseconds, call);
      return () => {
        wait.ended = true;
        cancel();
      };
    },
  };
  await using server = await serving({ threads: '1' }, undefined, {}, { clock });
  const metrics = await (await fetch(`${server.events}/metrics`)).text();
  expect(metrics).toContain('stackside_');
  const ofThreads = waits.filter(({ milliseconds }) => milliseconds === 2_000);
  expect(ofThreads).toEqual([{ milliseconds: 2_000, ended: true }]);
});
