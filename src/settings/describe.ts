/** Texts of settings, for `--help`, docs/settings.md, `stackside serve --print-settings` and the log; and variables without an effect. */
import { withoutCredentials } from '../base/credentials.ts';
import { nearestName } from '../base/nearest-name.ts';
import { type Settings, settings, settingsOfCommand } from './config.ts';
import { type CommandName, defaultOf, type Grouped, type Setting, type Source } from './setting.ts';

/** Returns the printed name of a setting, such as `api_port`. */
export const printedName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const isNothing = (value: unknown): boolean => value === null || value === '';

/** Returns the printable text of a value, `<set>` for a secret; null if there is no value. */
export function printedValue({ secret, show }: Setting, value: unknown): string | null {
  if (isNothing(value)) return null;
  if (secret === true) return '<set>';
  return withoutCredentials(show === undefined ? String(value) : show(value));
}

/** Returns a value for JSON. Numbers and booleans are unchanged unless the setting declares a text. */
export function jsonValue(declared: Setting, value: unknown): unknown {
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  return isPlain && declared.show === undefined && declared.secret !== true ? value : printedValue(declared, value);
}

/** Returns the text of a setting's default for a command; null if it has none. */
export function defaultText(declared: Setting, command: CommandName): string | null {
  const { absent, except } = declared;
  return except?.[command]?.absent ?? printedValue(declared, defaultOf(declared, command)) ?? absent ?? null;
}

/** Returns the help of a setting for a command. */
export const helpOf = ({ help, except }: Setting, command: CommandName): string => except?.[command]?.help ?? help;

/** Sources of settings' values by name. A missing setting has its default, or the program set it. */
export type Sources = Readonly<Record<string, Source>>;

/** Returns the settings of a server with their values, texts and sources. The text is null without a value. */
export const serverSettings = (settings: object, sources: Sources) =>
  settingsOfCommand('serve').map(([name, declared]) => {
    const value = (settings as Record<string, unknown>)[name];
    const text = printedValue(declared, value) ?? defaultText(declared, 'serve');
    return { declared, group: declared.group, name: printedName(name), value, text, source: sources[name] ?? null };
  });

/** Returns the names of all variables that set a setting. */
export const variableNames = ({ variables, hostAndPort = [] }: Grouped): string[] => [
  ...variables,
  ...hostAndPort.map(([host, ...others]) => `${host} with ${others.join(', ')}`),
];

/** Returns the settings of a server that differ from their defaults, for the log. */
export function changedSettings(values: Settings): Record<string, unknown> {
  const changed = settingsOfCommand('serve').flatMap(([name, declared]) => {
    const value = (values as Record<string, unknown>)[name];
    return value === defaultOf(declared, 'serve') ? [] : [[printedName(name), jsonValue(declared, value)] as const];
  });
  return Object.fromEntries(changed);
}

/** Returns the variables that start with Stackside's prefix. */
export const ownVariables = (): string[] => Object.values(settings).map(({ variables: [variable] }) => variable);

const PREFIX = 'STACKSIDE_';
const withoutPrefix = (variable: string): string => variable.slice(PREFIX.length);

/** Variables that only the tests read. A program that a test starts inherits them; CONTRIBUTING.md describes each. */
export const testVariables: readonly string[] = [
  'STACKSIDE_BINARY',
  'STACKSIDE_RUNS',
  'STACKSIDE_SEED',
  'STACKSIDE_TEST_CLARITY',
];

/** Variables of `stackside/test`. A server that the same tests start inherits them. */
export const testSupportVariables: readonly string[] = ['STACKSIDE_EXECUTABLE'];

/** Variables of the reference API that operators may have set, each with Stackside's replacement. */
const unsupportedVariables: Readonly<Record<string, string>> = {
  CUSTOM_CHAIN_IDS: 'Every chain id except 0x00000001 is a test network.',
  STACKS_API_WS_PING_INTERVAL: 'The server pings each client every 5 seconds.',
  STACKS_API_WS_PING_TIMEOUT: 'A client has 5 seconds to answer a ping.',
  SKIP_STACKS_CHAIN_ID_CHECK: "Stackside always compares its chain with the node's chain.",
  STACKS_API_STORE_RAW_EVENTS: 'Stackside always keeps the events in its journal.',
  STACKS_CORE_EVENT_BODY_LIMIT: 'The limit is 500 MB.',
  STACKS_CORE_PROXY_BODY_LIMIT: 'The limit is 10 MB.',
  STACKS_CORE_FEE_ESTIMATION_MODIFIER: 'The factor is 1.',
  STACKS_CORE_FEE_PAST_TENURE_FULLNESS_WINDOW: 'Stackside examines 5 tenures.',
  STACKS_CORE_FEE_PAST_DIMENSION_FULLNESS_THRESHOLD: 'The threshold is 0.9.',
  STACKS_CORE_FEE_CURRENT_DIMENSION_FULLNESS_THRESHOLD: 'The threshold is 0.5.',
  STACKS_CORE_FEE_CURRENT_BLOCK_COUNT_MINIMUM: 'The minimum is 5 blocks.',
  PUBLIC_GATEWAY_IPFS: 'Stackside reads no documents of tokens.',
  PUBLIC_GATEWAY_IPFS_EXTRA_HEADER: 'Stackside reads no documents of tokens.',
  PUBLIC_GATEWAY_ARWEAVE: 'Stackside reads no documents of tokens.',
  MAINNET_SEND_MANY_CONTRACT_ID: 'The contract is SP3FBR2AGK5H9QBDH3EEN6DF8EK8JY7RX8QJ5SVTE.send-many-memo.',
  TESTNET_SEND_MANY_CONTRACT_ID: 'The contract is ST3F1X4QGV2SM8XD96X45M6RTQXKA1PZJZZCQAB4B.send-many-memo.',
  STACKS_FAUCET_NODE_HOST: 'The faucets use the node of --node-rpc.',
  TESTNET_SBTC_FAUCET_ASSET_IDENTIFIER: 'The sBTC faucet sends ST1F7QA2MDF17S807EPA36TSS8AMEFY4KA9TVGWXT.sbtc-token.',
  TESTNET_STX_FAUCET_ENABLED: 'The STX faucet is served if STACKSIDE_FAUCET_KEYS is set.',
  TESTNET_BTC_FAUCET_ENABLED: 'The BTC faucet is served if STACKSIDE_BTC_RPC and STACKSIDE_BTC_FAUCET_KEY are set.',
  TESTNET_SBTC_FAUCET_AMOUNT: 'The sBTC faucet sends 10000 sats.',
};

/** A variable that is set but has no effect. */
export interface IgnoredVariable {
  variable: string;
  /** One or two sentences for the operator. */
  reason: string;
}

/**
 * Returns the variables that are set but have no effect: first variables with Stackside's prefix, then variables of the
 * reference API.
 */
export function ignoredVariables(environment: NodeJS.ProcessEnv): IgnoredVariable[] {
  const names = ownVariables();
  const variables = new Set([...names, ...testVariables, ...testSupportVariables]);
  const unknown = Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !variables.has(name))
    .toSorted()
    .map((variable) => {
      const word = nearestName(withoutPrefix(variable), names.map(withoutPrefix));
      return { variable, reason: `It is not a setting.${word === null ? '' : ` Did you mean ${PREFIX}${word}?`}` };
    });
  const unsupported = Object.entries(unsupportedVariables)
    .filter(([variable]) => (environment[variable] ?? '') !== '')
    .map(([variable, instead]) => ({ variable, reason: `Stackside doesn't support it. ${instead}` }));
  return [...unknown, ...unsupported];
}
