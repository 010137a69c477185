/** The commands for deliveries that wait: list, retry and skip. */
import { expect, spyOn, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { backfill, list, retry, sendTest, setEnabled, skip, tryFile } from '../../src/commands/hooks/hooks.ts';
import {
  definition,
  filtersOf,
  type HookServer,
  hookServer,
  type Receiver,
  receiver,
  started,
} from '../hooks/server.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { until } from '../support/time/until.ts';

const events = simulatedEvents({ seed: 9, blocks: 8, accounts: 12, transactionsPerBlock: 6, forkEvery: 0 });
const STX_EVENTS = filtersOf('stx_event');
/** The receiver's answer after which Stackside doesn't try again within the test. */
const MUCH_LATER = () => new Response('', { status: 503, headers: { 'retry-after': '300' } });

/** Runs a command, and returns its error and the text that it prints. */
async function outputOf(run: () => Promise<void>): Promise<string> {
  using written = spyOn(process.stdout, 'write').mockImplementation(() => true);
  const error = await run().catch((cause: Error) => cause);
  return error instanceof Error ? error.message : written.mock.calls.join('');
}

const connectionOf = ({ url }: HookServer) => ({ url, key: null });

/** Starts a server with a chainhook whose first delivery gets an answer of the receiver. */
async function serveFailingHook(
  answer: (target: Receiver) => Response | Promise<Response> = MUCH_LATER,
  state: 'streaming' | 'interrupted' = 'streaming',
) {
  const target = receiver();
  target.answer = () => answer(target);
  const server = await hookServer();
  const uuid = await server.register(target.url, started, STX_EVENTS);
  server.feed(events);
  await until(async () => {
    const { status, last_error: error } = await server.status(uuid);
    return error !== null && status === state;
  });
  const { failing_delivery: delivery, pending_deliveries: count } = await server.status(uuid);
  return {
    server,
    connection: connectionOf(server),
    target,
    port: Number(new URL(target.url).port),
    uuid,
    delivery: delivery as string,
    count: count as number,
    /** Resolves when the chainhook has delivered everything. */
    drained: () =>
      until(async () => {
        const { pending_deliveries: count, failing_delivery: delivery } = await server.status(uuid);
        return count === 0 && delivery === null;
      }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      target[Symbol.dispose]();
    },
  };
}

/** Starts a server between the command and Stackside. */
function proxyOf(answer: (request: Request) => Promise<Response>) {
  const proxy = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
  return {
    connection: { url: `http://127.0.0.1:${proxy.port}`, key: null },
    [Symbol.asyncDispose]: () => proxy.stop(true),
  };
}

const TEXT = { json: false };
const JSON_ONLY = { json: true };

test('retry sends the failed delivery at once, and skip drops it', async () => {
  await using hook = await serveFailingHook();
  const { server, connection, target, uuid, delivery, drained } = hook;
  target.answer = ({ headers }) => (headers['webhook-id'] === delivery ? new Response('thanks') : MUCH_LATER());
  const answered = 'The receiver answered 200 after \\d+ ms\\.\nIts answer: thanks\n';
  const pattern = new RegExp(`^${delivery}  .*apply \\d+, \\d+ transactions?\n${answered}$`);
  expect(await outputOf(() => retry(connection, uuid, TEXT))).toMatch(pattern);
  const next = async () => (await server.status(uuid)).failing_delivery as string | null;
  await until(async () => ![null, delivery].includes(await next()));
  const second = (await next())!;
  target.answer = () => new Response('ok');
  expect(await outputOf(() => skip(connection, uuid, TEXT))).toBe(`Dropped delivery ${second}.\n`);
  await drained();
  expect(target.received.filter(({ headers }) => headers['webhook-id'] === second)).toHaveLength(1);
  expect(await outputOf(() => retry(connection, uuid, TEXT))).toBe('No failed delivery blocks the chainhook.');
});

test('the status, the list, a retry and a test say that redirects are not followed', async () => {
  await using hook = await serveFailingHook(() => new Response('Moved', { status: 302, headers: { location: '/' } }));
  const { server, uuid, connection } = hook;
  const reason = 'status 302: redirects are not followed';
  expect((await server.status(uuid)).last_error).toBe(reason);
  expect(await outputOf(() => list(connection, TEXT))).toContain(`: ${reason}; `);
  for (const command of [retry, sendTest]) {
    let output = '';
    // The server repeats the delivery at the same time.
    await until(async () => {
      output = await outputOf(() => command(connection, uuid, TEXT));
      return output !== 'The delivery is in flight.';
    });
    expect(output).toBe(`The receiver failed: ${reason}.`);
  }
});

test('retry fails if the receiver does not accept the delivery, and --json prints the delivery with the attempt', async () => {
  await using hook = await serveFailingHook();
  const { connection, uuid, delivery } = hook;
  using written = spyOn(process.stdout, 'write').mockImplementation(() => true);
  await expect(retry(connection, uuid, JSON_ONLY)).rejects.toMatchObject({
    message: 'The receiver failed: status 503.',
    remedy: 'Repair the receiver, or change the URL of the chainhook.',
  });
  expect(JSON.parse(written.mock.calls.join(''))).toMatchObject({
    id: delivery,
    attempt_count: 2,
    last_attempt: { status_code: 503 },
  });
  written.mockClear();
  await skip(connection, uuid, JSON_ONLY);
  expect(JSON.parse(written.mock.calls.join(''))).toEqual({ id: delivery });
});

test('retry stops if the delivery ends without an attempt', async () => {
  await using hook = await serveFailingHook();
  const { server, uuid } = hook;
  let isCancelled = false;
  await using proxy = proxyOf(async ({ method, url }) => {
    const { body } = await server.request('GET', new URL(url).pathname.replace(/\/redeliver$/, ''));
    if (method === 'POST') isCancelled = true;
    return Response.json(isCancelled ? { ...body, state: 'cancelled' } : body);
  });
  const printed = await outputOf(() => retry(proxy.connection, uuid, TEXT));
  expect(printed).toBe('The delivery is cancelled without another attempt.');
});

test('retry waits for an attempt under way, for a minute', async () => {
  let answer = (_: Response): void => {};
  await using hook = await serveFailingHook(({ received: { length } }) =>
    length === 1
      ? new Response('', { status: 500 })
      : new Promise((resolve) => {
          answer = resolve;
        }),
  );
  const { connection, target, uuid } = hook;
  await until(() => target.received.length === 2);
  let time = 0;
  const impatient = { ...systemClock, now: () => (time += 40_000) };
  await expect(retry(connection, uuid, TEXT, impatient)).rejects.toThrow('no result after 60 seconds');
  target.answer = MUCH_LATER;
  const answering = {
    ...systemClock,
    now() {
      answer(new Response('late'));
      return 0;
    },
  };
  expect(await outputOf(() => retry(connection, uuid, TEXT, answering))).toContain('\nIts answer: late\n');
});

const GONE = () => new Response('', { status: 410 });

test.each([
  ['is disabled or paused', MUCH_LATER, 'streaming'],
  ['was interrupted', GONE, 'interrupted'],
] as const)('retry rejects a chainhook that %s, and names the remedy', async (state, answer, status) => {
  await using hook = await serveFailingHook(answer, status);
  const { connection, uuid } = hook;
  if (status === 'streaming') await setEnabled(connection, uuid, false);
  await expect(retry(connection, uuid, TEXT)).rejects.toMatchObject({
    message: `The chainhook ${state}, so it sends nothing.`,
    remedy: expect.stringContaining(`\`stackside hooks enable ${uuid}\``),
  });
});

test('the list shows no past time of the next attempt while a retry is under way', async () => {
  await using hook = await serveFailingHook(({ received: { length } }) =>
    length === 1 ? new Response('', { status: 500 }) : new Promise(() => {}),
  );
  const { connection, target } = hook;
  await until(() => target.received.length === 2);
  const printed = await outputOf(() => list(connection, TEXT));
  expect(printed).toContain(': status 500; a retry is due or under way\n');
});

test('a trial counts one transaction in one block', async () => {
  await using server = await hookServer();
  server.feed(events);
  using directory = dataDirectory();
  const file = join(directory.path, 'hook.json');
  writeFileSync(file, JSON.stringify({ filters: { events: [{ type: 'coinbase' }] } }));
  const tryUpTo = (toHeight: number) =>
    outputOf(() => tryFile(connectionOf(server), file, { fromHeight: 1, toHeight, payloads: false, json: false }));
  expect([await tryUpTo(2), await tryUpTo(8)]).toEqual([
    '1 transaction in 1 block matches\n',
    '2 transactions in 2 blocks match\n',
  ]);
});

test('a chainhook takes one aligned line of the list, even if its name has a line end', async () => {
  await using server = await hookServer();
  await using target = receiver();
  const hook = definition(target.url, STX_EVENTS, started);
  const { uuid } = (await server.request('POST', '/chainhooks/me', { ...hook, name: 'a\nb\tc' })).body;
  const printed = await outputOf(() => list(connectionOf(server), TEXT));
  expect(printed.split('\n').slice(1)).toEqual([`${uuid}  new          0  a b c`, '']);
});

test('a backfill that fails while the command waits ends the command with its reason', async () => {
  const target = receiver();
  await using server = await hookServer();
  const uuid = await server.register(target.url, started, STX_EVENTS);
  server.feed(events);
  using _ = spyOn(server.hooks.commands, 'runBatches').mockRejectedValue(new Error('block 3 is missing'));
  const range = { fromHeight: 3, toHeight: 5, dryRun: true };
  expect(await outputOf(() => backfill(connectionOf(server), uuid, { ...range, wait: true }))).toBe(
    'The backfill failed at block 3: block 3 is missing',
  );
});
