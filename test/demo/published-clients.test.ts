/** A member of a pool and a holder of sBTC, with the published clients for them. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { StackingClient } from '@stacks/stacking';
import {
  broadcastTransaction,
  Cl,
  fetchCallReadOnlyFunction,
  getAddressFromPrivateKey,
  makeContractCall,
  privateKeyToPublic,
} from '@stacks/transactions';
import { SbtcApiClientDevenv } from 'sbtc';
import { SBTC_ASSET, SBTC_DEPLOYER } from '../../src/devnet/contracts/token.ts';
import { type Demo, demo } from './demo.ts';

const key = (digit: number) => `${String(digit).repeat(64)}01`;
const addressOf = (privateKey: string) => getAddressFromPrivateKey(privateKey, 'testnet');
const memberKey = key(3);
const [pool, member] = [key(2), memberKey].map(addressOf) as [string, string];
const poxAddress = 'mhYeZXrSEuyf2wbJ14qZ2apG7ofMLDj9Ss';
const boot = 'ST000000000000000000002AMW42H';
const STX = 1_000_000n;

let server: Demo;
beforeAll(async () => {
  server = await demo({ traffic: '0' });
  await server.steer('fund', { address: member, amount: String(200_000n * STX) });
});
afterAll(() => server[Symbol.asyncDispose]());

const stackingClient = (address: string, demo = server) =>
  new StackingClient({ address, network: 'testnet', client: { baseUrl: demo.api } });

interface TransactionJson {
  tx_status: string;
  tx_result: { repr: string };
}

/** Mines the broadcast transaction. @returns its status and result */
async function mine(result: { txid: string } | { error: string }): Promise<[string, string]> {
  if ('error' in result) throw new Error(JSON.stringify(result));
  await server.steer('mine');
  const { tx_status, tx_result } = await server.json<TransactionJson>(`/extended/v1/tx/${result.txid}`);
  return [tx_status, tx_result.repr];
}

test('a member delegates to a pool and leaves it, and stacking itself is refused', async () => {
  const members = stackingClient(member);
  expect((await members.getPoxOperationInfo()).current.contract_id).toBe(`${boot}.pox-4`);
  expect(await members.getDelegationStatus()).toEqual({ delegated: false });
  const delegation = { amountMicroStx: 90_000n * STX, delegateTo: pool, privateKey: memberKey };
  expect(await mine(await members.delegateStx({ ...delegation }))).toEqual(['success', '(ok true)']);
  expect(await members.getDelegationStatus()).toEqual({
    delegated: true,
    details: { amount_micro_stx: 90_000n * STX, delegated_to: pool },
  });
  expect((await mine(await members.delegateStx({ ...delegation })))[1]).toBe('(err 20)');
  expect((await mine(await members.revokeDelegateStx(memberKey)))[0]).toBe('success');
  expect(await members.getDelegationStatus()).toEqual({ delegated: false });

  const { burn_block_height: burnBlockHeight } = await members.getCoreInfo();
  const stacking = { amountMicroStx: STX, poxAddress, cycles: 1, burnBlockHeight, privateKey: memberKey };
  const consent = { signerKey: privateKeyToPublic(memberKey) as string, maxAmount: STX, authId: 1 };
  expect(await members.stack({ ...stacking, ...consent })).toMatchObject({
    reason_data: {
      message: expect.stringContaining(`doesn't execute stack-stx of ${boot}.pox-4; a devnet with a Clarinet project`),
    },
  });
});

