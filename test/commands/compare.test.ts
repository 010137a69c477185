/** Comparisons of two servers over generated chains: equal servers, and each kind of difference. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { cpSync } from 'node:fs';
import { OperatorError, TemporaryError } from '../../src/base/errors.ts';
import { type CompareOptions, compare, type Tally, textReport, totalsOf } from '../../src/commands/compare/compare.ts';
import { makeQuestion, readSamples, routes } from '../../src/commands/compare/questions.ts';
import { apartText, type CommonChain, Server } from '../../src/commands/compare/server.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received, simulatedEvents } from '../support/data/ingest.ts';
import { failureOf } from '../support/failure.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { impatientClock } from '../support/time/impatient-clock.ts';

const open: (Disposable | AsyncDisposable)[] = [];
afterAll(async () => {
  for (const resource of open.reverse()) {
    if (Symbol.asyncDispose in resource) await resource[Symbol.asyncDispose]();
    else resource[Symbol.dispose]();
  }
});
const keep = <T extends Disposable | AsyncDisposable>(resource: T): T => {
  open.push(resource);
  return resource;
};

const forked = { seed: 2, blocks: 40, accounts: 8, transactionsPerBlock: 4, staking: 12, forkEvery: 15 };
const events = simulatedEvents(forked);
const whole = keep(ingestOf(events));
const server = keep(await serving({}, whole.path));

/** Starts a server over a copy of the index that SQL statements have changed. */
async function serveChanged(...statements: string[]): Promise<Serving> {
  const copy: DataDirectory = keep(dataDirectory());
  cpSync(whole.path, copy.path, { recursive: true });
  {
    using db = new Database(indexPath(copy.path));
    for (const statement of statements) expect(db.run(statement).changes).toBe(1);
  }
  return keep(await serving({}, copy.path));
}

const twin = await serveChanged();

const clientOf = (url: string): Server =>
  new Server({ url, clock: impatientClock, rate: null, key: null, userAgent: 'a test' });

/** Compares the server with another one, or another pair. */
async function compareWith(
  theirs: string,
  options: Partial<CompareOptions> = {},
  ours: string = server.api,
): Promise<{ tally: Tally; end: CommonChain }> {
  let tally: Tally | null = null;
  const end = await compare({
    ours: clientOf(ours),
    theirs: clientOf(theirs),
    clock: impatientClock,
    routes,
    requests: 400,
    report: (current) => {
      tally = current;
    },
    ...options,
  });
  return { tally: tally!, end };
}

/** Routes and paths of differences, with or without a reason. */
const differingIn = ({ routes }: Tally, isKnown = false): string[] =>
  Object.entries(routes).flatMap(([route, { findings }]) =>
    findings.filter(({ reason }) => (reason !== null) === isKnown).map(({ path }) => `${route} ${path}`),
  );

/**
 * Starts another server of the API with the twin's responses after `answer` changes them. Null leaves a response
 * unchanged.
 */
function reference(answer: (target: string, body: unknown, status: number) => Response | object | null) {
  const requests: string[] = [];
  const listener = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      requests.push(pathname + search);
      const reply = await fetch(twin.api + pathname + search, { redirect: 'manual' });
      const text = await reply.text();
      const isJson = (reply.headers.get('content-type') ?? '').startsWith('application/json');
      const body: unknown = isJson ? JSON.parse(text) : text;
      const edited = answer(pathname + search, body, reply.status);
      if (edited instanceof Response) return edited;
      const headers = new Headers(reply.headers);
      headers.delete('content-length');
      // The text is decompressed.
      headers.delete('content-encoding');
      return new Response(edited === null ? text : JSON.stringify(edited), { status: reply.status, headers });
    },
  });
  keep({ [Symbol.asyncDispose]: () => listener.stop(true) });
  return { url: `http://127.0.0.1:${listener.port}`, requests };
}

