/** Settings of the API, of the realtime connections that blocks and transactions are pushed to, of faucets and of chainhooks. */
import { Type } from '@sinclair/typebox';
import { utcMicroseconds } from '../base/utc-time.ts';
import { BNS_CONTRACT_PATTERN } from '../chain/bns-v2.ts';
import { percentDecoded } from '../codec/utf8.ts';
import { parseNetworks } from '../http/hosts.ts';
import { allowedNetworks } from '../http/outgoing.ts';
import { MAX_PER_MINUTE } from '../http/rate-limit.ts';
import {
  decimal,
  file,
  group,
  integer,
  PRIVATE_KEY,
  port,
  servers,
  setting,
  textOrNone,
  trueOrFalse,
  url,
  urlOrNone,
  wholeNumberOrNone,
  withoutScheme,
  withoutSlash,
  yesOrNo,
} from './setting.ts';

/** A date, or a date and time with its zone. */
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;
function unixMilliseconds(text: string): number | null {
  const time = ISO_TIME.test(text) ? utcMicroseconds(text) : null;
  return time === null ? null : Math.floor(time / 1_000);
}

export const apiSettings = group('API', {
  apiHost: setting(servers, '--api-host <host>', {
    otherVariables: ['STACKS_BLOCKCHAIN_API_HOST'],
    type: Type.String({ minLength: 1, default: '127.0.0.1' }),
    read: withoutScheme,
    help: 'Address that the API listens on; 0.0.0.0 lets other machines connect',
    accepts: 'an address of this machine',
  }),
  apiPort: setting(servers, '--api-port <port>', {
    otherVariables: ['STACKS_BLOCKCHAIN_API_PORT'],
    ...port(3999),
    help: 'API port; 0 picks a free port',
  }),
  threads: setting(servers, '--threads <number|auto>', {
    type: Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 0, maximum: 64 })], { default: 'auto' }),
    read: integer,
    help: 'API threads; 0: the event thread; above 1: Linux only; auto: by number of cores',
    accepts: 'auto, or a number from 0 to 64',
  }),
  rateLimit: setting(servers, '--rate-limit <requests>', {
    ...wholeNumberOrNone({ minimum: 0, maximum: MAX_PER_MINUTE }),
    absent: 'no limit',
    help: 'Requests per minute per client (IPv4, IPv6 /64 or API key); 0 requires a key',
  }),
  readKeys: setting(servers, '--read-keys <file>', {
    ...file(),
    absent: 'none',
    help: 'File of read keys, one per line: name, key, optional requests per minute',
  }),
  trustedProxies: setting(servers, '--trusted-proxies <networks>', {
    type: Type.String({ default: '' }),
    read: (text) => (parseNetworks(text) === null ? null : text),
    absent: 'none',
    help: 'Reverse proxies that Stackside trusts to set X-Forwarded-For',
    accepts: 'addresses or networks separated by commas, such as 127.0.0.1,10.0.0.0/8',
  }),
  deprecated: setting(servers, '--deprecated <on|off|date>', {
    otherVariables: ['ENABLE_DEPRECATED_ENDPOINTS'],
    type: Type.Union([Type.Boolean(), Type.Integer()], { default: true }),
    read: (text) => unixMilliseconds(text) ?? yesOrNo(text),
    show(until) {
      if (typeof until === 'number') return new Date(until).toISOString();
      return until ? 'on' : 'off';
    },
    help: 'Serve deprecated routes: always, never (they return 410), or until a date',
    accepts: 'on, off, or a date such as 2027-06-30 or 2027-06-30T12:00:00Z',
  }),
  namesContract: setting(servers, '--names-contract <id>', {
    type: Type.Union([Type.Null(), Type.String({ pattern: BNS_CONTRACT_PATTERN })], { default: null }),
    absent: "the network's",
    help: 'Contract BNS-V2 that the API reads names from',
    accepts: 'the identifier of a contract named BNS-V2',
  }),
});

/** Returns a URL without slashes at its end; false if the URL, or the escapes in its user or password, can't be read. */
function urlWithCredentials(text: string): string | false {
  const url = URL.parse(text);
  const isReadable = url !== null && percentDecoded(url.username) !== null && percentDecoded(url.password) !== null;
  return isReadable && withoutSlash(text);
}

