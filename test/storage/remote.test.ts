/** S3 and web servers: requests are signed, sizes are limited, and failed requests are retried. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Clock } from '../../src/base/clock.ts';
import { EXIT, OperatorError } from '../../src/base/errors.ts';
import { s3Objects, webSource } from '../../src/storage/remote.ts';
import { failureOf } from '../support/failure.ts';
import { type S3Server, s3Server } from '../support/servers/s3-server.ts';
import { stallingClock } from '../support/time/impatient-clock.ts';
import { until } from '../support/time/until.ts';

/** Leaves waits as they are. */
const random = () => 0.5;

const server = s3Server('bucket');
afterAll(() => server[Symbol.dispose]());

const { variables } = server;
const store = (key: string, clock: Clock = stallingClock(), overrides: Record<string, string | undefined> = {}) =>
  s3Objects({ url: `s3://${key}`, variables: { ...variables, ...overrides }, clock, random });

/** Runs with requests that fail. */
async function withFailures<T>(fail: S3Server['fail'], work: () => Promise<T>): Promise<T> {
  server.fail = fail;
  try {
    return await work();
  } finally {
    server.fail = () => null;
  }
}

const refusal = (work: Promise<unknown>) => failureOf(OperatorError, work);

const BODY = Buffer.from('the content of an object '.repeat(400));
const bounds = { min: 1, max: BODY.length };
const KEY = 'bucket/a folder/ünïcode+1(2)';
await store(KEY).write('one', BODY);

test('writes signed objects to S3 and reads the same bytes back', async () => {
  expect(server.objects.get(`${KEY}/one`)).toEqual(BODY);
  expect(await store(KEY).read('one', bounds)).toEqual(BODY);
});

test('loses nothing if each request fails twice and each body is then cut off', async () => {
  const clock = stallingClock();
  const triesByRequest = new Map<string, number>();
  const odd: S3Server['fail'] = ({ method, path }) => {
    const tries = (triesByRequest.get(method + path) ?? 0) + 1;
    triesByRequest.set(method + path, tries);
    if (tries < 3) return { status: 503, code: 'SlowDown' };
    return tries === 3 && method === 'GET' ? 'cut' : null;
  };
  await withFailures(odd, async () => {
    await store('bucket/odd', clock).write('two', BODY);
    expect(await store('bucket/odd', clock).read('two', { ...bounds, min: BODY.length })).toEqual(BODY);
  });
  expect([...new Set(clock.waits)]).toEqual([1_000, 2_000, 4_000]);
});

test('retries a request whose body stalls', async () => {
  const clock = stallingClock();
  let stalls = 0;
  const once: S3Server['fail'] = () => {
    if (stalls > 0) return null;
    stalls += 1;
    return 'stalled';
  };
  await withFailures(once, async () => {
    const reading = store(KEY, clock).read('one', bounds);
    await until(() => stalls === 1, 'the body that stops');
    clock.stall();
    expect(await reading).toEqual(BODY);
  });
});

