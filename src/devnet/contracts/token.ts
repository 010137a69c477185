import type { AbiType } from '../../codec/abi.ts';
import { MAX_UINT } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { utf8Bytes } from '../../codec/utf8.ts';
import {
  type ChainEvent,
  type ContractTemplate,
  contractInterface,
  err,
  interfaceOf,
  networkContract,
  ok,
  okOf,
  publicFunction,
  readOnlyFunction,
  runtimeError,
  userCall,
} from '../contract.ts';
import { amountCodes, fungibleCondition, postConditions } from '../transaction.ts';

const tokenName = 'coin';
const assetOf = (contract: string): string => `${contract}::${tokenName}`;
/** Error of `ft-transfer?`. The other functions return it for an amount of 0. */
const insufficientBalance = 1n;
const toItself = 2n;
const zeroAmount = 3n;
const notTokenOwner = 4n;

/** The document of the token, which needs no server (SIP-016). */
const tokenUri = `data:application/json,${JSON.stringify({
  sip: 16,
  name: 'Demo Coin',
  description: 'Anybody may mint it',
  image:
    'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 2"><circle cx="1" cy="1" r="1"/></svg>',
})}`;

/** The metadata of a fungible token, with the types of its texts. */
interface TokenMetadata {
  token: string;
  decimals: number;
  name: string;
  symbol: string;
  uri: string | null;
  nameType: AbiType;
  symbolType: AbiType;
  uriType: AbiType;
}

const fungibleFunctions = ({ token, decimals, name, symbol, uri, ...types }: TokenMetadata) => ({
  transfer: publicFunction(
    { amount: 'uint128', sender: 'principal', recipient: 'principal', memo: { optional: { buffer: { length: 34 } } } },
    ({ world, contract, ...context }, { amount, sender, recipient, memo }) => {
      const asset = `${contract}::${token}`;
      if (sender !== context.sender) return err(notTokenOwner);
      if (amount === 0n) return err(zeroAmount);
      if (sender === recipient) return err(toItself);
      if (world.fungibleBalance(asset, sender) < amount) return err(insufficientBalance);
      const events: ChainEvent[] = [{ type: 'ft_transfer_event', asset, sender, recipient, amount }];
      if (memo !== undefined) events.push({ type: 'contract_event', contract, value: clarity.buffer(memo) });
      return ok(clarity.bool(true), ...events);
    },
  ),
  'get-balance': readOnlyFunction({ who: 'principal' }, okOf('uint128'), ({ world, contract }, { who }) =>
    clarity.ok(clarity.uint(world.fungibleBalance(`${contract}::${token}`, who))),
  ),
  'get-decimals': readOnlyFunction({}, okOf('uint128'), () => clarity.ok(clarity.uint(decimals))),
  'get-name': readOnlyFunction({}, okOf(types.nameType), () => clarity.ok(clarity.ascii(name))),
  'get-symbol': readOnlyFunction({}, okOf(types.symbolType), () => clarity.ok(clarity.ascii(symbol))),
  'get-token-uri': readOnlyFunction({}, okOf({ optional: types.uriType }), () =>
    clarity.ok(uri === null ? clarity.none() : clarity.some(clarity.utf8(uri))),
  ),
  'get-total-supply': readOnlyFunction({}, okOf('uint128'), ({ world, contract }) =>
    clarity.ok(clarity.uint(world.fungibleSupply(`${contract}::${token}`))),
  ),
});

