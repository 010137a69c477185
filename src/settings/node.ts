/** Settings of the node: the source of its events, its RPC interface, and the simulated node of devnets. */
import { Type } from '@sinclair/typebox';
import { OperatorError } from '../base/errors.ts';
import { parseProxyPrefixes } from '../node/proxy.ts';
import {
  file,
  group,
  integer,
  port,
  type SettingValue,
  servers,
  setting,
  textOrNone,
  trueOrFalse,
  url,
  urlOrNone,
  wholeNumber,
  wholeNumberOrNone,
  withoutScheme,
  withoutSlash,
  yesOrNo,
} from './setting.ts';

export const eventSettings = group('Events from the node', {
  eventHost: setting(servers, '--event-host <host>', {
    otherVariables: ['STACKS_CORE_EVENT_HOST'],
    type: Type.String({ minLength: 1, default: '127.0.0.1' }),
    read: withoutScheme,
    help: "Address for the node's events; any program that reaches it can write the index",
    accepts: 'an address of this machine',
  }),
  eventPort: setting(servers, '--event-port <port>', {
    otherVariables: ['STACKS_CORE_EVENT_PORT'],
    ...port(3700),
    help: "Port that receives the node's events; 0 picks a free port",
  }),
});

/** The publisher's variable for the URL, which all its clients use. It is used only if streaming is on. */
const SHARED_URL = 'SNP_REDIS_URL';

const REDIS_URL = '^rediss?://([^/?#\\s]*@)?[^/?#@\\s]+(/\\d*)?$';

export const snpSettings = group('Events from stacks-node-publisher', {
  snp: setting(['serve'], '--snp <url>', {
    otherVariables: [SHARED_URL],
    type: Type.Union([Type.Null(), Type.String({ pattern: REDIS_URL })], { default: null }),
    help: 'Redis URL of stacks-node-publisher, which replaces the event port',
    accepts: 'the URL of a Redis server, such as redis://user:password@127.0.0.1:6379/0; rediss:// is TLS',
  }),
  snpKeyPrefix: setting(['serve'], '--snp-key-prefix <prefix>', {
    otherVariables: ['SNP_REDIS_STREAM_KEY_PREFIX'],
    type: Type.String({ pattern: '^([^\\s]*:)?$', default: '' }),
    read: (text) => (text === '' || text.endsWith(':') ? text : `${text}:`),
    help: "Prefix of stacks-node-publisher's Redis keys; a colon is added at the end",
    accepts: 'a text without blanks',
  }),
  snpSkip: setting(['serve'], '--snp-skip <numbers>', {
    type: Type.Union([Type.Null(), Type.Array(Type.Integer({ minimum: 0 }))], { default: null }),
    read: (text) => text.split(',').map((number) => integer(number.trim())),
    show: (numbers) => (numbers ?? []).join(','),
    absent: 'none',
    help: "Numbers of publisher messages to skip because they can't be applied",
    accepts: 'numbers separated by commas, such as 75,76',
  }),
});

/**
 * Ignores the publisher's variable for the URL unless SNP_EVENT_STREAMING is true.
 * @throws OperatorError if streaming is on but no URL is given
 */
export function withSnp(values: Map<string, SettingValue>, environment: NodeJS.ProcessEnv): void {
  const url = values.get('snp');
  if (url === undefined) return;
  const isStreaming = yesOrNo(environment.SNP_EVENT_STREAMING ?? '') === true;
  if (url.value === null && isStreaming) {
    throw new OperatorError(
      'SNP_EVENT_STREAMING is true, but nothing names the Redis of stacks-node-publisher.',
      `Set ${SHARED_URL}, or give --snp.`,
    );
  }
  if (url.source?.name === SHARED_URL && !isStreaming) values.set('snp', { value: null, source: null });
}

