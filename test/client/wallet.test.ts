/** The requests that wallets send before they sign: @stacks/transactions against the server. */
import { expect, test } from 'bun:test';
import { fetchNonce } from '@stacks/transactions';
import { data, startTour } from './tour.ts';

const tour = await startTour();

test("fetchNonce returns an account's next nonce, including pending transactions", async () => {
  const client = {
    baseUrl: 'http://localhost',
    fetch: (url: string, init?: RequestInit) => tour.fetch(new Request(url, init)),
  };
  const params = { params: { query: { limit: 50 } } };
  const waiting = await data(tour.client.GET('/extended/v3/mempool/transactions', params));
  const mined = await data(tour.client.GET('/extended/v3/transactions', params));
  expect(waiting.results.length).toBeGreaterThan(0);
  const senders = new Set([...waiting.results, ...mined.results].map(({ sender }) => sender.address));
  expect(senders.size).toBeGreaterThan(3);
  for (const principal of senders) {
    const path = { principal };
    const nonces = await data(tour.client.GET('/extended/v3/principals/{principal}/nonces', { params: { path } }));
    expect(await fetchNonce({ address: principal, client })).toBe(BigInt(nonces.next_nonce));
  }
  expect(await fetchNonce({ address: 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM', client })).toBe(0n);
});