test('comparing two servers with the same chain requests most routes and finds no differences', async () => {
  const { tally, end } = await compareWith(twin.api);
  expect(differingIn(tally)).toEqual([]);
  expect(differingIn(tally, true)).toEqual([]);
  const { routes, equal, differing, moved, unanswered } = totalsOf(tally);
  expect([differing, moved, unanswered, apartText(end)]).toEqual([0, 0, 0, null]);
  expect(equal).toBeGreaterThan(300);
  expect(routes).toBeGreaterThan(110);
  expect(tally.requests).toBeGreaterThanOrEqual(400);
  expect(tally.requests).toBeLessThan(410);
  const notAsked = Object.entries(tally.routes).filter(([, route]) => route.notAsked !== null);
  expect(notAsked.map(([route]) => route).sort()).toEqual([
    '/extended/v1/microblock/{hash}',
    '/extended/v1/{pox}/{pool_principal}/delegations',
  ]);
});

const routesFor = (paths: RegExp) => routes.filter(({ path }) => paths.test(path));

test('a changed row is reported with its route, its path and both values', async () => {
  const other = await serveChanged('UPDATE blocks SET cost_runtime = cost_runtime + 1 WHERE height = 20');
  const { tally } = await compareWith(other.api, {
    routes: routesFor(/^\/extended\/v[12]\/(burn-)?blocks?\b/),
    requests: 250,
  });
  const named = differingIn(tally);
  expect(named).toContain('/extended/v2/blocks results[*].execution_cost_runtime');
  expect(named.filter((name) => !name.endsWith('execution_cost_runtime'))).toEqual([]);
  const [{ example } = { example: null }] = tally.routes['/extended/v2/blocks']?.findings ?? [];
  expect(Number(example?.theirs)).toBe(Number(example?.ours) + 1);
  expect(example?.target).toStartWith('/extended/v2/blocks');
  expect(example?.at).toMatch(/^results\[\d+\]\.execution_cost_runtime$/);
});

test('a server that is behind is reported, and results that depend on the tip stay open', async () => {
  const shorter = keep(ingestOf(events.slice(0, Math.floor(events.length / 2))));
  const other = keep(await serving({}, shorter.path));
  const { tally, end } = await compareWith(other.api, { requests: 200 });
  expect(apartText(end)).toMatch(/^The other server is behind: it lacks the newest \d+ blocks of this one\.$/);
  expect(differingIn(tally)).toEqual([]);
  expect(totalsOf(tally).moved).toBeGreaterThan(10);
  expect(totalsOf(tally).equal).toBeGreaterThan(50);
  const { tally: turned, end: end2 } = await compareWith(server.api, { requests: 60 }, other.api);
  expect(apartText(end2)).toStartWith('This server is behind');
  expect(differingIn(turned)).toEqual([]);
});

test('a server on another fork is reported, and only rows of shared blocks are compared', async () => {
  const chain = new SimulatedChain({ seed: 9, accounts: 6, transactionsPerBlock: 3 });
  const common = [chain.genesis()];
  const mine = (into: NodeEvent[], parent: string, blocks: number): string => {
    let tip = parent;
    for (let block = 0; block < blocks; block++) {
      const { events: mined, indexBlockHash } = chain.mine(tip, { newTenure: true });
      into.push(...mined);
      tip = indexBlockHash;
    }
    return tip;
  };
  const forkPoint = mine(common, chain.tip.indexBlockHash, 20);
  const serveBranch = async (): Promise<Serving> => {
    const branch = [...common];
    mine(branch, forkPoint, 10);
    return keep(await serving({}, keep(ingestOf(branch.map(received))).path));
  };
  const [here, there] = [await serveBranch(), await serveBranch()];
  const { tally, end } = await compareWith(there.api, { requests: 200 }, here.api);
  expect(apartText(end)).toMatch(/^The servers are on different forks: they have the same blocks up to \d+/);
  expect(tally.highest).toBeLessThan(end.common);
  expect(differingIn(tally)).toEqual([]);
});

test('a server of another chain is rejected immediately', async () => {
  const other = keep(ingestOf(simulatedEvents({ seed: 3, blocks: 3, accounts: 4 })));
  const foreign = keep(await serving({}, other.path));
  const error = await failureOf(OperatorError, compareWith(foreign.api));
  expect(error).not.toBeInstanceOf(TemporaryError);
  expect(error.message).toContain(`${foreign.api} has another chain: its block 1 is 0x`);
});

