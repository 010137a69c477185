/** How long a file and a function may be: what doesn't fit on a few pages has more than one subject. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import ts from 'typescript';

const LONGEST_FILE = 450;
const LONGEST_FUNCTION = 120;

const root = join(import.meta.dir, '../src');

interface Source {
  file: string;
  tree: ts.SourceFile;
}

const sources: Source[] = [...new Glob('**/*.ts').scanSync(root)].sort().map((file) => ({
  file,
  tree: ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true),
}));

const lineOf = (tree: ts.SourceFile, position: number): number => tree.getLineAndCharacterOfPosition(position).line + 1;

interface FunctionLength {
  file: string;
  /** Its first line. */
  first: number;
  lines: number;
}

/** Functions and what is made like them, each inside its own file; a function's lines count for those around it, too. */
function* functionsOf({ file, tree }: Source): Generator<FunctionLength> {
  const open: ts.Node[] = [tree];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    node.forEachChild((child) => void open.push(child));
    if (!ts.isFunctionLike(node)) continue;
    const [first, last] = [lineOf(tree, node.getStart()), lineOf(tree, node.end)];
    yield { file, first, lines: last - first + 1 };
  }
}

const longFunctions = (source: Source): FunctionLength[] =>
  [...functionsOf(source)].filter(({ lines }) => lines > LONGEST_FUNCTION);

test(`no file has more than ${LONGEST_FILE} lines`, () => {
  const long = sources
    .map(({ file, tree }) => ({ name: file, lines: lineOf(tree, tree.end) }))
    .filter(({ lines }) => lines > LONGEST_FILE);
  expect(long).toEqual([]);
});

test(`no function has more than ${LONGEST_FUNCTION} lines`, () => {
  expect(sources.flatMap(longFunctions)).toEqual([]);
});
