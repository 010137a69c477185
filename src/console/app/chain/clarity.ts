/** Parses Clarity: tokens, definitions with their lines, and the place of an error. */

type TokenKind = 'comment' | 'string' | 'number' | 'principal' | 'keyword' | 'constant' | 'paren' | 'name' | 'space';

export interface Token {
  kind: TokenKind;
  text: string;
}

/** Matches one token after the other. Any other character is a name of one character. */
const TOKEN =
  /(?<comment>;;[^\n]*)|(?<string>u?"(?:\\[\s\S]|[^"\\])*"?)|(?<principal>'S[0-9A-Z]+(?:\.[a-zA-Z][\w-]*)*)|(?<number>0x[0-9a-fA-F]*|u?-?\d+(?=[\s(){},:]|$))|(?<paren>[(){},:])|(?<space>\s+)|(?<name>[^\s(){},:";]+|[\s\S])/g;

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

/** Splits a Clarity text into tokens. Together, they are the text. */
export function tokenize(text: string): Token[] {
  const tokens = Array.from(text.slice(0, MAX_HIGHLIGHTED).matchAll(TOKEN), ({ groups = {} }): Token => {
    const [kind, part] = Object.entries(groups).find(([, match]) => match !== undefined) as [TokenKind, string];
    return { kind: kind === 'name' ? kindOfName(part) : kind, text: part };
  });
  if (text.length > MAX_HIGHLIGHTED) tokens.push({ kind: 'name', text: text.slice(MAX_HIGHLIGHTED) });
  return tokens;
}

function kindOfName(name: string): TokenKind {
  if (KEYWORDS.has(name)) return 'keyword';
  return CONSTANTS.has(name) ? 'constant' : 'name';
}

/** Returns the tokens by lines, without the line ends. */
export function tokenLines(text: string): Token[][] {
  const lines: Token[][] = [[]];
  for (const { kind, text: token } of tokenize(text)) {
    for (const [index, part] of token.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (part !== '') lines.at(-1)?.push({ kind, text: part });
    }
  }
  return lines;
}

type LineToken = Token & { line: number };

