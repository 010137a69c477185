import { expect, test } from 'bun:test';
import {
  AuthType,
  BytesReader,
  deserializeTransaction,
  PayloadType,
  publicKeyFromSignatureRsv,
  type StacksTransactionWire,
  sigHashPreSign,
} from '@stacks/transactions';
import { deploymentPayload } from '../../src/codec/boot-transaction.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { transactionId } from '../../src/codec/transaction.ts';
import { networks } from '../../src/devnet/network.ts';
import { Prng } from '../../src/devnet/prng.ts';
import {
  amountCodes,
  contractCall,
  fungibleCondition,
  nakamotoCoinbase,
  nonFungibleCondition,
  postConditions,
  signTransaction,
  stxCondition,
  tenureChange,
  tokenTransfer,
  unsignedBootTransaction,
} from '../../src/devnet/transaction.ts';
import { accounts } from '../../src/devnet/wallet.ts';

const network = networks.testnet;
const [alice, bob] = accounts('transaction-encode', 'user', 2, network) as [Account, Account];
type Account = ReturnType<typeof accounts>[number];
const prng = new Prng('transaction-encode');
const contract = `${bob.address}.token-1`;

const change = {
  tenure: prng.bytes(20),
  previousTenure: prng.bytes(20),
  burnView: prng.bytes(20),
  previousTenureEnd: prng.bytes(32),
  previousTenureBlocks: 3,
  cause: 'extended',
  minerHash: alice.hash160,
} as const;
const coinbase = (recipient?: string) => nakamotoCoinbase(prng.bytes(32), recipient, prng.bytes(80));

const payloads: [name: string, bytes: Uint8Array, type: PayloadType][] = [
  ['a transfer to an address', tokenTransfer(bob.address, 5n, 'rent'), PayloadType.TokenTransfer],
  ['a transfer to a contract', tokenTransfer(contract, 5n, ''), PayloadType.TokenTransfer],
  ['a deployment', deploymentPayload('a', '(print 1)\n', null), PayloadType.SmartContract],
  ['a versioned deployment', deploymentPayload('a', '(print 1)\n', 3), PayloadType.VersionedSmartContract],
  ['a call', contractCall(contract, 'burn', [clarity.uint(7)]), PayloadType.ContractCall],
  ['a coinbase', coinbase(), PayloadType.NakamotoCoinbase],
  ['a coinbase to a contract', coinbase(contract), PayloadType.NakamotoCoinbase],
  ['a tenure change', tenureChange(change), PayloadType.TenureChange],
];

test.each(payloads)('%s is read back by another library, with the same id and both signers', (_, bytes, type) => {
  const conditions = postConditions([
    stxCondition(alice.address, amountCodes.lessOrEqual, 9n),
    fungibleCondition(contract, `${contract}::coin`, amountCodes.equal, 1n),
    nonFungibleCondition(alice.address, `${contract}::card`, clarity.uint(1)),
  ]);
  const origin = { account: alice, nonce: 3, fee: 0n };
  for (const sponsor of [undefined, { account: bob, nonce: 8, fee: 321n }]) {
    const raw = signTransaction({ payload: bytes, origin, sponsor, postConditions: conditions }, network);
    const read = deserializeTransaction(new BytesReader(raw));
    expect(read.payload.payloadType).toBe(type);
    expect(read.postConditions.values).toHaveLength(3);
    expect(read.txid()).toBe(transactionId(raw).toHex());
    expect(read.serializeBytes()).toEqual(raw);
    expect(signersOf(read)).toEqual(
      (sponsor === undefined ? [alice] : [alice, bob]).map(({ publicKey }) => publicKey.toHex()),
    );
    expect(() => read.verifyOrigin()).not.toThrow();
  }
});

test('a boot transaction has chain id 0 and a blank signature', () => {
  const raw = unsignedBootTransaction(tokenTransfer(network.boot, 0n, ''), network);
  const read = deserializeTransaction(new BytesReader(raw));
  expect(Number(read.chainId)).toBe(0);
  expect(read.serializeBytes()).toEqual(raw);
  expect(raw.subarray(44, 109)).toEqual(new Uint8Array(65));
});

/** The public keys that made the signatures, recovered along the chain of hashes. */
function signersOf(transaction: StacksTransactionWire): string[] {
  const { auth } = transaction;
  const conditions = [
    auth.spendingCondition,
    ...('sponsorSpendingCondition' in auth ? [auth.sponsorSpendingCondition] : []),
  ];
  let hash = transaction.signBegin();
  return conditions.map((condition, i) => {
    if (!('signature' in condition)) throw new Error('not a single signature');
    const flag = i === 0 ? AuthType.Standard : AuthType.Sponsored;
    const digest = sigHashPreSign(hash, flag, condition.fee, condition.nonce);
    const { data } = condition.signature;
    const key = publicKeyFromSignatureRsv(digest, data.slice(2) + data.slice(0, 2));
    hash = new Bun.CryptoHasher('sha512-256').update(Buffer.from(`${digest}00${data}`, 'hex')).digest('hex');
    return key;
  });
}
