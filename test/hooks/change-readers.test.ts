/** Readers of chain changes over HTTP: filters, streams, long polls and rejected requests. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { Turns } from '../../src/base/turns.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { changeRoutes, MAX_CLIENT_READERS, MAX_READERS, type ReaderForm } from '../../src/hooks/routes/changes.ts';
import { failures } from '../../src/http/errors.ts';
import { responder } from '../../src/http/respond.ts';
import { everyDelivery } from '../../src/store/hooks/delivery-log.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import { routeContext } from '../api/route-context.ts';
import { openApi } from '../support/api/api.ts';
import { ingestOf, OTHER_IDENTITY, openAt, received, simulatedEvents } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { eventsOf, forks } from '../support/events/forked-chain.ts';
import { assertProperty, firstSeed, Seen } from '../support/property.ts';
import { until } from '../support/time/until.ts';
import { allOptions, filtersOf, type HookServer, hookServer, NOWHERE, started } from './server.ts';

// biome-ignore lint/suspicious/noExplicitAny: changes are looked into
type Change = any;

/** Includes all parts that the options of a chainhook add. */
const ALL = ['transactions', 'decoded_values', ...Object.keys(allOptions).slice(1)]
  .map((word) => `include=${word.replace('include_', '')}`)
  .join('&');

const PATH = '/stackside/v1/changes';
const filtersIn = (events: readonly object[]): string => `filters=${encodeURIComponent(JSON.stringify({ events }))}`;

async function pages(get: (path: string) => Promise<Response>, query: string, from = ''): Promise<Change[]> {
  const changes: Change[] = [];
  for (let cursor = from; ; ) {
    const response = await get(`${PATH}?${cursor === '' ? '' : `after=${cursor}&`}${query}`);
    const body = (await response.json()) as Change;
    expect([response.status, body.message]).toEqual([200, undefined]);
    changes.push(...body.results);
    if (!body.has_more) return changes;
    cursor = body.next;
  }
}

/** A reader of the stream. */
class EventReader {
  readonly changes: Change[] = [];
  readonly problems: Change[] = [];
  id = '';
  ended = false;
  readonly #leaving = new AbortController();

