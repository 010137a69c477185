import type { AbiType } from '../../codec/abi.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { utf8Bytes } from '../../codec/utf8.ts';
import {
  bufferOf,
  type ChainEvent,
  type ContractCall,
  type ContractTemplate,
  contractInterface,
  err,
  ok,
  principalOf,
  publicFunction,
  readOnlyFunction,
  runtimeError,
  someOf,
  uintOf,
} from '../contract.ts';
import { amountCodes, fungibleCondition, postConditions } from '../transaction.ts';

const tokenName = 'coin';
/** Error of `ft-transfer?`. The other functions return it for an amount of 0. */
const insufficientBalance = 1n;
const toItself = 2n;
const nothing = 3n;
const notTokenOwner = 4n;

const response = (ok: AbiType): AbiType => ({ response: { ok, error: 'none' } });

/** The document of the token, which needs no server (SIP-016). */
const tokenUri = `data:application/json,${JSON.stringify({
  sip: 16,
  name: 'Demo Coin',
  description: 'Anybody may mint it',
  image:
    'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 2"><circle cx="1" cy="1" r="1"/></svg>',
})}`;

const optionalMemo = { optional: { buffer: { length: 34 } } } as const;

/** A fungible token (SIP-010) that any account may mint. */
export const token: ContractTemplate = {
  name: 'token',
  clarityVersion: 3,
  source: `;; A fungible token (SIP-010) that anyone may mint.
(define-fungible-token ${tokenName})
(define-constant ERR_NOT_TOKEN_OWNER (err u4))

(define-public (mint (amount uint) (recipient principal))
  (ft-mint? ${tokenName} amount recipient))

(define-public (transfer (amount uint) (sender principal) (recipient principal) (memo (optional (buff 34))))
  (begin
    (asserts! (is-eq tx-sender sender) ERR_NOT_TOKEN_OWNER)
    (try! (ft-transfer? ${tokenName} amount sender recipient))
    (match memo text (print text) 0x)
    (ok true)))

(define-public (burn (amount uint))
  (ft-burn? ${tokenName} amount tx-sender))

(define-read-only (get-balance (who principal))
  (ok (ft-get-balance ${tokenName} who)))

(define-read-only (get-name) (ok "Demo Coin"))
(define-read-only (get-symbol) (ok "DEMO"))
(define-read-only (get-decimals) (ok u6))
(define-read-only (get-total-supply) (ok (ft-get-supply ${tokenName})))
(define-read-only (get-token-uri) (ok (some u${JSON.stringify(tokenUri)})))
`,
  abi: contractInterface({
    functions: [
      publicFunction('burn', { amount: 'uint128' }),
      publicFunction('mint', { amount: 'uint128', recipient: 'principal' }),
      publicFunction('transfer', {
        amount: 'uint128',
        sender: 'principal',
        recipient: 'principal',
        memo: optionalMemo,
      }),
      readOnlyFunction('get-balance', { who: 'principal' }, response('uint128')),
      readOnlyFunction('get-decimals', {}, response('uint128')),
      readOnlyFunction('get-name', {}, response({ 'string-ascii': { length: 9 } })),
      readOnlyFunction('get-symbol', {}, response({ 'string-ascii': { length: 4 } })),
      readOnlyFunction('get-token-uri', {}, response({ optional: { 'string-utf8': { length: tokenUri.length } } })),
      readOnlyFunction('get-total-supply', {}, response('uint128')),
    ],
    fungible_tokens: [{ name: tokenName }],
    variables: [
      { access: 'constant', name: 'ERR_NOT_TOKEN_OWNER', type: { response: { ok: 'none', error: 'uint128' } } },
    ],
  }),
  propose({ prng, world, contract, sender, recipient }) {
    const balance = world.fungibleBalance(`${contract}::${tokenName}`, sender);
    if (balance === 0n || prng.chance(0.3)) return mint(BigInt(prng.between(1, 5_000_000)), sender);
    const amount = BigInt(prng.between(1, Math.min(Number(balance), 1_000_000)));
    if (prng.chance(0.15)) return burn(amount);
    // One call in twelve transfers more than the balance.
    const requested = prng.chance(1 / 12) ? balance + amount : amount;
    return transfer(
      contract,
      requested,
      sender,
      recipient(),
      prng.chance(0.5) ? utf8Bytes(`invoice ${prng.below(10_000)}`) : undefined,
    );
  },
  empty({ prng, world, contract, sender, recipient }) {
    const balance = world.fungibleBalance(`${contract}::${tokenName}`, sender);
    if (balance === 0n) return undefined;
    return prng.chance(0.3) ? burn(balance) : transfer(contract, balance, sender, recipient(), undefined);
  },
  calls: {
    mint: ([amount, recipient]) => mint(uintOf(amount), principalOf(recipient)),
    burn: ([amount]) => burn(uintOf(amount)),
    transfer: ([amount, sender, recipient, memo]) => {
      const text = someOf(memo);
      const note = text === undefined ? undefined : bufferOf(text);
      return { run: transferred(tokenName, uintOf(amount), principalOf(sender), principalOf(recipient), note) };
    },
  },
  reads: {
    'get-balance': ({ world, contract }, [who]) =>
      clarity.ok(clarity.uint(world.fungibleBalance(`${contract}::${tokenName}`, principalOf(who)))),
    'get-decimals': () => clarity.ok(clarity.uint(6)),
    'get-name': () => clarity.ok(clarity.ascii('Demo Coin')),
    'get-symbol': () => clarity.ok(clarity.ascii('DEMO')),
    'get-token-uri': () => clarity.ok(clarity.some(clarity.utf8(tokenUri))),
    'get-total-supply': ({ world, contract }) =>
      clarity.ok(clarity.uint(world.fungibleSupply(`${contract}::${tokenName}`))),
  },
  constants: { ERR_NOT_TOKEN_OWNER: clarity.err(clarity.uint(notTokenOwner)) },
};

