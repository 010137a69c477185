/** Rejections of transactions by the simulated node, in a node's format. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  Cl,
  getAddressFromPrivateKey,
  makeContractCall,
  makeContractDeploy,
  makeSTXTokenTransfer,
  makeUnsignedSTXTokenTransfer,
  privateKeyToPublic,
  type StacksTransactionWire,
  sponsorTransaction,
  TransactionSigner,
} from '@stacks/transactions';
import { token } from '../../src/devnet/contracts/token.ts';
import { networks } from '../../src/devnet/network.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { nakamotoCoinbase, signTransaction, tenureChange, tokenTransfer } from '../../src/devnet/transaction.ts';
import { accounts } from '../../src/devnet/wallet.ts';
import { type Demo, demo } from './demo.ts';

const keys = ['55', '66', '77', '88'].map((digits) => `${digits.repeat(32)}01`);
const [senderKey = '', otherKey = ''] = keys;
const sender = getAddressFromPrivateKey(senderKey, 'testnet');
const payee = getAddressFromPrivateKey(otherKey, 'testnet');
const [funded] = accounts('refusals', 'own', 1, networks.testnet);
const FUNDS = 1_000_000_000n;
const wide = (amount: bigint): string => `0x${amount.toString(16).padStart(32, '0')}`;

let server: Demo;
beforeAll(async () => {
  server = await demo();
  for (const address of [sender, funded!.address]) await server.steer('fund', { address, amount: String(FUNDS) });
  const deployed = await makeContractDeploy({
    contractName: 'empty',
    codeBody: token.source,
    clarityVersion: 3,
    nonce: 0,
    fee: 2_000,
    senderKey,
    network: 'testnet',
  });
  await server.steer('mine', { transactions: [deployed.serialize()] });
});
afterAll(() => server[Symbol.asyncDispose]());

const common = { nonce: 1, fee: 1_000, senderKey, network: 'testnet' } as const;
const transfer = (options: object = {}) =>
  makeSTXTokenTransfer({ recipient: payee, amount: 1, ...common, ...options } as Parameters<
    typeof makeSTXTokenTransfer
  >[0]);
const call = (options: object = {}) =>
  makeContractCall({
    contractAddress: sender,
    contractName: 'empty',
    functionName: 'burn',
    functionArgs: [Cl.uint(1)],
    ...common,
    ...options,
  });
const deploy = (codeBody: string, options: object = {}) =>
  makeContractDeploy({ contractName: 'other', codeBody, ...common, ...options });

/** Expects that the node rejects a transaction with a reason and no other data. */
async function rejects(transaction: StacksTransactionWire, reason: string, data?: object): Promise<void> {
  const { status, body } = await server.post<object>('/v2/transactions', { tx: transaction.serialize() });
  const txid = transaction.txid();
  const expected = {
    error: 'transaction rejected',
    reason,
    ...(data === undefined ? {} : { reason_data: data }),
    txid,
  };
  expect([status, body]).toEqual([400, expected]);
}

const message = (text: string) => ({ message: expect.stringContaining(text) });

test('a transaction of another chain or with an invalid signature is rejected', async () => {
  await rejects(
    await transfer({ network: 'mainnet', recipient: 'SP000000000000000000002Q6VF78' }),
    'BadTransactionVersion',
  );
  const elsewhere = { chainId: 7, transactionVersion: 128, addressVersion: { singleSig: 26, multiSig: 21 } };
  const wrongChain = await transfer({
    network: { ...elsewhere, bootAddress: '', magicBytes: 'id', peerNetworkId: 1, client: { baseUrl: '' } },
  });
  await rejects(wrongChain, 'SignatureValidation', message('invalid chain ID 7 (expected 2147483648)'));
  const changed = await transfer();
  changed.auth.spendingCondition.fee = 2_000n;
  await rejects(changed, 'SignatureValidation', message('Signer hash does not equal hash of public key(s)'));
});

test('a transaction with a low fee, a wrong nonce or too little STX is rejected', async () => {
  const length = (await transfer()).serializeBytes().length;
  await rejects(await transfer({ fee: length - 1 }), 'FeeTooLow', { expected: length, actual: length - 1 });
  const place = { is_origin: true, principal: sender };
  await rejects(await transfer({ nonce: 0 }), 'BadNonce', { expected: 1, actual: 0, ...place });
  await rejects(await transfer({ nonce: 28 }), 'TooMuchChaining', {
    message: 'Nonce would exceed chaining limit in mempool',
    expected: 27,
    actual: 28,
    ...place,
  });
  const { balance } = await server.json<{ balance: string }>(`/v2/accounts/${sender}`);
  const amount = BigInt(balance) - 999n;
  await rejects(await transfer({ amount }), 'NotEnoughFunds', { expected: wide(amount + 1_000n), actual: balance });
  await rejects(await call({ fee: BigInt(balance) + 1n }), 'NotEnoughFunds', {
    expected: wide(BigInt(balance) + 1n),
    actual: balance,
  });
});