export const nodeSettings = group('Requests to the node', {
  nodeRpc: setting(['serve', 'check'], '--node-rpc <url>', {
    hostAndPort: [
      ['STACKS_CORE_PROXY_HOST', 'STACKS_CORE_PROXY_PORT'],
      ['STACKS_CORE_RPC_HOST', 'STACKS_CORE_RPC_PORT'],
    ],
    type: url('http://127.0.0.1:20443'),
    read: withoutSlash,
    help: "URL of the node's RPC API, which answers requests below /v2 and /v3",
    accepts: 'the URL of an HTTP server, such as http://127.0.0.1:20443',
  }),
  nodeConfig: setting(['serve'], '--node-config <file>', {
    ...file(),
    absent: 'not read',
    help: "The node's TOML file, to check its observer section and use its auth_token",
  }),
  nodeAuthFile: setting(['serve'], '--node-auth-file <file>', {
    ...file(),
    absent: 'the auth_token of --node-config; without one, missing blocks are not filled',
    help: "File with the node's auth_token, which lets Stackside fill missing blocks",
  }),
  history: setting(['serve'], '--history <full|any>', {
    type: Type.Union([Type.Literal('full'), Type.Literal('any')], { default: 'any' }),
    help: 'any: start at the first block that the node sends; full: require the whole chain',
    accepts: 'full or any',
  }),
  proxyPrefix: setting(servers, '--proxy-prefix <prefix=url>', {
    repeatable: true,
    type: Type.String({ default: '' }),
    read: (text) => (parseProxyPrefixes(text) === null ? null : text),
    help: 'Path prefix to forward, with the URL that replaces it; repeatable',
    accepts:
      'a prefix and a URL, such as /metadata=http://127.0.0.1:3001/metadata, each prefix once; separate several with spaces',
  }),
  extraTxEndpoints: setting(['serve'], '--extra-tx-endpoints <file>', {
    otherVariables: ['STACKS_API_EXTRA_TX_ENDPOINTS_FILE'],
    ...file(),
    help: 'File of URLs, one per line, that also receive each broadcast transaction',
  }),
  feeEstimator: setting(['serve'], '--fee-estimator', {
    otherVariables: ['STACKS_CORE_FEE_ESTIMATOR_ENABLED'],
    ...trueOrFalse(false),
    help: 'Answer fee estimates with the minimum fee while tenures are not full',
  }),
});

const simulated = ['demo', 'devnet'] as const;

export const simulatedNodeSettings = group('Simulated node', {
  seed: setting(simulated, '--seed <number>', {
    variable: 'STACKSIDE_DEVNET_SEED',
    type: Type.Integer({ minimum: 0, default: 1 }),
    read: integer,
    help: 'Seed of the simulated chain',
    accepts: 'a number, 0 or greater',
  }),
  interval: setting(simulated, '--block-time <seconds>', {
    ...wholeNumberOrNone({ minimum: 0, maximum: 3_600, default: 5 }, 'seconds'),
    help: 'Seconds between blocks; 0 mines only on request and stops the clock',
    except: { devnet: { default: null, absent: 'a block when a transaction arrives' } },
  }),
  pastBlocks: setting(['demo'], '--past-blocks <blocks>', {
    ...wholeNumber({ minimum: 1, maximum: 100_000, default: 100 }),
    help: 'Blocks that the simulated chain starts with',
  }),
  traffic: setting(['demo'], '--traffic <number>', {
    variable: 'STACKSIDE_DEVNET_TRAFFIC',
    ...wholeNumber({ minimum: 0, maximum: 200, default: 10 }),
    help: 'Average number of transactions per block from simulated users',
  }),
  observer: setting(simulated, '--observer <url>', {
    variable: 'STACKSIDE_DEVNET_OBSERVER',
    type: urlOrNone(),
    read: withoutSlash,
    help: 'Event port URL of another Stackside that also receives the simulated events',
    accepts: 'a URL, such as http://127.0.0.1:3701',
  }),
  pox5Height: setting(simulated, '--pox-5-height <height>', {
    variable: 'STACKSIDE_DEVNET_POX_5_HEIGHT',
    ...wholeNumberOrNone({ minimum: 0, maximum: 1_000_000_000 }),
    absent: 'pox-4 stays active',
    help: 'Bitcoin height of the switch from pox-4 to pox-5; the simulated chain starts at 214',
  }),
  clarity: setting(['devnet'], '--clarity <dir>', {
    variable: 'STACKSIDE_DEVNET_CLARITY',
    type: textOrNone(),
    absent: 'the project of the current directory; without one, contracts are simulated',
    help: 'Clarinet project whose contracts run; needs @stacks/clarinet-sdk',
    accepts: 'a directory',
  }),
  watch: setting(['devnet'], '--watch', {
    variable: 'STACKSIDE_DEVNET_WATCH',
    ...trueOrFalse(false),
    help: "Redeploy the project's contracts when their files change, and mine again",
  }),
  fork: setting(['devnet'], '--fork <url>', {
    variable: 'STACKSIDE_DEVNET_FORK',
    type: urlOrNone(),
    read: withoutSlash,
    help: 'Node or Stackside that missing requirements of the project are downloaded from',
    accepts: 'a URL, such as http://127.0.0.1:3999',
  }),
  state: setting(['devnet'], '--state <file>', {
    variable: 'STACKSIDE_DEVNET_STATE',
    ...file(),
    help: "File to continue a project's chain from, written when the devnet stops",
  }),
  automine: setting(['devnet'], '--automine <true|false>', {
    variable: 'STACKSIDE_DEVNET_AUTOMINE',
    type: Type.Union([Type.Null(), Type.Boolean()], { default: null }),
    read: yesOrNo,
    absent: 'true without --block-time',
    help: 'Mine each transaction as soon as it is broadcast',
    accepts: 'true or false',
  }),
  unsafeImpersonate: setting(simulated, '--unsafe-impersonate', {
    variable: 'STACKSIDE_DEVNET_UNSAFE_IMPERSONATE',
    ...trueOrFalse(false),
    help: 'Let local programs send transactions of any account without its key',
  }),
});