/** Splits a source into tokens, each with the number of its first line. The first line of the source is 1. */
function tokensWithLines(source: string): LineToken[] {
  let line = 1;
  return tokenize(source).map((token) => {
    const start = line;
    line += token.text.split('\n').length - 1;
    return { ...token, line: start };
  });
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
export function parseDefinitions(source: string): Definition[] {
  const all = tokensWithLines(source);
  return all.flatMap(({ text, line }, index) => {
    const kind = DEFINE.exec(text)?.[1] as DefinitionKind | undefined;
    return kind === undefined ? [] : (definitionAt(all, index + 1, kind, line) ?? []);
  });
}

const isBlank = ({ kind }: Token): boolean => kind === 'space' || kind === 'comment';

/** Returns the index of the first token from `start` on that is neither space nor comment. */
function nextToken(all: readonly Token[], start: number): number {
  let index = start;
  while (index < all.length && isBlank(all[index]!)) index++;
  return index;
}

/** Returns the tokens from an opening parenthesis to the one that closes it, or one token. */
function expressionAt<T extends Token>(all: readonly T[], start: number): T[] {
  let depth = 0;
  for (let end = start; end < all.length; end++) {
    const text = all[end]?.text ?? '';
    if (text === '(' || text === '{') depth++;
    if (text === ')' || text === '}') depth--;
    if (depth <= 0) return all.slice(start, end + 1);
  }
  return all.slice(start);
}

const textOf = (parts: readonly Token[]): string =>
  parts
    .map(({ kind, text }) => (kind === 'comment' ? '' : kind === 'space' ? ' ' : text))
    .join('')
    .trim();

const MAX_DETAIL = 300;

const FUNCTION_KINDS: readonly DefinitionKind[] = ['public', 'private', 'read-only'];

/** Returns the definition whose name follows at an index; null if the source ends before it. */
function definitionAt(all: readonly Token[], index: number, kind: DefinitionKind, line: number): Definition | null {
  const first = nextToken(all, index);
  if (FUNCTION_KINDS.includes(kind)) {
    const head = expressionAt(all, first).slice(1, -1);
    const start = nextToken(head, 0);
    const name = head[start]?.text;
    return name === undefined ? null : { kind, name, line, detail: textOf(head.slice(start + 1)) };
  }
  const name = all[first]?.text;
  if (name === undefined || name === '(') return null;
  const second = nextToken(all, first + 1);
  const value = all[second]?.text === ')' ? '' : textOf(expressionAt(all, second));
  return { kind, name, line, detail: value.length > MAX_DETAIL ? `${value.slice(0, MAX_DETAIL)}…` : value };
}

/**
 * Returns the text of the comment in a line, or of the line above if it has only a comment. The comment at the start of the
 * source describes the contract.
 * @param line from 1
 */
function commentAt(source: string, line: number): string | null {
  const lines = source.split('\n').slice(0, line);
  const match = /;;+\s*(.*\S)/.exec(lines.pop() ?? '');
  if (match !== null) return match[1] ?? null;
  const isOfContract = lines.every((text) => /^\s*;/.test(text));
  return isOfContract ? null : (/^\s*;;+\s*(.*\S)/.exec(lines.at(-1) ?? '')?.[1] ?? null);
}

const TOO_FEW = 'the sender has too few';
const SAME = 'sender and recipient are the same';
const NOT_POSITIVE = 'the amount is not positive';
const NOT_SENDER = 'only the owner may send';

/** Meanings of the errors `u1`, `u2` and so on of built-in functions. SIP-010 and SIP-009 use the same numbers. */
const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  'ft-transfer?': [`${TOO_FEW} tokens`, SAME, NOT_POSITIVE, NOT_SENDER],
  'nft-transfer?': ['the sender doesn’t own the token', SAME, 'the token doesn’t exist', NOT_SENDER],
  'stx-transfer?': [`${TOO_FEW} STX`, SAME, NOT_POSITIVE, NOT_SENDER],
  'ft-mint?': [NOT_POSITIVE],
  'nft-mint?': ['the token exists already'],
  'ft-burn?': [`${TOO_FEW} tokens, or ${NOT_POSITIVE}`],
  'nft-burn?': ['the sender doesn’t own the token', '', 'the token doesn’t exist'],
  'stx-burn?': [`${TOO_FEW} STX`, '', NOT_POSITIVE, NOT_SENDER],
};

/** Returns the calls of built-in functions in a function of a contract, with their lines. */
function builtInCalls(source: string, name: string): { name: string; line: number }[] {
  const all = tokensWithLines(source);
  const start = all.findIndex(
    ({ text }, index) =>
      /^define-(public|private)$/.test(text) && all[nextToken(all, nextToken(all, index + 1) + 1)]?.text === name,
  );
  if (start < 1) return [];
  return expressionAt(all, start - 1).flatMap(({ text, line }) =>
    Object.hasOwn(BUILT_IN, text) ? [{ name: text, line }] : [],
  );
}

/**
 * Returns the place in a source that makes a returned error: the constant with the value and its comment, the only line
 * with the value, or the only call of a built-in function that can return it, with the meaning of the error. Returns
 * null if there is none, or several.
 * @param name of the called function
 * @param error the value as Clarity text: `(err u4)`
 */
export function errorSource(source: string, name: string, error: string) {
  const value = /^\(err (.*)\)$/s.exec(error)?.[1];
  if (value === undefined) return null;
  const constant = parseDefinitions(source).find(
    ({ kind, detail }) => kind === 'constant' && (detail === error || detail === value),
  );
  if (constant !== undefined) {
    const { line } = constant;
    return { line, constant: constant.name, comment: commentAt(source, line), meaning: null };
  }
  const none = { constant: null, comment: null };
  const lines = source.split('\n').flatMap((text, index) => (text.includes(error) ? [index + 1] : []));
  const [line] = lines;
  if (line !== undefined) return lines.length > 1 ? null : { ...none, line, meaning: null };
  const meaningOf = (builtIn: string): string => BUILT_IN[builtIn]?.[Number(/^u(\d+)$/.exec(value)?.[1]) - 1] ?? '';
  const [call, ...others] = builtInCalls(source, name).filter(({ name: builtIn }) => meaningOf(builtIn) !== '');
  return call === undefined || others.length > 0 ? null : { ...none, line: call.line, meaning: meaningOf(call.name) };
}
