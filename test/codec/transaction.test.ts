import { describe, expect, test } from 'bun:test';
import {
  addressFromVersionHash,
  addressToString,
  ClarityVersion,
  getAddressFromPrivateKey,
  makeContractCall,
  makeContractDeploy,
  makeSTXTokenTransfer,
  privateKeyToPublic,
  type StacksTransactionWire,
  sponsorTransaction,
} from '@stacks/transactions';
import fc from 'fast-check';
import { encodeArguments } from '../../src/codec/clarity-encode.ts';
import { fromHex, toHex } from '../../src/codec/hex.ts';
import { decodePostConditions } from '../../src/codec/post-conditions.ts';
import { decodeTransaction, type Payload, type Transaction, transactionId } from '../../src/codec/transaction.ts';
import { assertProperty } from '../support/property.ts';
import { address, bytesOf, clarityValue, contractName, postCondition, u64 } from './arbitraries.ts';
import { chainTransactions } from './chain-transactions.ts';
import { hash160, nonceAndFee, rawTransaction, signer, singleCondition } from './raw-transaction.ts';

const decode = (raw: Uint8Array): Transaction => {
  const transaction = decodeTransaction(raw);
  if (!transaction.ok) throw transaction.error;
  return transaction.value;
};

const payloadOf = (payload: string): Payload => decode(rawTransaction({ payload })).payload;

test.each(chainTransactions)(
  '$title has the id and sender that its node published',
  ({ raw, txId, type, ...origin }) => {
    const transaction = decode(fromHex(raw));
    expect(toHex(transaction.txId)).toBe(txId);
    expect(toHex(transactionId(fromHex(raw)))).toBe(txId);
    const { sender: address, nonce, fee } = origin;
    expect(transaction.origin).toMatchObject({ address, nonce, fee });
    expect<string>(transaction.payload.type).toBe(type);
  },
);

