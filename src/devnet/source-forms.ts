/** Parses Clarity source into forms: names, literals and brackets, without their meaning. */

/** A form. Lists are `( )`, records `{ }`. A string's text is the part between its quotes, with escapes. */
export type Form =
  | { readonly kind: 'atom'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string; readonly isUtf8: boolean }
  | { readonly kind: 'list' | 'record'; readonly items: readonly Form[] };

/** Maximum nesting, as on a node. */
const MAX_DEPTH = 64;

/** Blanks and comments, brackets, strings, then names and numbers. */
const TOKEN = /(?<skip>[\s,]+|;[^\n]*)|(?<bracket>[(){}])|(?<string>u?"(?:[^"\\]|\\[\s\S])*")|(?<atom>[^\s,;(){}"]+)/y;

const closes = { '(': ')', '{': '}' } as const;

interface OpenForm {
  readonly kind: 'list' | 'record';
  readonly items: Form[];
  readonly end: string;
}

/** Returns the forms at the top level of a source, in order; null if the source is invalid. */
export function readForms(source: string): Form[] | null {
  const top: Form[] = [];
  const open: OpenForm[] = [];
  const add = (form: Form) => (open.at(-1)?.items ?? top).push(form);
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const groups = TOKEN.exec(source)?.groups;
    if (groups === undefined || open.length > MAX_DEPTH) return null;
    const { bracket, string, atom } = groups;
    if (atom !== undefined) add({ kind: 'atom', text: atom });
    else if (string !== undefined) add(parseString(string));
    else if (bracket === '(' || bracket === '{') {
      open.push({ kind: bracket === '(' ? 'list' : 'record', items: [], end: closes[bracket] });
    } else if (bracket !== undefined) {
      const last = open.pop();
      if (last?.end !== bracket) return null;
      add({ kind: last.kind, items: last.items });
    }
  }
  return open.length === 0 ? top : null;
}

/** Position of a top-level form in its source. */
interface FormPosition {
  /** Number of its first line; the source starts with line 1. */
  line: number;
  /** Index of the first character after it. */
  end: number;
  /** Column of its first character, from 1. */
  column: number;
}

/** The top-level forms of a source, in order. */
interface FormPositions {
  complete: FormPosition[];
  /** The form that is left open, or the bracket that closes none; null if the brackets are balanced. */
  unbalanced: Omit<FormPosition, 'end'> | null;
}

/** Returns the positions of the top-level forms in a source, up to the first unbalanced bracket. */
export function formPositions(source: string): FormPositions {
  const complete: FormPosition[] = [];
  let [depth, line, startLine, start] = [0, 1, 1, 0];
  const position = () => ({ line: startLine, column: start - source.lastIndexOf('\n', start) });
  TOKEN.lastIndex = 0;
  for (let token = TOKEN.exec(source); token !== null; token = TOKEN.exec(source)) {
    const { skip, bracket } = token.groups ?? {};
    if (depth === 0) [startLine, start] = [line, token.index];
    line += token[0].split('\n').length - 1;
    if (bracket !== undefined) depth += bracket in closes ? 1 : -1;
    if (depth < 0) return { complete, unbalanced: position() };
    if (depth === 0 && skip === undefined) complete.push({ ...position(), end: TOKEN.lastIndex });
  }
  return { complete, unbalanced: depth === 0 ? null : position() };
}

function parseString(token: string): Form {
  const isUtf8 = token.startsWith('u');
  return { kind: 'string', text: token.slice(isUtf8 ? 2 : 1, -1), isUtf8 };
}

/** Returns the text of an atom; undefined for other forms. */
export const atomOf = (form: Form | undefined): string | undefined => (form?.kind === 'atom' ? form.text : undefined);

/** Returns the items of a list; undefined for other forms. */
export const listOf = (form: Form | undefined): readonly Form[] | undefined =>
  form?.kind === 'list' ? form.items : undefined;

/** Returns the fields of a record with names that end with a colon; undefined if a name doesn't. */
export function parseFields(form: Form | undefined): (readonly [name: string, value: Form])[] | undefined {
  if (form?.kind !== 'record') return undefined;
  // `a: b` and `a:b` mean the same, and so do `a :b` and `a : b`.
  const items = form.items.flatMap((item): Form[] =>
    item.kind === 'atom' ? (item.text.match(/:|[^:]+/g) ?? []).map((text) => ({ kind: 'atom', text })) : [item],
  );
  const fields: (readonly [string, Form])[] = [];
  for (let index = 0; index < items.length; index += 3) {
    const [name, colon, value] = items.slice(index, index + 3);
    if (atomOf(name) === undefined || atomOf(colon) !== ':' || value === undefined) return undefined;
    fields.push([atomOf(name)!, value]);
  }
  return fields;
}
