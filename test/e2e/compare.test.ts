/** `stackside compare` as users run it. */
import { afterAll, expect, test } from 'bun:test';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { serving } from '../support/servers/serving.ts';
import { jsonLines, problemOf, stackside, stacksideIn } from './stackside.ts';

const data = ingestOf(simulatedEvents({ seed: 4, blocks: 12, accounts: 4, transactionsPerBlock: 2 }));
const server = await serving({}, data.path);
/** Another host over the same data, which answers one route wrongly. */
const keys = new Set<string | null>();
const stub = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const { pathname, search } = new URL(request.url);
    keys.add(request.headers.get('x-api-key'));
    const answer = await fetch(server.api + pathname + search, { redirect: 'manual' });
    const headers = new Headers(answer.headers);
    headers.delete('content-length');
    // The text below is decompressed.
    headers.delete('content-encoding');
    const text = await answer.text();
    const isWrong = pathname === '/extended/v1/stx_supply/total/plain' && wrong;
    return new Response(isWrong ? '1' : text, { status: answer.status, headers });
  },
});
const url = `http://127.0.0.1:${stub.port}`;
let wrong = false;
afterAll(async () => {
  await stub.stop(true);
  await server[Symbol.asyncDispose]();
  data[Symbol.dispose]();
});

const KEY = 'a-secret-key';
const compare = (...args: string[]) =>
  stacksideIn({ STACKSIDE_COMPARE_KEY: KEY }, 'compare', url, '--url', server.api, '--rate', '1000', ...args);

test('stackside compare reports no differences of equal servers, and names differences', async () => {
  const equal = await compare('--requests', '60');
  // On a busy machine, the command writes only its progress.
  expect(equal.stderr.replaceAll(/^\d+ of 60 requests: \d+ answers agree, 0 differ\n/gm, '')).toBe('');
  expect(equal.stdout).toContain(`here    ${server.api}, block 12 0x`);
  expect(equal.stdout).toMatch(/^ok {6}\d+ requests on \d+ routes: \d+ equal, 0 with known differences/m);
  expect([equal.code, equal.stdout.includes('DIFFERS')]).toEqual([0, false]);

  wrong = true;
  const differing = await compare('--requests', '400');
  expect(differing.stdout).toContain('DIFFERS /extended/v1/stx_supply/total/plain\n        the whole answer: ');
  expect(differing.code).toBe(2);
  const json = await compare('--requests', '400', '--json');
  const lines = jsonLines(json.stdout);
  expect(json.code).toBe(2);
  expect(lines.at(-1)).toMatchObject({ url, api: server.api, apart: null });
  expect(lines.find(({ route }) => route === '/extended/v1/stx_supply/total/plain').findings[0].example.theirs).toBe(
    '1',
  );

  expect([...keys]).toEqual([KEY]);
  expect([equal, differing, json].map(({ stdout, stderr }) => stdout + stderr).join()).not.toContain(KEY);
});

test("stackside compare rejects servers that it can't compare, in two lines", async () => {
  const none = await stackside('compare', 'http://127.0.0.1:1', '--url', server.api);
  expect([none.code, none.stdout]).toEqual([75, '']);
  expect(none.stderr).toStartWith("http://127.0.0.1:1 can't be reached.\n");
  for (const [target, message] of [
    ['api.example.org', 'The URL of the other API has a wrong form.'],
    ['https://user:password@api.example.org', 'The URL of the other API has a wrong form.'],
    [server.api, `${server.api} is this server itself.`],
  ] as const) {
    const problem = await problemOf('compare', target, '--url', server.api);
    expect(problem.split('\n')[0]).toBe(message);
    expect(problem).not.toContain('password@');
  }
});
