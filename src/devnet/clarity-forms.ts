/** The forms of a Clarity source: names, literals and what brackets hold. What the forms mean is read elsewhere. */

/** One form. Lists are `( )`, records `{ }`; the text of a string is between its quotes, with escapes. */
export type Form =
  | { readonly kind: 'atom'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string; readonly isUtf8: boolean }
  | { readonly kind: 'list' | 'record'; readonly items: readonly Form[] };

/** A source that no contract can be made of. The message is the error that a transaction has. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
}

/** The deepest nesting; a node refuses deeper ones, too. */
const MAX_DEPTH = 64;

/** Blanks and comments, brackets, strings, then names and numbers with the punctuation that they may have. */
const TOKEN = /(?<skip>[\s,]+|;[^\n]*)|(?<bracket>[(){}])|(?<string>u?"(?:[^"\\]|\\[\s\S])*")|(?<atom>[^\s,;(){}"]+)/y;

const closes = { '(': ')', '{': '}' } as const;

interface Open {
  readonly kind: 'list' | 'record';
  readonly items: Form[];
  readonly end: string;
}

/** The forms at the top level of a source, in order. @throws SourceError */
export function readForms(source: string): Form[] {
  const top: Form[] = [];
  const open: Open[] = [];
  const add = (form: Form) => (open.at(-1)?.items ?? top).push(form);
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const at = TOKEN.lastIndex;
    const groups = TOKEN.exec(source)?.groups;
    if (groups === undefined) throw new SourceError(`:0:0: unexpected character ${JSON.stringify(source[at])}`);
    const { bracket, string, atom } = groups;
    if (atom !== undefined) add({ kind: 'atom', text: atom });
    else if (string !== undefined) add(stringOf(string));
    else if (bracket === '(' || bracket === '{') {
      if (open.length === MAX_DEPTH) throw new SourceError(':0:0: AST has too deep of an expression nesting');
      open.push({ kind: bracket === '(' ? 'list' : 'record', items: [], end: closes[bracket] });
    } else if (bracket !== undefined) {
      const done = open.pop();
      if (done?.end !== bracket) throw new SourceError(`:0:0: Tried to close with '${bracket}', which opens nothing`);
      add({ kind: done.kind, items: done.items });
    }
  }
  if (open.length > 0) throw new SourceError(':0:0: List expressions (..) left opened.');
  return top;
}

function stringOf(token: string): Form {
  const isUtf8 = token.startsWith('u');
  return { kind: 'string', text: token.slice(isUtf8 ? 2 : 1, -1), isUtf8 };
}

/** The text of an atom; undefined for other forms. */
export const atomOf = (form: Form | undefined): string | undefined => (form?.kind === 'atom' ? form.text : undefined);

/** The items of a list; undefined for other forms. */
export const listOf = (form: Form | undefined): readonly Form[] | undefined =>
  form?.kind === 'list' ? form.items : undefined;

/** The fields of a record, whose names end with a colon; undefined where a form isn't one. */
export function fieldsOf(form: Form | undefined): (readonly [name: string, value: Form])[] | undefined {
  if (form?.kind !== 'record') return undefined;
  // `a: b` and `a:b` mean the same, and so do `a :b` and `a : b`.
  const items = form.items.flatMap((item) =>
    item.kind === 'atom'
      ? item.text
          .split(/(:)/)
          .filter((part) => part !== '')
          .map(asAtom)
      : [item],
  );
  const fields: (readonly [string, Form])[] = [];
  for (let at = 0; at < items.length; at += 3) {
    const [name, colon, value] = items.slice(at, at + 3);
    if (atomOf(name) === undefined || atomOf(colon) !== ':' || value === undefined) return undefined;
    fields.push([atomOf(name)!, value]);
  }
  return fields;
}

const asAtom = (text: string): Form => ({ kind: 'atom', text });
