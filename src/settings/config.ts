/** Every setting once: its flag, the variables that also set it, its form, default and help. */
import { type Static, Type } from '@sinclair/typebox';
import { OperatorError } from '../base/errors.ts';
import { MAINNET_CHAIN_ID, TESTNET_CHAIN_ID } from '../chain/network.ts';
import { levels } from '../log.ts';
import {
  decimal,
  integer,
  port,
  resolve,
  setting,
  textOrNone,
  url,
  urlOrNone,
  withoutScheme,
  withoutSlash,
  yesOrNo,
} from './setting.ts';

/** A date, or a date and time with its zone. */
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;
function unixMilliseconds(text: string): number | null {
  const time = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

/** The reference API's words for modes, and ours. */
const modeWords: Readonly<Record<string, string>> = { default: 'full', readonly: 'read', writeonly: 'write' };

/** Hex of 32 bytes, with or without the mark of a compressed public key. */
const PRIVATE_KEY = '[0-9a-fA-F]{64}(01)?';

export const settings = {
  data: setting({
    flag: '--data <dir>',
    variables: ['STACKSIDE_DATA'],
    type: Type.String({ minLength: 1, default: './stackside-data' }),
    help: 'Where the index and the journal are kept',
    accepts: 'a directory',
  }),
  chainId: setting({
    flag: '--chain-id <id>',
    variables: ['STACKSIDE_CHAIN_ID', 'STACKS_CHAIN_ID'],
    type: Type.Union([Type.Null(), Type.Integer({ minimum: 0, maximum: 0xffff_ffff })], { default: null }),
    read: (text) => (/^0x[0-9a-fA-F]{1,8}$/.test(text) ? Number(text) : integer(text)),
    help: 'Chain id, 0x00000001 on mainnet; taken from the first block if not given, and kept in the data',
    accepts: 'a number such as 0x80000000',
  }),
  network: setting({
    flag: '--network <name>',
    variables: ['STACKSIDE_NETWORK'],
    type: Type.Union([Type.Null(), Type.Literal('mainnet'), Type.Literal('testnet')], { default: null }),
    help: 'mainnet or testnet: a name for their chain ids',
    accepts: 'mainnet or testnet',
  }),
  mode: setting({
    flag: '--mode <mode>',
    variables: ['STACKSIDE_MODE', 'STACKS_API_MODE'],
    type: Type.Union([Type.Literal('full'), Type.Literal('read'), Type.Literal('write')], { default: 'full' }),
    read: (text) => modeWords[text] ?? text,
    help: 'full, read (API alone, beside another process that writes) or write (events alone)',
    accepts: 'full, read or write',
  }),
  apiHost: setting({
    flag: '--api-host <host>',
    variables: ['STACKSIDE_API_HOST', 'STACKS_BLOCKCHAIN_API_HOST'],
    type: Type.String({ minLength: 1, default: '127.0.0.1' }),
    read: withoutScheme,
    help: 'Address the API listens on; 0.0.0.0 lets other machines reach it',
    accepts: 'an address of this machine',
  }),
  apiPort: setting({
    flag: '--api-port <port>',
    variables: ['STACKSIDE_API_PORT', 'STACKS_BLOCKCHAIN_API_PORT'],
    type: port(3999),
    read: integer,
    help: 'Port of the API; 0 takes a free one',
    accepts: 'a number from 0 to 65535',
  }),
  threads: setting({
    flag: '--threads <number>',
    variables: ['STACKSIDE_THREADS'],
    type: Type.Integer({ minimum: 0, maximum: 64, default: 0 }),
    read: integer,
    help: 'Threads that answer the API; with 0 the one that takes events answers it too. More than 1 on Linux alone',
    accepts: 'a number from 0 to 64',
  }),
  eventHost: setting({
    flag: '--event-host <host>',
    variables: ['STACKSIDE_EVENT_HOST', 'STACKS_CORE_EVENT_HOST'],
    type: Type.String({ minLength: 1, default: '127.0.0.1' }),
    read: withoutScheme,
    help: "Address the node's events are received on; whoever reaches it can write the index",
    accepts: 'an address of this machine',
  }),
  eventPort: setting({
    flag: '--event-port <port>',
    variables: ['STACKSIDE_EVENT_PORT', 'STACKS_CORE_EVENT_PORT'],
    type: port(3700),
    read: integer,
    help: 'Port the node posts its events to; 0 takes a free one',
    accepts: 'a number from 0 to 65535',
  }),
  eventBodyLimit: setting({
    flag: '--event-body-limit <bytes>',
    variables: ['STACKSIDE_EVENT_BODY_LIMIT', 'STACKS_CORE_EVENT_BODY_LIMIT'],
    type: Type.Integer({ minimum: 1_000_000, maximum: 2_000_000_000, default: 500_000_000 }),
    read: integer,
    help: 'Largest event, in bytes',
    accepts: 'a number of bytes from 1000000 to 2000000000',
  }),
  journal: setting({
    flag: '--no-journal',
    variables: ['STACKSIDE_JOURNAL', 'STACKS_API_STORE_RAW_EVENTS'],
    type: Type.Boolean({ default: true }),
    read: yesOrNo,
    help: 'Keep no raw events: less disk, and the index can only be made again by the node from scratch',
    accepts: 'true or false',
  }),
  deprecated: setting({
    flag: '--deprecated <on|off>',
    variables: ['STACKSIDE_DEPRECATED', 'ENABLE_DEPRECATED_ENDPOINTS'],
    type: Type.Boolean({ default: true }),
    read: yesOrNo,
    help: 'Whether deprecated routes are served; switched off, they answer 410',
    accepts: 'on or off',
  }),
  sunset: setting({
    flag: '--sunset <date>',
    variables: ['STACKSIDE_SUNSET'],
    type: Type.Union([Type.Null(), Type.Integer()], { default: null }),
    read: (text) => unixMilliseconds(text) ?? text,
    help: 'When deprecated routes end: said in their answers, and from then on they answer 410',
    accepts: 'a date such as 2027-06-30 or 2027-06-30T12:00:00Z',
  }),
  bnsImport: setting({
    flag: '--bns-import <dir>',
    variables: ['STACKSIDE_BNS_IMPORT', 'BNS_IMPORT_DIR'],
    type: Type.Union([Type.Null(), Type.String({ minLength: 1 })], { default: null }),
    help: 'Where the export of the names from before Stacks 2.0 is; it is taken once',
    accepts: 'a directory',
  }),
  nodeRpc: setting({
    flag: '--node-rpc <url>',
    variables: ['STACKSIDE_NODE_RPC'],
    hostAndPort: [
      ['STACKS_CORE_PROXY_HOST', 'STACKS_CORE_PROXY_PORT'],
      ['STACKS_CORE_RPC_HOST', 'STACKS_CORE_RPC_PORT'],
    ],
    type: url('http://127.0.0.1:20443'),
    read: withoutSlash,
    help: "The node's RPC interface, to which /v2 and /v3 are passed on",
    accepts: 'the URL of an HTTP server, such as http://127.0.0.1:20443',
  }),
  proxyBodyLimit: setting({
    flag: '--proxy-body-limit <bytes>',
    variables: ['STACKSIDE_PROXY_BODY_LIMIT', 'STACKS_CORE_PROXY_BODY_LIMIT'],
    type: Type.Integer({ minimum: 1_000_000, maximum: 100_000_000, default: 10_000_000 }),
    read: integer,
    help: 'Largest body that is passed on to the node, in bytes',
    accepts: 'a number of bytes from 1000000 to 100000000',
  }),
  extraTxEndpoints: setting({
    flag: '--extra-tx-endpoints <file>',
    variables: ['STACKSIDE_EXTRA_TX_ENDPOINTS', 'STACKS_API_EXTRA_TX_ENDPOINTS_FILE'],
    type: textOrNone(),
    help: 'URLs that broadcast transactions are posted to besides the node, one a line; read for each broadcast',
    accepts: 'a file',
  }),
  feeEstimator: setting({
    flag: '--fee-estimator',
    variables: ['STACKSIDE_FEE_ESTIMATOR', 'STACKS_CORE_FEE_ESTIMATOR_ENABLED'],
    type: Type.Boolean({ default: false }),
    read: yesOrNo,
    help: 'Answer fee estimates with the least fee while tenures are not full',
    accepts: 'true or false',
  }),
  feeModifier: setting({
    flag: null,
    variables: ['STACKSIDE_FEE_MODIFIER', 'STACKS_CORE_FEE_ESTIMATION_MODIFIER'],
    type: Type.Number({ exclusiveMinimum: 0, maximum: 1000, default: 1 }),
    read: decimal,
    help: "With --fee-estimator: what the node's fees are multiplied by while tenures are full",
    accepts: 'a number above 0, 1000 at most',
  }),
  feePastTenures: setting({
    flag: null,
    variables: ['STACKSIDE_FEE_PAST_TENURES', 'STACKS_CORE_FEE_PAST_TENURE_FULLNESS_WINDOW'],
    type: Type.Integer({ minimum: 1, maximum: 100, default: 5 }),
    read: integer,
    help: 'With --fee-estimator: how many tenures before the present one are looked at',
    accepts: 'a number from 1 to 100',
  }),
  feePastFullness: setting({
    flag: null,
    variables: ['STACKSIDE_FEE_PAST_FULLNESS', 'STACKS_CORE_FEE_PAST_DIMENSION_FULLNESS_THRESHOLD'],
    type: Type.Number({ minimum: 0, maximum: 1, default: 0.9 }),
    read: decimal,
    help: 'With --fee-estimator: the share of a limit from which on past tenures count as full',
    accepts: 'a number from 0 to 1',
  }),
  feeCurrentFullness: setting({
    flag: null,
    variables: ['STACKSIDE_FEE_CURRENT_FULLNESS', 'STACKS_CORE_FEE_CURRENT_DIMENSION_FULLNESS_THRESHOLD'],
    type: Type.Number({ minimum: 0, maximum: 1, default: 0.5 }),
    read: decimal,
    help: 'With --fee-estimator: the share of a limit from which on the present tenure counts as full',
    accepts: 'a number from 0 to 1',
  }),
  feeCurrentBlocks: setting({
    flag: null,
    variables: ['STACKSIDE_FEE_CURRENT_BLOCKS', 'STACKS_CORE_FEE_CURRENT_BLOCK_COUNT_MINIMUM'],
    type: Type.Integer({ minimum: 1, maximum: 10_000, default: 5 }),
    read: integer,
    help: 'With --fee-estimator: how many blocks the present tenure must have to be looked at',
    accepts: 'a number from 1 to 10000',
  }),
  pingInterval: setting({
    flag: '--ping-interval <seconds>',
    variables: ['STACKSIDE_PING_INTERVAL', 'STACKS_API_WS_PING_INTERVAL'],
    type: Type.Integer({ minimum: 1, maximum: 300, default: 5 }),
    read: integer,
    help: 'Interval between heartbeat pings to realtime clients',
    accepts: 'a number of seconds from 1 to 300',
  }),
  pingTimeout: setting({
    flag: '--ping-timeout <seconds>',
    variables: ['STACKSIDE_PING_TIMEOUT', 'STACKS_API_WS_PING_TIMEOUT'],
    type: Type.Integer({ minimum: 1, maximum: 300, default: 5 }),
    read: integer,
    help: 'Time a Socket.IO client has to answer a ping; a WebSocket has until the next one',
    accepts: 'a number of seconds from 1 to 300',
  }),
  clientBacklog: setting({
    flag: '--client-backlog <bytes>',
    variables: ['STACKSIDE_CLIENT_BACKLOG'],
    type: Type.Integer({ minimum: 65_536, maximum: 1_000_000_000, default: 8_388_608 }),
    read: integer,
    help: 'Bytes that may wait for a realtime client that is slow; above, it is cut off',
    accepts: 'a number of bytes from 65536 to 1000000000',
  }),
  stxFaucet: setting({
    flag: null,
    variables: ['STACKSIDE_STX_FAUCET', 'TESTNET_STX_FAUCET_ENABLED'],
    type: Type.Boolean({ default: true }),
    read: yesOrNo,
    help: 'Whether there is an STX faucet, on a test network and with STACKSIDE_FAUCET_KEYS',
    accepts: 'true or false',
  }),
  sbtcFaucet: setting({
    flag: null,
    variables: ['STACKSIDE_SBTC_FAUCET', 'TESTNET_SBTC_FAUCET_ENABLED'],
    type: Type.Boolean({ default: false }),
    read: yesOrNo,
    help: 'Whether there is an sBTC faucet, on a test network and with STACKSIDE_FAUCET_KEYS',
    accepts: 'true or false',
  }),
  btcFaucet: setting({
    flag: null,
    variables: ['STACKSIDE_BTC_FAUCET', 'TESTNET_BTC_FAUCET_ENABLED'],
    type: Type.Boolean({ default: true }),
    read: yesOrNo,
    help: 'Whether there is a BTC faucet, on a test network and with all of STACKSIDE_BTC_RPC and STACKSIDE_BTC_FAUCET_KEY',
    accepts: 'true or false',
  }),
  faucetKeys: setting({
    flag: null,
    secret: true,
    variables: ['STACKSIDE_FAUCET_KEYS', 'FAUCET_PRIVATE_KEY'],
    type: Type.Union([Type.Null(), Type.String({ pattern: `^${PRIVATE_KEY}(,${PRIVATE_KEY})*$` })], { default: null }),
    help: 'Private keys of the accounts that give STX and sBTC',
    accepts: 'private keys in hex, with commas between them',
  }),
  sbtcFaucetAsset: setting({
    flag: null,
    variables: ['STACKSIDE_SBTC_FAUCET_ASSET', 'TESTNET_SBTC_FAUCET_ASSET_IDENTIFIER'],
    type: Type.String({
      pattern: '^[0-9A-Z]+\\.[a-zA-Z][a-zA-Z0-9_-]*::[^:]+$',
      default: 'ST1F7QA2MDF17S807EPA36TSS8AMEFY4KA9TVGWXT.sbtc-token::sbtc-token',
    }),
    help: 'The token that the sBTC faucet gives',
    accepts: 'an asset identifier',
  }),
  sbtcFaucetAmount: setting({
    flag: null,
    variables: ['STACKSIDE_SBTC_FAUCET_AMOUNT', 'TESTNET_SBTC_FAUCET_AMOUNT'],
    type: Type.Integer({ minimum: 1, maximum: 2_100_000_000_000_000, default: 10_000 }),
    read: integer,
    help: 'How much of it, in sats',
    accepts: 'a number of sats from 1 on',
  }),
  faucetLimits: setting({
    flag: null,
    variables: ['STACKSIDE_FAUCET_LIMITS', 'TESTNET_FAUCETS_RATE_LIMIT_ENABLED'],
    type: Type.Boolean({ default: true }),
    read: yesOrNo,
    help: 'Whether an address gets something only so often',
    accepts: 'true or false',
  }),
  faucetNode: setting({
    flag: null,
    variables: ['STACKSIDE_FAUCET_NODE'],
    hostAndPort: [['STACKS_FAUCET_NODE_HOST', 'STACKS_FAUCET_NODE_PORT']],
    type: urlOrNone(),
    read: withoutSlash,
    help: "The node that the faucets' transactions are given to, if it is another than --node-rpc",
    accepts: 'the URL of an HTTP server, such as http://127.0.0.1:20443',
  }),
  btcRpc: setting({
    flag: null,
    variables: ['STACKSIDE_BTC_RPC'],
    hostAndPort: [['BTC_RPC_HOST', 'BTC_RPC_PORT']],
    type: urlOrNone(),
    read: withoutSlash,
    help: "The Bitcoin node's RPC interface, for the BTC faucet",
    accepts: 'the URL of an HTTP server, such as http://127.0.0.1:18443',
  }),
  btcRpcUser: setting({
    flag: null,
    variables: ['STACKSIDE_BTC_RPC_USER', 'BTC_RPC_USER'],
    type: textOrNone(),
    help: 'Who the BTC faucet is to the Bitcoin node',
    accepts: 'a name',
  }),
  btcRpcPassword: setting({
    flag: null,
    secret: true,
    variables: ['STACKSIDE_BTC_RPC_PASSWORD', 'BTC_RPC_PW'],
    type: textOrNone(),
    help: 'Its password there',
    accepts: 'a password',
  }),
  btcFaucetKey: setting({
    flag: null,
    secret: true,
    variables: ['STACKSIDE_BTC_FAUCET_KEY', 'BTC_FAUCET_PK'],
    type: Type.Union([Type.Null(), Type.String({ pattern: `^${PRIVATE_KEY}$` })], { default: null }),
    help: 'Private key of what the BTC faucet gives',
    accepts: 'a private key in hex',
  }),
  allowedHosts: setting({
    flag: '--allowed-hosts <names>',
    variables: ['STACKSIDE_ALLOWED_HOSTS'],
    type: Type.String({ pattern: '^([\\w.-]+(\\s*,\\s*[\\w.-]+)*)?$', default: '' }),
    help: 'Names by which chainhooks may be managed, besides localhost, --api-host and any address: those of a proxy in front',
    accepts: 'names of hosts with commas, such as api.example.org',
  }),
  hookAccess: setting({
    flag: '--hook-access <key|open>',
    variables: ['STACKSIDE_HOOK_ACCESS'],
    type: Type.Union([Type.Literal('key'), Type.Literal('open')], { default: 'key' }),
    help: 'Whether managing chainhooks needs a key; open lets every program of this machine, and needs both ports on the loopback',
    accepts: 'key or open',
  }),
  hookKeys: setting({
    flag: '--hook-keys <file>',
    variables: ['STACKSIDE_HOOK_KEYS'],
    type: Type.Union([Type.Null(), Type.String({ minLength: 1 })], { default: null }),
    help: 'API keys for chainhooks beside the admin key: a line for each, consumer and key',
    accepts: 'a file',
  }),
  hookLimit: setting({
    flag: '--hook-limit <number>',
    variables: ['STACKSIDE_HOOK_LIMIT'],
    type: Type.Union([Type.Null(), Type.Integer({ minimum: 1, maximum: 1_000_000 })], { default: null }),
    read: integer,
    help: 'Maximum chainhooks per consumer; unlimited if not given',
    accepts: 'a number from 1 to 1000000',
  }),
  hookTargets: setting({
    flag: '--hook-targets <networks>',
    variables: ['STACKSIDE_HOOK_TARGETS'],
    type: Type.String({ default: '' }),
    help: 'Networks that chainhooks may deliver to though they are not public, such as 127.0.0.0/8,10.1.2.3',
    accepts: 'addresses and networks, with commas',
  }),
  hookHttp: setting({
    flag: '--hook-http',
    variables: ['STACKSIDE_HOOK_HTTP'],
    type: Type.Boolean({ default: false }),
    read: yesOrNo,
    help: 'Chainhooks may deliver to public targets without TLS',
    accepts: 'true or false',
  }),
  hookAlert: setting({
    flag: '--hook-alert <url>',
    variables: ['STACKSIDE_HOOK_ALERT'],
    type: Type.Union([Type.Null(), Type.String({ pattern: '^https?://[^\\s]+$' })], { default: null }),
    help: 'Where a POST tells that a chainhook was interrupted or has expired',
    accepts: 'a URL that begins with https:// or http://',
  }),
  hookTimeout: setting({
    flag: '--hook-timeout <seconds>',
    variables: ['STACKSIDE_HOOK_TIMEOUT'],
    type: Type.Number({ minimum: 0.1, maximum: 300, default: 20 }),
    read: decimal,
    help: 'Time that a receiver has to answer a delivery',
    accepts: 'seconds from 0.1 to 300',
  }),
  hookConnectTimeout: setting({
    flag: '--hook-connect-timeout <seconds>',
    variables: ['STACKSIDE_HOOK_CONNECT_TIMEOUT'],
    type: Type.Number({ minimum: 0.1, maximum: 300, default: 5 }),
    read: decimal,
    help: 'Of that time, how much for the connection',
    accepts: 'seconds from 0.1 to 300',
  }),
  hookBudget: setting({
    flag: '--hook-budget <hours>',
    variables: ['STACKSIDE_HOOK_BUDGET'],
    type: Type.Number({ minimum: 0, maximum: 8760, default: 24 }),
    read: decimal,
    help: 'Time that a delivery is tried before its chainhook is interrupted',
    accepts: 'hours from 0 to 8760',
  }),
  hookRetryCap: setting({
    flag: '--hook-retry-cap <seconds>',
    variables: ['STACKSIDE_HOOK_RETRY_CAP'],
    type: Type.Number({ minimum: 0.01, maximum: 86_400, default: 300 }),
    read: decimal,
    help: 'Longest wait between two attempts of a delivery; the first is 2 seconds',
    accepts: 'seconds from 0.01 to 86400',
  }),
  hookConcurrency: setting({
    flag: '--hook-concurrency <number>',
    variables: ['STACKSIDE_HOOK_CONCURRENCY'],
    type: Type.Integer({ minimum: 1, maximum: 1_000, default: 32 }),
    read: integer,
    help: 'Deliveries under way at once',
    accepts: 'a number from 1 to 1000',
  }),
  hookRetention: setting({
    flag: '--hook-retention <days>',
    variables: ['STACKSIDE_HOOK_RETENTION'],
    type: Type.Number({ minimum: 0.01, maximum: 3_650, default: 7 }),
    read: decimal,
    help: 'Time that the bodies of deliveries are kept; the log is kept four times as long',
    accepts: 'days from 0.01 to 3650',
  }),
  logLevel: setting({
    flag: '--log-level <level>',
    variables: ['STACKSIDE_LOG_LEVEL', 'STACKS_API_LOG_LEVEL'],
    type: Type.Union(
      levels.map((level) => Type.Literal(level)),
      { default: 'info' },
    ),
    help: `Minimum log level: ${levels.join(', ')}`,
    accepts: levels.join(', '),
  }),
};

export type Settings = { [Name in keyof typeof settings]: Static<(typeof settings)[Name]['type']> };
export type SettingName = keyof Settings;

/**
 * The settings of a run: flag before variable before default.
 * @param given what the command line said, by setting name
 * @throws OperatorError naming the flag or variable, its value, and what is accepted
 */
export function readSettings(given: Record<string, unknown>, environment: NodeJS.ProcessEnv): Settings {
  const read = Object.fromEntries(
    (Object.keys(settings) as SettingName[]).map((name) => [name, resolve(settings[name], given[name], environment)]),
  ) as Settings;
  if (read.network !== null) {
    const chainId = read.network === 'mainnet' ? MAINNET_CHAIN_ID : TESTNET_CHAIN_ID;
    if (read.chainId !== null && read.chainId !== chainId) {
      throw new OperatorError('--network and --chain-id say different chains.', 'Give one of them.');
    }
    return { ...read, chainId };
  }
  return read;
}