const functions = {
  burn: publicFunction({ amount: 'uint128' }, ({ world, contract, sender }, { amount }) => {
    const asset = assetOf(contract);
    if (amount === 0n || world.fungibleBalance(asset, sender) < amount) return err(insufficientBalance);
    return ok(clarity.bool(true), { type: 'ft_burn_event', asset, sender, amount });
  }),
  mint: publicFunction({ amount: 'uint128', recipient: 'principal' }, ({ world, contract }, { amount, recipient }) => {
    const asset = assetOf(contract);
    if (amount === 0n) return err(insufficientBalance);
    if (world.fungibleSupply(asset) + amount > MAX_UINT) return runtimeError('Runtime(ArithmeticOverflow, None)');
    return ok(clarity.bool(true), { type: 'ft_mint_event', asset, recipient, amount });
  }),
  ...fungibleFunctions({
    token: tokenName,
    decimals: 6,
    name: 'Demo Coin',
    symbol: 'DEMO',
    uri: tokenUri,
    nameType: { 'string-ascii': { length: 9 } },
    symbolType: { 'string-ascii': { length: 4 } },
    uriType: { 'string-utf8': { length: tokenUri.length } },
  }),
};

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
    functions: interfaceOf(functions),
    fungible_tokens: [{ name: tokenName }],
    variables: [
      { access: 'constant', name: 'ERR_NOT_TOKEN_OWNER', type: { response: { ok: 'none', error: 'uint128' } } },
    ],
  }),
  functions,
  propose({ prng, world, contract, sender, recipient }) {
    const balance = world.fungibleBalance(assetOf(contract), sender);
    if (balance === 0n || prng.chance(0.3)) {
      return userCall(functions, 'mint', { amount: BigInt(prng.between(1, 5_000_000)), recipient: sender });
    }
    const amount = BigInt(prng.between(1, Math.min(Number(balance), 1_000_000)));
    if (prng.chance(0.15)) return userCall(functions, 'burn', { amount });
    // One call in twelve transfers more than the balance.
    const requested = prng.chance(1 / 12) ? balance + amount : amount;
    const to = recipient();
    const memo = prng.chance(0.5) ? utf8Bytes(`invoice ${prng.below(10_000)}`) : undefined;
    return transfer(contract, requested, sender, to, memo);
  },
  empty({ prng, world, contract, sender, recipient }) {
    const amount = world.fungibleBalance(assetOf(contract), sender);
    if (amount === 0n) return undefined;
    if (prng.chance(0.3)) return userCall(functions, 'burn', { amount });
    return transfer(contract, amount, sender, recipient(), undefined);
  },
};

const transfer = (contract: string, amount: bigint, sender: string, recipient: string, memo: Uint8Array | undefined) =>
  userCall(
    functions,
    'transfer',
    { amount, sender, recipient, memo },
    { postConditions: postConditions([fungibleCondition(sender, assetOf(contract), amountCodes.equal, amount)]) },
  );

/** Deployer of the sBTC contracts in the development environment of sBTC, the default of the npm package `sbtc`. */
export const SBTC_DEPLOYER = 'SN3R84XZYA63QS28932XQF3G1J8R9PC3W76P9CSQS';
const TOKEN = 'sbtc-token';
/** Asset identifier of the token. */
export const SBTC_ASSET = `${SBTC_DEPLOYER}.${TOKEN}::${TOKEN}`;

const sbtcFunctions = fungibleFunctions({
  token: TOKEN,
  decimals: 8,
  name: 'sBTC',
  symbol: 'sBTC',
  uri: null,
  nameType: { 'string-ascii': { length: 32 } },
  symbolType: { 'string-ascii': { length: 10 } },
  uriType: { 'string-utf8': { length: 256 } },
});

/** The sBTC token. */
export const sbtcToken: ContractTemplate = {
  ...networkContract(TOKEN, 'The token of sBTC', sbtcFunctions, { fungible_tokens: [{ name: TOKEN }] }),
  clarityVersion: 3,
};

/** Returns the registry of sBTC's signers. @param signersKey the signers' public key, 33 bytes */
export const sbtcRegistry = (signersKey: Uint8Array): ContractTemplate => ({
  ...networkContract('sbtc-registry', 'The registry of sBTC', {
    'get-current-aggregate-pubkey': readOnlyFunction({}, { buffer: { length: 33 } }, () => clarity.buffer(signersKey)),
  }),
  clarityVersion: 3,
});
