/** SQL over HTTP: access, rejected queries and limits. A separate process runs each query. */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type QueryRequest, SQL_LIMITS } from '../../src/api/stackside/sql.ts';
import { type OwnProcess, startOwnProcess as startFromSource } from '../../src/commands/cli/this-program.ts';
import { queries } from '../../src/commands/serve/own-processes.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readAdminKey } from '../../src/hooks/access/keys.ts';
import { emptyDirectory } from '../support/data/ingest.ts';
import { serving, startOwnProcess } from '../support/servers/serving.ts';
import { until } from '../support/time/until.ts';

const PATH = '/stackside/v1/sql';
const CONSUMER = 'a-key-of-a-consumer-who-is-no-operator';
const ENDLESS = 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c';

/** The processes of the server's queries. */
const started: OwnProcess[] = [];

const begin = (...args: Parameters<typeof startOwnProcess>) => {
  const process = startOwnProcess(...args);
  started.push(process);
  return process;
};
const keys = emptyDirectory(true);
const hookKeys = join(keys.path, 'keys');
await Bun.write(hookKeys, `team ${CONSUMER}\n`);
const server = await serving({ hookKeys }, undefined, {}, { startOwnProcess: begin });
const admin = readAdminKey(server.directory) ?? '';
await server.post(devnetEvents({ seed: 3, blocks: 5, transactionsPerBlock: 1 }));
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  keys[Symbol.dispose]();
});

const withBody = (body: object, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
});

const ask = (query: string, others: object = {}, signal?: AbortSignal): Promise<Response> =>
  server.get(PATH, {
    ...withBody({ query, ...others }, { 'x-api-key': admin }),
    ...(signal === undefined ? {} : { signal }),
  });

/** Signs the operator in as a browser would. @returns the session cookie */
async function signedIn(): Promise<string> {
  const answer = await server.get('/stackside/v1/session', { method: 'POST', headers: { 'x-api-key': admin } });
  return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

test('only the operator may run queries, and a browser only from a page of this server', async () => {
  const sameOrigin = { cookie: await signedIn(), 'sec-fetch-site': 'same-origin' };
  const callers: [Record<string, string>, number][] = [
    [{}, 401],
    [{ 'x-api-key': 'wrong' }, 401],
    [{ 'x-api-key': CONSUMER }, 403],
    [{ cookie: sameOrigin.cookie }, 403],
    [{ ...sameOrigin, 'sec-fetch-site': 'cross-site' }, 403],
    [{ ...sameOrigin, 'sec-fetch-site': 'same-site' }, 403],
    [{ 'x-api-key': admin, host: 'evil.example' }, 421],
    [sameOrigin, 200],
    [{ 'x-api-key': admin }, 200],
  ];
  const before = started.length;
  for (const [headers, status] of callers) {
    const answer = await server.get(PATH, withBody({ query: 'SELECT 1' }, headers));
    expect([headers, answer.status]).toEqual([headers, status]);
  }
  expect(started.length - before).toBe(2);
  const foreign = { ...sameOrigin, 'sec-fetch-site': 'cross-site' };
  expect(await (await server.get(PATH, withBody({ query: 'SELECT 1' }, foreign))).json()).toMatchObject({
    message: "Web pages of other origins can't use this route",
  });
  expect((await server.get(PATH)).status).toBe(401);
});

test("open access is only for this server's pages and for programs, and a server in read mode runs no query", async () => {
  await using open = await serving({ hookAccess: 'open' }, undefined, {}, { startOwnProcess: () => answering([]) });
  const statusOf = async (headers: Record<string, string>) =>
    (await open.get(PATH, withBody({ query: 'SELECT 1' }, headers))).status;
  expect(await statusOf({ 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await statusOf({ origin: 'http://evil.example' })).toBe(403);
  expect(await statusOf({ host: 'evil.example' })).toBe(421);
  // An HTML form can't send JSON.
  expect((await open.get(PATH, { method: 'POST', body: '{"query":"SELECT 1"}' })).status).toBe(415);
  // The query's process ended without any output.
  expect(await statusOf({})).toBe(503);
  await using reading = await serving({ mode: 'read' }, server.directory);
  expect((await reading.get(PATH, withBody({ query: 'SELECT 1' }))).status).toBe(503);
});

test('a result contains its columns and values and shows if it was cut; formats other than JSON reject a cut result', async () => {
  const query = "SELECT ?1 AS a, 9007199254740993 AS b, NULL AS c, x'00ff' AS a, -1.5 UNION ALL SELECT ?2, 1, 2, 3, 4";
  const parameters = ['ä', true];
  const answer = await ask(query, { parameters });
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await answer.json()).toEqual({
    columns: ['a', 'b', 'c', 'a', '-1.5'],
    rows: [
      ['ä', '9007199254740993', null, '0x00ff', -1.5],
      [1, 1, 2, 3, 4],
    ],
    cut: false,
  });
  expect(await (await ask(query, { parameters, max_rows: 1 })).json()).toMatchObject({ cut: true });
  const file = await ask(query, { parameters, format: 'parquet' });
  expect(Buffer.from(await file.bytes()).toString('latin1')).toMatch(/^PAR1[\s\S]*PAR1$/);
  const cut = await ask(query, { parameters, format: 'csv', max_rows: 1 });
  expect([cut.status, await cut.json()]).toEqual([
    400,
    expect.objectContaining({
      code: 'TOO_MUCH_WORK',
      message: expect.stringContaining('The result has more than 1 row. Raise max_rows, up to 100000.'),
    }),
  ]);
});

test.each([
  ['SELECT 1,\n  unknown', 'no such column: unknown (line 2, column 3).'],
  [
    'SELECT * FROM hook_secrets',
    'names start with v1_. Correct the query; docs/sql.md and GET /stackside/v1/sql list the views',
  ],
  ['DROP TABLE v1_blocks', 'Only one query at a time is accepted, and only one that reads'],
  ['SELECT ?1', 'The query has 1 parameter, but the number of values is 0.'],
])('%s is refused in words', async (query, words) => {
  const answer = await ask(query);
  const error = await answer.json();
  expect(error).toMatchObject({ statusCode: 400, code: 'VALIDATION', message: expect.stringContaining(words) });
});

test('rejects numbers that JSON would round, and explains how to send them', async () => {
  const query = 'SELECT 9007199254740993 = CAST(?1 AS INTEGER)';
  const answerTo = async (value: string): Promise<unknown> => {
    const body = `{"query":"${query}","parameters":[${value}]}`;
    return (await server.get(PATH, { ...withBody({}, { 'x-api-key': admin }), body })).json();
  };
  for (const value of ['9007199254740993', '-9007199254740993', '1e300']) {
    expect(await answerTo(value)).toMatchObject({
      statusCode: 400,
      message: expect.stringMatching(/^body\/parameters\/0 must be .* as text, and CAST them/),
    });
  }
  expect(await answerTo('"9007199254740993"')).toMatchObject({ rows: [[1]] });
  expect(await answerTo('9007199254740991')).toMatchObject({ rows: [[0]] });
});

test('a query is cancelled after its time limit and above its memory limit', async () => {
  for (const [query, words] of [
    [ENDLESS, 'took longer than 1 second and'],
    ['SELECT length(hex(zeroblob(499999999)))', 'more than 500 MB of memory'],
  ] as const) {
    const answer = await ask(query, query === ENDLESS ? { timeout: 1 } : {});
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ code: 'TOO_MUCH_WORK', message: expect.stringContaining(words) }),
    ]);
  }
});

