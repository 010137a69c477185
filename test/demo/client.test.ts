/** Apps use the published client against the demo: over localhost, through the proxy, as with a real node. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  broadcastTransaction,
  Cl,
  fetchAbi,
  fetchCallReadOnlyFunction,
  fetchFeeEstimate,
  fetchFeeEstimateTransaction,
  fetchFeeEstimateTransfer,
  fetchNonce,
  getAddressFromPrivateKey,
  makeContractCall,
  makeContractDeploy,
  makeSTXTokenTransfer,
  Pc,
  PostConditionMode,
  type StacksTransactionWire,
  serializePayload,
  validateContractCall,
} from '@stacks/transactions';
import { templates } from '../../src/devnet/traffic.ts';
import { type Demo, demo } from './demo.ts';

const senderKey = `${'11'.repeat(32)}01`;
const sender = getAddressFromPrivateKey(senderKey, 'testnet');
const friend = getAddressFromPrivateKey(`${'22'.repeat(32)}01`, 'testnet');
const pox = 'ST000000000000000000002AMW42H';
const tokenSource = templates.find(({ name }) => name === 'token')!.source;

let server: Demo;
beforeAll(async () => {
  server = await demo();
  await server.steer('fund', { address: sender, amount: '1000000000' });
});
afterAll(() => server[Symbol.asyncDispose]());

const common = () => ({ senderKey, network: 'testnet' as const, client: { baseUrl: server.api } });
const options = () => ({ network: 'testnet' as const, client: { baseUrl: server.api } });

interface TransactionJson {
  tx_status: string;
  block_height: number;
}
const transactionJson = (id: string): Promise<TransactionJson> => server.json(`/extended/v1/tx/0x${id}`);

/** Broadcasts a transaction, requires that it is pending, and mines it. @returns the transaction in the API's format */
async function mine(transaction: StacksTransactionWire): Promise<TransactionJson> {
  const id = transaction.txid();
  expect(await broadcastTransaction({ transaction, ...options() })).toEqual({ txid: id });
  expect((await transactionJson(id)).tx_status).toBe('pending');
  const { blocks } = await server.steer('mine');
  expect(blocks[0]?.transactions).toEqual([`0x${id}`]);
  return transactionJson(id);
}

test('a transfer is estimated, signed, broadcast and mined, and moves STX', async () => {
  const transaction = await makeSTXTokenTransfer({ recipient: friend, amount: 1_000n, memo: 'hello', ...common() });
  const length = BigInt(transaction.serializeBytes().length);
  expect(await fetchFeeEstimateTransfer({ transaction, ...options() })).toBe(length);
  const estimates = await fetchFeeEstimateTransaction({ payload: serializePayload(transaction.payload), ...options() });
  expect(estimates.map(({ fee }) => fee)).toEqual(estimates.map(({ fee }) => fee).toSorted((a, b) => a - b));
  expect(await fetchFeeEstimate({ transaction, ...options() })).toBe(Number(length) * 2);
  const nonce = await fetchNonce({ address: sender, ...options() });
  expect(await mine(transaction)).toMatchObject({
    tx_status: 'success',
    nonce: Number(nonce),
    token_transfer: { recipient_address: friend, amount: '1000' },
  });
  expect(await fetchNonce({ address: sender, ...options() })).toBe(nonce + 1n);
  const account = await server.json<object>(`/v2/accounts/${friend}?proof=0`);
  expect(account).toEqual({
    balance: `0x${'3e8'.padStart(32, '0')}`,
    locked: `0x${'0'.repeat(32)}`,
    unlock_height: 0,
    nonce: 0,
  });
  expect(await server.json<object>(`/v3/transaction/${transaction.txid()}`)).toMatchObject({
    tx: transaction.serialize(),
    result: '(ok true)',
  });
});

