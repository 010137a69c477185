/** Every setting once: its flag, the variables that also set it, its form, default and help. */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { MAINNET_CHAIN_ID, TESTNET_CHAIN_ID } from './chain/network.ts';
import { OperatorError } from './errors.ts';
import { levels } from './log.ts';

interface Setting<T extends TSchema> {
  flag: string;
  /** Read where the flag isn't given, the first that is set. */
  variables: readonly string[];
  type: T;
  /** What the text stands for, where it isn't the value itself; anything else goes on to the check. */
  read?: (text: string) => unknown;
  help: string;
  /** What is accepted, in words. */
  accepts: string;
}

const setting = <T extends TSchema>(declared: Setting<T>): Setting<T> => declared;

const port = (defaultPort: number) => Type.Integer({ minimum: 0, maximum: 65_535, default: defaultPort });
const integer = (text: string): unknown => (/^-?\d+$/.test(text) ? Number(text) : text);
/** A date, or a date and time with its zone. */
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;
function unixMilliseconds(text: string): number | null {
  const time = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}
const withoutScheme = (text: string): string => text.replace(/^https?:\/\//, '');

/** The reference API's words for modes, and ours. */
const modeWords: Readonly<Record<string, string>> = { default: 'full', readonly: 'read', writeonly: 'write' };

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
    type: Type.String({ minLength: 1, default: '0.0.0.0' }),
    read: withoutScheme,
    help: 'Address the API listens on',
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
    read: (text) => ({ true: true, '1': true, false: false, '0': false })[text] ?? text,
    help: 'Keep no raw events: less disk, and the index can only be made again by the node from scratch',
    accepts: 'true or false',
  }),
  deprecated: setting({
    flag: '--deprecated <on|off>',
    variables: ['STACKSIDE_DEPRECATED', 'ENABLE_DEPRECATED_ENDPOINTS'],
    type: Type.Boolean({ default: true }),
    read: (text) => ({ on: true, true: true, '1': true, off: false, false: false, '0': false })[text] ?? text,
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
  logLevel: setting({
    flag: '--log-level <level>',
    variables: ['STACKSIDE_LOG_LEVEL', 'STACKS_API_LOG_LEVEL'],
    type: Type.Union(
      levels.map((level) => Type.Literal(level)),
      { default: 'info' },
    ),
    help: `Least level that is logged: ${levels.join(', ')}`,
    accepts: levels.join(', '),
  }),
};

export type Settings = { [Name in keyof typeof settings]: Static<(typeof settings)[Name]['type']> };
export type SettingName = keyof Settings;

function checkedValue(name: SettingName, text: unknown, source: string): unknown {
  const { type, read, accepts }: Setting<TSchema> = settings[name];
  const value = typeof text === 'string' && read !== undefined ? read(text) : text;
  if (!Value.Check(type, value)) {
    throw new OperatorError(`${source} is "${String(text)}".`, `It must be ${accepts}.`);
  }
  return value;
}

function resolve(name: SettingName, given: Record<string, unknown>, environment: NodeJS.ProcessEnv): unknown {
  const { flag, variables, type }: Setting<TSchema> = settings[name];
  if (given[name] !== undefined) return checkedValue(name, given[name], flag.split(' ')[0] ?? flag);
  for (const variable of variables) {
    const text = environment[variable];
    if (text !== undefined && text !== '') return checkedValue(name, text, variable);
  }
  return type.default;
}

/**
 * The settings of a run: flag before variable before default.
 * @param given what the command line said, by setting name
 * @throws OperatorError naming the flag or variable, its value, and what is accepted
 */
export function readSettings(given: Record<string, unknown>, environment: NodeJS.ProcessEnv): Settings {
  const read = Object.fromEntries(
    (Object.keys(settings) as SettingName[]).map((name) => [name, resolve(name, given, environment)]),
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