  static async open(url: string, query: string, headers: Record<string, string> = {}): Promise<EventReader> {
    const reader = new EventReader();
    const response = await fetch(`${url}${PATH}?${query}`, {
      headers: { accept: 'text/event-stream', ...headers },
      signal: reader.#leaving.signal,
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    void reader.#read(response.body!);
    return reader;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = '';
    const decoder = new TextDecoder();
    try {
      for await (const part of body) {
        text += decoder.decode(part, { stream: true });
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          this.#event(text.slice(0, end));
          text = text.slice(end + 2);
        }
      }
    } catch (error) {
      if (!this.#leaving.signal.aborted) throw error;
    } finally {
      this.ended = true;
    }
  }

  #event(text: string): void {
    const fields = new Map(text.split('\n').map((line) => [line.split(':', 1)[0]!, line.slice(line.indexOf(':') + 2)]));
    this.id = fields.get('id') ?? this.id;
    const data = fields.get('data');
    if (fields.get('event') === 'problem') this.problems.push(JSON.parse(data!));
    else if (data !== undefined) this.changes.push(JSON.parse(data));
  }

  leave(): void {
    this.#leaving.abort();
  }
}

const feed = (server: HookServer, events: readonly NodeEvent[]): void => server.feed(events.map(received));
const getFrom =
  ({ url }: { url: string }) =>
  (path: string): Promise<Response> =>
    fetch(url + path);

/** All blocks that a hook was notified of, in order, as changes have them. */
function notifiedChanges(server: HookServer, uuid: string): Change[] {
  const { records, deliveries } = server.hooks.store;
  const { id } = records.find(uuid, 'default')!;
  return deliveries.inOrder(id, everyDelivery, 0, 100_000).flatMap((row) => {
    const { event } = JSON.parse(deliveries.body(row.id) ?? 'null');
    const as = (change: string) => (block: Change) => ({ change, block });
    return [...event.rollback.map(as('rollback')), ...event.apply.map(as('apply'))];
  });
}

/** The route over an index, without a server. */
function changesRoute(
  snapshots: Snapshots,
  replaced: Partial<Parameters<typeof changeRoutes>[0]>,
  context: object = {},
) {
  const metrics = { opened() {}, closed() {}, sent() {} };
  const [route] = changeRoutes({ snapshots, clock: systemClock, turns: new Turns(systemClock), metrics, ...replaced });
  return route!.serve(routeContext({ snapshots, ...context }));
}

const asStream = (query: string, signal: AbortSignal | null = null): Request =>
  new Request(`http://localhost${PATH}?${query}`, { headers: { accept: 'text/event-stream' }, signal });
const asPoll = (signal: AbortSignal | null = null): Request =>
  new Request(`http://localhost${PATH}?after=tip&wait=30`, { signal });

const withoutCursor = ({ change, block }: Change): Change => ({ change, block });

test('filters match the same changes as chainhooks, and pages and streams have the same sequence', async () => {
  const seen = new Seen({ matches: 20, rollbacks: 1, 'by principal': 3 });
  await assertProperty(
    fc.asyncProperty(forks(), async (generated) => {
      const events = eventsOf(generated);
      await using server = await hookServer();
      const principals = new Set<string>();
      feed(server, events.slice(0, 3));
      const get = getFrom(server);
      const ofSome = (principal: string) => [
        { type: 'balance_change', principal },
        { type: 'tenure_change', cause: 'extended' },
      ];
      const sets: object[][] = [
        filtersOf('stx_event', 'contract_call'),
        filtersOf('contract_log', 'coinbase'),
        filtersOf('ft_transfer', 'nft_mint', 'contract_deploy'),
      ];
      const live = await EventReader.open(server.url, ALL);
      feed(server, events.slice(3));
      for (const { block } of await pages(get, ALL)) {
        for (const { metadata } of block.transactions) principals.add(metadata.sender_address);
      }
      const [first, second] = [...principals];
      if (first !== undefined) sets.push([{ type: 'balance_change', principal: first }]);
      if (second !== undefined)
        sets.push(ofSome(second), [
          { type: 'stx_transfer', sender: second },
          { type: 'contract_call', sender: first },
        ]);

      // The hooks of a second server see the same blocks, live.
      await using hooked = await hookServer();
      const uuids: string[] = [];
      for (const filters of sets) {
        uuids.push(await hooked.register(NOWHERE, { ...allOptions, ...started }, filters));
      }
      feed(hooked, events);
      for (const [index, filters] of sets.entries()) {
        const changes = await pages(get, `${ALL}&${filtersIn(filters)}&limit=7`);
        expect(changes.map(withoutCursor)).toEqual(notifiedChanges(hooked, uuids[index]!));
        seen.add('matches', changes.length);
        if (index >= 3) seen.add('by principal', changes.length);
        seen.add('rollbacks', changes.filter(({ change }) => change === 'rollback').length);
      }

      const whole = await pages(get, ALL);
      await until(() => live.changes.length >= whole.length);
      expect(live.changes).toEqual(whole);
      live.leave();
      const middle = whole[Math.floor(whole.length / 2)]?.cursor;
      if (middle === undefined) return;
      const resumed = await EventReader.open(server.url, ALL, { 'last-event-id': middle });
      const rest = whole.slice(Math.floor(whole.length / 2) + 1);
      await until(() => resumed.changes.length >= rest.length);
      expect(resumed.changes).toEqual(rest);
      resumed.leave();
      const waited: Change[] = [];
      for (let cursor = middle; waited.length < rest.length; ) {
        const body = (await (await get(`${PATH}?after=${cursor}&${ALL}&wait=30&limit=1`)).json()) as Change;
        waited.push(...body.results);
        cursor = body.next;
      }
      expect(waited).toEqual(rest);
    }),
    // With this seed, one round of cases meets every situation.
    { seen, cases: 2, shrink: false, seed: firstSeed + 4 },
  );
});

const chain = [
  ...devnetEvents({ seed: 5, blocks: 30, accounts: 8, transactionsPerBlock: 3, forkEvery: 6, forkDepth: 2 }),
];
let server: HookServer;
beforeAll(async () => {
  server = await hookServer();
  feed(server, chain.slice(0, -30));
});
afterAll(() => server.stop());

test('the next matching block answers a long poll and is sent to streams', async () => {
  await using server = await hookServer();
  feed(server, chain.slice(0, -30));
  const get = getFrom(server);
  const filters = filtersIn([{ type: 'coinbase' }]);
  const { next } = (await (await get(`${PATH}?after=tip`)).json()) as Change;
  const stream = await EventReader.open(server.url, `after=tip&${filters}`);
  await until(() => stream.id === next);
  const answer = get(`${PATH}?after=${next}&wait=30&${filters}`);
  feed(server, chain.slice(-30));
  const { results } = (await (await answer).json()) as Change;
  expect(results.length).toBeGreaterThan(0);
  const all = await pages(get, filters, next);
  expect(results).toEqual(all.slice(0, results.length));
  await until(() => stream.changes.length >= all.length);
  expect(stream.changes).toEqual(all);
  // Blocks that don't match also move the cursor.
  const end = (await (await get(`${PATH}?after=tip`)).json()) as Change;
  await until(() => stream.id === end.next);
  stream.leave();
});

test('a long poll is answered only when its time ends or a block arrives', async () => {
  using directory = ingestOf(chain.slice(0, -30).map(received));
  using snapshots = snapshotsOf(directory.path);
  let [now, looks] = [0, 0];
  // Each wait ends in the next turn, whatever its length.
  const after: Clock['after'] = (_, call) => {
    let isCancelled = false;
    void systemClock.turn().then(() => {
      looks += 1;
      if (!isCancelled) call();
    });
    return () => {
      isCancelled = true;
    };
  };
  const serve = changesRoute(snapshots, { clock: { ...systemClock, after, monotonic: () => now } });
  let isAnswered = false;
  const ask = async (): Promise<Change> => {
    const response = await serve(asPoll());
    isAnswered = true;
    return response.json();
  };
  const answer = ask();
  await until(() => isAnswered || looks > 2);
  now = 29_999;
  const seen = looks;
  await until(() => isAnswered || looks > seen + 2);
  expect(isAnswered).toBe(false);
  now = 30_000;
  expect((await answer).results).toEqual([]);

  isAnswered = false;
  const next = ask();
  const earlier = looks;
  await until(() => isAnswered || looks > earlier + 2);
  expect(isAnswered).toBe(false);
  using open = openAt(directory.path);
  for (const event of chain.slice(-30)) open.ingest.receive(received(event));
  open.ingest.publish();
  expect((await next).results.length).toBeGreaterThan(0);
});

test('streams and long polls end when the client disconnects and when the server stops', async () => {
  using directory = ingestOf(chain.map(received));
  const snapshots = openSnapshots(directory.path);
  const counts = { stream: 0, wait: 0 };
  const stopping = new AbortController();
  const count = (step: number) => (form: ReaderForm) => {
    counts[form] += step;
  };
  const metrics = { opened: count(1), closed: count(-1), sent() {} };
  const logged: unknown[] = [];
  const failure = failures(responder('test'), (event) => logged.push(event));
  const serve = changesRoute(snapshots, { stopping: stopping.signal, metrics }, { failure });
  const http = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: serve });
  const url = http.url.origin;
  try {
    const leaving = new AbortController();
    const waiting = fetch(`${url}${PATH}?after=tip&wait=30`, { signal: leaving.signal }).catch(() => 'left');
    const stream = await EventReader.open(url, 'after=tip');
    await until(() => counts.stream === 1 && counts.wait === 1);
    stream.leave();
    leaving.abort();
    expect(await waiting).toBe('left');
    await until(() => counts.stream === 0 && counts.wait === 0);

    const other = await EventReader.open(url, 'after=tip');
    const late = fetch(`${url}${PATH}?after=tip&wait=30`);
    await until(() => counts.stream === 1 && counts.wait === 1);
    stopping.abort();
    expect(((await (await late).json()) as Change).results).toEqual([]);
    await until(() => other.ended);
    expect(counts).toEqual({ stream: 0, wait: 0 });
    expect(logged).toEqual([]);
  } finally {
    await http.stop(true);
    snapshots.close();
  }
});

