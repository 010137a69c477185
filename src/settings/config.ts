/** All settings, and their values in a run of a command. */
import { type Static, Type } from '@sinclair/typebox';
import { levels } from '../log.ts';
import { apiSettings, faucetSettings, hookSettings } from './api.ts';
import { clusterSettings, dataSettings, valueIndexSettings } from './data.ts';
import { eventSettings, nodeSettings, simulatedNodeSettings, snpSettings, withSnp } from './node.ts';
import {
  type CommandName,
  type Grouped,
  group,
  resolve,
  type Source,
  servers,
  setting,
  textOrNone,
} from './setting.ts';

const tokenSettings = group('Tokens', {
  tokenMetadata: setting(servers, '--token-metadata <off|on>', {
    type: Type.Union([Type.Literal('off'), Type.Literal('on')], { default: 'on' }),
    help: 'on: query the node for names, symbols, decimals, supplies and URIs of tokens',
    accepts: 'off or on',
  }),
});

const compareSettings = group('Comparison with another API', {
  compareKey: setting(['compare'], null, {
    secret: true,
    type: textOrNone(),
    help: 'Key for the other API, sent as x-api-key',
    accepts: 'an API key',
  }),
});

const logSettings = group('Log', {
  logFormat: setting(servers, '--log-format <format>', {
    type: Type.Union([Type.Null(), Type.Literal('pretty'), Type.Literal('json')], { default: null }),
    absent: 'pretty on a terminal, json elsewhere',
    help: 'Log format: readable lines, or JSON objects',
    accepts: 'pretty or json',
  }),
  logLevel: setting(['serve', 'demo', 'devnet', 'import', 'rebuild'], '--log-level <level>', {
    otherVariables: ['STACKS_API_LOG_LEVEL'],
    type: Type.Union(
      levels.map((level) => Type.Literal(level)),
      { default: 'info' },
    ),
    help: `Minimum log level: ${levels.join(', ')}`,
    accepts: `one of ${levels.join(', ')}`,
    // The log would hide the command's output: it would contain thousands of blocks.
    except: {
      demo: { default: 'error' },
      devnet: { default: 'error' },
      import: { default: 'error' },
      rebuild: { default: 'error' },
    },
  }),
});

/** All settings, in the order of `--help` and of docs/settings.md. */
export const settings = {
  ...dataSettings,
  ...valueIndexSettings,
  ...apiSettings,
  ...eventSettings,
  ...snpSettings,
  ...nodeSettings,
  ...simulatedNodeSettings,
  ...hookSettings,
  ...tokenSettings,
  ...faucetSettings,
  ...clusterSettings,
  ...compareSettings,
  ...logSettings,
};

type Declared = typeof settings;
export type SettingName = keyof Declared;

/** The settings of a command. */
type NameOf<C extends CommandName> = {
  [N in SettingName]: C extends Declared[N]['commands'][number] ? N : never;
}[SettingName];
export type SettingsOf<C extends CommandName> = { [N in NameOf<C>]: Static<Declared[N]['type']> };
export type Settings = SettingsOf<'serve'>;

/** The settings of a run, and the source of each. */
export interface ResolvedSettings<C extends CommandName> {
  settings: SettingsOf<C>;
  sources: Readonly<Record<NameOf<C>, Source>>;
}

/** Returns the settings of a command, by name, in the order of the declarations. */
export const settingsOfCommand = (command: CommandName): [name: SettingName, declared: Grouped][] =>
  (Object.entries(settings) as [SettingName, Grouped][]).filter(([, { commands }]) => commands.includes(command));

/**
 * Returns the settings of a command. A flag overrides a variable, and a variable overrides the default.
 * @param flags values of flags, by setting name
 * @throws OperatorError naming the flag or variable, its value, and the accepted values
 */
export function readSettingsOf<C extends CommandName>(
  command: C,
  flags: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
): ResolvedSettings<C> {
  const values = new Map(
    settingsOfCommand(command).map(([name, declared]) => [name, resolve(declared, command, flags[name], environment)]),
  );
  withSnp(values, environment);
  return {
    settings: Object.fromEntries([...values].map(([name, { value }]) => [name, value])) as SettingsOf<C>,
    sources: Object.fromEntries(
      [...values].map(([name, { source }]) => [name, source]),
    ) as ResolvedSettings<C>['sources'],
  };
}

/** Returns the settings of a server; see {@link readSettingsOf}. */
export const readSettings = (flags: Readonly<Record<string, unknown>>, environment: NodeJS.ProcessEnv): Settings =>
  readSettingsOf('serve', flags, environment).settings;