/** Faucets of test networks. These settings have no flags, because some are secrets. */
export const faucetSettings = group('Faucets', {
  sbtcFaucet: setting(['serve'], null, {
    otherVariables: ['TESTNET_SBTC_FAUCET_ENABLED'],
    ...trueOrFalse(false),
    help: 'Also serve the sBTC faucet; requires a test network and STACKSIDE_FAUCET_KEYS',
  }),
  faucetKeys: setting(['serve'], null, {
    secret: true,
    otherVariables: ['FAUCET_PRIVATE_KEY'],
    type: Type.Union([Type.Null(), Type.String({ pattern: `^${PRIVATE_KEY}(,${PRIVATE_KEY})*$` })], { default: null }),
    help: 'Private keys of the accounts that send test STX; the first also sends sBTC',
    accepts: 'private keys in hex, separated by commas',
  }),
  faucetLimits: setting(['serve'], null, {
    otherVariables: ['TESTNET_FAUCETS_RATE_LIMIT_ENABLED'],
    ...trueOrFalse(true),
    help: 'Limit how often an address may use a faucet',
  }),
  btcRpc: setting(['serve'], null, {
    hostAndPort: [['BTC_RPC_HOST', 'BTC_RPC_PORT', 'BTC_RPC_USER', 'BTC_RPC_PW']],
    type: urlOrNone(),
    read: urlWithCredentials,
    help: "URL of the Bitcoin node's RPC API with user and password, for the BTC faucet",
    accepts: 'the URL of an HTTP server, such as http://user:password@127.0.0.1:18443',
  }),
  btcFaucetKey: setting(['serve'], null, {
    secret: true,
    otherVariables: ['BTC_FAUCET_PK'],
    type: Type.Union([Type.Null(), Type.String({ pattern: `^${PRIVATE_KEY}$` })], { default: null }),
    help: 'Private key that sends BTC; requires a test network and STACKSIDE_BTC_RPC',
    accepts: 'a private key in hex',
  }),
});

export const hookSettings = group('Chainhooks', {
  url: setting(['hooks', 'console', 'devnet mine', 'compare', 'status'], '--url <url>', {
    type: url('http://127.0.0.1:3999'),
    read: withoutSlash,
    help: 'URL of the API of a running Stackside',
    accepts: 'the URL of an HTTP server, such as http://127.0.0.1:3999',
  }),
  adminKey: setting([...servers, 'hooks', 'console'], '--admin-key <file>', {
    variable: 'STACKSIDE_ADMIN_KEY_FILE',
    ...file(),
    absent: 'admin.key in the data directory',
    help: 'File with the admin key (64 hex digits), the same on all hosts',
    except: { hooks: { help: 'File with the admin key' }, console: { help: 'File with the admin key' } },
  }),
  hookKey: setting(['hooks', 'console'], null, {
    secret: true,
    type: textOrNone(),
    absent: 'the admin key',
    help: 'API key of a consumer',
    accepts: 'an API key',
  }),
  signingSecret: setting(['hooks listen'], null, {
    secret: true,
    type: textOrNone(),
    help: 'Signing secret that hooks listen uses to verify deliveries',
    accepts: 'a signing secret: whsec_ and base64, or hex',
  }),
  hookAccess: setting(servers, '--hook-access <key|open>', {
    type: Type.Union([Type.Literal('key'), Type.Literal('open')], { default: 'key' }),
    accepts: 'key or open',
    help: 'Managing chainhooks: key requires an API key; open lets local programs do it',
    except: { demo: { default: 'open' }, devnet: { default: 'open' } },
  }),
  hookKeys: setting(servers, '--hook-keys <file>', {
    ...file(),
    absent: 'only the admin key',
    help: 'File with API keys of consumers, one per line: the consumer, a blank, the key',
  }),
  allowedHosts: setting(servers, '--allowed-hosts <names>', {
    type: Type.String({ pattern: '^([\\w.-]+(\\s*,\\s*[\\w.-]+)*)?$', default: '' }),
    help: 'Additional host names in requests that manage chainhooks, such as a proxy',
    accepts: 'host names separated by commas, such as api.example.org',
  }),
  hookTargets: setting(servers, '--hook-targets <networks>', {
    type: Type.String({ default: '' }),
    read: (text) => (allowedNetworks(text) === null ? null : text),
    help: 'Private networks that chainhooks may deliver to',
    accepts: 'addresses, networks, loopback or private, separated by commas, such as loopback,10.1.2.0/24',
    // Lets a user try chainhooks with a receiver on this machine.
    except: { demo: { default: 'loopback' }, devnet: { default: 'loopback' } },
  }),
  hookHttp: setting(servers, '--hook-http', {
    ...trueOrFalse(false),
    help: 'Let chainhooks deliver to public targets without TLS',
  }),
  hookAlert: setting(servers, '--hook-alert <url>', {
    // The URL's path or query is often the key of a chat or a pager.
    secret: true,
    type: Type.Union([Type.Null(), Type.String({ pattern: '^https?://[^\\s]+$' })], { default: null }),
    help: 'URL that receives a POST when a chainhook is interrupted or expires',
    accepts: 'a URL that begins with https:// or http://',
  }),
  hookBudget: setting(servers, '--hook-budget <hours>', {
    type: Type.Number({ minimum: 0, maximum: 8760, default: 24 }),
    read: decimal,
    help: 'Hours to retry a delivery before its chainhook is interrupted',
    accepts: 'hours from 0 to 8760',
  }),
  hookRetention: setting(servers, '--hook-retention <days>', {
    type: Type.Number({ minimum: 0.01, maximum: 3_650, default: 7 }),
    read: decimal,
    help: 'Days to keep delivery bodies; the delivery history stays four times as long',
    accepts: 'days from 0.01 to 3650',
  }),
});