describe('compared to stacks.js', () => {
  const keys = ['11', '22', '33'].map((byte) => byte.repeat(32));
  const networks = fc.constantFrom('mainnet' as const, 'testnet' as const);
  const common = () => fc.record({ fee: u64(), nonce: u64(), network: networks });
  const conditions = () =>
    fc.record({
      conditions: fc.array(postCondition(), { maxLength: 4 }),
      mode: fc.constantFrom('allow' as const, 'deny' as const, 'originator' as const),
    });
  /** A key in the library's format: 01 at the end requests a compressed public key. */
  const key = () =>
    fc
      .tuple(fc.constantFrom(...keys), fc.boolean())
      .map(([secret, compressed]) => `${secret}${compressed ? '01' : ''}`);

  const expectAgreement = (transaction: Transaction, library: StacksTransactionWire) => {
    expect(transaction.txId.toHex()).toBe(library.txid());
    expect(transaction.chainId).toBe(library.chainId);
    expect(transaction.version).toBe(library.transactionVersion);
    expect(transaction.anchorMode).toBe(library.anchorMode);
    const condition = library.auth.spendingCondition;
    expect(transaction.origin).toMatchObject({
      hashMode: condition.hashMode,
      nonce: condition.nonce,
      fee: condition.fee,
    });
    expect(transaction.origin.signer.toHex()).toBe(condition.signer);
  };

  test('any signed transfer decodes to the signed fields', async () => {
    const memo = fc.string({ maxLength: 34 });
    await assertProperty(
      fc.asyncProperty(common(), key(), address(), u64(), memo, async (options, senderKey, recipient, amount, text) => {
        const library = await makeSTXTokenTransfer({ ...options, senderKey, recipient, amount, memo: text });
        const transaction = decode(library.serializeBytes());
        expectAgreement(transaction, library);
        expect(transaction.sponsor).toBeNull();
        expect(transaction.origin.address).toBe(getAddressFromPrivateKey(senderKey, options.network));
        expect(transaction.payload).toEqual({
          type: 'token_transfer',
          typeId: 0,
          recipient,
          amount,
          memo: Uint8Array.from(Buffer.alloc(34, Buffer.concat([Buffer.from(text), Buffer.alloc(34)]))),
        });
      }),
      { always: 'each transaction is signed and decoded', cases: 30 },
    );
  });

  test('any signed deployment decodes to the signed fields', async () => {
    const { Clarity1, Clarity2, Clarity3 } = ClarityVersion;
    const version = fc.option(fc.constantFrom(Clarity1, Clarity2, Clarity3), { nil: undefined });
    const contract = fc.record({ contractName: contractName(), codeBody: fc.string() });
    await assertProperty(
      fc.asyncProperty(common(), key(), contract, version, async (options, senderKey, names, clarityVersion) => {
        const library = await makeContractDeploy({
          ...options,
          senderKey,
          ...names,
          ...(clarityVersion === undefined ? {} : { clarityVersion }),
        });
        const transaction = decode(library.serializeBytes());
        expectAgreement(transaction, library);
        const { contractName, codeBody: source } = names;
        expect(transaction.payload).toMatchObject({ type: 'smart_contract', contractName, source });
        if (clarityVersion !== undefined) expect(transaction.payload).toMatchObject({ typeId: 6, clarityVersion });
      }),
      { always: 'each transaction is signed and decoded', cases: 30 },
    );
  });

  test('any signed call decodes to the signed fields, with its conditions and arguments', async () => {
    const args = fc.array(clarityValue(), { maxLength: 5 });
    const contract = fc.record({ contractAddress: address(), contractName: contractName() });
    await assertProperty(
      fc.asyncProperty(common(), key(), contract, conditions(), args, async (options, senderKey, names, ...call) => {
        const [{ conditions, mode }, samples] = call;
        const library = await makeContractCall({
          ...options,
          senderKey,
          ...names,
          functionName: 'transfer',
          functionArgs: samples.map(({ value }) => value),
          postConditions: conditions.map(({ condition }) => condition),
          postConditionMode: mode,
        });
        const transaction = decode(library.serializeBytes());
        expectAgreement(transaction, library);
        expect(transaction.payload).toEqual({
          type: 'contract_call',
          typeId: 2,
          contractId: `${names.contractAddress}.${names.contractName}`,
          functionName: 'transfer',
          functionArgs: encodeArguments(samples.map(bytesOf)),
        });
        expect<unknown>(decodePostConditions(transaction.postConditions)).toEqual({
          ok: true,
          value: { mode, postConditions: conditions.map(({ expected }) => expected) },
        });
      }),
      { always: 'each transaction is signed and decoded', cases: 30 },
    );
  });

  test('a sponsored transfer has the spending conditions of sender and sponsor', async () => {
    await assertProperty(
      fc.asyncProperty(common(), key(), key(), u64(), u64(), async (options, senderKey, sponsorKey, fee, nonce) => {
        const sent = { ...options, senderKey, recipient: signer, amount: 1, sponsored: true };
        const { network } = options;
        const library = await sponsorTransaction({
          transaction: await makeSTXTokenTransfer(sent),
          sponsorPrivateKey: sponsorKey,
          fee,
          sponsorNonce: nonce,
          network,
        });
        const transaction = decode(library.serializeBytes());
        expectAgreement(transaction, library);
        const address = getAddressFromPrivateKey(sponsorKey, network);
        expect(transaction.sponsor).toMatchObject({ address, nonce, fee });
      }),
      { always: 'each transaction is signed and decoded', cases: 30 },
    );
  });

  test('a transfer signed with two of three keys decodes, in order or not', async () => {
    const publicKeys = keys.map((secret) => privateKeyToPublic(`${secret}01`));
    const signers = fc.subarray(keys, { minLength: 2, maxLength: 2 });
    await assertProperty(
      fc.asyncProperty(common(), signers, fc.boolean(), async (options, signerKeys, useNonSequentialMultiSig) => {
        const library = await makeSTXTokenTransfer({
          ...options,
          recipient: signer,
          amount: 1,
          numSignatures: 2,
          publicKeys,
          signerKeys: signerKeys.map((secret) => `${secret}01`),
          useNonSequentialMultiSig,
        });
        const transaction = decode(library.serializeBytes());
        expectAgreement(transaction, library);
        const version = options.network === 'mainnet' ? 20 : 21;
        const expected = addressFromVersionHash(version, library.auth.spendingCondition.signer);
        expect(transaction.origin.address).toBe(addressToString(expected));
        expect(transaction.origin.proof).toMatchObject({ type: 'multi', signaturesRequired: 2 });
      }),
      { always: 'each transaction is signed and decoded', cases: 10 },
    );
  });
});