test('gives up on a failing server after six tries', async () => {
  const clock = stallingClock();
  const down: S3Server['fail'] = () => ({ status: 500, code: 'Oh' });
  const error = await refusal(withFailures(down, () => store(KEY, clock).read('one', bounds)));
  expect(error.message).toBe(`s3://${KEY} can't be reached: it answered 500.`);
  expect(error.exitCode).toBe(EXIT.temporary);
  expect(clock.waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
});

test('a refused connection is an error that permits a retry', async () => {
  const error = await refusal(store(KEY, undefined, { AWS_ENDPOINT_URL: 'http://127.0.0.1:1' }).write('two', BODY));
  const message = `s3://${KEY} can't be reached: the connection failed.`;
  expect(error).toMatchObject({ message, exitCode: EXIT.temporary });
});

type Variables = Record<string, string | undefined>;

test.each<[how: string, variables: Variables, message: RegExp, remedy: RegExp, key?: string]>([
  [
    'without credentials',
    { AWS_ACCESS_KEY_ID: undefined },
    /^The credentials for S3 are missing\.$/,
    /AWS_ACCESS_KEY_ID/,
  ],
  [
    'with an unknown key',
    { AWS_ACCESS_KEY_ID: 'AKOTHER' },
    /rejects the access key.*InvalidAccessKeyId/,
    /AWS_ACCESS_KEY_ID/,
  ],
  ['with a wrong secret', { AWS_SECRET_ACCESS_KEY: 'x' }, /does not accept the secret key/, /AWS_SECRET_ACCESS_KEY/],
  ['to another region', { AWS_REGION: 'moon-1' }, /in another region/, /AWS_REGION/],
  [
    'to an address without a scheme',
    { AWS_ENDPOINT_URL: 'localhost:9000' },
    /localhost:9000, isn't a URL/,
    /AWS_ENDPOINT_URL .* http:/,
  ],
  [
    'to an address with a password and without a scheme',
    { AWS_ENDPOINT_URL: 'u:secret@minio:9000' },
    /^The address of the S3 server, u:\*\*\*@minio:9000, isn't a URL\.$/,
    /AWS_ENDPOINT_URL/,
  ],
  ['to a missing bucket', {}, /There is no such bucket: s3:\/\/bucked\/k/, /Create the bucket/, 'bucked/k'],
])('an S3 request %s fails with the reason', async (_, overrides, message, remedy, ...[key = 'bucket/k']) => {
  const error = await refusal(store(key, undefined, overrides).write('one', BODY));
  expect(error.message).toMatch(message);
  expect(error.remedy).toMatch(remedy);
  expect(error.exitCode).toBe(EXIT.operator);
});

test('rejects an S3 URL without a prefix', () => {
  for (const url of ['bucket', 'bucket/', '/key']) expect(() => store(url)).toThrow('has no prefix');
});

test('messages do not show the password of an S3 URL', async () => {
  expect(() => store('KEY:SECRET@bucket')).toThrow('s3://KEY:***@bucket has no prefix.');
  const error = await refusal(store('KEY:SECRET@bucket/k').write('one', BODY));
  expect(error.message).toContain('s3://KEY:***@bucket/k');
});

test('stops reading an object that is larger than its limit', async () => {
  await store('bucket/long').write('one', Buffer.concat([BODY, Buffer.alloc(1_000_000)]));
  const error = await refusal(store('bucket/long').read('one', bounds));
  expect(error.message).toMatch(/^s3:\/\/bucket\/long is larger than the \d+ bytes that are allowed\.$/);
});

describe('a list of an S3 server', () => {
  /** Lists from a server with these pages. @param page makes a page from the `start-after` key */
  async function list(page: (after: string) => { keys: readonly string[]; isTruncated: boolean }): Promise<string[]> {
    using lists = webServer(({ searchParams }) => {
      const { keys, isTruncated } = page(searchParams.get('start-after') ?? '');
      const contents = keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('');
      return new Response(`<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${contents}</ListBucketResult>`);
    });
    const endpoint = { AWS_ENDPOINT_URL: new URL(lists.url).origin };
    return await store('bucket/k', undefined, endpoint).list('segment-');
  }
  const KEYS = ['k/segment-1', 'k/segment-2', 'k/segment-3'];

  test('contains the names on all its pages', async () => {
    const page = (after: string) => {
      const next = KEYS.filter((key) => key > after);
      return { keys: next.slice(0, 2), isTruncated: next.length > 2 };
    };
    expect(await list(page)).toEqual(['segment-1', 'segment-2', 'segment-3']);
  });

  test.each([
    ['ignores start-after', () => ({ keys: KEYS, isTruncated: true }), 'segment-1 after segment-3'],
    [
      'always announces another page',
      (after: string) => ({ keys: KEYS.filter((key) => key > after), isTruncated: true }),
      'announces another page, and sends an empty one',
    ],
    ['sends names out of order', () => ({ keys: KEYS.toReversed(), isTruncated: false }), 'segment-2 after segment-3'],
  ])('is rejected if the server %s', async (_, page, problem) => {
    const { message, remedy } = await refusal(list(page));
    expect(message).toStartWith("s3://bucket/k can't be listed: ");
    expect(message).toContain(problem);
    expect(remedy).toContain('start-after');
  });

  test('is rejected if it contains more names than an archive can have', async () => {
    let page = 0;
    const endless = () => {
      page += 1;
      const keys = Array.from({ length: 200_000 }, (_, index) => `k/segment-${page}-${index + 200_000}`);
      return { keys, isTruncated: true };
    };
    expect((await refusal(list(endless))).message).toContain('more than 1000000 names begin with segment-');
    expect(page).toBe(6);
  });

  test('keeps names with percent signs that are not escapes', async () => {
    const keys = ['k/segment-100%', 'k/segment-2%zz', 'k/segment-3%20'];
    expect(await list(() => ({ keys, isTruncated: false }))).toEqual(['segment-100%', 'segment-2%zz', 'segment-3 ']);
  });
});

/** A web server with one file. */
function webServer(answer: (url: URL, request: Request) => Response | null) {
  const web = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const url = new URL(request.url);
      return (
        answer(url, request) ??
        (url.pathname.endsWith('/one') ? new Response(BODY) : new Response('none', { status: 404 }))
      );
    },
  });
  return {
    url: `http://127.0.0.1:${web.port}/archives/new`,
    [Symbol.dispose]() {
      void web.stop(true);
    },
  };
}
const fromWeb = (url: string, clock: Clock = stallingClock()) => webSource(new URL(url), clock, random);

