/** Backups on S3 and web servers: signed, verified, and retried when servers fail. */
import { afterAll, expect, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MANIFEST, partName } from '../../src/backup/manifest.ts';
import { s3Place, webSource } from '../../src/backup/remote.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { EXIT, OperatorError } from '../../src/base/errors.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { newestBackup } from '../../src/store/files/newest-backup.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';
import { type S3Server, s3Server } from '../support/servers/s3-server.ts';
import { until } from '../support/time/until.ts';

const STALL = 60_000;

/** Waits before another try are over at once; what bounds a server that sends nothing ends when the test says so. */
function impatientClock(): Clock & { stall(): void; waits: number[] } {
  const guards = new Set<() => void>();
  const waits: number[] = [];
  return {
    ...systemClock,
    waits,
    after(milliseconds, call) {
      if (milliseconds === STALL) {
        guards.add(call);
        return () => guards.delete(call);
      }
      waits.push(milliseconds);
      queueMicrotask(call);
      return () => {};
    },
    stall() {
      for (const call of [...guards]) call();
    },
  };
}

const source = ingestOf([...devnetEvents({ seed: 5, blocks: 4, transactionsPerBlock: 2 })].map(received));
const whole = everything(source.path);
const server = s3Server('bucket');
const folder = dataDirectory();
afterAll(() => {
  source[Symbol.dispose]();
  folder[Symbol.dispose]();
  server[Symbol.dispose]();
});

const { variables } = server;
const place = (key: string, given: Record<string, string | undefined> = {}, clock: Clock = impatientClock()) =>
  s3Place({ url: `s3://${key}`, variables: { ...variables, ...given }, clock, staging: join(folder.path, 'backup') });
const save = (key: string, clock?: Clock, given?: Record<string, string | undefined>) =>
  backupOf(source.path, '', { partBytes: 65_536, target: place(key, given, clock) });

/** Runs with requests that fail. */
async function failing<T>(fail: S3Server['fail'], work: () => Promise<T>): Promise<T> {
  server.fail = fail;
  try {
    return await work();
  } finally {
    server.fail = () => null;
  }
}

/** What it is refused with. */
async function refusal(work: Promise<unknown>): Promise<OperatorError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof OperatorError) return error;
  throw new Error('it is no error for the operator', { cause: error });
}

const KEY = 'bucket/a folder/ünïcode+1(2)';
const manifest = await save(KEY);
const partCount = manifest.files.reduce((sum, { parts }) => sum + parts.length, 0);

test('a backup in S3 is signed objects, the manifest last, and comes back as it was', async () => {
  const puts = server.requests.filter(({ method }) => method === 'PUT').map(({ path }) => path);
  expect(puts.at(-1)).toBe(`${KEY}/${MANIFEST}`);
  expect([...server.objects.keys()].sort()).toEqual(puts.toSorted());
  expect(puts.length).toBe(partCount + 1);
  expect(existsSync(join(folder.path, 'backup'))).toBe(false);
  using data = dataDirectory();
  await restored(place(KEY), data.path);
  expect(everything(data.path)).toEqual(whole);
  expect(newestBackup(data.path)?.location).toBe(`s3://${KEY}`);
  const error = await refusal(save(KEY));
  expect(error.message).toBe(`A backup already exists at s3://${KEY}.`);
});

test('each request fails twice, then each part is cut, and nothing is lost', async () => {
  const clock = impatientClock();
  const asked = new Map<string, number>();
  const odd: S3Server['fail'] = ({ method, path }) => {
    const tries = (asked.get(method + path) ?? 0) + 1;
    asked.set(method + path, tries);
    if (tries < 3) return { status: 503, code: 'SlowDown' };
    return tries === 3 && method === 'GET' && !path.endsWith(MANIFEST) ? 'cut' : null;
  };
  await failing(odd, async () => {
    await save('bucket/odd', clock);
    using data = dataDirectory();
    await restored(place('bucket/odd', {}, clock), data.path);
    expect(everything(data.path)).toEqual(whole);
  });
  expect([...new Set(clock.waits)]).toEqual([1_000, 2_000, 4_000]);
});

test('a server that stops in the middle of a body is asked again', async () => {
  const clock = impatientClock();
  let stalls = 0;
  const once: S3Server['fail'] = ({ path }) => {
    if (!path.endsWith(partName(2)) || stalls > 0) return null;
    stalls += 1;
    return 'stalled';
  };
  await failing(once, async () => {
    using data = dataDirectory();
    const restoring = restored(place(KEY, {}, clock), data.path);
    await until(() => stalls === 1, 'the body that stops');
    clock.stall();
    await restoring;
    expect(everything(data.path)).toEqual(whole);
  });
});

