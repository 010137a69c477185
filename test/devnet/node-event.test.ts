import { afterEach, expect, test } from 'bun:test';
import { postEvents } from '../../src/devnet/node-event.ts';
import { heldClock } from '../support/time/held-clock.ts';

/** Starts an observer that returns these statuses, then 200. */
function observer(...statuses: number[]) {
  const received: { path: string; type: string | null; body: string }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname } = new URL(request.url);
      received.push({ path: pathname, type: request.headers.get('content-type'), body: await request.text() });
      return Response.json({ result: 'ok' }, { status: statuses.shift() ?? 200 });
    },
  });
  servers.push(server);
  return { received, url: `http://127.0.0.1:${server.port}` };
}

const servers: ReturnType<typeof Bun.serve>[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.stop(true))));

test('events are posted one after another as JSON', async () => {
  const { received, url } = observer();
  const events = [1, 2, 3].map((n) => ({ path: `/event_${n}`, body: `{"n":${n}}`, time: n }));
  expect(await postEvents(events, url)).toBe(3);
  expect(received.map(({ path, body }) => [path, body])).toEqual(events.map(({ path, body }) => [path, body]));
  expect(received[0]?.type).toBe('application/json');
});

test('an event is posted again with growing waits until the status is 200', async () => {
  const { received, url } = observer(500, 204);
  const waits: number[] = [];
  const event = { path: '/new_block', body: '{}', time: 0 };
  const clock = heldClock([100, 200]);
  const onRetry = (_event: unknown, _cause: unknown, waitMs: number) => {
    waits.push(waitMs);
    // The wait starts just after this call.
    queueMicrotask(() => clock.pass(waitMs));
  };
  await postEvents([event], url, { onRetry, clock });
  expect(received).toHaveLength(3);
  expect(waits).toEqual([100, 200]);
});

test('posting stops when the signal is aborted', async () => {
  const { received, url } = observer(500);
  const event = { path: '/new_block', body: '{}', time: 0 };
  const end = new AbortController();
  const onRetry = () => queueMicrotask(() => end.abort());
  await expect(postEvents([event], url, { signal: end.signal, onRetry, clock: heldClock([100]) })).rejects.toThrow(
    end.signal.reason,
  );
  expect(received).toHaveLength(1);
});
