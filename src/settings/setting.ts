/** What a setting is, and how its value is found: flag before variable before default. */
import { type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../base/errors.ts';

export interface Setting<T extends TSchema> {
  /** Null where variables alone set it: what is secret, since other users of a machine see a program's flags. */
  flag: string | null;
  /** Read where the flag isn't given, the first that is set. */
  variables: readonly string[];
  /** Pairs of variables that together give a URL, read where none of the above is set. */
  hostAndPort?: readonly (readonly [host: string, port: string])[];
  type: T;
  /** What the text stands for, where it isn't the value itself; anything else goes on to the check. */
  read?: (text: string) => unknown;
  help: string;
  /** What is accepted, in words. */
  accepts: string;
  /** Whether its value is never shown. */
  secret?: boolean;
}

export const setting = <T extends TSchema>(declared: Setting<T>): Setting<T> => declared;

const URL_PATTERN = '^https?://[^/?#\\s]+(/[^?#\\s]*)?$';

export const port = (defaultPort: number) => Type.Integer({ minimum: 0, maximum: 65_535, default: defaultPort });
/** The address of an HTTP server. */
export const url = (defaultUrl: string) => Type.String({ pattern: URL_PATTERN, default: defaultUrl });
/** The same where there may be none. */
export const urlOrNone = () => Type.Union([Type.Null(), Type.String({ pattern: URL_PATTERN })], { default: null });
export const textOrNone = () => Type.Union([Type.Null(), Type.String({ minLength: 1 })], { default: null });

export const integer = (text: string): unknown => (/^-?\d+$/.test(text) ? Number(text) : text);
export const decimal = (text: string): unknown => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);
export const yesOrNo = (text: string): unknown =>
  ({ true: true, '1': true, on: true, false: false, '0': false, off: false })[text] ?? text;
export const withoutScheme = (text: string): string => text.replace(/^https?:\/\//, '');
export const withoutSlash = (text: string): string => text.replace(/\/+$/, '');

const flagName = (flag: string): string => flag.split(' ')[0] ?? flag;

function checked({ type, read, accepts, secret }: Setting<TSchema>, text: unknown, source: string): unknown {
  const value = typeof text === 'string' && read !== undefined ? read(text) : text;
  if (!Value.Check(type, value)) {
    throw new OperatorError(`${source} is ${secret ? 'wrong' : `"${String(text)}"`}.`, `It must be ${accepts}.`);
  }
  return value;
}

/** A URL of two variables, of which one may be empty. A scheme may stand in front of the host. */
function urlOf(host: string, portText: string, fallback: string): string {
  const base = new URL(fallback);
  const scheme = /^https?:\/\//.test(host) ? '' : 'http://';
  return `${scheme}${host === '' ? base.hostname : withoutSlash(host)}:${portText === '' ? base.port : portText}`;
}

/**
 * The value of a setting in a run.
 * @param given what the command line said for it, if anything
 * @throws OperatorError naming the flag or variable, its value, and what is accepted
 */
export function resolve(declared: Setting<TSchema>, given: unknown, environment: NodeJS.ProcessEnv): unknown {
  const { flag, variables, hostAndPort = [], type, accepts } = declared;
  if (flag !== null && given !== undefined) return checked(declared, given, flagName(flag));
  for (const variable of variables) {
    const text = environment[variable];
    if (text !== undefined && text !== '') return checked(declared, text, variable);
  }
  for (const [hostVariable, portVariable] of hostAndPort) {
    const { [hostVariable]: host = '', [portVariable]: portText = '' } = environment;
    if (host === '' && portText === '') continue;
    const source = `${hostVariable} with ${portVariable}`;
    if (type.default === null && (host === '' || portText === '')) {
      throw new OperatorError(
        `${host === '' ? hostVariable : portVariable} is not set.`,
        `${source} must be ${accepts}.`,
      );
    }
    return checked(declared, urlOf(host, portText, type.default ?? 'http://127.0.0.1:80'), source);
  }
  return type.default;
}
