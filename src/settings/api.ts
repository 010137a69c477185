/** Settings of the API, and of the realtime connections that blocks and transactions are pushed to. */
import { Type } from '@sinclair/typebox';
import { utcMicroseconds } from '../base/utc-time.ts';
import { BNS_CONTRACT_PATTERN } from '../chain/bns-v2.ts';
import { parseNetworks } from '../http/hosts.ts';
import { MAX_PER_MINUTE } from '../http/rate-limit.ts';
import { group, integer, port, servers, setting, textOrNone, withoutScheme, yesOrNo } from './setting.ts';

/** A date, or a date and time with its zone. */
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;
function unixMilliseconds(text: string): number | null {
  const time = ISO_TIME.test(text) ? utcMicroseconds(text) : null;
  return time === null ? null : Math.floor(time / 1_000);
}

export const apiSettings = group('API', {
  apiHost: setting({
    commands: servers,
    flag: '--api-host <host>',
    variables: ['STACKSIDE_API_HOST', 'STACKS_BLOCKCHAIN_API_HOST'],
    type: Type.String({ minLength: 1, default: '127.0.0.1' }),
    read: withoutScheme,
    help: 'Address that the API listens on; 0.0.0.0 lets other machines connect',
    accepts: 'an address of this machine',
  }),
  apiPort: setting({
    commands: servers,
    flag: '--api-port <port>',
    variables: ['STACKSIDE_API_PORT', 'STACKS_BLOCKCHAIN_API_PORT'],
    type: port(3999),
    read: integer,
    help: 'API port; 0 picks a free port',
    accepts: 'a number from 0 to 65535',
  }),
  threads: setting({
    commands: servers,
    flag: '--threads <number|auto>',
    variables: ['STACKSIDE_THREADS'],
    type: Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 0, maximum: 64 })], { default: 'auto' }),
    read: integer,
    help: 'API threads; 0: the event thread; above 1: Linux only; auto: by number of cores',
    accepts: 'auto, or a number from 0 to 64',
  }),
  rateLimit: setting({
    commands: servers,
    flag: '--rate-limit <requests>',
    variables: ['STACKSIDE_RATE_LIMIT'],
    type: Type.Union([Type.Null(), Type.Integer({ minimum: 0, maximum: MAX_PER_MINUTE })], { default: null }),
    read: integer,
    absent: 'no limit',
    help: 'Requests per minute per client (IPv4, IPv6 /64 or API key); 0 requires a key',
    accepts: `a number from 0 to ${MAX_PER_MINUTE}`,
  }),
  readKeys: setting({
    commands: servers,
    flag: '--read-keys <file>',
    variables: ['STACKSIDE_READ_KEYS'],
    type: textOrNone(),
    absent: 'none',
    help: 'File of read keys, one per line: name, key, optional requests per minute',
    accepts: 'a file',
  }),
  trustedProxies: setting({
    commands: servers,
    flag: '--trusted-proxies <networks>',
    variables: ['STACKSIDE_TRUSTED_PROXIES'],
    type: Type.String({ default: '' }),
    read: (text) => (parseNetworks(text) === null ? null : text),
    absent: 'none',
    help: 'Reverse proxies that Stackside trusts to set X-Forwarded-For',
    accepts: 'addresses or networks separated by commas, such as 127.0.0.1,10.0.0.0/8',
  }),
  deprecated: setting({
    commands: servers,
    flag: '--deprecated <on|off|date>',
    variables: ['STACKSIDE_DEPRECATED', 'ENABLE_DEPRECATED_ENDPOINTS'],
    type: Type.Union([Type.Boolean(), Type.Integer()], { default: true }),
    read: (text) => unixMilliseconds(text) ?? yesOrNo(text),
    show: (until) => (typeof until === 'number' ? new Date(until).toISOString() : until ? 'on' : 'off'),
    help: 'Serve deprecated routes: always, never (they return 410), or until a date',
    accepts: 'on, off, or a date such as 2027-06-30 or 2027-06-30T12:00:00Z',
  }),
  namesContract: setting({
    commands: servers,
    flag: '--names-contract <id>',
    variables: ['STACKSIDE_NAMES_CONTRACT'],
    type: Type.Union([Type.Null(), Type.String({ pattern: BNS_CONTRACT_PATTERN })], { default: null }),
    absent: "the network's",
    help: 'Contract BNS-V2 that the API reads names from',
    accepts: 'the identifier of a contract named BNS-V2',
  }),
});

export const realtimeSettings = group('Realtime', {
  pingInterval: setting({
    commands: servers,
    flag: '--ping-interval <seconds>',
    variables: ['STACKSIDE_PING_INTERVAL', 'STACKS_API_WS_PING_INTERVAL'],
    type: Type.Integer({ minimum: 1, maximum: 300, default: 5 }),
    read: integer,
    help: 'Seconds between pings to realtime clients',
    accepts: 'a number of seconds from 1 to 300',
  }),
});