test('changes are made only as fast as the reader reads, and the number of readers is limited', async () => {
  using directory = ingestOf(chain.map(received));
  using snapshots = snapshotsOf(directory.path);
  let written = 0;
  const sent = (_: unknown, changes: number) => {
    written += changes;
  };
  let client = 0;
  const clientAddress = () => `192.0.${client >> 8}.${client & 255}`;
  const serve = changesRoute(snapshots, { metrics: { opened() {}, closed() {}, sent } }, { clientAddress });
  const connect = async () => serve(asStream(ALL));
  const slow = (await connect()).body!.getReader();
  for (let read = 0; read < 8; read++) {
    await slow.read();
    // The first part has no change.
    expect(written).toBe(read);
  }
  const others: { cancel(): Promise<void> }[] = [];
  while (others.length < MAX_READERS - 1) {
    const reader = (await connect()).body!.getReader();
    await reader.read();
    others.push(reader);
    client = Math.floor((others.length + 1) / MAX_CLIENT_READERS);
  }
  const refused = await connect();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  await slow.cancel();
  expect((await connect()).status).toBe(200);
  for (const reader of others) await reader.cancel();
});

test('waiting requests and streams have one limit, and a stream above it gets 503', async () => {
  using directory = ingestOf(chain.map(received));
  using snapshots = snapshotsOf(directory.path);
  let [client, waiting] = [0, 0];
  const metrics = { opened: () => (waiting += 1), closed() {}, sent() {} };
  const serve = changesRoute(snapshots, { metrics }, { clientAddress: () => `192.0.2.${client}` });
  const leaving = new AbortController();
  const wait = async (): Promise<Response> => serve(asPoll(leaving.signal));
  const waits: Promise<Response>[] = [];
  for (; client < MAX_READERS / MAX_CLIENT_READERS; client++) {
    for (let own = 0; own < MAX_CLIENT_READERS; own++) waits.push(wait());
    await until(() => waiting === waits.length);
  }
  const stream = await serve(asStream('after=tip'));
  expect([stream.status, stream.headers.get('retry-after')]).toEqual([503, '1']);
  leaving.abort();
  await Promise.all(waits);
});

