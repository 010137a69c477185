/** Requests to the node for accounts without blocks in a partial history. */
import { expect, onTestFinished, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { ApiError } from '../../src/http/errors.ts';
import { untouchedAccounts } from '../../src/node/history.ts';
import { nodeRpc } from '../../src/node/rpc.ts';
import { alice, bob } from '../support/events/handmade.ts';
import { failureOf } from '../support/failure.ts';
import { standInNode } from '../support/servers/stand-in-node.ts';

const tip = new Uint8Array(32).fill(7);
const next = new Uint8Array(32).fill(8);
const account = (balance: string) => () =>
  Response.json({ balance, locked: '0x05', unlock_height: 900, nonce: 3, balance_proof: '', nonce_proof: '' });

function openFixture() {
  const node = standInNode();
  onTestFinished(() => node[Symbol.dispose]());
  return { node, ask: untouchedAccounts(nodeRpc(node.url), systemClock) };
}

test('several requests for one account at one tip query the node once', async () => {
  const { node, ask } = openFixture();
  node.answer(`/v2/accounts/${alice.address}`, account('0x64'));
  const answers = await Promise.all([ask(alice.address, tip), ask(alice.address, tip)]);
  answers.push(await ask(alice.address, tip));
  // The balance includes the locked amount.
  for (const answer of answers) expect(answer).toEqual({ balance: 105n, locked: 5n, unlockHeight: 900, nonce: 3n });
  expect(node.requests.map(({ path }) => path)).toEqual([`/v2/accounts/${alice.address}?proof=0&tip=${tip.toHex()}`]);

  node.answer(`/v2/accounts/${alice.address}`, account('0x65'));
  expect((await ask(alice.address, next)).balance).toBe(106n);
  expect(node.requests.length).toBe(2);
});

test('the next request queries the node again if the node failed or lacked the tip', async () => {
  const { node, ask } = openFixture();
  for (const status of [404, 500, 503]) {
    node.answer(`/v2/accounts/${bob.address}`, () => new Response('not now', { status }));
    const error = await failureOf(ApiError, ask(bob.address, tip));
    expect(error).toMatchObject({ status: 503, code: 'NODE_AWAY', headers: { 'retry-after': '5' } });
    expect(error.message).toContain(bob.address);
  }
  expect(node.requests.length).toBe(3);
  node.answer(`/v2/accounts/${bob.address}`, account('0x01'));
  expect((await ask(bob.address, tip)).balance).toBe(6n);
});

test('at most 64 requests wait for a node that does not answer', async () => {
  const { node, ask } = openFixture();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const principals = Array.from({ length: 100 }, (_, index) => `${alice.address}.contract-${index}`);
  for (const principal of principals) {
    node.answer(`/v2/accounts/${principal}`, async () => {
      await released;
      return account('0x01')();
    });
  }
  const requests = principals.map((principal) =>
    ask(principal, tip).then(
      () => 'answered',
      (error: unknown) => (error as ApiError).code,
    ),
  );
  release();
  const outcomes = await Promise.all(requests);
  expect(outcomes.filter((outcome) => outcome === 'answered').length).toBe(64);
  expect(outcomes.filter((outcome) => outcome === 'NODE_AWAY').length).toBe(36);
});
