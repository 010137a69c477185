/** Requests of the main thread to its API threads. */
import { expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { serving } from '../support/servers/serving.ts';

/** Milliseconds that the metrics of a thread are waited for. */
const WAIT = 2_000;

test('what waits for the metrics of a thread ends with their arrival, so that it holds up no end of the process', async () => {
  let [begun, ended] = [0, 0];
  const { after } = systemClock;
  const counted: typeof after = (milliseconds, call) => {
    const cancel = after(milliseconds, call);
    if (milliseconds !== WAIT) return cancel;
    begun += 1;
    return () => {
      ended += 1;
      cancel();
    };
  };
  const clock = { ...systemClock, after: counted };
  await using server = await serving({ threads: '1' }, undefined, {}, { clock });
  const metrics = await (await fetch(`${server.events}/metrics`)).text();
  expect(metrics).toContain('stackside_');
  expect({ begun, ended }).toEqual({ begun: 1, ended: 1 });
});
