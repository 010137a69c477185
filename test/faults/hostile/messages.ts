/** Messages of a hostile client to each listener: valid by its schema, or nearly so. */
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import type { Prng } from '../../../src/devnet/prng.ts';
import { type GetRoute, type Route, randomUrl, type Subjects } from '../../support/api/random-urls.ts';
import { junk, mutate } from './mutations.ts';
import { withMutatedTransactions } from './transactions.ts';

const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'];
const oddHeaders: readonly string[] = [
  ...['If-None-Match: ,,,"*"W/', 'Range: bytes=9-1', 'Accept-Encoding: \xff', 'Content-Type: text/plain'],
  ...['Origin: null', 'Sec-Fetch-Site: cross-site', 'Expect: 100-continue'],
  ...['Upgrade: websocket\r\nConnection: Upgrade', 'Cookie: %=%;;='],
];
/** A name that somebody else points to this machine. */
const FOREIGN_HOST = 'rebound.example';
/** Invalid hosts, and two hosts at once. */
const oddHosts = ['a b', 'x:99999', '[::', 'x/y?z#w', 'user:pw@h', '\xff\xfe', 'a%zz', '%00', '', 'x\r\nHost: y'];
/** Replacements for the last part of a path. */
const oddParts = ['%', '%00', '%zz', '%ff%fe', '..%2f', '\xff', '%2e%2e', 'x'.repeat(10_000)];
const oddEnds = ['/', '%', '%00', '?', '?limit=', '?limit=1e9', '&offset=-1', '?cursor=%ff', '#x', '//', '/..%2f'];