describe('the fields of a transaction', () => {
  test('only the testnet bit of the version counts', () => {
    expect(decode(rawTransaction({ version: '7f' }))).toMatchObject({ version: 0, origin: { address: signer } });
    const testnet = decode(rawTransaction({ version: 'ff', chainId: '80000000' }));
    expect(testnet).toMatchObject({ version: 0x80, chainId: 0x80000000 });
    expect(testnet.origin.address).toStartWith('ST');
  });

  test.each([
    ['00', 'SP'],
    ['02', 'SM'],
  ])('hash mode %s with one key has an address with %s…', (mode, letters) => {
    const { origin } = decode(rawTransaction({ conditions: mode + singleCondition.slice(2) }));
    expect(origin.address).toStartWith(letters);
    expect(origin.proof).toEqual({ type: 'single', keyEncoding: 0, signature: new Uint8Array(65) });
  });

  const key = `00${'02'.repeat(33)}`;
  const signature = `02${'00'.repeat(65)}`;

  test.each(['01', '03', '05', '07'])('hash mode %s has any number of fields and signatures', (mode) => {
    for (const fields of [`00000003${signature}${key}${signature}`, `00000001${key}`, '00000000']) {
      const { origin } = decode(rawTransaction({ conditions: `${mode}${hash160}${nonceAndFee}${fields}0002` }));
      expect(origin).toMatchObject({ nonce: 7n, fee: 180n });
      expect(origin.address).toStartWith('SM');
      expect(origin.proof).toEqual({ type: 'multi', fields: fromHex(fields), signaturesRequired: 2 });
    }
  });

  test('uncompressed keys are accepted in scripts, but not in witnesses', () => {
    const fields = `00000002${key.replace('00', '01')}${signature.replace('02', '03')}0001`;
    const conditions = (mode: string) => `${mode}${hash160}${nonceAndFee}${fields}`;
    for (const mode of ['01', '05'])
      expect(decodeTransaction(rawTransaction({ conditions: conditions(mode) })).ok).toBe(true);
    for (const mode of ['03', '07'])
      expect(decodeTransaction(rawTransaction({ conditions: conditions(mode) })).ok).toBe(false);
  });

  test('nonce and fee of 64 bits are exact', () => {
    const { origin } = decode(rawTransaction({ conditions: singleCondition.replace(nonceAndFee, 'ff'.repeat(16)) }));
    expect(origin).toMatchObject({ nonce: 2n ** 64n - 1n, fee: 2n ** 64n - 1n });
  });

  test('post-conditions span from the mode to the last condition', () => {
    const postConditions = '0100000001' + '040131';
    const transaction = decode(rawTransaction({ postConditions }));
    expect(transaction.postConditions).toEqual(fromHex(postConditions));
  });
});

describe('decodes payloads with', () => {
  test('a transfer to a contract', () => {
    const payload = payloadOf(`000616${hash160}03616263ffffffffffffffff${'41'.repeat(34)}`);
    expect(payload).toMatchObject({ recipient: `${signer}.abc`, amount: 2n ** 64n - 1n });
  });

  test('a contract without and with any version', () => {
    expect(payloadOf('0103616263000000022829')).toEqual({
      type: 'smart_contract',
      typeId: 1,
      contractName: 'abc',
      clarityVersion: null,
      source: '()',
    });
    expect(payloadOf('06ff03616263000000022829')).toMatchObject({ typeId: 6, clarityVersion: 255, source: '()' });
  });

  test('a source with a byte-order mark, U+0000 and invalid UTF-8', () => {
    expect(payloadOf('010161000000' + '07efbbbf2800ff29')).toMatchObject({ source: '\ufeff(\ufffd)' });
  });

  test('a source above 100,000 bytes', () => {
    const source = ';'.repeat(150_000);
    const payload = payloadOf(`010161${(150_000).toString(16).padStart(8, '0')}${Buffer.from(source).toString('hex')}`);
    expect(payload).toMatchObject({ source });
  });

  test('two microblock headers of 132 bytes', () => {
    const payload = payloadOf(`03${'11'.repeat(132)}${'22'.repeat(132)}`);
    expect(payload).toEqual({
      type: 'poison_microblock',
      typeId: 3,
      header1: new Uint8Array(132).fill(0x11),
      header2: new Uint8Array(132).fill(0x22),
    });
  });

  test('the three kinds of coinbase', () => {
    const data = 'cb'.repeat(32);
    const proof = 'ee'.repeat(80);
    expect(payloadOf(`04${data}`)).toMatchObject({ typeId: 4, altRecipient: null, vrfProof: null });
    expect(payloadOf(`05${data}0516${hash160}`)).toMatchObject({ typeId: 5, altRecipient: signer, vrfProof: null });
    expect(payloadOf(`08${data}09${proof}`)).toMatchObject({ typeId: 8, altRecipient: null, vrfProof: fromHex(proof) });
    expect(payloadOf(`08${data}0a0616${hash160}0161${proof}`)).toMatchObject({ altRecipient: `${signer}.a` });
  });

  test.each([
    ['00', 'block_found'],
    ['01', 'extended'],
    ['02', 'extended_runtime'],
    ['03', 'extended_read_count'],
    ['04', 'extended_read_length'],
    ['05', 'extended_write_count'],
    ['06', 'extended_write_length'],
  ])('a tenure change of cause %s as %s', (id, cause) => {
    const hashes = `${'11'.repeat(20)}${'22'.repeat(20)}${'33'.repeat(20)}${'44'.repeat(32)}`;
    expect<unknown>(payloadOf(`07${hashes}fffffffe${id}${'55'.repeat(20)}`)).toEqual({
      type: 'tenure_change',
      typeId: 7,
      tenureConsensusHash: fromHex('11'.repeat(20)),
      prevTenureConsensusHash: fromHex('22'.repeat(20)),
      burnViewConsensusHash: fromHex('33'.repeat(20)),
      previousTenureEnd: fromHex('44'.repeat(32)),
      previousTenureBlocks: 0xfffffffe,
      cause,
      pubkeyHash: fromHex('55'.repeat(20)),
    });
  });
});
