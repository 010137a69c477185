/** Monotonic reads: each answer names its height, and a request can wait for a height. */
import { afterAll, describe, expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { HEIGHT_HEADER, MAX_WAIT_MS, MAX_WAITING, MIN_HEIGHT_HEADER } from '../../src/http/heights.ts';
import { startApi } from '../../src/http/listener.ts';
import { IndexUnavailableError } from '../../src/store/model/read-errors.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import { checkedApp } from '../support/api/checked-app.ts';
import { openNew, simulatedEvents } from '../support/data/ingest.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

/** How often a thread looks at the chain's height while requests wait for it. */
const LOOK_MS = 10;
const BLOCKS = '/extended/v2/blocks';
/** An existing block: later blocks don't change the tag of its response. */
const BLOCK = '/extended/v3/blocks/2/transactions';

const events = simulatedEvents({ seed: 4, blocks: 8, transactionsPerBlock: 1, forkEvery: 0 });
const rest = [...events];

const open = openNew();
const { commits } = open.ingest;
const read = openSnapshots(open.directory, { sharing: { turn: systemClock.turn, commits: () => commits.now() } });
/** The error of every read, or null if reads succeed. */
let unreadable: Error | null = null;
const snapshots: Snapshots = {
  ...read,
  read(request) {
    if (unreadable !== null) throw unreadable;
    return read.read(request);
  },
  readLong: (request) => (unreadable === null ? read.readLong(request) : Promise.reject(unreadable)),
};
const clock = heldClock([LOOK_MS]);
const app = checkedApp({ snapshots, version: 'test', log: () => {}, clock });
afterAll(() => {
  snapshots.close();
  open[Symbol.dispose]();
});

const ask = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}): Promise<Response> =>
  Promise.resolve(app.handle(new Request(`http://localhost${path}`, { ...init, headers })));
const askFor = (height: number | string, init: RequestInit = {}): Promise<Response> =>
  ask(BLOCKS, { [MIN_HEIGHT_HEADER]: String(height) }, init);
const named = (response: Response): string | null => response.headers.get(HEIGHT_HEADER);
const isWaiting = (): boolean => clock.waiting(LOOK_MS) > 0;

/** Accepts events until the chain reaches a height. */
function grow(height: number): void {
  while (open.ingest.tipHeight() < height) open.ingest.receive(rest.shift()!);
}

/** Lets the thread look at the chain as often as it would in a given time. */
async function pass(milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += LOOK_MS) {
    clock.pass(LOOK_MS);
    await systemClock.turn();
  }
}

test('an index without a block has height 0', async () => {
  expect([named(await ask(BLOCKS)), named(await askFor(0))]).toEqual(['0', '0']);
});

describe('the height header', () => {
  test('is sent with fresh, cached, 304, 404 and redirect answers', async () => {
    grow(3);
    const first = await ask(BLOCK);
    const etag = first.headers.get('etag')!;
    expect([first.status, named(first)]).toEqual([200, '3']);
    // Cached from the second time on.
    expect([named(await ask(BLOCK)), named(await ask(BLOCK))]).toEqual(['3', '3']);
    const unchanged = await ask(BLOCK, { 'if-none-match': etag });
    expect([unchanged.status, named(unchanged)]).toEqual([304, '3']);
    const unknown = await ask('/extended/v3/blocks/99/transactions');
    expect([unknown.status, named(unknown)]).toEqual([404, '3']);
    grow(4);
    const later = await ask(BLOCK);
    expect([later.headers.get('etag'), named(later)]).toEqual([etag, '4']);
    expect(named(await ask(BLOCK, { 'if-none-match': etag }))).toBe('4');
    const elsewhere = await ask(`/extended/v1/block/${'ab'.repeat(32)}`);
    expect([elsewhere.status, named(elsewhere)]).toEqual([302, '4']);
  });

  test('is missing from all other answers', async () => {
    expect(named(await ask('/docs/json'))).toBeNull();
    expect(named(await ask('/nowhere'))).toBeNull();
    expect(named(await ask(`${BLOCKS}?limit=none`))).toBeNull();
  });
});