/** A hook's definition, which the routes that take one get mutated. */
const definition = JSON.stringify({
  name: 'x',
  version: '1',
  chain: 'stacks',
  network: 'testnet',
  filters: { events: [{ type: 'contract_log', contract_identifier: 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM.x' }] },
  options: { decode_clarity_values: true, enable_on_registration: false, expire_after_evaluations: 1 },
  action: { type: 'http_post', url: 'http://127.0.0.1:1/' },
});

/** Credentials of a request. */
export interface Credentials {
  /** The `Host` that is the server's own. */
  host: string;
  /** The key that allows every request. */
  key: string;
}

export interface HttpMessage {
  text: string;
  /** Whether the request may manage chainhooks: it has the key and a host name of the server. */
  isTrusted: boolean;
}

/** Invalid keys. */
const oddKeys: readonly string[] = [
  ...['X-Api-Key: guess', 'X-Api-Key: \x80', 'Authorization: Bearer ..', 'X-Forwarded-For: 127.0.0.1, ::1'],
  ...['Forwarded: for=127.0.0.1', 'X-Real-Ip: 127.0.0.1', 'X-Chainhook-Consumer: default'],
];

/** The target of a request: one of a route, or nearly so. */
function target(route: GetRoute, subjects: Subjects, prng: Prng): string {
  const url = randomUrl(route, subjects, prng);
  if (prng.chance(0.3)) return url.replace(/[^/]*$/, () => prng.pick(oddParts));
  return prng.chance(0.4) ? url + prng.pick(oddEnds) : url;
}

/** Share of requests to routes of chainhooks that are valid except for the host name. */
const REBOUND = 0.3;

/** Returns a request that a web page can make the operator's browser send with the operator's key. */
function rebind(
  { method, path, parameters }: Route,
  subjects: Subjects,
  { key }: Credentials,
  prng: Prng,
): HttpMessage {
  const url = randomUrl({ path, parameters }, subjects, prng);
  const headers = [`Host: ${FOREIGN_HOST}`, `X-Api-Key: ${key}`, 'Content-Length: 0', 'Connection: close'];
  return { text: `${method} ${url} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`, isTrusted: false };
}

/** A request of HTTP/1.1, each character a byte. */
export function httpRequest(route: Route, subjects: Subjects, credentials: Credentials, prng: Prng): HttpMessage {
  if (route.path.startsWith('/chainhooks') && prng.chance(REBOUND)) return rebind(route, subjects, credentials, prng);
  const [hasKey, hasHost] = [prng.chance(0.5), prng.chance(0.7)];
  const method = prng.chance(0.8) ? route.method : prng.pick(methods);
  const body = method === 'GET' || method === 'HEAD' ? '' : mutate(definition, prng);
  const bytes = Buffer.from(body).toString('latin1');
  const headers = [
    `Host: ${hasHost ? credentials.host : prng.pick([FOREIGN_HOST, prng.pick(oddHosts)])}`,
    hasKey ? `X-Api-Key: ${credentials.key}` : prng.pick(oddKeys),
    ...Array.from({ length: prng.below(3) }, () => prng.pick(oddHeaders)),
  ];
  if (body !== '') headers.push('Content-Type: application/json');
  // A longer one would wait for the rest until the idle time-out.
  const length = prng.chance(0.02) ? prng.below(bytes.length + 1) : bytes.length;
  headers.push(`Content-Length: ${length}`, 'Connection: close');
  const text = `${method} ${target(route, subjects, prng)} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${bytes}`;
  return { text, isTrusted: hasKey && hasHost };
}

/** A node's event that something is wrong with. */
export function event(events: readonly NodeEvent[], prng: Prng): { path: string; body: string } {
  const { path, body } = prng.pick(events);
  const eventPath = prng.chance(0.05) ? prng.pick(events).path : path;
  if (prng.chance(0.4)) return { path: eventPath, body: withMutatedTransactions(body, prng) };
  return { path: eventPath, body: mutate(body, prng) };
}

const rpcEvents = [
  ...['block', 'microblock', 'mempool', 'nft_event', 'tx_update', 'address_tx_update'],
  ...['address_balance_update', 'nft_asset_event', 'nft_collection_event'],
];
const some = (set: ReadonlySet<string>, prng: Prng): string => (set.size === 0 ? '' : prng.pick([...set]));

/** Length of the longest value in a message, in bytes: most of the maximum message size. */
const MAX_DIGITS = 90_000;

/** A text with so much at its end that nobody can want to keep it. No two are the same: who keeps them keeps each. */
const long = (text: string, prng: Prng): string =>
  text + prng.bytes(8).toHex() + '0'.repeat(MAX_DIGITS - 2 * prng.below(100));

function rpcRequest(subjects: Subjects, prng: Prng): { params: Record<string, string> } & Record<string, unknown> {
  return {
    jsonrpc: '2.0',
    id: prng.below(1_000),
    method: prng.pick(['subscribe', 'unsubscribe']),
    params: {
      event: prng.pick(rpcEvents),
      tx_id: some(subjects.hashes, prng),
      address: some(subjects.principals, prng),
      asset_identifier: some(subjects.assets, prng),
      value: '0x0100000000000000000000000000000001',
    },
  };
}

/** Generates the messages of a client of one protocol: random ones, or long texts to fill the server's memory. */
export type Messages = (subjects: Subjects, prng: Prng) => string;

/** Events, and the parameter that names the subject of each. */
const longNamed = [
  ['tx_update', 'tx_id'],
  ['address_tx_update', 'address'],
  ['nft_asset_event', 'asset_identifier'],
  ['nft_asset_event', 'value'],
  ['nft_collection_event', 'asset_identifier'],
] as const;

/** Returns a JSON-RPC request to subscribe to a very long name. */
export const rpcHoard: Messages = (subjects, prng) => {
  const [event, field] = prng.pick(longNamed);
  const request = rpcRequest(subjects, prng);
  const params = { ...request.params, event, [field]: long(request.params[field] ?? '', prng) };
  return JSON.stringify({ ...request, method: 'subscribe', params });
};

/** A text frame of JSON-RPC. */
export const rpcFrame: Messages = (subjects, prng) => {
  const request = prng.chance(0.1)
    ? Array.from({ length: prng.below(5) }, () => rpcRequest(subjects, prng))
    : rpcRequest(subjects, prng);
  const text = JSON.stringify(request);
  return prng.chance(0.3) ? text : mutate(text, prng);
};

const ioTopics = (subjects: Subjects, prng: Prng): string =>
  prng.pick([
    'block',
    'microblock',
    'mempool',
    `transaction:${some(subjects.hashes, prng)}`,
    `address-transaction:${some(subjects.principals, prng)}`,
    `address-stx-balance:${some(subjects.principals, prng)}`,
    `nft-collection-event:${some(subjects.assets, prng)}`,
    `nft-asset-event:${some(subjects.assets, prng)}+0x01`,
    junk(prng).slice(1, -1),
  ]);

/** Returns a Socket.IO packet that subscribes to a very long name. */
export const ioHoard: Messages = (subjects, prng) => {
  const asset = some(subjects.assets, prng);
  const kind = prng.pick([`nft-asset-event:${asset}+0x`, `nft-collection-event:${asset}`]);
  return `42${JSON.stringify(['subscribe', [long(kind, prng)]])}`;
};

/** A packet of Engine.IO that holds one of Socket.IO, or nearly so. */
export const ioPacket: Messages = (subjects, prng) => {
  if (prng.chance(0.05)) return prng.pick(['1', '2', '3', '5', '6', '', '4', '40', '41', '44{}', '0{}', '2probe']);
  const name = prng.pick(['subscribe', 'unsubscribe', 'disconnect', 'error', '__proto__']);
  const list = JSON.stringify([name, prng.chance(0.5) ? ioTopics(subjects, prng) : [ioTopics(subjects, prng)]]);
  const id = prng.chance(0.3) ? String(prng.below(100)) : '';
  const kind = prng.chance(0.9) ? '42' : `4${prng.between(0, 9)}`;
  return `${kind}${id}${prng.chance(0.3) ? list : mutate(list, prng)}`;
};