test('a client has at most 50 readers, and others can still connect', async () => {
  using directory = ingestOf(chain.map(received));
  using snapshots = snapshotsOf(directory.path);
  let address = '192.0.2.1';
  const leaving = new AbortController();
  const serve = changesRoute(snapshots, {}, { clientAddress: () => address });
  const connect = async (): Promise<Response> => serve(asStream('after=tip', leaving.signal));
  const wait = async (): Promise<Response> => serve(asPoll(leaving.signal));
  const waits = Array.from({ length: 10 }, wait);
  const open: { cancel(): Promise<void> }[] = [];
  for (let response = await connect(); response.status === 200; response = await connect()) {
    const reader = response.body!.getReader();
    await reader.read();
    open.push(reader);
  }
  expect(open).toHaveLength(MAX_CLIENT_READERS - waits.length);
  const refused = [await connect(), await wait()];
  expect(refused.map(({ status }) => status)).toEqual([429, 429]);
  expect(await refused[0]!.json()).toMatchObject({
    code: 'RATE_LIMIT',
    message: 'Your address already has 50 readers of changes; end one of them',
  });
  expect(refused[1]!.headers.get('retry-after')).toBe('1');
  address = '192.0.2.2';
  expect((await connect()).status).toBe(200);
  address = '192.0.2.1';
  await open.pop()!.cancel();
  expect((await connect()).status).toBe(200);
  leaving.abort();
  await Promise.all(waits);
});

