/**
 * Parses Clarity: the tokens of sources and values, the definitions of a source with their lines, and the metadata of
 * its token.
 */

type TokenKind = 'comment' | 'string' | 'number' | 'principal' | 'keyword' | 'constant' | 'paren' | 'name' | 'space';

export interface Token {
  kind: TokenKind;
  text: string;
}

/** Matches one token after the other. Any other character is a name of one character. */
const TOKEN =
  /(?<comment>;;[^\n]*)|(?<string>u?"(?:\\[\s\S]|[^"\\])*"?)|(?<principal>'S[0-9A-Z]+(?:\.[a-zA-Z][\w-]*)*)|(?<number>0x[0-9a-fA-F]*|u?-?\d+(?=[\s(){},:]|$))|(?<paren>[(){},:])|(?<space>\s+)|(?<name>[^\s(){},:";]+|[\s\S])/y;

const KEYWORDS = new Set(
  `define-public define-private define-read-only define-constant define-data-var define-map define-fungible-token
  define-non-fungible-token define-trait use-trait impl-trait let begin if match try! unwrap! unwrap-panic unwrap-err!
  asserts! and or not map-get? map-set map-insert map-delete var-get var-set contract-call? as-contract fold map filter
  is-eq is-some is-none is-ok is-err default-to stx-transfer? stx-burn? ft-transfer? ft-mint? ft-burn? ft-get-balance
  nft-transfer? nft-mint? nft-burn? nft-get-owner? print merge get tuple list concat append as-max-len? len element-at`.split(
    /\s+/,
  ),
);
const CONSTANTS = new Set(
  'true false none some ok err tx-sender contract-caller tx-sponsor? block-height burn-block-height stacks-block-height chain-id'.split(
    ' ',
  ),
);

/** Maximum characters of a text to split into tokens. The rest of a longer text is one token. */
const MAX_HIGHLIGHTED = 200_000;

/** Splits a text into tokens. Together, they are the text. */
export function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < Math.min(text.length, MAX_HIGHLIGHTED)) {
    const groups = TOKEN.exec(text)?.groups;
    if (groups === undefined) break;
    const [kind, token] = Object.entries(groups).find(([, part]) => part !== undefined) as [TokenKind, string];
    found.push({ kind: kind === 'name' ? kindOfName(token) : kind, text: token });
  }
  if (text.length > MAX_HIGHLIGHTED) found.push({ kind: 'name', text: text.slice(MAX_HIGHLIGHTED) });
  return found;
}

function kindOfName(name: string): TokenKind {
  if (KEYWORDS.has(name)) return 'keyword';
  return CONSTANTS.has(name) ? 'constant' : 'name';
}

/** Returns the tokens by lines, without the line ends. */
export function tokenLines(text: string): Token[][] {
  const lines: Token[][] = [[]];
  for (const { kind, text: token } of tokens(text)) {
    for (const [index, part] of token.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (part !== '') lines.at(-1)?.push({ kind, text: part });
    }
  }
  return lines;
}

type DefinitionKind =
  | 'public'
  | 'private'
  | 'read-only'
  | 'constant'
  | 'data-var'
  | 'map'
  | 'fungible-token'
  | 'non-fungible-token'
  | 'trait';

export interface Definition {
  kind: DefinitionKind;
  name: string;
  /** Number of the line. The first line is 1. */
  line: number;
  /** The text between the name and the body of a function: `(amount uint) (recipient principal)`. */
  detail: string;
}

const DEFINE = /^define-(public|private|read-only|constant|data-var|map|fungible-token|non-fungible-token|trait)$/;

/** Returns the definitions of a source, in order. */
export function definitions(source: string): Definition[] {
  const all = tokens(source);
  const found: Definition[] = [];
  let line = 1;
  for (const [at, { kind, text }] of all.entries()) {
    const defined = kind === 'keyword' || kind === 'name' ? DEFINE.exec(text)?.[1] : undefined;
    if (defined !== undefined) {
      const definition = definitionAt(all, at + 1, defined as DefinitionKind, line);
      if (definition !== null) found.push(definition);
    }
    line += text.split('\n').length - 1;
  }
  return found;
}

const isBlank = ({ kind }: Token): boolean => kind === 'space' || kind === 'comment';

/** Returns the index of the first token from `at` on that is neither space nor comment. */
function nextToken(all: readonly Token[], at: number): number {
  let index = at;
  for (let token = all[index]; token !== undefined && isBlank(token); token = all[index]) index++;
  return index;
}