test('a server without a chain API is rejected, and a server without blocks may receive some later', async () => {
  const none = reference(() => new Response('hello'));
  const { message } = await failureOf(OperatorError, compareWith(none.url));
  expect(message).toContain("isn't the status of a Stacks API: it returned 200");
  const moved = reference(() => Response.redirect('https://127.0.0.1:1/extended', 301));
  const { remedy } = await failureOf(OperatorError, compareWith(moved.url));
  expect(remedy).toBe('Give the URL of the server to which it redirects, perhaps with https.');
  const empty = keep(await serving());
  await expect(compareWith(empty.api)).rejects.toThrow(TemporaryError);
});

const isBurnBlocks = (target: string): boolean => /^\/extended\/v2\/burn-blocks(\?|$)/.test(target);
const isBlocks = (target: string): boolean => /^\/extended\/v2\/blocks(\?|$)/.test(target);
const isFees = (target: string): boolean => target.startsWith('/extended/v2/mempool/fees');

/** Returns the body of an API that isn't Stackside, or null if its body is the same. */
const asReference = (target: string, body: unknown): object | null => {
  const answer = Object(body);
  if (target === '/extended') return { ...answer, server_version: 'stacks-api v9' };
  if (isBurnBlocks(target)) return { ...answer, total: answer.total + 1_000 };
  return target.startsWith('/extended/v3/') && answer.results?.length === 0
    ? { ...answer, cursor: { ...answer.cursor, current: null } }
    : null;
};

test('known differences are listed apart from others, but not between two Stackside servers', async () => {
  const other = reference(asReference);
  const routes = routesFor(/^\/extended\/(v2\/burn-blocks|v3\/(mempool|principals|tokens))/);
  const { tally, end } = await compareWith(other.url, { routes, requests: 60 });
  expect(differingIn(tally)).toEqual([]);
  expect(differingIn(tally, true)).toContain('/extended/v2/burn-blocks total');
  expect(differingIn(tally, true)).toContain('/extended/v3/principals/{principal}/mempool/transactions cursor.current');
  expect(totalsOf(tally).differing).toBe(0);
  expect(totalsOf(tally).known).toBeGreaterThan(1);
  const lines = textReport(tally, end);
  const start = lines.indexOf('known   /extended/v2/burn-blocks');
  expect(lines.slice(start + 1, start + 4)).toEqual([
    expect.stringMatching(/^ {8}total \((once|\d+ times)\)$/),
    '          here: `total` is the number of Bitcoin blocks',
    '          there: `total` is the height of the newest one',
  ]);
  expect(lines.some((line) => line.startsWith('DIFFERS'))).toBe(false);

  const wrong = reference((target, body) =>
    isBurnBlocks(target) ? { ...Object(body), total: -1 } : asReference(target, body),
  );
  const withOthers = await compareWith(wrong.url, { routes, requests: 60 });
  expect(differingIn(withOthers.tally)).toEqual(['/extended/v2/burn-blocks total']);

  const stackside = reference((target, body) => (target === '/extended' ? null : asReference(target, body)));
  const ofStacksides = await compareWith(stackside.url, { routes, requests: 60 });
  expect(differingIn(ofStacksides.tally)).toContain('/extended/v2/burn-blocks total');
});

test('differing responses are requested again while blocks arrive, and count as moved if they keep differing', async () => {
  let lists = 0;
  const later = reference((target, body) => {
    if (!isBlocks(target)) return null;
    lists += 1;
    return lists === 1 ? { ...Object(body), total: 0 } : null;
  });
  const blocks = routesFor(/^\/extended\/v2\/blocks$/);
  const { tally } = await compareWith(later.url, { routes: blocks, requests: 12 });
  expect(differingIn(tally)).toEqual([]);
  expect(totalsOf(tally).equal).toBeGreaterThan(0);

  let tips = 0;
  const restless = reference((target, body) => {
    const answer = Object(body);
    if (target === '/extended') {
      tips += 1;
      return { ...answer, chain_tip: { ...answer.chain_tip, index_block_hash: `0x${String(tips).padStart(64, '0')}` } };
    }
    return isBlocks(target) ? { ...answer, total: 0 } : null;
  });
  const moving = await compareWith(restless.url, { routes: blocks, requests: 12 });
  expect(differingIn(moving.tally)).toEqual([]);
  expect(totalsOf(moving.tally)).toMatchObject({ equal: 0, differing: 0 });
  expect(totalsOf(moving.tally).moved).toBeGreaterThan(0);

  const still = reference((target, body) => (isBlocks(target) ? { ...Object(body), total: 0 } : null));
  const standing = await compareWith(still.url, { routes: blocks, requests: 12 });
  expect(differingIn(standing.tally)).toEqual(['/extended/v2/blocks total']);
});

