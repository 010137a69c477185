/** Whether JSON bodies are of types that a package declares: asked of the compiler itself. */
import ts from 'typescript';

export interface Typed {
  /** A type expression, with what `imports` brings in. */
  type: string;
  body: unknown;
}

const FILE = 'bodies-of-a-tour.ts';

const options: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ESNext,
  types: [],
};

/** What the compiler says of `const body: type = <the body as a literal>`, for each; empty where all are right. */
export function typeErrors(imports: string, bodies: readonly Typed[]): string[] {
  const lines = bodies.map(({ type, body }, index) => `export const b${index}: ${type} = ${JSON.stringify(body)};`);
  const text = [imports, ...lines].join('\n');
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (name) => name === FILE || fileExists.call(host, name);
  host.getSourceFile = (name, version, ...rest) =>
    name === FILE ? ts.createSourceFile(name, text, version) : getSourceFile.call(host, name, version, ...rest);
  const program = ts.createProgram([FILE], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file === undefined || start === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line;
    const of = bodies[line - imports.split('\n').length]?.type ?? 'imports';
    return `${of}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}