test('a transfer of nothing, to its sender or to another network is rejected', async () => {
  await rejects(await transfer({ amount: 0 }), 'TransferAmountMustBePositive');
  await rejects(await transfer({ recipient: sender }), 'TransferRecipientCannotEqualSender', { recipient: sender });
  await rejects(await transfer({ recipient: 'SP000000000000000000002Q6VF78' }), 'BadAddressVersionByte');
});

test('a call of a missing function, with wrong arguments, and an invalid deployment are rejected', async () => {
  await rejects(await call({ contractName: 'missing' }), 'NoSuchContract');
  await rejects(await call({ functionName: 'missing' }), 'NoSuchPublicFunction');
  await rejects(await call({ functionArgs: [] }), 'BadFunctionArgument', message('expecting 1 arguments, got 0'));
  await rejects(await call({ functionArgs: [Cl.int(1)] }), 'BadFunctionArgument', message('uint128'));
  const unsimulated = { contractAddress: networks.testnet.boot, contractName: 'pox-4', functionName: 'stack-extend' };
  await rejects(await call(unsimulated), 'ServerFailureOther', message("doesn't execute stack-extend of "));
  const named = { contractName: 'empty' };
  await rejects(await deploy('(define-constant a u1)', named), 'ContractAlreadyExists', {
    contract_identifier: `${sender}.empty`,
  });
});

test('transactions that only miners make are rejected', async () => {
  const bytes = new Uint8Array(32);
  const change = {
    tenure: new Uint8Array(20),
    previousTenure: new Uint8Array(20),
    burnView: new Uint8Array(20),
    previousTenureEnd: bytes,
    previousTenureBlocks: 1,
    cause: 'block_found' as const,
    minerHash: new Uint8Array(20),
  };
  const origin = { account: funded!, nonce: 0, fee: 1_000n };
  for (const [payload, reason] of [
    [nakamotoCoinbase(bytes, undefined, new Uint8Array(80)), 'NoCoinbaseViaMempool'],
    [tenureChange(change), 'NoTenureChangeViaMempool'],
  ] as const) {
    const raw = signTransaction({ payload, origin }, networks.testnet);
    expect(await server.post('/v2/transactions', { tx: raw.toHex() })).toMatchObject({ status: 400, body: { reason } });
  }
});

test('accounts of several keys sign, and so do sponsors', async () => {
  const publicKeys = keys.slice(0, 3).map((key) => privateKeyToPublic(key));
  for (const useSequentialMultiSig of [false, true]) {
    const options = { publicKeys, numSignatures: 2, useSequentialMultiSig, recipient: payee, amount: 1, fee: 2_000 };
    const unsigned = await makeUnsignedSTXTokenTransfer({ ...options, nonce: 0, network: 'testnet' });
    const signer = new TransactionSigner(unsigned);
    signer.signOrigin(keys[0]!);
    signer.signOrigin(keys[1]!);
    signer.appendOrigin(publicKeys[2]!);
    // The account has no funds. The node checks that after the signatures.
    const answer = await server.post('/v2/transactions', { tx: unsigned.serialize() });
    expect(answer).toMatchObject({ status: 400, body: { reason: 'NotEnoughFunds' } });
    unsigned.auth.spendingCondition.nonce = 1n;
    expect(await server.post('/v2/transactions', { tx: unsigned.serialize() })).toMatchObject({
      body: { reason: 'SignatureValidation' },
    });
  }
  const { nonce } = await server.json<{ nonce: number }>(`/v2/accounts/${sender}`);
  const unsponsored = await makeSTXTokenTransfer({
    ...common,
    recipient: sender,
    amount: 1,
    senderKey: otherKey,
    nonce: 0,
    fee: 0,
    sponsored: true,
  });
  const sponsor = (sponsorNonce: number) =>
    sponsorTransaction({
      transaction: unsponsored,
      sponsorPrivateKey: senderKey,
      fee: 1_000,
      sponsorNonce,
      network: 'testnet',
    });
  await rejects(await sponsor(0), 'BadNonce', { expected: nonce, actual: 0, is_origin: false, principal: sender });
  // The sender must have the amount, even if a sponsor pays the fee.
  await rejects(await sponsor(nonce), 'NotEnoughFunds', { expected: wide(1n), actual: wide(0n) });
});

