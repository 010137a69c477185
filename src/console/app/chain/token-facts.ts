/** What the source of a contract says of its token, where it says it plainly. Nobody checked that it is true. */
import { type Definition, definitions, tokens } from './clarity.ts';

/** What a token's functions return by the standards of tokens (SIP-009, SIP-010); null where the source only computes it. */
export interface TokenFacts {
  name: string | null;
  symbol: string | null;
  /** Digits behind the point of an amount. */
  decimals: number | null;
  uri: string | null;
}

/** More digits than this are no number of decimals. */
const MOST_DECIMALS = 77;

const STRING = /^u?"((?:\\[\s\S]|[^"\\])*)"$/;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '\0' };

/** The text of a literal; null where it is none. */
function textOf(literal: string | null): string | null {
  const inner = literal === null ? undefined : STRING.exec(literal)?.[1];
  return inner === undefined ? null : inner.replace(/\\(.)/g, (_, letter: string) => ESCAPED[letter] ?? letter);
}

function decimalsOf(literal: string | null): number | null {
  const digits = /^u([0-9]+)$/.exec(literal ?? '')?.[1];
  return digits === undefined || Number(digits) > MOST_DECIMALS ? null : Number(digits);
}

/** The tokens of a source that mean something. */
const meaning = (source: string): string[] =>
  tokens(source)
    .filter(({ kind }) => kind !== 'space' && kind !== 'comment')
    .map(({ text }) => text);

const HEAD_END = [')', '(', 'ok'];

/**
 * The literal that a read-only function without parameters returns, as in `(define-read-only (get-decimals) (ok u6))`, also
 * inside `some` or by the name of a constant; null where it returns anything else, such as a variable, which can change.
 */
function returned(texts: readonly string[], defined: readonly Definition[], name: string): string | null {
  const head = ['(', 'define-read-only', '(', name, ...HEAD_END];
  const at = texts.findIndex((_, start) => head.every((text, index) => texts[start + index] === text));
  if (at < 0) return null;
  const value = texts.slice(at + head.length).filter((text) => text !== '(' && text !== 'some');
  const [first, end] = value;
  if (first === undefined || end !== ')') return null;
  return defined.find((one) => one.kind === 'constant' && one.name === first)?.detail ?? first;
}

/** The facts of the token that a source makes. */
export function tokenFacts(source: string): TokenFacts {
  const texts = meaning(source);
  const defined = definitions(source);
  const literal = (name: string) => returned(texts, defined, name);
  return {
    name: textOf(literal('get-name')),
    symbol: textOf(literal('get-symbol')),
    decimals: decimalsOf(literal('get-decimals')),
    uri: textOf(literal('get-token-uri')),
  };
}