test('reads from a web server with plain files, and follows a redirect', async () => {
  const paths: string[] = [];
  using web = webServer(({ pathname, search }) => {
    paths.push(pathname);
    expect(search).toBe('?token=secret');
    return pathname.startsWith('/archives/') ? Response.redirect(`/mirror/one${search}`) : null;
  });
  const from = fromWeb(`${web.url}/?token=secret`);
  expect(from.location).not.toContain('secret');
  expect(await from.read('one', bounds)).toEqual(BODY);
  expect(paths).toEqual(['/archives/new/one', '/mirror/one']);
});

test('requests no compression from a web server, and decodes a zstd response', async () => {
  const encodings: (string | null)[] = [];
  using web = webServer((_, request) => {
    encodings.push(request.headers.get('accept-encoding'));
    return new Response(BODY, { headers: { 'content-encoding': 'zstd' } });
  });
  expect(await fromWeb(web.url).read('one', bounds)).toEqual(BODY);
  expect(encodings).toEqual(['identity']);
});

test('a missing file on a web server is null, and a forbidden file is an error', async () => {
  for (const status of [404, 410]) {
    using empty = webServer(() => new Response('none', { status }));
    expect(await fromWeb(empty.url).read('one', bounds)).toBeNull();
  }
  using closed = webServer(() => new Response('no', { status: 403 }));
  expect((await refusal(fromWeb(closed.url).read('one', bounds))).message).toEndWith('with status 403.');
});

test('reconnects if the connection is cut in the middle of a file', async () => {
  let requests = 0;
  using cutting = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        requests += 1;
        const sent = requests > 1 ? BODY : BODY.subarray(0, BODY.length >> 1);
        const head = `HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\nConnection: close\r\n\r\n`;
        socket.end(Buffer.concat([Buffer.from(head), sent]));
      },
    },
  });
  const clock = stallingClock();
  expect(await fromWeb(`http://127.0.0.1:${cutting.port}/s`, clock).read('one', bounds)).toEqual(BODY);
  expect(clock.waits).toEqual([1_000]);
});
