/**
 * The declaration of a setting, and the order of its sources: a flag overrides a variable, a variable overrides the
 * default.
 */
import { FormatRegistry, type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { withoutCredentials } from '../base/credentials.ts';
import { OperatorError } from '../base/errors.ts';

/** Commands with different settings. */
export type CommandName =
  | 'serve'
  | 'demo'
  | 'import'
  | 'export'
  | 'rebuild'
  | 'backup'
  | 'restore'
  | 'archive'
  | 'check'
  | 'compare'
  | 'status'
  | 'hooks'
  | 'hooks listen'
  | 'console'
  | 'cluster init'
  | 'cluster status'
  | 'sql'
  | 'devnet'
  | 'devnet mine'
  | 'simulate';

/** A difference between one command and the others. */
interface Exception<Value> {
  default?: Value;
  /** The default in words, in place of the default's own text. */
  absent?: string;
  help?: string;
}

export interface Setting<T extends TSchema = TSchema, C extends CommandName = CommandName> {
  /** A second spelling of the flag. The help doesn't show it. */
  alias?: string;
  /** Stackside's variable. By default, it has the name of the flag, or of the setting if it has no flag. */
  variable?: OwnVariable;
  /** Variables that are read if neither the flag nor Stackside's variable is given. */
  otherVariables?: readonly string[];
  /** Variables that together make a URL, read if none of the variables above is set. The last two contain its credentials. */
  hostAndPort?: readonly HostAndPort[];
  /** The schema of a value, with the default. */
  type: T;
  /** Parses a text, unless the text is the value. For an invalid text, it must return a value that fails the type's check. */
  read?: (text: string) => unknown;
  /** Returns the text of a value, unless the value is the text. */
  show?: (value: Static<T>) => string;
  /** The meaning of a missing value, in words. */
  absent?: string;
  /** One sentence for `--help` and docs/settings.md. */
  help: string;
  /** The accepted values in words, to follow "It must be". */
  accepts: string;
  /** Whether the flag may be given several times. The values then become one text, separated by blanks. */
  repeatable?: boolean;
  /** Whether the value is never shown. */
  secret?: boolean;
  /** Differences by command. Variables and flag are the same for every command. */
  except?: Partial<Record<NoInfer<C>, Exception<Static<T>>>>;
}

type OwnVariable = `STACKSIDE_${string}`;

/** A setting with its commands, its heading, and its variables in the order in which they are read. */
export type Grouped<S = Setting & { commands: readonly CommandName[] }> = S & {
  readonly flag: string | null;
  readonly group: string;
  readonly variables: readonly [OwnVariable, ...string[]];
};

/**
 * Declares a setting of commands, with the types of its value and commands.
 * @param flag null if only variables set it: other users of the machine can see a program's flags, including secrets in them
 */
export const setting = <T extends TSchema, C extends CommandName>(
  commands: readonly C[],
  flag: string | null,
  declared: Setting<T, C>,
) => ({ ...declared, flag, commands });

const flagName = (flag: string): string => flag.split(' ')[0] ?? flag;

/** Returns Stackside's variable for a setting, which has the name of the flag, or of the setting if it has no flag. */
function variableOf(setting: string, flag: string | null): OwnVariable {
  const name = flag === null ? setting.replace(/[A-Z]/g, '_$&') : flagName(flag).slice(2).replaceAll('-', '_');
  return `STACKSIDE_${name.toUpperCase()}`;
}

/** Puts settings under a heading of `--help` and of docs/settings.md. */
export function group<S extends Record<string, Pick<Setting, 'variable' | 'otherVariables'> & { flag: string | null }>>(
  heading: string,
  settings: S,
): { [N in keyof S]: Grouped<S[N]> } {
  const entries = Object.entries(settings).map(([name, declared]) => {
    const { flag, variable = variableOf(name, flag), otherVariables = [] } = declared;
    return [name, { ...declared, group: heading, variables: [variable, ...otherVariables] }];
  });
  return Object.fromEntries(entries) as { [N in keyof S]: Grouped<S[N]> };
}

/** Commands that open a server. */
export const servers = ['serve', 'demo', 'devnet'] as const;

/** Form of an HTTP server's address: a URL without a query. Its port is at most {@link MAX_PORT}, as in any URL. */
const HttpUrl = { pattern: '^https?://[^/?#\\s]+(/[^?#\\s]*)?$', format: 'http-url' };
FormatRegistry.Set(HttpUrl.format, (text) => URL.canParse(text));

/** Returns the schema of an HTTP server's address. */
export const url = (defaultUrl: string) => Type.String({ ...HttpUrl, default: defaultUrl });
/** Returns the schema of an HTTP server's address, or null. */
export const urlOrNone = () => Type.Union([Type.Null(), Type.String(HttpUrl)], { default: null });
/** Returns the schema of a text that isn't empty, or null. */
export const textOrNone = () => Type.Union([Type.Null(), Type.String({ minLength: 1 })], { default: null });

/** Declares the values of a setting: the path of a file, or null. */
export const file = () => ({ type: textOrNone(), accepts: 'a file' });

/** Reads an integer. Any other text stays a text, which the type then rejects. */
export const integer = (text: string): unknown => (/^-?\d+$/.test(text) ? Number(text) : text);
/** Reads a decimal number. Any other text stays a text, which the type then rejects. */
export const decimal = (text: string): unknown => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);
/** Reads true or false in their accepted spellings. Any other text stays a text, which the type then rejects. */
export const yesOrNo = (text: string): unknown =>
  ({ true: true, '1': true, on: true, false: false, '0': false, off: false })[text] ?? text;

