/** Settings of the faucets of test networks. They have no flags, because some of them are secrets. */
import { Type } from '@sinclair/typebox';
import { percentDecoded } from '../base/percent-encoding.ts';
import { group, PRIVATE_KEY, setting, urlOrNone, withoutSlash, yesOrNo } from './setting.ts';

/**
 * Returns a URL without slashes at its end; false if the URL, or the escapes in its user or password, can't be read.
 */
function urlWithCredentials(text: string): string | false {
  const url = URL.parse(text);
  const isReadable = url !== null && percentDecoded(url.username) !== null && percentDecoded(url.password) !== null;
  return isReadable && withoutSlash(text);
}

export const faucetSettings = group('Faucets', {
  sbtcFaucet: setting({
    commands: ['serve'],
    flag: null,
    variables: ['STACKSIDE_SBTC_FAUCET', 'TESTNET_SBTC_FAUCET_ENABLED'],
    type: Type.Boolean({ default: false }),
    read: yesOrNo,
    help: 'Also serve the sBTC faucet; requires a test network and STACKSIDE_FAUCET_KEYS',
    accepts: 'true or false',
  }),
  faucetKeys: setting({
    commands: ['serve'],
    flag: null,
    secret: true,
    variables: ['STACKSIDE_FAUCET_KEYS', 'FAUCET_PRIVATE_KEY'],
    type: Type.Union([Type.Null(), Type.String({ pattern: `^${PRIVATE_KEY}(,${PRIVATE_KEY})*$` })], { default: null }),
    help: 'Private keys of the accounts that send test STX; the first also sends sBTC',
    accepts: 'private keys in hex, separated by commas',
  }),
  faucetLimits: setting({
    commands: ['serve'],
    flag: null,
    variables: ['STACKSIDE_FAUCET_LIMITS', 'TESTNET_FAUCETS_RATE_LIMIT_ENABLED'],
    type: Type.Boolean({ default: true }),
    read: yesOrNo,
    help: 'Limit how often an address may use a faucet',
    accepts: 'true or false',
  }),
  btcRpc: setting({
    commands: ['serve'],
    flag: null,
    variables: ['STACKSIDE_BTC_RPC'],
    hostAndPort: [['BTC_RPC_HOST', 'BTC_RPC_PORT', 'BTC_RPC_USER', 'BTC_RPC_PW']],
    type: urlOrNone(),
    read: urlWithCredentials,
    help: "URL of the Bitcoin node's RPC API with user and password, for the BTC faucet",
    accepts: 'the URL of an HTTP server, such as http://user:password@127.0.0.1:18443',
  }),
  btcFaucetKey: setting({
    commands: ['serve'],
    flag: null,
    secret: true,
    variables: ['STACKSIDE_BTC_FAUCET_KEY', 'BTC_FAUCET_PK'],
    type: Type.Union([Type.Null(), Type.String({ pattern: `^${PRIVATE_KEY}$` })], { default: null }),
    help: 'Private key that sends BTC; requires a test network and STACKSIDE_BTC_RPC',
    accepts: 'a private key in hex',
  }),
});
