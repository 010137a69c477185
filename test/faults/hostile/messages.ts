/** What a hostile client sends to each listener: what its schema says, and what is nearly that. */
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import type { Prng } from '../../../src/devnet/prng.ts';
import { type GetRoute, randomUrl, type Subjects } from '../../support/random-urls.ts';
import { junk, mutated } from './mutations.ts';

const methods = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'];
const oddHeaders: readonly string[] = [
  'If-None-Match: ,,,"*"W/',
  'Range: bytes=9-1',
  'Accept-Encoding: \xff',
  'Content-Type: text/plain',
  'X-Forwarded-For: 127.0.0.1, ::1',
  'X-Api-Key: \x80',
  'Authorization: Bearer ..',
  'Origin: null',
  'Sec-Fetch-Site: cross-site',
  'Expect: 100-continue',
  'Upgrade: websocket\r\nConnection: Upgrade',
  'Cookie: %=%;;=',
];
const oddEnds = [
  '',
  '',
  '',
  '/',
  '%',
  '%00',
  '?',
  '?limit=',
  '?limit=1e9',
  '&offset=-1',
  '?cursor=%ff',
  '#x',
  '//',
  '/..%2f',
];

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

/** A request of HTTP/1.1, each character a byte. */
export function httpRequest(routes: readonly GetRoute[], subjects: Subjects, prng: Prng): string {
  const target = randomUrl(prng.pick(routes), subjects, prng) + prng.pick(oddEnds);
  const method = prng.pick(methods);
  const body = method === 'GET' || method === 'HEAD' ? '' : mutated(definition, prng);
  const bytes = Buffer.from(body).toString('latin1');
  const headers = ['Host: 127.0.0.1', ...Array.from({ length: prng.below(3) }, () => prng.pick(oddHeaders))];
  if (body !== '') headers.push('Content-Type: application/json');
  // A longer one would wait for the rest until the idle time-out.
  const length = prng.chance(0.02) ? prng.below(bytes.length + 1) : bytes.length;
  headers.push(`Content-Length: ${length}`, 'Connection: close');
  return `${method} ${target} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${bytes}`;
}

/** A node's event that something is wrong with. */
export function event(events: readonly NodeEvent[], prng: Prng): { path: string; body: string } {
  const { path, body } = prng.pick(events);
  const other = prng.chance(0.05) ? prng.pick(events).path : path;
  return { path: other, body: mutated(body, prng) };
}

const rpcEvents = [
  'block',
  'microblock',
  'mempool',
  'nft_event',
  'tx_update',
  'address_tx_update',
  'address_balance_update',
  'nft_asset_event',
  'nft_collection_event',
];
const some = (set: ReadonlySet<string>, prng: Prng): string => (set.size === 0 ? '' : prng.pick([...set]));

function rpcRequest(subjects: Subjects, prng: Prng): object {
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

/** A text frame of JSON-RPC. */
export function rpcFrame(subjects: Subjects, prng: Prng): string {
  const request = prng.chance(0.1)
    ? Array.from({ length: prng.below(5) }, () => rpcRequest(subjects, prng))
    : rpcRequest(subjects, prng);
  const text = JSON.stringify(request);
  return prng.chance(0.3) ? text : mutated(text, prng);
}

const ioTopics = (subjects: Subjects, prng: Prng): string =>
  prng.pick([
    'block',
    'microblock',
    'mempool',
    `transaction:${some(subjects.hashes, prng)}`,
    `address-transaction:${some(subjects.principals, prng)}`,
    `address-stx-balance:${some(subjects.principals, prng)}`,
    `nft-collection-event:${some(subjects.assets, prng)}`,
    junk(prng).slice(1, -1),
  ]);

/** A packet of Engine.IO that holds one of Socket.IO, or nearly so. */
export function ioPacket(subjects: Subjects, prng: Prng): string {
  if (prng.chance(0.05)) return prng.pick(['1', '2', '3', '5', '6', '', '4', '40', '41', '44{}', '0{}', '2probe']);
  const name = prng.pick(['subscribe', 'unsubscribe', 'disconnect', 'error', '__proto__']);
  const list = JSON.stringify([name, prng.chance(0.5) ? ioTopics(subjects, prng) : [ioTopics(subjects, prng)]]);
  const id = prng.chance(0.3) ? String(prng.below(100)) : '';
  const kind = prng.chance(0.9) ? '42' : `4${prng.between(0, 9)}`;
  return `${kind}${id}${prng.chance(0.3) ? list : mutated(list, prng)}`;
}
