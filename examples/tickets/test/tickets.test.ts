/** One devnet for the whole file. Each test begins with the state that the deployment left, since what it does is undone. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { type Account, type Devnet, startDevnet } from 'stackside/test';
import { definitionOf, GuestList } from '../app/guest-list.ts';
import { buyTicket, type Show, seatsLeft, ticketsOf } from '../app/tickets.ts';

let chain: Devnet;
let show: Show;
let buyer: Account;

before(async () => {
  chain = await startDevnet({ clarity: '.', limitMs: 60_000 });
  // Accounts of settings/Devnet.toml.
  const organizer = await chain.account('deployer');
  buyer = await chain.account('wallet_1');
  show = { url: chain.url, contract: `${organizer.address}.tickets` };
  await chain.snapshot();
});
after(() => chain?.stop());
afterEach(() => chain.revert());

test('a ticket costs its price, and belongs to whoever bought it', async () => {
  assert.equal(await seatsLeft(show), 3);
  assert.equal(await buyTicket(show, buyer.private_key), 1);
  assert.deepEqual(await ticketsOf(show, buyer.address), [1]);
  assert.equal(await seatsLeft(show), 2);
});

test('there are as many tickets as seats', async () => {
  for (const ticket of [1, 2, 3]) assert.equal(await buyTicket(show, buyer.private_key), ticket);
  await assert.rejects(buyTicket(show, buyer.private_key), /abort_by_response \(err u100\)/);
  assert.deepEqual(await ticketsOf(show, buyer.address), [1, 2, 3]);
});

test('the guest list follows the chain, also when a fork takes a sale back', async () => {
  const list = new GuestList(show.contract, await chain.hooks.secret());
  const hook = await chain.hooks.add(definitionOf(show));
  const deliver = async () => assert.equal((await list.handle((await hook.next()).request())).status, 204);

  await chain.call(show.contract, 'buy', [], { sender: 'wallet_1' });
  await deliver();
  assert.deepEqual([...list.guests], [[1, buyer.address]]);

  // A test delivery and a backfill have the block again. Neither changes the list.
  const again = (body: object, path: string) =>
    fetch(`${chain.url}/chainhooks/me/${hook.uuid}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await again({}, 'test');
  await deliver();
  await again({ from_height: 1 }, 'backfills');
  await deliver();
  assert.deepEqual([...list.guests], [[1, buyer.address]]);

  await chain.fork(1);
  await deliver();
  assert.deepEqual([...list.guests], []);
  assert.deepEqual(await ticketsOf(show, buyer.address), []);

  // The sale waits again, and is mined.
  await chain.mine();
  await deliver();
  assert.deepEqual([...list.guests], [[1, buyer.address]]);
});

test('the guest list ignores what another contract prints', async () => {
  const list = new GuestList(show.contract, await chain.hooks.secret());
  const hook = await chain.hooks.add(definitionOf(show));
  const source = `(define-public (cheat) (begin
    (print { event: "sold", ticket: u2, buyer: tx-sender })
    (contract-call? '${show.contract} buy)))`;
  const { contract_id: cheat } = await chain.deploy(source, { name: 'cheat', sender: 'wallet_1' });
  await chain.call(cheat, 'cheat', [], { sender: 'wallet_1' });
  await list.handle((await hook.next()).request());
  assert.deepEqual([...list.guests], [[1, buyer.address]]);
});

test('another contract buys for whoever calls it', async () => {
  const source = `(define-public (buy-two) (begin
    (try! (contract-call? '${show.contract} buy))
    (contract-call? '${show.contract} buy)))`;
  const { contract_id: group } = await chain.deploy(source, { name: 'group', sender: 'wallet_1' });
  const { status } = await chain.call(group, 'buy-two', [], { sender: 'wallet_1' });
  assert.equal(status, 'success');
  assert.deepEqual(await ticketsOf(show, buyer.address), [1, 2]);
});
