/**
 * The examples of the OpenAPI document: an answer to each operation over a simulated chain. `bun test/support/generate/examples.ts`
 * writes them.
 */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { AnyElysia } from 'elysia';
import { example } from '../../../src/api/shared/examples/examples.ts';
import type { ServerReadings } from '../../../src/api/stackside/server.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { devnetEvents } from '../../../src/devnet/scenario.ts';
import type { Faucets } from '../../../src/faucets/faucets.ts';
import type { RecordedExample } from '../../../src/http/openapi.ts';
import type { Route } from '../../../src/http/route.ts';
import { indexPath } from '../../../src/store/files/database.ts';
import { commandsOf } from '../../../src/store/ingest/commands.ts';
import type { ReceivedEvent } from '../../../src/store/ingest/ingest.ts';
import type { TokenCommands } from '../../../src/store/ingest/token-commands.ts';
import { openSnapshots } from '../../../src/store/read/snapshots.ts';
import { TOKEN_FAMILY } from '../../../src/store/rows/enums.ts';
import { appOf, routesOf } from '../api/app.ts';
import { ingestOf, openAt, received, simulatedEvents } from '../data/ingest.ts';
import { BNS, bnsBlock, bnsLaunched, bnsOperated } from '../events/bns.ts';
import { alice, transfer } from '../events/handmade.ts';
import { type Ask, type Candidates, candidatesOf } from './example-candidates.ts';
import { devnetExamples } from './example-devnet.ts';
import { hookExamples } from './example-hooks.ts';

const folder = join(import.meta.dir, '../../../src/api/shared/examples');
const VALUES = join(folder, 'values.json');
const ANSWERS = join(folder, 'answers.json');

const VERSION = 'stackside v1.0.0 (main:abc1234)';

/** Number of the chain's events to search for a match of the example chainhook. */
const EVENTS_OF_HOOKS = 200;

const chainOptions = { seed: 2, blocks: 140, accounts: 12, transactionsPerBlock: 6, staking: 30, forkEvery: 0 };

export interface Examples {
  values: Record<string, string | number>;
  answers: Record<string, RecordedExample>;
}

type Parameters = Record<string, unknown>;

/** Path and query of a request. */
export function targetOf({ path, detail }: Route, parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const { name, in: place } of detail.parameters) {
    const value = parameters[name];
    if (place === 'query' && value !== undefined) query.append(name, String(value));
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(parameters[name])));
  return query.size === 0 ? filled : `${filled}?${query}`;
}

/** Reports whether an answer is a useful example: it isn't empty, and its balance isn't zero. */
function isTelling(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return body !== '';
  const lists = Object.values(body).filter(Array.isArray);
  if (Array.isArray(body)) return body.length > 0;
  const { balance, total, bonds } = body as { balance?: unknown; total?: unknown; bonds?: { count: number } };
  return lists.every((list) => list.length > 0) && balance !== '0' && total !== '0' && bonds?.count !== 0;
}

/** Shortens a body for the document: each list keeps only its first item. */
function cut(body: unknown): unknown {
  if (Array.isArray(body)) return body.slice(0, 1).map(cut);
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, cut(value)]));
}

/** Yields every combination of one value for each name, starting with the first values. */
function* combinations(
  names: readonly string[],
  valuesOf: (name: string) => readonly unknown[],
): Generator<Parameters> {
  const [name, ...rest] = names;
  if (name === undefined) {
    yield {};
    return;
  }
  for (const value of valuesOf(name)) {
    for (const others of combinations(rest, valuesOf)) yield { [name]: value, ...others };
  }
}

/** Returns the first request with a useful answer, or else the first with any answer. */
export async function firstTelling(route: Route, candidates: Candidates, ask: Ask) {
  const { operationId, parameters } = route.detail;
  const needed = parameters.filter(({ name, required }) => required || candidates.also(operationId, name));
  const defaults = new Map(needed.map(({ name, example }) => [name, [example]]));
  const valuesOf = (name: string) => candidates.valuesFor(operationId, name) ?? defaults.get(name) ?? [];
  let fallback: { parameters: Parameters; body: unknown } | undefined;
  for (const chosen of combinations([...defaults.keys()], valuesOf)) {
    const { status, body } = await ask(targetOf(route, chosen), route.method, bodies[operationId]);
    if (status !== 200) continue;
    if (isTelling(body)) return { parameters: chosen, body };
    fallback ??= { parameters: chosen, body };
  }
  if (fallback === undefined) throw new Error(`no request of ${operationId} is answered`);
  return fallback;
}

/** Records the example of a route, with only the parameters that differ from the examples in their schemas. */
async function exampleOf(route: Route, candidates: Candidates, ask: Ask): Promise<RecordedExample> {
  const { parameters, body } = await firstTelling(route, candidates, ask);
  const own = route.detail.parameters
    .filter(({ name, example }) => parameters[name] !== undefined && !Bun.deepEquals(parameters[name], example))
    .map(({ name }) => [name, parameters[name]] as const);
  const sent = bodies[route.detail.operationId];
  return {
    ...(own.length === 0 ? {} : { parameters: Object.fromEntries(own) }),
    ...(sent === undefined ? {} : { body: sent }),
    answer: cut(body),
  };
}