interface Bounds {
  minimum: number;
  maximum: number;
}

const numberIn = ({ minimum, maximum }: Bounds, unit = '') =>
  `a number ${unit === '' ? '' : `of ${unit} `}from ${minimum} to ${maximum}`;

/** Declares the values of a setting: an integer. */
export const wholeNumber = (bounds: Bounds & { default: number }) => ({
  type: Type.Integer(bounds),
  read: integer,
  accepts: numberIn(bounds),
});
/** Declares the values of a setting: an integer, or null. The default is null unless it is given. */
export const wholeNumberOrNone = (
  { default: defaultValue = null, ...bounds }: Bounds & { default?: number | null },
  unit?: string,
) => ({
  type: Type.Union([Type.Null(), Type.Integer(bounds)], { default: defaultValue }),
  read: integer,
  accepts: numberIn(bounds, unit),
});
export const MAX_PORT = 65_535;
/** Declares the values of a setting: a TCP port; 0 means any free port. */
export const port = (defaultPort: number) => wholeNumber({ minimum: 0, maximum: MAX_PORT, default: defaultPort });
/** Declares the values of a setting: true or false. */
export const trueOrFalse = (defaultValue: boolean) => ({
  type: Type.Boolean({ default: defaultValue }),
  read: yesOrNo,
  accepts: 'true or false',
});

/** Removes `http://` or `https://` from the start of a text. */
export const withoutScheme = (text: string): string => text.replace(/^https?:\/\//, '');
/** Removes slashes from the end of a text. */
export const withoutSlash = (text: string): string => text.replace(/\/+$/, '');

/** Hex of 32 bytes, with or without the suffix for a compressed public key. */
export const PRIVATE_KEY = '[0-9a-fA-F]{64}(01)?';

/** The source of a value; null for the default. */
export type Source = { kind: 'flag' | 'variable'; name: string } | null;

export interface SettingValue {
  value: unknown;
  source: Source;
}

/** Returns the default of a setting for one command. */
export const defaultOf = ({ type, except }: Setting<TSchema>, command: CommandName): unknown => {
  const exception = except?.[command];
  return exception !== undefined && 'default' in exception ? exception.default : type.default;
};

function checkValue(
  { type, read, accepts, secret }: Setting<TSchema>,
  text: unknown,
  source: NonNullable<Source>,
): SettingValue {
  const value = typeof text === 'string' && read !== undefined ? read(text) : text;
  if (!Value.Check(type, value)) {
    const wrong = secret ? 'wrong' : `"${withoutCredentials(String(text))}"`;
    throw new OperatorError(`${source.name} is ${wrong}.`, `It must be ${accepts}.`);
  }
  return { value, source };
}

/** Names of variables that together make a URL. */
type HostAndPort =
  | readonly [host: string, port: string]
  | readonly [host: string, port: string, user: string, password: string];

/** Makes a URL from two variables. One of them may be empty. The host may have a scheme. */
function urlOf(host: string, portText: string, fallback: string): string {
  const base = new URL(fallback);
  const scheme = /^https?:\/\//.test(host) ? '' : 'http://';
  return `${scheme}${host === '' ? base.hostname : withoutSlash(host)}:${portText === '' ? base.port : portText}`;
}

/** Returns the value of a pair of variables; null if neither is set. */
function readPair(
  declared: Grouped,
  [hostVariable, portVariable, userVariable = '', passwordVariable = '']: HostAndPort,
  environment: NodeJS.ProcessEnv,
): SettingValue | null {
  const { [hostVariable]: host = '', [portVariable]: portText = '' } = environment;
  if (host === '' && portText === '') return null;
  const { type, accepts } = declared;
  const name = `${hostVariable} with ${portVariable}`;
  if (type.default === null && (host === '' || portText === '')) {
    throw new OperatorError(`${host === '' ? hostVariable : portVariable} is not set.`, `${name} must be ${accepts}.`);
  }
  const { [userVariable]: user = '', [passwordVariable]: password = '' } = environment;
  const credentials = user === '' ? '' : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  const text = urlOf(host, portText, type.default ?? 'http://127.0.0.1:80').replace('://', `://${credentials}`);
  return checkValue(declared, text, { kind: 'variable', name });
}

/**
 * Returns the value of a setting in a run of a command.
 * @param value value of the flag; undefined if it wasn't given
 * @throws OperatorError naming the flag or variable, its value, and the accepted values
 */
export function resolve(
  declared: Grouped,
  command: CommandName,
  value: unknown,
  environment: NodeJS.ProcessEnv,
): SettingValue {
  const { flag, variables, hostAndPort = [] } = declared;
  if (flag !== null && value !== undefined) return checkValue(declared, value, { kind: 'flag', name: flagName(flag) });
  for (const name of variables) {
    const text = environment[name];
    if (text !== undefined && text !== '') return checkValue(declared, text, { kind: 'variable', name });
  }
  for (const pair of hostAndPort) {
    const settingValue = readPair(declared, pair, environment);
    if (settingValue !== null) return settingValue;
  }
  return { value: defaultOf(declared, command), source: null };
}