const MAX_SUPPLY = 2n ** 128n - 1n;

function mint(amount: bigint, recipient: string): ContractCall {
  return {
    functionName: 'mint',
    args: [clarity.uint(amount), clarity.principal(recipient)],
    run: ({ world, contract }) => {
      const asset = `${contract}::${tokenName}`;
      if (amount === 0n) return err(insufficientBalance);
      if (world.fungibleSupply(asset) + amount > MAX_SUPPLY) return runtimeError('Runtime(ArithmeticOverflow, None)');
      return ok(clarity.bool(true), { type: 'ft_mint_event', asset, recipient, amount });
    },
  };
}

function burn(amount: bigint): ContractCall {
  return {
    functionName: 'burn',
    args: [clarity.uint(amount)],
    run: ({ world, contract, sender }) => {
      const asset = `${contract}::${tokenName}`;
      if (amount === 0n || world.fungibleBalance(asset, sender) < amount) return err(insufficientBalance);
      return ok(clarity.bool(true), { type: 'ft_burn_event', asset, sender, amount });
    },
  };
}

function transfer(
  contract: string,
  amount: bigint,
  from: string,
  recipient: string,
  memo: Uint8Array | undefined,
): ContractCall {
  const asset = `${contract}::${tokenName}`;
  return {
    functionName: 'transfer',
    args: [
      clarity.uint(amount),
      clarity.principal(from),
      clarity.principal(recipient),
      memo === undefined ? clarity.none() : clarity.some(clarity.buffer(memo)),
    ],
    postConditions: postConditions([fungibleCondition(from, asset, amountCodes.equal, amount)]),
    run: transferred(tokenName, amount, from, recipient, memo),
  };
}

/** Makes the function `transfer` of SIP-010. @param token name of the contract's token */
const transferred =
  (token: string, amount: bigint, from: string, recipient: string, memo: Uint8Array | undefined): ContractCall['run'] =>
  ({ world, contract, sender }) => {
    const asset = `${contract}::${token}`;
    if (sender !== from) return err(notTokenOwner);
    if (amount === 0n) return err(nothing);
    if (from === recipient) return err(toItself);
    if (world.fungibleBalance(asset, from) < amount) return err(insufficientBalance);
    const events: ChainEvent[] = [{ type: 'ft_transfer_event', asset, sender: from, recipient, amount }];
    if (memo !== undefined) events.push({ type: 'contract_event', contract, value: clarity.buffer(memo) });
    return ok(clarity.bool(true), ...events);
  };

/** Deployer of the sBTC contracts in the development environment of sBTC, the default of the npm package `sbtc`. */
export const SBTC_DEPLOYER = 'SN3R84XZYA63QS28932XQF3G1J8R9PC3W76P9CSQS';
const TOKEN = 'sbtc-token';
/** Asset identifier of the token. */
export const SBTC_ASSET = `${SBTC_DEPLOYER}.${TOKEN}::${TOKEN}`;

const common = {
  clarityVersion: 3,
  isPartial: true,
  propose() {
    throw new Error('the simulation has no calls of the sBTC contracts');
  },
} as const;

/** The sBTC token. */
export const sbtcToken: ContractTemplate = {
  ...common,
  name: TOKEN,
  source: ';; The token of sBTC; its source is not part of the simulation.\n',
  abi: contractInterface({
    functions: [
      publicFunction('transfer', {
        amount: 'uint128',
        sender: 'principal',
        recipient: 'principal',
        memo: { optional: { buffer: { length: 34 } } },
      }),
      readOnlyFunction('get-balance', { who: 'principal' }, response('uint128')),
      readOnlyFunction('get-decimals', {}, response('uint128')),
      readOnlyFunction('get-name', {}, response({ 'string-ascii': { length: 32 } })),
      readOnlyFunction('get-symbol', {}, response({ 'string-ascii': { length: 10 } })),
      readOnlyFunction('get-token-uri', {}, response({ optional: { 'string-utf8': { length: 256 } } })),
      readOnlyFunction('get-total-supply', {}, response('uint128')),
    ],
    fungible_tokens: [{ name: TOKEN }],
  }),
  calls: {
    transfer: ([amount, sender, recipient, memo]) => {
      const text = someOf(memo);
      const note = text === undefined ? undefined : bufferOf(text);
      return { run: transferred(TOKEN, uintOf(amount), principalOf(sender), principalOf(recipient), note) };
    },
  },
  reads: {
    'get-balance': ({ world }, [who]) => clarity.ok(clarity.uint(world.fungibleBalance(SBTC_ASSET, principalOf(who)))),
    'get-decimals': () => clarity.ok(clarity.uint(8)),
    'get-name': () => clarity.ok(clarity.ascii('sBTC')),
    'get-symbol': () => clarity.ok(clarity.ascii('sBTC')),
    'get-token-uri': () => clarity.ok(clarity.none()),
    'get-total-supply': ({ world }) => clarity.ok(clarity.uint(world.fungibleSupply(SBTC_ASSET))),
  },
};

/** Returns the registry of sBTC's signers. @param signersKey the signers' public key, 33 bytes */
export const sbtcRegistry = (signersKey: Uint8Array): ContractTemplate => ({
  ...common,
  name: 'sbtc-registry',
  source: ';; The registry of sBTC; its source is not part of the simulation.\n',
  abi: contractInterface({
    functions: [readOnlyFunction('get-current-aggregate-pubkey', {}, { buffer: { length: 33 } })],
  }),
  reads: { 'get-current-aggregate-pubkey': () => clarity.buffer(signersKey) },
});