test('a result above the row limit is rejected in every format', async () => {
  for (const format of ['csv', 'ndjson', 'parquet']) {
    const answer = await ask(ENDLESS.replace('count(*)', 'n'), { format, max_rows: 3 });
    expect([format, answer.status, await answer.json()]).toEqual([
      format,
      400,
      expect.objectContaining({ message: expect.stringContaining('The result has more than 3 rows.') }),
    ]);
  }
});

test('a result above the maximum of max_rows suggests another query', async () => {
  const cut = { end: { rows: SQL_LIMITS.rows, cut: true } };
  const full = queries({ directory: '', start: () => answering([cut]) });
  await expect(
    full.run({ ...queryOf('SELECT 1'), maxRows: SQL_LIMITS.rows }, new AbortController().signal),
  ).rejects.toMatchObject({ message: expect.stringContaining('100,000 rows. Read fewer rows') });
});

test('a query ends when its client disconnects or the server stops', async () => {
  const leaving = new AbortController();
  const before = started.length;
  const abandoned = ask(ENDLESS, {}, leaving.signal).catch((error: unknown) => error);
  await until(() => started.length > before);
  leaving.abort();
  expect(await abandoned).toBeInstanceOf(DOMException);
  expect((await started.at(-1)?.ended)?.code).toBeNull();
  const ownQueries = queries({ directory: server.directory, start: startFromSource });
  const stopped = ownQueries.run(queryOf(ENDLESS), new AbortController().signal).catch((error: unknown) => error);
  await ownQueries.stop();
  expect(await stopped).toMatchObject({ status: 503 });
});

const queryOf = (query: string): QueryRequest => ({
  query,
  parameters: [],
  format: 'csv',
  maxRows: 10,
  timeout: SQL_LIMITS.seconds,
});

/** A process that prints lines, and ends when the test allows it. */
const answering = (lines: readonly object[], ended: Promise<void> = Promise.resolve()): OwnProcess => ({
  lines: (async function* () {
    for (const line of lines) yield JSON.stringify(line);
    await ended;
  })(),
  ended: Promise.resolve({ code: 0, errors: '' }),
  kill: () => {},
});

test('limits the number of running queries and the bytes of a result', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { signal } = new AbortController();
  const waiting = queries({ directory: '', start: () => answering([], promise) });
  const running = Array.from({ length: SQL_LIMITS.atOnce }, () => waiting.run(queryOf('SELECT 1'), signal));
  await expect(waiting.run(queryOf('SELECT 1'), signal)).rejects.toMatchObject({
    status: 429,
    code: 'RATE_LIMIT',
    message: '2 queries are running; cancel one, or wait until it ends',
    headers: { 'retry-after': '1' },
  });
  resolve();
  expect((await Promise.allSettled(running)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const part = Buffer.alloc(1_000_000).toString('base64');
  const end = { end: { rows: 1, cut: false } };
  const large = (parts: number) =>
    queries({ directory: '', start: () => answering([...Array.from({ length: parts }, () => ({ part })), end]) }).run(
      queryOf('SELECT 1'),
      signal,
    );
  expect((await large(20)).length).toBe(SQL_LIMITS.bytes);
  await expect(large(21)).rejects.toMatchObject({ status: 400, code: 'TOO_MUCH_WORK' });
});