test('an invalid request is rejected with the name of the parameter', async () => {
  const get = getFrom(server);
  const { next } = (await (await get(`${PATH}?after=tip`)).json()) as Change;
  const refusals: [query: string, status: number, message: string][] = [
    ['after=abc', 400, 'querystring/after must be a cursor that this route returned, or tip'],
    [`after=${next}&from_height=1`, 400, 'querystring/from_height must not be given with after'],
    ['from_height=100000', 400, 'the height of the next block'],
    ['filters=%7B', 400, 'querystring/filters must be JSON'],
    [filtersIn([{ type: 'nothing' }]), 400, 'querystring/filters: filters.events.0.type must be one of'],
    ['filters=%5B%5D', 400, 'querystring/filters: filters must be object'],
    ['include=everything', 400, 'querystring/include'],
    ['limit=0', 400, 'querystring/limit must be >= 1'],
    ['wait=31', 400, 'querystring/wait must be <= 30'],
    ['cursor=1', 400, 'is not a parameter of this route'],
  ];
  for (const [query, status, message] of refusals) {
    const response = await get(`${PATH}?${query}`);
    expect([query, response.status, await response.json()]).toEqual([
      query,
      status,
      expect.objectContaining({ message: expect.stringContaining(message) }),
    ]);
  }
});

test('an invalid Last-Event-ID is rejected with the name of the header', async () => {
  const headers = { accept: 'text/event-stream', 'last-event-id': 'abc' };
  const response = await fetch(`${server.url}${PATH}`, { headers });
  const message = 'headers/last-event-id must be the id of an event that this route sent';
  expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ message })]);
});

test('a cursor from another log is rejected if its block is unknown, and a future cursor waits for its step', async () => {
  using directory = ingestOf(simulatedEvents({ seed: 9, blocks: 60, accounts: 4, transactionsPerBlock: 1 }));
  using otherApi = openApi(directory.path);
  const changes = await pages(otherApi.get, 'limit=500');
  const get = getFrom(server);
  const low = await get(`${PATH}?after=${changes[2].cursor}`);
  expect([low.status, ((await low.json()) as Change).code]).toEqual([409, 'UNKNOWN_CURSOR']);
  const { cursor } = changes.at(-1);
  const high = (await (await get(`${PATH}?after=${cursor}`)).json()) as Change;
  expect(high).toEqual({ results: [], next: cursor, has_more: false });
});

test('HEAD has no body for JSON and for streams', async () => {
  for (const accept of ['application/json', 'text/event-stream']) {
    const response = await fetch(`${server.url}${PATH}`, { method: 'HEAD', headers: { accept } });
    expect([response.status, await response.text()]).toEqual([200, '']);
  }
});

const forkedEvents = () =>
  simulatedEvents({ seed: 9, blocks: 14, accounts: 4, transactionsPerBlock: 1, forkEvery: 4, forkDepth: 2 });
const hashOf = ({ block }: Change): string => block.block_identifier.hash;

test('a cursor from another log works at a canonical block, and is rejected at an orphaned block', async () => {
  const events = forkedEvents();
  using home = ingestOf(events);
  using foreign = ingestOf(events, { random: OTHER_IDENTITY });
  using homeApi = openApi(home.path);
  using otherApi = openApi(foreign.path);
  const changes = await pages(homeApi.get, 'limit=500');
  const foreignChanges = await pages(otherApi.get, 'limit=500');
  const orphans = new Set(changes.filter(({ change }) => change === 'rollback').map(hashOf));
  expect(orphans.size).toBeGreaterThan(0);
  let [led, refused] = [0, 0];
  for (const change of foreignChanges) {
    if (change.change !== 'apply') continue;
    expect(changes.map(({ cursor }) => cursor)).not.toContain(change.cursor);
    const response = await homeApi.get(`${PATH}?after=${change.cursor}&limit=500`);
    if (orphans.has(hashOf(change))) {
      expect([response.status, ((await response.json()) as Change).code]).toEqual([409, 'UNKNOWN_CURSOR']);
      refused += 1;
      continue;
    }
    const { results } = (await response.json()) as Change;
    expect(results.every((result: Change) => result.change === 'apply')).toBe(true);
    led += 1;
  }
  expect(refused).toBeGreaterThan(0);
  expect(led).toBeGreaterThan(0);
});