describe('a request with a minimum height', () => {
  test('is answered at once and unchanged if the chain is that high', async () => {
    const plain = await ask(BLOCK);
    const etag = plain.headers.get('etag')!;
    const minimum = { [MIN_HEIGHT_HEADER]: '4' };
    const asking = await ask(BLOCK, minimum);
    expect(Object.fromEntries(asking.headers)).toEqual(Object.fromEntries(plain.headers));
    expect(await asking.text()).toBe(await plain.text());
    expect((await ask(BLOCK, { ...minimum, 'if-none-match': etag })).status).toBe(304);
    expect(isWaiting()).toBe(false);
  });

  test('waits until the chain is that high, and gets the answer of that height', async () => {
    const etag = (await ask(BLOCKS)).headers.get('etag')!;
    const answers = [askFor(5), ask(BLOCKS, { [MIN_HEIGHT_HEADER]: '5', 'if-none-match': etag }), askFor(6)];
    await until(isWaiting);
    await pass(3 * LOOK_MS);
    grow(5);
    await pass(LOOK_MS);
    const [high, changed] = await Promise.all([answers[0]!, answers[1]!]);
    expect([high.status, named(high), changed.status, named(changed)]).toEqual([200, '5', 200, '5']);
    grow(6);
    await pass(LOOK_MS);
    expect(named(await answers[2]!)).toBe('6');
    expect(isWaiting()).toBe(false);
  });

  test('is rejected after a second, with Retry-After', async () => {
    const answer = askFor(7);
    await until(isWaiting);
    await pass(MAX_WAIT_MS - LOOK_MS);
    expect(isWaiting()).toBe(true);
    await pass(LOOK_MS);
    const refused = await answer;
    expect([refused.status, named(refused), refused.headers.get('retry-after')]).toEqual([503, '6', '1']);
    expect(refused.headers.get('cache-control')).toBe('no-store');
    expect(await refused.json()).toEqual({
      statusCode: 503,
      code: 'HEIGHT_NOT_REACHED',
      error: 'Service Unavailable',
      message:
        'headers/stackside-min-height is 7, but the highest block here is 6: it did not arrive within 1 second; retry, or use another server',
    });
    expect(isWaiting()).toBe(false);
  });

  test('is rejected in the error format of its routes', async () => {
    const answer = ask('/v1/names', { [MIN_HEIGHT_HEADER]: '7' });
    await until(isWaiting);
    await pass(MAX_WAIT_MS);
    const refused = await answer;
    expect([refused.status, Object.keys((await refused.json()) as object)]).toEqual([503, ['error']]);
  });

  test.each([
    ['-1', 'must be >= 0'],
    ['1.5', 'must be integer'],
    ['', 'must be integer'],
    ['latest', 'must be integer'],
    ['4, 5', 'must be integer'],
    ['4294967296', 'must be <= 4294967295'],
  ])('of %p is rejected', async (height, rule) => {
    const refused = await askFor(height);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ code: 'VALIDATION', message: `headers/stackside-min-height ${rule}` });
  });

  test('returns 503 if the index becomes unreadable', async () => {
    const answer = askFor(7);
    await until(isWaiting);
    unreadable = new IndexUnavailableError('The index is being replaced.');
    await pass(LOOK_MS);
    const failed = await answer;
    unreadable = null;
    expect([failed.status, await failed.json()]).toEqual([503, { error: 'The database service is unavailable' }]);
    expect(isWaiting()).toBe(false);
  });
});

describe('hostile clients', () => {
  test("can't make more requests wait than the limit", async () => {
    const leaving = new AbortController();
    const many = Array.from({ length: MAX_WAITING }, () => askFor(7, { signal: leaving.signal }));
    await until(isWaiting);
    const refused = await Promise.all(Array.from({ length: 50 }, () => askFor(7)));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
    expect(await refused[0]!.json()).toMatchObject({
      code: 'HEIGHT_NOT_REACHED',
      message: expect.stringContaining(`${MAX_WAITING} requests already wait for a higher block`),
    });
    // A request that doesn't wait gets a response.
    expect((await ask(BLOCKS)).status).toBe(200);
    leaving.abort();
    expect(isWaiting()).toBe(false);
    await Promise.all(many);
  });

  test('stop waiting when they disconnect', async () => {
    const server = startApi({ app, hostname: '127.0.0.1', port: 0, bodyLimit: 1_000, log: () => {} });
    const leaving = new AbortController();
    const headers = { [MIN_HEIGHT_HEADER]: '7' };
    const request = fetch(server.url + BLOCKS, { headers, signal: leaving.signal }).catch((error: Error) => error.name);
    await until(isWaiting);
    leaving.abort();
    await until(() => !isWaiting());
    expect(await request).toBe('AbortError');
    await server.stop();
  });
});

test('pages of other origins may send and read the height headers', async () => {
  const baseHeaders = { origin: 'https://page.test', 'access-control-request-method': 'GET' };
  const preflight = await ask(
    BLOCKS,
    { ...baseHeaders, 'access-control-request-headers': MIN_HEIGHT_HEADER },
    { method: 'OPTIONS' },
  );
  expect(preflight.headers.get('access-control-allow-headers')).toBe(MIN_HEIGHT_HEADER);
  const exposed = (await ask(BLOCKS)).headers.get('access-control-expose-headers')!.toLowerCase().split(', ');
  expect(exposed).toContain(HEIGHT_HEADER);
  expect(exposed).toContain('retry-after');
});
