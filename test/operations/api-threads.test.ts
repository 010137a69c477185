/** Requests from the main thread to its API threads. */
import { expect, spyOn, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { hasCode } from '../../src/base/errors.ts';
import { apiThreadCount } from '../../src/commands/serve/api-threads.ts';
import { isPortTaken } from '../../src/http/listener.ts';
import { serving } from '../support/servers/serving.ts';

/** Time limit for the metrics of a thread, in milliseconds. */
const WAIT = 2_000;

test("a wait for a thread's metrics stops when they arrive, so that it can't delay the end of the process", async () => {
  let [started, ended] = [0, 0];
  const { after } = systemClock;
  const counted: typeof after = (milliseconds, call) => {
    const cancel = after(milliseconds, call);
    if (milliseconds !== WAIT) return cancel;
    started += 1;
    return () => {
      ended += 1;
      cancel();
    };
  };
  const clock = { ...systemClock, after: counted };
  await using server = await serving({ threads: '1' }, undefined, {}, { clock });
  const metrics = await (await fetch(`${server.events}/metrics`)).text();
  expect(metrics).toContain('stackside_');
  expect({ started, ended }).toEqual({ started: 1, ended: 1 });
});

test.skipIf(process.platform !== 'linux')(
  'no other process gets the port of API threads before they listen',
  async () => {
    const { serve } = Bun;
    using others = new DisposableStack();
    // Another listener takes each port as soon as one has left it.
    using _ = spyOn(Bun, 'serve').mockImplementation(((options: Parameters<typeof serve>[0]) => {
      const server = serve(options);
      const { port = 0, stop } = server;
      server.stop = async (now) => {
        await stop.call(server, now);
        try {
          const other = Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } });
          others.defer(() => other.stop(true));
        } catch (error) {
          if (!hasCode(error, 'EADDRINUSE')) throw error;
        }
      };
      return server;
    }) as typeof serve);
    await using server = await serving({ threads: '1' });
    expect((await server.get('/extended')).status).toBe(200);
  },
);

/** An address of this machine that no other test uses. */
const OWN_HOST = '127.0.0.80';

test.skipIf(process.platform !== 'linux' || isPortTaken(OWN_HOST, 80))(
  'all API threads listen on port 80',
  async () => {
    await using _ = await serving({ threads: '2', apiHost: OWN_HOST, apiPort: '80' });
    const sockets = await Bun.file('/proc/net/tcp').text();
    // Hexadecimal digits of the address, lowest byte first, and of the port; 0A is the state of a listener.
    expect(Array.from(sockets.matchAll(/ 5000007F:(\w{4}) \w+:\w+ 0A /g), ([, port]) => port)).toEqual([
      '0050',
      '0050',
    ]);
  },
);

test('by default, API threads leave a core for the writer', () => {
  const counts = [1, 2, 3, 4, 5, 6, 64].map((cores) => apiThreadCount('auto', cores));
  expect(counts).toEqual(process.platform === 'linux' ? [0, 0, 2, 3, 4, 4, 4] : [0, 0, 1, 1, 1, 1, 1]);
  expect([0, 1, 9].map((threads) => apiThreadCount(threads, 2))).toEqual([0, 1, 9]);
});

test.skipIf(process.platform !== 'linux')(
  'a machine with cores serves the API by threads, unless a setting says otherwise',
  async () => {
    const key = { headers: { 'sec-fetch-site': 'same-origin' } };
    for (const [flags, cores, threads] of [
      [{}, 3, 2],
      [{}, 2, 0],
      [{ threads: '1' }, 2, 1],
    ] as const) {
      await using server = await serving({ hookAccess: 'open', ...flags }, undefined, {}, { cores });
      expect((await server.get('/extended')).status).toBe(200);
      expect(await (await server.get('/stackside/v1/system', key)).json()).toMatchObject({ threads });
    }
  },
);
