/** A token of SIP-010: each test starts with the state after the deployment. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { type ClarityMatchers, cl, type Devnet, matchers, startDevnet } from 'stackside/test';
import type { Contracts } from './contracts.ts';

declare module 'bun:test' {
  interface Matchers<T> extends ClarityMatchers<T> {}
}
expect.extend(matchers);

const GOLD = 'token::gold';
/** The required contract. */
const TRAIT = 'SP3FBR2AGK5H9QBDH3EEN6DF8EK8JY7RX8QJ5SVTE.sip-010-trait-ft-standard';
let chain: Devnet<Contracts>;
let owner: string;
let recipient: string;

beforeAll(async () => {
  chain = await startDevnet<Contracts>({ clarity: `${import.meta.dir}/..` });
  recipient = (await chain.account('deployer')).address;
  owner = (await chain.account('wallet_1')).address;
  await chain.call('token', 'mint', [cl.uint(1_000), cl.principal(owner)], { sender: 'deployer' });
  await chain.snapshot();
});
afterEach(() => chain.revert());
afterAll(() => chain?.stop());

test('the minter mints, and nobody else', async () => {
  expect(await chain.balance('wallet_1', GOLD)).toBe(1_000n);
  expect(await chain.read('token', 'get-total-supply')).toEqual({ ok: 1_000n });
  const refused = await chain.call('token', 'mint', [cl.uint(1), cl.principal(owner)], { sender: 'wallet_1' });
  expect(refused).toBeErr(100n);
});

test('an owner transfers, and the API shows the transfer', async () => {
  const args = [cl.uint(300), cl.principal(owner), cl.principal(recipient), cl.some(cl.buffer('00ff'))] as const;
  const sent = await chain.call('token', 'transfer', args, { sender: 'wallet_1' });
  expect(sent).toBeOk(true);
  expect(await chain.balance('wallet_1', GOLD)).toBe(700n);
  expect(await chain.balance('deployer', GOLD)).toBe(300n);

  const id = `${recipient}.${GOLD}`;
  const response = await fetch(`${chain.url}/stackside/v1/tokens/ft/${encodeURIComponent(id)}/transfers`);
  expect(await response.json()).toMatchObject({ results: [{ tx_id: sent.tx_id, amount: '300' }, { amount: '1000' }] });
});

test('nobody transfers the tokens of somebody else', async () => {
  const args = [cl.uint(300), cl.principal(owner), cl.principal(recipient), cl.none] as const;
  const refused = await chain.call('token', 'transfer', args, { sender: 'deployer' });
  expect(refused).toBeErr(101n);
  expect(refused.failure?.place?.expression).toBe('(asserts! (is-eq tx-sender sender) ERR_NOT_OWNER)');
});

test('another contract pays with any token that has the trait', async () => {
  const source = `
    (use-trait token '${TRAIT}.sip-010-trait)
    (define-public (pay (coin <token>) (amount uint))
      (contract-call? coin transfer amount tx-sender '${recipient} none))`;
  const { contract_id: till } = await chain.deploy(source, { name: 'till' });
  const args = [cl.principal(`${recipient}.token`), cl.uint(50)];
  expect(await chain.call(till, 'pay', args, { sender: 'wallet_1' })).toBeOk(true);
  expect(await chain.balance('deployer', GOLD)).toBe(50n);
});