test("one of the demo's contracts is deployed and called, and its data can be read", async () => {
  const contract = { contractAddress: sender, contractName: 'coins' };
  const deployment = { contractName: 'coins', codeBody: tokenSource, clarityVersion: 3, ...common() };
  expect(await mine(await makeContractDeploy(deployment))).toMatchObject({ tx_status: 'success' });
  const abi = await fetchAbi({ ...contract, ...options() });
  const minting = { ...contract, functionName: 'mint', functionArgs: [Cl.uint(500), Cl.principal(sender)] };
  const mint = await makeContractCall({ ...minting, validateWithAbi: true, ...common() });
  expect(validateContractCall(mint.payload as never, abi)).toBe(true);
  expect(await mine(mint)).toMatchObject({ tx_status: 'success', tx_result: { repr: '(ok true)' } });
  const paying = {
    ...contract,
    functionName: 'transfer',
    functionArgs: [Cl.uint(200), Cl.principal(sender), Cl.principal(friend), Cl.some(Cl.bufferFromUtf8('rent'))],
  };
  const condition = Pc.principal(sender).willSendEq(200).ft(`${sender}.coins`, 'coin');
  const denied = { postConditionMode: PostConditionMode.Deny };
  expect(await mine(await makeContractCall({ ...paying, ...denied, ...common() }))).toMatchObject({
    tx_status: 'abort_by_post_condition',
  });
  expect(
    await mine(await makeContractCall({ ...paying, ...denied, postConditions: [condition], ...common() })),
  ).toMatchObject({ tx_status: 'success', event_count: 2 });
  const balance = { ...contract, functionName: 'get-balance', senderAddress: sender };
  expect(await fetchCallReadOnlyFunction({ ...balance, functionArgs: [Cl.principal(friend)], ...options() })).toEqual(
    Cl.ok(Cl.uint(200)),
  );
  const overdrawn = { ...paying, functionArgs: [Cl.uint(301), Cl.principal(sender), Cl.principal(friend), Cl.none()] };
  const allowed = { postConditionMode: PostConditionMode.Allow };
  expect(await mine(await makeContractCall({ ...overdrawn, ...allowed, ...common() }))).toMatchObject({
    tx_status: 'abort_by_response',
    tx_result: { repr: '(err u1)' },
  });
});

test('any other contract is deployed with its source, and a call or a read of its functions is rejected', async () => {
  const codeBody = `;; counts
(define-constant ERR_EMPTY (err u100))
(define-public (add (points uint)) (ok points))
(define-read-only (get-counter) u1)
(print "not executed")
`;
  const contract = { contractAddress: sender, contractName: 'counter' };
  const deployed = await mine(await makeContractDeploy({ contractName: 'counter', codeBody, ...common() }));
  expect(deployed).toMatchObject({ tx_status: 'success', event_count: 0 });
  expect(await fetchAbi({ ...contract, ...options() })).toMatchObject({ functions: [] });
  const source = await server.json<object>(`/v2/contracts/source/${sender}/counter?proof=0`);
  expect(source).toEqual({ source: codeBody, publish_height: deployed.block_height });
  const constant = await server.json<object>(`/v2/constant_val/${sender}/counter/ERR_EMPTY`);
  expect(constant).toEqual({ data: `0x${Cl.serialize(Cl.error(Cl.uint(100)))}` });
  const reads = { ...contract, functionName: 'get-counter', functionArgs: [], senderAddress: sender, ...options() };
  expect(fetchCallReadOnlyFunction(reads)).rejects.toThrow(`doesn't execute get-counter of ${sender}.counter`);
  const call = { ...contract, functionName: 'add', functionArgs: [Cl.uint(1)], fee: 1_000n, ...common() };
  expect(await broadcastTransaction({ transaction: await makeContractCall(call), ...options() })).toMatchObject({
    reason: 'ServerFailureOther',
    reason_data: { message: expect.stringContaining("doesn't execute add of ") },
  });
});

test("the node's routes for explorers answer with the tip of the index", async () => {
  const { tip, bitcoin, cycle } = await server.state();
  const answer = (path: string) => server.json<object>(path);
  expect(await answer('/v2/info')).toMatchObject({
    network_id: 0x8000_0000,
    stacks_tip_height: tip.height,
    stacks_tip: tip.hash.slice(2),
    burn_block_height: bitcoin.height,
  });
  expect(await answer('/v2/pox')).toMatchObject({
    contract_id: `${pox}.pox-4`,
    current_cycle: { id: cycle.number },
    next_reward_cycle_in: cycle.blocks_left,
  });
  expect(await answer('/v3/tenures/info')).toMatchObject({ tip_height: tip.height });
  expect(await answer('/v3/health')).toMatchObject({ node_stacks_tip_height: tip.height });
  expect(await answer('/v2/neighbors')).toEqual({ bootstrap: [], sample: [], inbound: [], outbound: [] });
  expect(await answer('/ready')).toMatchObject({ ready: true });
  expect((await server.get('/v2/nothing')).status).toBe(404);
});
