/** The contracts of sBTC, as far as the simulation uses them. Nobody calls them but those outside. */
import type { AbiType } from '../../codec/abi.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { bufferOf, principalOf, someOf, uintOf } from '../arguments.ts';
import { type ContractTemplate, contractInterface, publicFunction, readOnlyFunction } from '../contract.ts';
import { transferred } from './token.ts';

/** Owner of the contracts: that of sBTC's own development environment, which the npm package `sbtc` takes as its default. */
export const SBTC_DEPLOYER = 'SN3R84XZYA63QS28932XQF3G1J8R9PC3W76P9CSQS';
const TOKEN = 'sbtc-token';
/** The token's asset identifier. */
export const SBTC_ASSET = `${SBTC_DEPLOYER}.${TOKEN}::${TOKEN}`;

const common = {
  clarityVersion: 3,
  isPartial: true,
  propose() {
    throw new Error('nobody of the simulation calls the contracts of sBTC');
  },
} as const;

const response = (ok: AbiType): AbiType => ({ response: { ok, error: 'none' } });

/** The token that Bitcoin is on Stacks. */
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
    'get-total-supply': ({ world }) => clarity.ok(clarity.uint(world.fungibleSupply(SBTC_ASSET))),
  },
};

/** The registry of the signers of sBTC. @param signersKey the key that they sign with, 33 bytes */
export const sbtcRegistry = (signersKey: Uint8Array): ContractTemplate => ({
  ...common,
  name: 'sbtc-registry',
  source: ';; The registry of sBTC; its source is not part of the simulation.\n',
  abi: contractInterface({
    functions: [readOnlyFunction('get-current-aggregate-pubkey', {}, { buffer: { length: 33 } })],
  }),
  reads: { 'get-current-aggregate-pubkey': () => clarity.buffer(signersKey) },
});