test('pox-5 replaces pox-4 at its height', async () => {
  await using later = await demo({ pox5Height: '240', traffic: '0' });
  await later.steer('fund', { address: member, amount: String(200_000n * STX) });
  const client = stackingClient(member, later);
  const active = async () => {
    const { contract_id, contract_versions } = await client.getPoxInfo();
    return [contract_id, (await client.getPoxOperationInfo()).current.contract_id, contract_versions.at(-1)];
  };
  const version = { contract_id: `${boot}.pox-5`, activation_burnchain_block_height: 240, first_reward_cycle_id: 12 };
  expect<unknown>(await active()).toEqual([`${boot}.pox-4`, `${boot}.pox-4`, version]);
  const { burn_block_height: burnBlockHeight } = await client.getCoreInfo();
  await later.steer('bitcoin', { count: 240 - burnBlockHeight - 1 });
  const delegation = { amountMicroStx: STX, delegateTo: pool, privateKey: memberKey };
  const call = await makeContractCall({
    ...client.getDelegateOptions({ ...delegation, contract: `${boot}.pox-4` }),
    senderKey: memberKey,
  });
  await later.steer('bitcoin', { count: 2 });
  expect<unknown>(await active()).toEqual([`${boot}.pox-5`, `${boot}.pox-5`, version]);
  await broadcastTransaction({ transaction: call, network: 'testnet', client: { baseUrl: later.api } });
  await later.steer('mine');
  expect(await later.json<object>(`/extended/v1/tx/${call.txid()}`)).toMatchObject({
    tx_status: 'abort_by_response',
    vm_error: expect.stringContaining('DefunctPoxContract'),
  });
  await later.steer('cycle', { count: 1 });
  expect(await later.json<object>('/extended/v2/pox/cycles/13')).toMatchObject({ cycle_number: 13 });
  const read = { contractAddress: boot, contractName: 'pox-5', senderAddress: member, client: { baseUrl: later.api } };
  const info = await fetchCallReadOnlyFunction({ ...read, functionName: 'get-pox-info', functionArgs: [] });
  expect(info).toMatchObject({ value: { value: { 'reward-cycle-length': Cl.uint(20) } } });
  const staker = { ...read, functionName: 'get-staker-info', functionArgs: [Cl.principal(member)] };
  expect(await fetchCallReadOnlyFunction(staker)).toEqual(Cl.none());
  // Only pox-4 has this function; the client calls the active contract.
  expect(client.getStatus()).rejects.toThrow(`doesn't execute get-stacker-info of ${boot}.pox-5`);
});

test('the faucets pay STX and sBTC, and sBTC has its signers, without a Bitcoin node', async () => {
  const newcomer = addressOf(key(6));
  const payout = async (currency: string) => {
    const { status, body } = await server.post<{ txId: string }>(
      `/extended/v1/faucets/${currency}?address=${newcomer}`,
    );
    expect([status, body]).toMatchObject([200, { success: true }]);
    return mine({ txid: body.txId });
  };
  expect(await payout('stx')).toEqual(['success', '(ok true)']);
  for (let count = 0; count < 6; count++) expect(await payout('sbtc')).toEqual(['success', '(ok true)']);
  const balance = await server.json<{ results: object[] }>(`/extended/v2/addresses/${newcomer}/balances/ft`);
  expect(balance.results).toEqual([{ token: SBTC_ASSET, balance: '60000' }]);
  expect(await stackingClient(newcomer).getAccountBalance()).toBe(500n * STX);
  const stacking = await server.post<{ txId: string }>(`/extended/v1/faucets/stx?address=${newcomer}&stacking=true`);
  expect(await mine({ txid: stacking.body.txId })).toEqual(['success', '(ok true)']);

  const client = new SbtcApiClientDevenv({ stxApiUrl: server.api });
  expect(client.config.sbtcContract).toBe(SBTC_DEPLOYER);
  expect(await client.fetchSignersPublicKey()).toMatch(/^[0-9a-f]{64}$/);
  expect(await client.fetchSignersAddress()).toStartWith('bcrt1p');
  const token = new SbtcApiClientDevenv({ stxApiUrl: server.api, sbtcContract: SBTC_ASSET.split('::')[0]! });
  expect(await token.fetchSbtcBalance(newcomer)).toBe(60_000n);
  expect((await server.post(`/extended/v1/faucets/btc?address=${poxAddress}`)).status).toBe(403);
});
