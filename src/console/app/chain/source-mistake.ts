/** The line of a source at which its analysis failed, where the message tells it: what it names, or a bracket that doesn’t match. */
import { type Token, tokens } from './clarity.ts';

const CLOSES: Readonly<Record<string, string>> = { '(': ')', '{': '}' };
const CLOSERS = Object.values(CLOSES);

/** A token and the line on which it begins. */
type Placed = Token & { line: number };

function placed(source: string): Placed[] {
  let line = 1;
  return tokens(source).map((token) => {
    const begins = line;
    line += token.text.split('\n').length - 1;
    return { ...token, line: begins };
  });
}

/** Where brackets don't match: one that closes nothing, or else the first that nothing closes; null if all do. */
function bracketLine(all: readonly Placed[]): number | null {
  const open: Placed[] = [];
  for (const token of all) {
    if (token.kind !== 'paren') continue;
    if (CLOSES[token.text] !== undefined) open.push(token);
    else if (CLOSERS.includes(token.text) && CLOSES[open.pop()?.text ?? ''] !== token.text) return token.line;
  }
  return open[0]?.line ?? null;
}

/** A text that nothing ends; null if there is none. */
const stringLine = (all: readonly Placed[]): number | null =>
  all.find(({ kind, text }) => kind === 'string' && !/^u?"(?:\\[\s\S]|[^"\\])*"$/.test(text))?.line ?? null;

/** What a message names: `use of unresolved function 'foo'`. A contract is named in full, and in the source maybe by its end. */
function namedLine(all: readonly Placed[], message: string): number | null {
  const names = [...message.matchAll(/'([^']+)'/g)].map(([, name = '']) => name);
  const isNamed = ({ kind, text }: Token, name: string): boolean =>
    kind !== 'comment' &&
    kind !== 'string' &&
    (text === name || text === `'${name}` || (name.includes('.') && text === name.slice(name.indexOf('.'))));
  for (const name of names) {
    // A type is named by many tokens of a source.
    if (TYPES.test(name)) continue;
    const found = all.find((token) => isNamed(token, name));
    if (found !== undefined) return found.line;
  }
  return null;
}

const TYPES = /^(u?int|bool|principal|none|\(.*|buff.*|string.*)$/;

/** The line at which a source has the mistake of a message, from 1 on; null where the message doesn't tell. */
export function mistakeLine(source: string, message: string): number | null {
  const all = placed(source);
  return stringLine(all) ?? bracketLine(all) ?? namedLine(all, message);
}