/** Sends requests to an application. */
const asking =
  (app: Pick<AnyElysia, 'handle'>): Ask =>
  async (target, method = 'GET', sent) => {
    const init =
      sent === undefined ? {} : { body: JSON.stringify(sent), headers: { 'content-type': 'application/json' } };
    const response = await app.handle(new Request(`http://localhost${target}`, { method, ...init }));
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  };

/** A transaction that a faucet would have sent. */
const sample = transfer(alice, 0, 180);
const stacksFaucet = () => ({ send: async () => ({ txId: sample.id, txRaw: sample.raw.slice(2) }) });
/** Faucets with hand-made answers: a simulated chain lacks a node that accepts transactions. */
const faucets: Faucets = {
  stx: stacksFaucet,
  sbtc: stacksFaucet,
  btc: () => ({
    send: async () => ({ txid: sample.id.slice(2), raw_tx: sample.raw.slice(2) }),
    balance: async () => 0.0101,
  }),
};
/** Status of a server that has run for an hour: this process's values would differ each time. */
const status: ServerReadings['status'] = async () => ({
  server_version: VERSION,
  mode: 'full',
  uptime_seconds: 3_600,
  ready: true,
  state: 'live',
  reason: null,
  next: 'Nothing to do.',
  observer: null,
  seconds_left: null,
  index: { height: 140, tip_age_seconds: 4, chain_id: 1 },
  node: { height: 140, chain_id: 1 },
  events: {
    endpoint: '127.0.0.1:3700',
    per_second: 1.5,
    last_received_at: 1_700_028_000,
    latency: { events: 1_000, median_ms: 4.2, p99_ms: 31 },
  },
  cluster: null,
  archive: null,
  memory_bytes: 150_000_000,
  disk: {
    index_bytes: 19_000_000,
    journal_bytes: 4_500_000,
    free_bytes: 80_000_000_000,
    growth: { measured_seconds: 86_400, bytes_per_day: 1_200_000_000, full_in_seconds: 5_760_000 },
  },
  simulated_node: false,
});
const server: ServerReadings = {
  status,
  history: () => ({
    interval_seconds: 10,
    times: [1_700_028_000],
    events_per_second: [1.5],
    requests_per_second: [12.4],
    request_ms: [0.42],
    deliveries_succeeded: [3],
    deliveries_failed: [0],
    delivery_ms: [38.1],
    slowest_delivery_ms: [61],
    memory_bytes: [150_000_000],
    cpu_share: [0.031],
  }),
};

const bodies: Readonly<Record<string, unknown>> = {
  fetchFeeRate: { transaction: sample.raw },
  getBalancesOfPrincipals: { principals: example('principal'), fungible_tokens: example('ft') },
  getPrimaryNames: { principals: example('principal') },
  getManyTransactions: { tx_ids: example('tx_id') },
};

/** Stores metadata for a token of each kind, as if the node had returned it. */
async function sayOfTokens(directory: string, now: () => number): Promise<void> {
  using open = openAt(directory);
  const { run } = commandsOf<TokenCommands>(open.ingest.commander({ ...systemClock, now }));
  const { height } = open.ingest.history.tip();
  const tip = open.ingest.history.hashAt(height)?.toHex() ?? '';
  using db = new Database(indexPath(directory), { readonly: true });
  const tokens = db
    .query<{ contract: string; family: number; token: string }, []>(
      `SELECT address AS contract, family, substr(min(token_id), 2) AS token
         FROM token_contracts JOIN tokens USING (contract_id) GROUP BY contract_id`,
    )
    .all();
  for (const { contract, family, token } of tokens) {
    const key = { contract, token };
    const uri = `ipfs://bafyexample/${token}.json`;
    const isFungible = family === TOKEN_FAMILY.ft;
    const facts = {
      name: isFungible ? 'River Coin' : null,
      symbol: isFungible ? 'RVR' : null,
      decimals: family === TOKEN_FAMILY.nft ? null : '6',
      supply: family === TOKEN_FAMILY.nft ? null : '75000000000',
      uri,
    };
    await run('tokens.answer', { answers: [{ work: 'facts', ...key, tip, answer: facts }] });
  }
}

/** Calls `use` with a function that calls the API over a chain. The clock is at the chain's last event. */
async function overChain<T>(events: readonly ReceivedEvent[], use: (ask: Ask) => Promise<T>): Promise<T> {
  const now = () => (events.at(-1)?.receivedAt ?? 0) / MICROSECONDS_PER_MILLISECOND;
  using directory = ingestOf(events);
  await sayOfTokens(directory.path, now);
  const snapshots = openSnapshots(directory.path);
  const app = appOf({ snapshots, version: VERSION, log: () => {}, clock: { ...systemClock, now }, faucets, server });
  try {
    return await use(asking(app));
  } finally {
    snapshots.close();
  }
}