test('different statuses, content types and invalid bodies are differences', async () => {
  const other = reference((target) => {
    if (target.startsWith('/extended/v1/stx_supply')) return new Response('{}', { status: 500 });
    if (isFees(target)) return new Response('<html>', { headers: { 'content-type': 'text/html' } });
    if (target.startsWith('/extended/v1/info'))
      return new Response('nonsense', { headers: { 'content-type': 'application/json' } });
    return null;
  });
  const routes = routesFor(/^\/extended\/(v1\/stx_supply|v2\/mempool\/fees|v1\/info)/);
  const { tally } = await compareWith(other.url, { routes, requests: 60 });
  expect(new Set(differingIn(tally))).toEqual(
    new Set([
      '/extended/v1/stx_supply @status',
      '/extended/v1/stx_supply/total/plain @status',
      '/extended/v1/stx_supply/circulating/plain @status',
      '/extended/v1/stx_supply/legacy_format @status',
      '/extended/v2/mempool/fees @content-type',
      '/extended/v1/info/network_block_times ',
      '/extended/v1/info/network_block_time/{network} ',
    ]),
  );
});

test('a round reads each list once, and its samples have every parameter of the routes', async () => {
  const targets: string[] = [];
  const client = clientOf(server.api);
  const counting: Pick<Server, 'ask'> = {
    ask(target) {
      targets.push(target);
      return client.ask(target);
    },
  };
  const samples = await readSamples(counting, { lowest: 1, highest: 34 }, 0);
  expect(targets.length).toBe(new Set(targets).size);
  for (const route of routes) {
    for (let turn = 0; turn < 24; turn++) {
      const target = makeQuestion(route, samples, turn)?.target ?? '/none';
      expect(target).not.toMatch(/^[^?]*(\/\/|\/$|\/\?)|[=/]undefined\b/);
    }
  }
});

test('a route whose first question stops the run is not reported as not requested', async () => {
  const other = reference((target) => (isFees(target) ? new Response('', { status: 429 }) : null));
  let tally: Tally | null = null;
  const report = (current: Tally): void => {
    tally = current;
  };
  const run = compareWith(other.url, { routes: routesFor(/^\/extended\/v2\/mempool\/fees$/), report });
  await expect(run).rejects.toThrow('is too busy: it returned 429');
  expect(tally!.routes).toEqual({});
});

test('a report names a busy server once in a line', async () => {
  const other = reference((target) => (isFees(target) ? new Response('', { status: 503 }) : null));
  const { tally } = await compareWith(other.url, { routes: routesFor(/^\/extended\/v2\/mempool\/fees$/), requests: 6 });
  const { unanswered } = tally.routes['/extended/v2/mempool/fees']!;
  expect(Object.keys(unanswered)).toEqual([`${other.url} is too busy: it returned 503`]);
});

test('two comparisons at the same height send the same requests, and each round sends others', async () => {
  const [first, repeated] = [reference(() => null), reference(() => null)];
  const tokens = routesFor(/^\/extended\/v3\/(principals|tokens)/);
  await compareWith(first.url, { routes: tokens, requests: 100 });
  await compareWith(repeated.url, { routes: tokens, requests: 100 });
  expect(repeated.requests).toEqual(first.requests);
  const asked = first.requests.filter((target) => !/^\/extended($|\/v2)/.test(target));
  expect(asked.length).toBeGreaterThan(90);
  expect(new Set(asked).size).toBeGreaterThan(0.8 * asked.length);
});
