/** Buys a ticket on the devnet of `npm run devnet`, and prints the guest list once the deliveries with all guests have come. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { definitionOf, GuestList } from './guest-list.ts';
import { buyTicket, type Show, seatsLeft } from './tickets.ts';

const show: Show = {
  url: process.env.STACKSIDE_URL ?? 'http://127.0.0.1:3999',
  contract: 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM.tickets',
};
/** Milliseconds between two looks at the list. */
const EVERY_MS = 100;
/** The key of wallet_1 in settings/Devnet.toml. */
const BUYER_KEY = '7287ba251d44a4d3fd9276c88ce34c5c52a038955511cccaf77e61068649c17801';

/** Sends a request to the chainhooks of the server; a devnet asks for no key. */
async function call<T>(method: 'POST' | 'DELETE', path: string, body: object = {}): Promise<T | null> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${show.url}/chainhooks${path}`, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return text === '' ? null : (JSON.parse(text) as T);
}

const { signing_secret: secret = '' } = (await call<{ signing_secret: string }>('POST', '/me/secret')) ?? {};
const list = new GuestList(show.contract, secret);
const receiver = createServer(async (incoming, outgoing) => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const request = new Request(show.url, { method: 'POST', headers, body: Buffer.concat(chunks) });
  const { status } = await list.handle(request);
  outgoing.writeHead(status).end();
});
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const { port } = receiver.address() as AddressInfo;

const hook = await call<{ uuid: string }>('POST', '/me', {
  ...definitionOf(show),
  version: '1',
  chain: 'stacks',
  network: 'testnet',
  action: { type: 'http_post', url: `http://127.0.0.1:${port}/` },
});
try {
  // The guests of earlier blocks.
  await call('POST', `/me/${hook?.uuid}/backfills`, { from_height: 1 });
  const ticket = await buyTicket(show, BUYER_KEY);
  console.log(`Bought ticket ${ticket}; ${await seatsLeft(show)} are left.`);
  // The tickets have the numbers 1, 2 and 3.
  while (list.guests.size < ticket) await setTimeout(EVERY_MS);
  for (const [number, guest] of [...list.guests].sort()) console.log(`Ticket ${number} belongs to ${guest}.`);
} finally {
  await call('DELETE', `/me/${hook?.uuid}`);
  receiver.close();
  receiver.closeAllConnections();
}
