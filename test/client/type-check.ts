/** Compiler errors of files, and checks of JSON bodies against the types of a package. */
import ts from 'typescript';

export interface Typed {
  /** A type expression. It can use the names from `imports`. */
  type: string;
  body: unknown;
}

const defaults: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ESNext,
  types: [],
};

/** Libraries and packages, parsed once for all programs of this process. */
const libraries = new Map<string, ts.SourceFile | undefined>();

/**
 * Creates a program from files, given by path with their text, and everything that they import.
 * @param more compiler options that differ from the default; the options for parsing stay
 */
export function programOf(texts: Readonly<Record<string, string>>, more: ts.CompilerOptions = {}): ts.Program {
  const options = { ...defaults, ...more };
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (path) => path in texts || fileExists.call(host, path);
  host.getSourceFile = (path, version, ...rest) => {
    const text = texts[path];
    if (text !== undefined) return ts.createSourceFile(path, text, version);
    if (!path.includes('/node_modules/')) return getSourceFile.call(host, path, version, ...rest);
    if (!libraries.has(path)) libraries.set(path, getSourceFile.call(host, path, version, ...rest));
    return libraries.get(path);
  };
  return ts.createProgram(Object.keys(texts), options, host);
}

const FILE = 'bodies-of-a-tour.ts';

/** The library without the types of a browser. Reading those takes half a second, and no body has them. */
const LIBRARY = { lib: ['lib.esnext.d.ts'] };

/**
 * Returns the parts of a value that a type can describe: the names of members, the kinds of values, and words, which
 * may belong to a union.
 */
const formOf = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'number') return 0;
    if (typeof part === 'string') return /^[A-Za-z_-]{1,32}$/.test(part) ? part : '0';
    return part;
  });

/**
 * Removes list items with the same form as an earlier item at the same place: the compiler would report the same for them.
 * @param seen places and forms of the earlier items
 */
function vary(value: unknown, seen: Set<string>, place = ''): unknown {
  if (Array.isArray(value))
    return value
      .map((item) => vary(item, seen, `${place}[]`))
      .filter((item) => seen.size < seen.add(`${place} ${formOf(item)}`).size);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, vary(member, seen, `${place}.${name}`)]),
  );
}

/**
 * Returns the compiler's errors for `const body: type = <the body as a literal>`, or an empty list if all bodies are
 * valid. The compiler checks imported files only as far as it needs.
 */
export function typeErrors(imports: string, bodies: readonly Typed[]): string[] {
  const seenOf = new Map<string, Set<string>>();
  const varied = bodies.map(({ type, body }) => {
    const seen = seenOf.get(type) ?? new Set();
    seenOf.set(type, seen);
    return { type, body: vary(body, seen) };
  });
  const different = [...new Map(varied.map((one) => [`${one.type} ${formOf(one.body)}`, one])).values()];
  const lines = different.map(({ type, body }, index) => `export const b${index}: ${type} = ${JSON.stringify(body)};`);
  const program = programOf({ [FILE]: [imports, ...lines].join('\n') }, LIBRARY);
  const file = program.getSourceFile(FILE);
  return ts.getPreEmitDiagnostics(program, file).map(({ start, messageText }) => {
    const line = file === undefined || start === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line;
    const type = different[line - imports.split('\n').length]?.type ?? 'imports';
    return `${type}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}