const MICROSECONDS_PER_MILLISECOND = 1_000;

async function record(routes: readonly Route[], ask: Ask, candidates: Candidates): Promise<Examples['answers']> {
  const answers: Examples['answers'] = {};
  for (const route of routes) answers[route.detail.operationId] = await exampleOf(route, candidates, ask);
  return answers;
}

const SEMI_FUNGIBLE = 'getSftMetadata';

/** Records the example of a semi-fungible token, which most chains lack. */
async function semiFungibleExample(routes: readonly Route[]): Promise<RecordedExample> {
  const simulated = devnetEvents({ seed: 2, blocks: 40, accounts: 8, transactionsPerBlock: 6, semiFungible: true });
  return overChain([...simulated].map(received), async (get) => {
    const { body } = await get('/extended/v1/tx?type=smart_contract&limit=50');
    const contracts = body.results.map(
      (item: { smart_contract: { contract_id: string } }) => item.smart_contract.contract_id,
    );
    const valuesFor = (_: string, name: string) => (name === 'principal' ? contracts : ['1', '2', '3', '4', '5']);
    const route = routes.find(({ detail }) => detail.operationId === SEMI_FUNGIBLE)!;
    return exampleOf(route, { valuesFor, also: () => false }, get);
  });
}

const FORKS = ['getForks', 'getFork'];

/** The examples of forks, which the chain of the other examples has none of. */
async function forkExamples(routes: readonly Route[]): Promise<Examples['answers']> {
  const simulated = devnetEvents({ seed: 2, blocks: 30, accounts: 8, transactionsPerBlock: 2, forkEvery: 10 });
  return overChain([...simulated].map(received), async (get) => {
    const { body } = await get('/stackside/v1/forks');
    const hashes = body.results.map((item: { index_block_hash: string }) => item.index_block_hash);
    const valuesFor = (_: string, name: string) => (name === 'hash' ? hashes : undefined);
    const forkRoutes = routes.filter(({ detail }) => FORKS.includes(detail.operationId));
    return record(forkRoutes, get, { valuesFor, also: () => false });
  });
}

const BNS_NAMES = ['getBnsNames', 'getBnsName', 'getBnsNamesOfPrincipal', 'getPrimaryNames'];

/** The examples of the second name system, which the simulated chain lacks. */
async function bnsExamples(routes: readonly Route[]): Promise<Examples['answers']> {
  const name = { label: 'alice', namespace: 'btc', operation: 'new-name', id: 1, renewalHeight: 262_901 } as const;
  const registered = bnsOperated({ ...name, from: null, to: String(example('principal')) }, BNS, 0);
  const { event } = bnsBlock(null, 'names', bnsLaunched('btc', 262_800, 101), registered);
  const nameRoutes = routes.filter(({ detail }) => BNS_NAMES.includes(detail.operationId));
  return overChain([event], (get) => record(nameRoutes, get, { valuesFor: () => undefined, also: () => false }));
}

/** Records a chain's answer to each operation that isn't deprecated, and values for parameters. */
export async function recordExamples(): Promise<Examples> {
  const routes = routesOf(VERSION, { faucets, server }).filter(
    ({ hidden, deprecated }) => !hidden && deprecated === null,
  );
  const simulated = simulatedEvents(chainOptions);
  const { values, simple } = await overChain(simulated, async (get) => {
    const candidates = await candidatesOf(get);
    const elsewhere = [SEMI_FUNGIBLE, ...FORKS, ...BNS_NAMES];
    const others = routes.filter(({ detail }) => !elsewhere.includes(detail.operationId));
    return { values: candidates.values, simple: await record(others, get, candidates) };
  });
  const forks = await forkExamples(routes);
  const names = await bnsExamples(routes);
  const answers = { ...simple, ...forks, ...names, getSftMetadata: await semiFungibleExample(routes) };
  const hooks = await hookExamples(simulated.slice(0, EVENTS_OF_HOOKS), asking, cut, VERSION);
  const devnet = await devnetExamples(asking, cut, VERSION);
  return { values, answers: { ...answers, ...hooks, ...devnet } };
}

if (import.meta.main) {
  const before = await Bun.file(VALUES).json();
  const { values, answers } = await recordExamples();
  const lines = Object.entries(answers).map(([id, recorded]) => `${JSON.stringify(id)}: ${JSON.stringify(recorded)}`);
  await Bun.write(VALUES, `${JSON.stringify(values, null, 2)}\n`);
  await Bun.write(ANSWERS, `{\n${lines.join(',\n')}\n}\n`);
  // Parameters are recorded if they differ from the values, which were read before this run.
  if (!Bun.deepEquals(before, values)) process.stdout.write('The values have changed: run this again.\n');
}
