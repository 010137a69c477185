/**
 * Zonefiles: the texts that names point to, in the master file format of RFC 1035, section 5. Only records of the name
 * system are parsed. Malformed parts are skipped, because anybody may write anything into a zonefile.
 */

export interface ZoneRecord {
  /** The name as written. A record without a name has the name of the previous record; empty if there is none. */
  name: string;
  /** The record type in upper case, such as `TXT` or `URI`. */
  type: string;
  /** Character strings and words after the type, without quotes. */
  data: string[];
}

/** A subdomain that a `TXT` record of its name's zonefile declares. */
export interface Subdomain {
  /** The label of the subdomain: `joe` in `joe.alice.btc`. */
  label: string;
  /** The owner as the record contains it, unchecked. */
  owner: string;
  zonefile: Uint8Array;
}

interface Token {
  text: string;
  quoted: boolean;
}

/** One entry of the file: its tokens, and whether it starts without a name. */
interface Entry {
  tokens: Token[];
  indented: boolean;
}

const WHITESPACE = /[ \t\r]/;
/** Characters that end an unquoted word. */
const END_OF_WORD = /[ \t\r\n;()"]/;

/** Splits a file into entries: one line each, or several lines in parentheses; `;` starts a comment. */
function splitEntries(text: string): Entry[] {
  const entries: Entry[] = [];
  let entry: Entry = { tokens: [], indented: false };
  let depth = 0;
  let lineStart = true;
  const finish = () => {
    if (entry.tokens.length > 0) entries.push(entry);
    entry = { tokens: [], indented: false };
  };
  for (let index = 0; index < text.length; ) {
    const character = text[index]!;
    if (lineStart && depth === 0) entry.indented = WHITESPACE.test(character);
    lineStart = false;
    if (character === '\n') {
      index += 1;
      lineStart = true;
      if (depth === 0) finish();
    } else if (WHITESPACE.test(character)) index += 1;
    else if (character === ';') {
      const end = text.indexOf('\n', index);
      index = end < 0 ? text.length : end;
    } else if (character === '(' || character === ')') {
      depth = character === '(' ? depth + 1 : Math.max(0, depth - 1);
      index += 1;
    } else {
      const [token, next] = character === '"' ? quotedToken(text, index + 1) : wordToken(text, index);
      entry.tokens.push(token);
      index = next;
    }
  }
  finish();
  return entries;
}

/** Reads a quoted token. A backslash escapes the next character. @param start the index after the opening quote */
function quotedToken(text: string, start: number): [Token, number] {
  let value = '';
  let index = start;
  for (; index < text.length && text[index] !== '"'; index++) {
    if (text[index] === '\\' && index + 1 < text.length) index += 1;
    value += text[index];
  }
  return [{ text: value, quoted: true }, index + 1];
}

function wordToken(text: string, start: number): [Token, number] {
  let index = start;
  while (index < text.length && !END_OF_WORD.test(text[index]!)) index += 1;
  return [{ text: text.slice(start, index), quoted: false }, index];
}

const isTtl = ({ text, quoted }: Token): boolean => !quoted && /^\d+[smhdw]?$/i.test(text);
const isClass = ({ text, quoted }: Token): boolean => !quoted && /^(?:IN|CS|CH|HS)$/i.test(text);

/** Returns the resource records of a zonefile, in order. */
export function zoneRecords(text: string): ZoneRecord[] {
  const records: ZoneRecord[] = [];
  let name = '';
  for (const { tokens, indented } of splitEntries(text)) {
    const first = tokens[0];
    if (first === undefined || (first.text.startsWith('$') && !first.quoted)) continue;
    if (!indented) name = first.text;
    let index = indented ? 0 : 1;
    // Time to live and class may be in either order, or missing.
    while (tokens[index] !== undefined && (isTtl(tokens[index]!) || isClass(tokens[index]!))) index += 1;
    const type = tokens[index];
    if (type === undefined || type.quoted) continue;
    records.push({ name, type: type.text.toUpperCase(), data: tokens.slice(index + 1).map((token) => token.text) });
  }
  return records;
}

/** Splits `key=value` into a pair; returns null for other texts. */
function splitPair(text: string): [string, string] | null {
  const equals = text.indexOf('=');
  return equals < 0 ? null : [text.slice(0, equals), text.slice(equals + 1)];
}

/**
 * Returns the subdomains that a zonefile declares: `TXT` records with an `owner`. Their zonefile is in base64 in the
 * strings `zf0`, `zf1` ….
 */
export function declaredSubdomains(records: readonly ZoneRecord[]): Subdomain[] {
  const subdomains: Subdomain[] = [];
  for (const { name, type, data } of records) {
    if (type !== 'TXT' || name === '') continue;
    const pairs = data.map(splitPair).filter((pair) => pair !== null);
    const owner = pairs.find(([key]) => key === 'owner')?.[1];
    if (owner === undefined || owner === '') continue;
    const pieces = pairs.filter(([key]) => /^zf\d+$/.test(key)).map(([, piece]) => piece);
    subdomains.push({ label: name, owner, zonefile: Buffer.from(pieces.join(''), 'base64') });
  }
  return subdomains;
}

/** Returns the URL of the resolver of subdomains that a zonefile doesn't declare; empty if it names none. */
export function resolverOf(records: readonly ZoneRecord[]): string {
  const resolvers = records.filter(({ type, name }) => type === 'URI' && name.includes('resolver'));
  // Priority and weight precede the target.
  return resolvers.at(-1)?.data.at(-1) ?? '';
}