test("bytes that aren't a transaction, and malformed bodies, are rejected with 400", async () => {
  const post = (body: string | Uint8Array<ArrayBuffer>, type: string) =>
    server.get('/v2/transactions', { method: 'POST', body, headers: { 'content-type': type } });
  const octets = 'application/octet-stream';
  const valid = signTransaction(
    { payload: tokenTransfer(payee, 1n, ''), origin: { account: funded!, nonce: 0, fee: 1_000n } },
    networks.testnet,
  );
  const prng = new Prng('hostile transactions');
  // A list in a list in a list …, as the one argument of a call.
  const deep = `${valid.slice(0, 115).toHex()}021a${'00'.repeat(20)}01610161${'00000001'}${'0b00000001'.repeat(50_000)}03`;
  const bodies: [body: string | Uint8Array<ArrayBuffer>, type: string][] = [
    ['', octets],
    [new Uint8Array(0), octets],
    [new Uint8Array(3_000_000), octets],
    [Uint8Array.fromHex(deep), octets],
    ['{"tx":1}', 'application/json'],
    ['{"tx":"0g"}', 'application/json'],
    ['[', 'application/json'],
    [`{"tx":"${valid.toHex()}00"}`, 'application/json'],
    ['['.repeat(4_000_000), 'application/json'],
    [`{"tx":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 'application/json'],
  ];
  for (let index = 0; index < 200; index++) {
    const changed = new Uint8Array(valid);
    changed[prng.below(changed.length)]! ^= prng.between(1, 255);
    bodies.push([changed.slice(0, prng.chance(0.5) ? changed.length : prng.below(changed.length)), octets]);
  }
  for (const [body, type] of bodies) expect((await post(body, type)).status).toBe(400);
  // The node doesn't parse it, because that would block all other requests.
  expect(await (await post('['.repeat(4_000_000), 'application/json')).text()).toContain('nested deeper');
  // A node that is still running accepts the intact version of the transaction that was damaged above.
  const response = await post(new Uint8Array(valid), octets);
  expect([response.status, await response.json()]).toEqual([200, expect.stringMatching(/^[0-9a-f]{64}$/)]);
  // Sending the same transaction again changes nothing.
  expect((await post(new Uint8Array(valid), octets)).status).toBe(200);
});

test('invalid parameters return 400, unknown contracts 404, and wrong methods 405', async () => {
  const read = { sender, arguments: [] as unknown[] };
  const refusals: [path: string, body: unknown][] = [
    [`/v2/map_entry/${sender}/empty/map`, 'zz'],
    [`/v2/map_entry/${sender}/empty/map`, '0xff'],
    [`/v2/contracts/call-read/${sender}/empty/get-balance`, { ...read, sender: 'nobody' }],
    [`/v2/contracts/call-read/${sender}/empty/get-balance`, { ...read, arguments: ['0xff'] }],
    [`/v2/contracts/call-read/${sender}/empty/get-balance`, { ...read, arguments: [1] }],
    ['/v2/fees/transaction', {}],
    ['/v2/fees/transaction', { transaction_payload: '99' }],
  ];
  for (const [path, body] of refusals) expect([path, (await server.post(path, body)).status]).toEqual([path, 400]);
  const answers: [path: string, status: number][] = [
    ['/v2/accounts/nobody', 400],
    ['/v2/accounts/%ff', 400],
    [`/v2/accounts/${sender}?tip=1`, 400],
    [`/v2/accounts/${sender}?tip=${'00'.repeat(32)}`, 404],
    [`/v2/contracts/interface/${sender}/missing`, 404],
    [`/v2/contracts/source/${sender}/missing`, 404],
    [`/v2/data_var/${sender}/empty/missing`, 404],
    [`/v2/constant_val/${sender}/empty/missing`, 404],
    [`/v3/transaction/${'00'.repeat(32)}`, 404],
    ['/v2/fees/transaction', 405],
  ];
  for (const [path, status] of answers) expect([path, (await server.get(path)).status]).toEqual([path, status]);
});

test('an account has empty proofs by default, and the state at a requested block', async () => {
  const { tip } = await server.state();
  const before = await server.json<object>(`/v2/accounts/${funded!.address}`);
  expect(before).toMatchObject({ balance_proof: '', nonce_proof: '' });
  await server.steer('mine');
  await server.steer('fund', { address: funded!.address, amount: '1' });
  expect(await server.json<object>(`/v2/accounts/${funded!.address}`)).not.toEqual(before);
  const then = await server.json<object>(`/v2/accounts/${funded!.address}?tip=${tip.index_block_hash.slice(2)}`);
  expect(then).toEqual(before);
});
