/** Sample receivers of deliveries in several languages, and the tokens of their sources. */
import go from '../receivers/receiver.go.txt' with { type: 'text' };
import python from '../receivers/receiver.py.txt' with { type: 'text' };
import typescript from '../receivers/receiver.ts.txt' with { type: 'text' };
import curl from '../receivers/send.sh.txt' with { type: 'text' };
import { type Token, tokenizeBy } from './clarity.ts';

/** Receivers by language; the one for curl sends a delivery. Each reads the signing secret from the environment. */
export const receivers = {
  typescript: { title: 'TypeScript', file: 'receiver.ts', source: typescript },
  python: { title: 'Python', file: 'receiver.py', source: python },
  go: { title: 'Go', file: 'receiver.go', source: go },
  curl: { title: 'curl', file: 'send.sh', source: curl },
} as const;

export type Language = keyof typeof receivers;

const KEYWORDS: Readonly<Record<Language, string>> = {
  typescript:
    'async const else for from function if import let new of return throw typeof string number boolean void null true false',
  python: 'and abs class def else for from if import in is not or print raise return None True False',
  go: 'bool break byte const defer else error for func if import int map nil package range return string struct true false type var',
  curl: 'curl date od openssl printf tr',
};

/** Tokens of all these languages. A `#` inside a word starts no comment: shells use it in expansions. */
const TOKEN =
  /(?<comment>(?<!\S)(?:\/\/[^\n]*|\/\*[\s\S]*?\*\/|#[^\n]*))|(?<string>"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(?<number>\b\d[\d_.]*\b)|(?<paren>[(){}[\]])|(?<space>\s+)|(?<name>[\w$]+|[\s\S])/g;

/** Splits a receiver's source into tokens. Together, they are the source. */
export function sourceTokens(language: Language): Token[] {
  const keywords = new Set(KEYWORDS[language].split(' '));
  return tokenizeBy(TOKEN, receivers[language].source, (name) => (keywords.has(name) ? 'keyword' : 'name'));
}