/** Returns the tokens from an opening parenthesis to the one that closes it, or one token. */
function expressionAt(all: readonly Token[], at: number): Token[] {
  let depth = 0;
  for (let end = at; end < all.length; end++) {
    const text = all[end]?.text ?? '';
    if (text === '(' || text === '{') depth++;
    if (text === ')' || text === '}') depth--;
    if (depth <= 0) return all.slice(at, end + 1);
  }
  return all.slice(at);
}

const textOf = (parts: readonly Token[]): string =>
  parts
    .map(({ kind, text }) => (kind === 'comment' ? '' : kind === 'space' ? ' ' : text))
    .join('')
    .trim();

const MAX_DETAIL = 300;

function definitionAt(all: readonly Token[], at: number, kind: DefinitionKind, line: number): Definition | null {
  const first = nextToken(all, at);
  const isFunction = kind === 'public' || kind === 'private' || kind === 'read-only';
  const head = expressionAt(all, first);
  if (isFunction) {
    const inner = head.slice(1, -1);
    const start = nextToken(inner, 0);
    const name = inner[start]?.text;
    return name === undefined ? null : { kind, name, line, detail: textOf(inner.slice(start + 1)) };
  }
  const name = head[0]?.text;
  if (name === undefined || name === '(') return null;
  const second = nextToken(all, first + 1);
  const value = all[second]?.text === ')' ? '' : textOf(expressionAt(all, second));
  return { kind, name, line, detail: value.length > MAX_DETAIL ? `${value.slice(0, MAX_DETAIL)}…` : value };
}

interface ErrorLocation {
  line: number;
  /** Name of the constant for the error, such as `ERR_NOT_TOKEN_OWNER`; null if there is none. */
  constant: string | null;
}

/**
 * Returns the place in a source that makes a returned error: the constant with the value, or the only line with the
 * value. Returns null if the source doesn't contain the value, or contains it on several lines.
 * @param error the value as Clarity text: `(err u4)`
 */
export function errorLocation(source: string, error: string): ErrorLocation | null {
  const value = /^\(err (.*)\)$/s.exec(error)?.[1];
  if (value === undefined) return null;
  const constant = definitions(source).find(
    ({ kind, detail }) => kind === 'constant' && (detail === error || detail === value),
  );
  if (constant !== undefined) return { line: constant.line, constant: constant.name };
  const lines = source.split('\n').flatMap((text, index) => (text.includes(error) ? [index + 1] : []));
  const [line] = lines;
  return line === undefined || lines.length > 1 ? null : { line, constant: null };
}

/** Results of a token's functions by the token standards (SIP-009, SIP-010); null if the source computes them. */
interface TokenFacts {
  name: string | null;
  symbol: string | null;
  /** Number of decimals of an amount. */
  decimals: number | null;
  uri: string | null;
}

/** Maximum plausible number of decimals. */
const MAX_DECIMALS = 77;

const STRING = /^u?"((?:\\[\s\S]|[^"\\])*)"$/;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '\0' };

/** Returns the text of a literal; null if it isn't a literal. */
function literalText(literal: string | null): string | null {
  const inner = literal === null ? undefined : STRING.exec(literal)?.[1];
  return inner === undefined ? null : inner.replace(/\\(.)/g, (_, letter: string) => ESCAPED[letter] ?? letter);
}

function decimalsOf(literal: string | null): number | null {
  const digits = /^u([0-9]+)$/.exec(literal ?? '')?.[1];
  return digits === undefined || Number(digits) > MAX_DECIMALS ? null : Number(digits);
}

/** Returns the significant tokens of a source. */
const meaning = (source: string): string[] =>
  tokens(source)
    .filter(({ kind }) => kind !== 'space' && kind !== 'comment')
    .map(({ text }) => text);

const HEAD_END = [')', '(', 'ok'];

/**
 * Returns the literal that a read-only function without parameters returns, as in
 * `(define-read-only (get-decimals) (ok u6))`, also inside `some` or by the name of a constant. Returns null if the
 * function returns anything else, such as a variable, which can change.
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

/** Returns the metadata of the token in a source. */
export function tokenFacts(source: string): TokenFacts {
  const texts = meaning(source);
  const defined = definitions(source);
  const literal = (name: string) => returned(texts, defined, name);
  return {
    name: literalText(literal('get-name')),
    symbol: literalText(literal('get-symbol')),
    decimals: decimalsOf(literal('get-decimals')),
    uri: literalText(literal('get-token-uri')),
  };
}
