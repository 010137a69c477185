/** Chainhooks as in a server, in this process: ingest, routes, deliveries. */
import { spyOn } from 'bun:test';
import { createHmac } from 'node:crypto';
import { Registry } from 'prom-client';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { list } from '../../src/commands/hooks/hooks.ts';
import { type Environment, realEnvironment } from '../../src/commands/serve/environment.ts';
import { serveHooks } from '../../src/commands/serve/hooks.ts';
import type { Chainhooks } from '../../src/hooks/service.ts';
import { startApi } from '../../src/http/listener.ts';
import type { LogEvent } from '../../src/log.ts';
import { hookTimers } from '../../src/metrics/hooks.ts';
import { readSettings, type Settings } from '../../src/settings/config.ts';
import type { HookStore } from '../../src/store/hooks/store.ts';
import type { Ingest, ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { checkedApp } from '../support/api/checked-app.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { emptyDirectory, received } from '../support/data/ingest.ts';
import { eventsOf } from '../support/events/forked-chain.ts';
import { until } from '../support/time/until.ts';
import { openedHooks } from './opened.ts';

export interface HookServer extends AsyncDisposable {
  url: string;
  directory: string;
  ingest: Ingest;
  /** The tables of the writer that applies entries. */
  tables: HookStore;
  hooks: Chainhooks;
  logged: LogEvent[];
  registry: Registry;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Registers a hook. @returns its uuid */
  register(url: string, options?: object, filters?: object[], headers?: Record<string, string>): Promise<string>;
  /** Returns the field `status` of a hook. */
  status(uuid: string): Promise<Answer['body']>;
  setEnabled(uuid: string, enabled: boolean, more?: object): Promise<Answer>;
  untilDrained(uuid: string): Promise<void>;
  feed(events: Iterable<ReceivedEvent>): void;
  stop(): Promise<void>;
}

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

/** No receiver on this machine is so slow, however busy the machine is. */
const LONG_MS = 300_000;

/**
 * @param overrides settings; receivers on this machine may be called, and no key is needed
 * @param data its data, which then stays; by default, a new directory that is deleted with it
 * @param environment replacements for parts of the real environment
 * @param after the timer of group commits; without it, each event has a separate commit
 */
export async function hookServer(
  overrides: Partial<Settings> = {},
  data?: string,
  environment: Partial<Environment> = {},
  after?: Clock['after'],
): Promise<HookServer> {
  const temporary: DataDirectory | null = data === undefined ? emptyDirectory() : null;
  const directory = data ?? temporary?.path ?? '';
  const settings: Settings = {
    ...readSettings({ data: directory, logLevel: 'silent', hookTargets: '127.0.0.0/8' }, {}),
    hookAccess: 'open',
    ...overrides,
  };
  const logged: LogEvent[] = [];
  const log = (event: LogEvent) => {
    logged.push(event);
  };
  const grouping = after === undefined ? {} : { clock: { after, monotonic: systemClock.monotonic } };
  const options = { directory, chainId: settings.network, log, ...grouping };
  const { ingest, machine, tables } = openedHooks(options);
  const registry = new Registry();
  const snapshots = openSnapshots(directory, { beforeSnapshot: ingest.publish, writer: ingest.writer });
  const { hooks, api } = serveHooks({
    settings,
    snapshots,
    ingest,
    machine,
    log,
    timers: hookTimers(registry),
    environment: {
      ...realEnvironment,
      ...environment,
      deliveryRules: { timeoutMs: LONG_MS, retryCapMs: 20, ...environment.deliveryRules },
    },
  });
  const openHooks = settings.hookAccess === 'open';
  const version = 'stackside v0 (test:test)';
  const app = checkedApp({ snapshots, version, log, hooks: api, openHooks });
  const server = await startApi({ app, hostname: '127.0.0.1', port: 0, bodyLimit: 10_000_000, log: () => {} });
  let stopped = false;
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    await server.stop();
    snapshots.close();
    await hooks.stop();
    ingest.close();
  };
  const request: HookServer['request'] = async (method, path, body, headers = {}) => {
    const response = await fetch(new URL(path, server.url), {
      method,
      headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  };
  const status = async (uuid: string) => (await request('GET', `/chainhooks/me/${uuid}`)).body.status;
  return {
    url: server.url,
    directory,
    ingest,
    tables,
    hooks,
    logged,
    registry,
    request,
    async register(url, options = started, filters = everything, headers = {}) {
      const hook = definition(url, filters, options);
      const answer = await request('POST', '/chainhooks/me', hook, headers);
      if (answer.status !== 200) throw new Error(`registered with status ${answer.status}: ${answer.body?.details}`);
      return answer.body.uuid;
    },
    status,
    setEnabled: (uuid, enabled, more = {}) => request('PATCH', `/chainhooks/me/${uuid}/enabled`, { enabled, ...more }),
    untilDrained: (uuid) => until(async () => (await status(uuid)).pending_deliveries === 0, 'the end of the queue'),
    feed(events) {
      for (const event of events) ingest.receive(event);
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      temporary?.[Symbol.dispose]();
    },
  };
}

/** Output of `stackside hooks list`. */
export async function listHooks({ url }: HookServer): Promise<string> {
  using written = spyOn(process.stdout, 'write').mockImplementation(() => true);
  await list({ url, key: null }, { json: false });
  return written.mock.calls.join('');
}

/** The options that add parts to payloads. */
export const allOptions = {
  decode_clarity_values: true,
  include_contract_abi: true,
  include_contract_source_code: true,
  include_post_conditions: true,
  include_raw_transactions: true,
  include_block_metadata: true,
  include_block_signatures: true,
};

/** Events of a chain without forks. */
export const straightChain = (blocks: number, transactions: number): ReceivedEvent[] =>
  eventsOf({
    seed: 3,
    steps: Array.from({ length: blocks }, () => ({ mine: 'back', tenure: 'same', transactions, blocks: 0 })),
  }).map(received);

/** Nobody listens there. */
export const NOWHERE = 'http://127.0.0.1:9/';
export const started = { enable_on_registration: true };
export const filtersOf = (...types: string[]) => types.map((type) => ({ type }));
/** Filters that match most transactions. */
export const everything = filtersOf('stx_event', 'contract_call', 'contract_deploy', 'tenure_change', 'coinbase');

export interface Received {
  headers: Record<string, string>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: payloads are looked into
  payload: any;
}

export interface Receiver extends Disposable {
  url: string;
  received: Received[];
  /** Answers the next requests, instead of 200. */
  answer: (request: Received) => Response | Promise<Response>;
}

/** Takes deliveries. */
export function receiver(): Receiver {
  const received: Received[] = [];
  const target: Receiver = {
    url: '',
    received,
    answer: () => new Response('ok'),
    [Symbol.dispose]: () => {
      server.stop(true);
    },
  };
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const text = await request.text();
      const delivery = { headers: Object.fromEntries(request.headers), text, payload: JSON.parse(text) };
      received.push(delivery);
      return target.answer(delivery);
    },
  });
  target.url = `http://127.0.0.1:${server.port}/hook`;
  return target;
}

export const sequences = (requests: readonly Received[]): number[] =>
  requests.map(({ headers }) => Number(headers['x-chainhook-sequence']));

/** The heights of the blocks that payloads apply, in order of arrival. */
export const appliedHeights = (requests: readonly Received[]): number[] =>
  requests.flatMap(({ payload }) =>
    payload.event.apply.map((block: { block_identifier: { index: number } }) => block.block_identifier.index),
  );

/** The signature of a delivery with a secret. */
export function signatureOf(secret: string, { headers, text }: Received): string {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
  return `v1,${createHmac('sha256', Buffer.from(secret, 'hex')).update(signed).digest('base64')}`;
}

/** The numbers from 1 to the last. */
export const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

export const definition = (url: string, events: object[], options?: object | null, network = 'testnet') => ({
  name: 'test',
  version: '1' as const,
  chain: 'stacks' as const,
  network: network as 'testnet',
  filters: { events },
  ...(options === undefined ? {} : { options }),
  action: { type: 'http_post' as const, url },
});
