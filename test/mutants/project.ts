/** The project from the view of `bun run mutants`: its files, its types, and each test's distance from a file. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import ts from 'typescript';
import { type Mutation, mutationsOf } from './mutations.ts';

/** Code that tests run without a browser. */
const isMutated = (file: string): boolean =>
  file.startsWith('src/') && !file.startsWith('src/console/app/') && file.endsWith('.ts') && !file.endsWith('.d.ts');

/**
 * End-to-end tests run the program in separate processes, so their imports don't show what they test. They come last.
 */
const isEndToEnd = (test: string): boolean => test.startsWith('test/e2e/');

/** Returns the text of a file after a change. */
export const withChange = (text: string, { start, end, after }: Omit<Mutation, 'kind'>): string =>
  text.slice(0, start) + after + text.slice(end);

/** Milliseconds of the first tests that run together. Each further group may take twice as long as the one before. */
const FIRST_GROUP = 4_000;

/**
 * Groups tests that run together, in order: small groups first, since nearby tests notice most changes.
 * @param cost of a test in milliseconds
 * @returns groups with at least one test each
 */
export function groupsOf(files: readonly string[], cost: (file: string) => number): string[][] {
  const groups: string[][] = [];
  let [room, used] = [FIRST_GROUP, 0];
  for (const file of files) {
    const last = groups.at(-1);
    if (last === undefined || used + cost(file) > room) {
      if (last !== undefined) room *= 2;
      groups.push([file]);
      used = cost(file);
    } else {
      last.push(file);
      used += cost(file);
    }
  }
  return groups;
}

export class Project {
  readonly #types: ts.LanguageService;
  readonly #files: readonly string[];
  /** Replaced texts of files, each with a number that grows. */
  readonly #changed = new Map<string, string>();
  #changes = 0;
  /** The files that import each file. */
  readonly #importers: Map<string, string[]>;

  constructor(readonly root: string) {
    const config = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
    const { fileNames, options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
    this.#files = fileNames.map((file) => file.slice(root.length + 1));
    this.#types = ts.createLanguageService({
      getCompilationSettings: () => options,
      getScriptFileNames: () => fileNames,
      getScriptVersion: (file) => (this.#changed.has(file) ? String(this.#changes) : '0'),
      getScriptSnapshot: (file) => {
        const text = this.#changed.get(file) ?? ts.sys.readFile(file);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      getCurrentDirectory: () => root,
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      fileExists: ts.sys.fileExists,
      readFile: ts.sys.readFile,
      directoryExists: ts.sys.directoryExists,
      getDirectories: ts.sys.getDirectories,
    });
    const edges = this.#files.flatMap((from) =>
      ts
        .preProcessFile(this.textOf(from), true, true)
        .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
        .map(({ fileName }) => ({ from, to: join(dirname(from), fileName) })),
    );
    this.#importers = new Map(
      [...Map.groupBy(edges, ({ to }) => to)].map(([to, edgesTo]) => [to, edgesTo.map(({ from }) => from)]),
    );
  }

  textOf(file: string): string {
    return readFileSync(join(this.root, file), 'utf8');
  }

  /** The files that may be changed. */
  mutated(): string[] {
    return this.#files.filter(isMutated).sort();
  }

  /** Returns all tests except those of this tool, which notice any change of a line that they quote. */
  tests(): string[] {
    const files = [...new Glob('test/**/*.test.ts').scanSync(this.root)];
    return files.filter((file) => !file.startsWith('test/mutants/')).sort();
  }

  mutationsOf(file: string): Mutation[] {
    const program = this.#types.getProgram()!;
    return mutationsOf(program.getSourceFile(join(this.root, file))!, program.getTypeChecker());
  }

  /**
   * Returns the compiler's error for a file with another text, or null if it finds none.
   * @param everywhere true to also check the files that import it
   */
  typeError(file: string, text: string, everywhere: boolean): string | null {
    const path = join(this.root, file);
    this.#changed.set(path, text);
    this.#changes += 1;
    try {
      const files = everywhere ? this.#files.map((name) => join(this.root, name)) : [path];
      for (const file of files) {
        const [error] = [...this.#types.getSyntacticDiagnostics(file), ...this.#types.getSemanticDiagnostics(file)];
        if (error) return ts.flattenDiagnosticMessageText(error.messageText, ' ');
      }
      return null;
    } finally {
      this.#changed.delete(path);
    }
  }

  /** Returns the tests in the order in which they run for a change of a file. @param cost of a test, in any unit */
  testsFor(file: string, cost: (test: string) => number): string[] {
    const distances = new Map([[file, 0]]);
    for (const [near, distance] of distances) {
      for (const importer of this.#importers.get(near) ?? []) {
        if (!distances.has(importer)) distances.set(importer, distance + 1);
      }
    }
    const rank = (test: string) => (isEndToEnd(test) ? Number.MAX_VALUE : (distances.get(test) ?? 1_000_000));
    return this.tests().sort((a, b) => rank(a) - rank(b) || cost(a) - cost(b));
  }
}
