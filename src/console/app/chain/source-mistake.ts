/**
 * The line of a source at which its analysis failed, if the message identifies it: by a name, or by unbalanced
 * brackets.
 */
import { type Token, tokens } from './clarity.ts';

const CLOSES: Readonly<Record<string, string>> = { '(': ')', '{': '}' };
const CLOSERS = Object.values(CLOSES);

/** A token and the number of its first line. */
type Placed = Token & { line: number };

function placed(source: string): Placed[] {
  let line = 1;
  return tokens(source).map((token) => {
    const begins = line;
    line += token.text.split('\n').length - 1;
    return { ...token, line: begins };
  });
}

/**
 * Returns the line of an unbalanced bracket: a closing bracket without an opening one, or the first unclosed bracket;
 * null if all match.
 */
function bracketLine(all: readonly Placed[]): number | null {
  const open: Placed[] = [];
  for (const token of all) {
    if (token.kind !== 'paren') continue;
    if (CLOSES[token.text] !== undefined) open.push(token);
    else if (CLOSERS.includes(token.text) && CLOSES[open.pop()?.text ?? ''] !== token.text) return token.line;
  }
  return open[0]?.line ?? null;
}

/** Returns the line of an unterminated string; null if there is none. */
const stringLine = (all: readonly Placed[]): number | null =>
  all.find(({ kind, text }) => kind === 'string' && !/^u?"(?:\\[\s\S]|[^"\\])*"$/.test(text))?.line ?? null;

/**
 * Returns the line with a message's name, as in `use of unresolved function 'foo'`. The message contains the full name
 * of a contract; the source may contain only its end.
 */
function namedLine(all: readonly Placed[], message: string): number | null {
  const names = [...message.matchAll(/'([^']+)'/g)].map(([, name = '']) => name);
  const isNamed = ({ kind, text }: Token, name: string): boolean =>
    kind !== 'comment' &&
    kind !== 'string' &&
    (text === name || text === `'${name}` || (name.includes('.') && text === name.slice(name.indexOf('.'))));
  for (const name of names) {
    // Many tokens of a source name a type.
    if (TYPES.test(name)) continue;
    const nameToken = all.find((token) => isNamed(token, name));
    if (nameToken !== undefined) return nameToken.line;
  }
  return null;
}

const TYPES = /^(u?int|bool|principal|none|\(.*|buff.*|string.*)$/;

/**
 * Returns the number of the line that a message refers to; null if the message doesn't identify it. The first line is
 * 1.
 */
export function mistakeLine(source: string, message: string): number | null {
  const all = placed(source);
  return stringLine(all) ?? bracketLine(all) ?? namedLine(all, message);
}
