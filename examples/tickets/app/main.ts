/** Buys a ticket on the devnet of `npm run devnet`, and prints the guest list once the delivery with the buyer has come. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { definitionOf, GuestList } from './guest-list.ts';
import { buyTicket, type Show, seatsLeft } from './tickets.ts';

const show: Show = {
  url: process.env.STACKSIDE_URL ?? 'http://127.0.0.1:3999',
  contract: 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM.tickets',
};
/** The key of wallet_1 in settings/Devnet.toml. */
const BUYER_KEY = '7287ba251d44a4d3fd9276c88ce34c5c52a038955511cccaf77e61068649c17801';

/** Posts JSON to the chainhooks of the server; a devnet asks for no key. */
async function post<T>(path: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${show.url}/chainhooks${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

const { signing_secret: secret } = await post<{ signing_secret: string }>('/me/secret', {});
const list = new GuestList(secret);
const receiver = createServer(async (incoming, outgoing) => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const request = new Request(show.url, { method: 'POST', headers, body: Buffer.concat(chunks) });
  const { status } = await list.handle(request);
  outgoing.writeHead(status).end(() => {
    if (list.guests.size === 0) return;
    for (const [ticket, guest] of list.guests) console.log(`Ticket ${ticket} belongs to ${guest}.`);
    receiver.close();
  });
});
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const { port } = receiver.address() as AddressInfo;

await post('/me', {
  ...definitionOf(show),
  version: '1',
  chain: 'stacks',
  network: 'testnet',
  action: { type: 'http_post', url: `http://127.0.0.1:${port}/` },
});
console.log(`Bought ticket ${await buyTicket(show, BUYER_KEY)}; ${await seatsLeft(show)} are left.`);
