/** Resolves the value of a setting: a flag beats a variable, a variable beats the default. */
import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../base/errors.ts';
import type { CommandName, Setting } from './setting.ts';
import { withoutCredentials, withoutSlash } from './values.ts';

/** The source of a value; null for the default. */
export type Source = { kind: 'flag' | 'variable'; name: string } | null;

export interface Found {
  value: unknown;
  source: Source;
}

const flagName = (flag: string): string => flag.split(' ')[0] ?? flag;

/** The default of a setting for one command. */
export const defaultOf = ({ type, except }: Setting<TSchema>, command: CommandName): unknown => {
  const exception = except?.[command];
  return exception !== undefined && 'default' in exception ? exception.default : type.default;
};

function checked({ type, read, accepts, secret }: Setting<TSchema>, text: unknown, source: NonNullable<Source>): Found {
  const value = typeof text === 'string' && read !== undefined ? read(text) : text;
  if (!Value.Check(type, value)) {
    const wrong = secret ? 'wrong' : `"${withoutCredentials(String(text))}"`;
    throw new OperatorError(`${source.name} is ${wrong}.`, `It must be ${accepts}.`);
  }
  return { value, source };
}

/** The URL that two variables give together; one of them may be empty. A scheme may stand in front of the host. */
function urlOf(host: string, portText: string, fallback: string): string {
  const base = new URL(fallback);
  const scheme = /^https?:\/\//.test(host) ? '' : 'http://';
  return `${scheme}${host === '' ? base.hostname : withoutSlash(host)}:${portText === '' ? base.port : portText}`;
}

/** The value that a pair of variables gives; null where neither is set. */
function ofPair(
  declared: Setting<TSchema>,
  [hostVariable, portVariable]: readonly [string, string],
  environment: NodeJS.ProcessEnv,
): Found | null {
  const { [hostVariable]: host = '', [portVariable]: portText = '' } = environment;
  if (host === '' && portText === '') return null;
  const { type, accepts } = declared;
  const name = `${hostVariable} with ${portVariable}`;
  if (type.default === null && (host === '' || portText === '')) {
    throw new OperatorError(`${host === '' ? hostVariable : portVariable} is not set.`, `${name} must be ${accepts}.`);
  }
  const text = urlOf(host, portText, type.default ?? 'http://127.0.0.1:80');
  return checked(declared, text, { kind: 'variable', name });
}

/**
 * The value of a setting in a run of a command.
 * @param given what the command line said for it, if anything
 * @throws OperatorError naming the flag or variable, its value, and what is accepted
 */
export function resolve(
  declared: Setting<TSchema>,
  command: CommandName,
  given: unknown,
  environment: NodeJS.ProcessEnv,
): Found {
  const { flag, variables, hostAndPort = [] } = declared;
  if (flag !== null && given !== undefined) return checked(declared, given, { kind: 'flag', name: flagName(flag) });
  for (const name of variables) {
    const text = environment[name];
    if (text !== undefined && text !== '') return checked(declared, text, { kind: 'variable', name });
  }
  for (const pair of hostAndPort) {
    const found = ofPair(declared, pair, environment);
    if (found !== null) return found;
  }
  return { value: defaultOf(declared, command), source: null };
}