test('a server that keeps failing is given up after six tries, and the restore goes on later', async () => {
  using data = dataDirectory();
  const clock = impatientClock();
  const down: S3Server['fail'] = ({ path }) =>
    path.endsWith(partName(partCount)) ? { status: 500, code: 'Oh' } : null;
  const error = await refusal(failing(down, () => restored(place(KEY, {}, clock), data.path)));
  expect(error.message).toBe(`s3://${KEY} can't be reached: it answered 500.`);
  expect(error.exitCode).toBe(EXIT.again);
  expect(clock.waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
  const before = server.requests.length;
  const { found } = await restored(place(KEY), data.path);
  expect(found).toBeGreaterThan(0);
  expect(server.requests.length - before).toBe(2);
  expect(everything(data.path)).toEqual(whole);
});

test('nobody listening is said, and may pass', async () => {
  const error = await refusal(save(KEY, undefined, { AWS_ENDPOINT_URL: 'http://127.0.0.1:1' }));
  expect([error.message, error.exitCode]).toEqual([`s3://${KEY} can't be reached: the connection failed.`, EXIT.again]);
});

const refusals: readonly [
  what: string,
  given: Record<string, string | undefined>,
  key: string,
  says: RegExp,
  remedy: RegExp,
][] = [
  [
    'without credentials',
    { AWS_ACCESS_KEY_ID: undefined },
    'bucket/k',
    /^There are no credentials for S3\.$/,
    /AWS_ACCESS_KEY_ID/,
  ],
  [
    'with an unknown key',
    { AWS_ACCESS_KEY_ID: 'AKOTHER' },
    'bucket/k',
    /does not know the access key.*InvalidAccessKeyId/,
    /AWS_ACCESS_KEY_ID/,
  ],
  [
    'with a wrong secret',
    { AWS_SECRET_ACCESS_KEY: 'x' },
    'bucket/k',
    /does not accept the secret key/,
    /AWS_SECRET_ACCESS_KEY/,
  ],
  ['in another region', { AWS_REGION: 'moon-1' }, 'bucket/k', /in another region/, /AWS_REGION/],
  ['in no bucket', {}, 'bucked/k', /There is no such bucket: s3:\/\/bucked\/k/, /Create the bucket/],
];

test.each(refusals)('%s it says why', async (_, given, key, says, remedy) => {
  const error = await refusal(save(key, undefined, given));
  expect(error.message).toMatch(says);
  expect(error.remedy).toMatch(remedy);
  expect(error.exitCode).toBe(EXIT.operator);
});

test('a URL without a key is refused', () => {
  for (const url of ['bucket', 'bucket/', '/key']) expect(() => place(url)).toThrow('names no key');
});

test('an object that is longer than its manifest says is read no further', async () => {
  await save('bucket/long');
  const name = `bucket/long/${partName(1)}`;
  server.objects.set(name, Buffer.concat([server.objects.get(name)!, Buffer.alloc(1_000_000)]));
  using data = dataDirectory();
  const error = await refusal(restored(place('bucket/long'), data.path));
  expect(error.message).toMatch(/^s3:\/\/bucket\/long sends more than the \d+ bytes that it may send\.$/);
});

/** The backup's files behind a web server. */
function webServer(answer: (name: string, url: URL, request: Request) => Response | null) {
  const files = dataDirectory();
  cpSync(local, files.path, { recursive: true });
  const web = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const url = new URL(request.url);
      const name = url.pathname.split('/').at(-1) ?? '';
      const own = answer(name, url, request);
      if (own !== null) return own;
      return readdirSync(files.path).includes(name)
        ? new Response(readFileSync(join(files.path, name)))
        : new Response('none', { status: 404 });
    },
  });
  return {
    url: `http://127.0.0.1:${web.port}/backups/new`,
    [Symbol.dispose]() {
      files[Symbol.dispose]();
      void web.stop(true);
    },
  };
}
const local = join(folder.path, 'local');
await backupOf(source.path, local, { partBytes: 65_536 });
const fromWeb = (url: string, clock: Clock = impatientClock()) => webSource(new URL(url), clock);

test('a web server needs nothing but files, and may redirect', async () => {
  const asked: string[] = [];
  using web = webServer((name, { pathname, search }) => {
    asked.push(pathname);
    expect(search).toBe('?token=secret');
    return pathname.startsWith('/backups/') ? Response.redirect(`/mirror/${name}${search}`) : null;
  });
  using data = dataDirectory();
  const from = fromWeb(`${web.url}/?token=secret`);
  expect(from.location).not.toContain('secret');
  await restored(from, data.path);
  expect(everything(data.path)).toEqual(whole);
  expect(asked[0]).toBe(`/backups/new/${MANIFEST}`);
});

test('a web server that takes zstd for an encoding sends the same bytes', async () => {
  const encodings: (string | null)[] = [];
  using web = webServer((name, _, request) => {
    encodings.push(request.headers.get('accept-encoding'));
    if (name === MANIFEST) return null;
    return new Response(readFileSync(join(local, name)), { headers: { 'content-encoding': 'zstd' } });
  });
  using data = dataDirectory();
  await restored(fromWeb(web.url), data.path);
  expect(everything(data.path)).toEqual(whole);
  expect(new Set(encodings)).toEqual(new Set(['identity']));
});

test('a web server that has no backup, or denies it, says so', async () => {
  using data = dataDirectory();
  using empty = webServer(() => new Response('none', { status: 404 }));
  expect((await refusal(restored(fromWeb(empty.url), data.path))).message).toStartWith(
    `There is no backup at ${empty.url}`,
  );
  using closed = webServer(() => new Response('no', { status: 403 }));
  expect((await refusal(restored(fromWeb(closed.url), data.path))).message).toEndWith('with status 403.');
  using lacking = webServer((name) => (name === partName(2) ? new Response('gone', { status: 410 }) : null));
  expect((await refusal(restored(fromWeb(lacking.url), data.path))).message).toEndWith(`lacks ${partName(2)}.`);
});

test('a connection that is cut in the middle of a file is made again', async () => {
  const cut = new Set<string>();
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, bytes) {
        const name = /^GET \S*\/(\S+) /.exec(bytes.toString())?.[1] ?? '';
        const body = readFileSync(join(local, name));
        const sent = cut.has(name) ? body : body.subarray(0, body.length >> 1);
        cut.add(name);
        socket.end(
          Buffer.concat([
            Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`),
            sent,
          ]),
        );
      },
    },
  });
  using data = dataDirectory();
  const clock = impatientClock();
  try {
    await restored(fromWeb(`http://127.0.0.1:${server.port}/s`, clock), data.path);
  } finally {
    server.stop(true);
  }
  expect(everything(data.path)).toEqual(whole);
  expect(clock.waits).toEqual(Array.from(cut, () => 1_000));
});
