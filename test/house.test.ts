/** The length of files and functions, since what doesn't fit on a few pages has more than one subject; and the words of comments. */
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

const sources: Source[] = [...new Glob('**/*.{ts,tsx}').scanSync(root)]
  .filter((file) => !file.endsWith('openapi.d.ts'))
  .sort()
  .map((file) => ({
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

const PREPOSITIONS =
  'about above across after against along among around as at before behind below beneath beside besides between beyond by ' +
  'despite during except for from in inside into like near of off on onto out outside over past per since through ' +
  'throughout till to toward towards under until up upon via with within without';
const PRONOUNS = 'he hers his it its itself ones same she such that their theirs them these they this those';
const VERBS = 'are had has have is was were';

/** A comment that begins with one of these words is part of a sentence that stands elsewhere. */
const FRAGMENT_WORDS = new Set(`${PREPOSITIONS} ${PRONOUNS} ${VERBS}`.split(' '));
/** No sentence of a comment begins with one of these words, the first or a later one. */
const WORDS_WITHOUT_A_NOUN = new Set(['of', 'ones', 'same', 'them', 'those']);

/** The first word of a sentence in lower case, without an article and whatever is no letter. */
const firstWord = (sentence: string): string =>
  (/[a-z]+/.exec(sentence.toLowerCase().replace(/^[^a-z]*(?:the|an?)\s+(?=\w)/, '')) ?? [''])[0];

/** Whether a comment begins with a fragment, or a later sentence with a word that stands for a noun elsewhere. */
function hasFragment(comment: string): boolean {
  const [first = '', ...others] = comment
    .replace(/^\s*\*/gm, ' ')
    .trim()
    .split(/(?<=[.!?])\s+/);
  return FRAGMENT_WORDS.has(firstWord(first)) || others.some((one) => WORDS_WITHOUT_A_NOUN.has(firstWord(one)));
}

/** The doc comments of a file, each with its line. */
const docCommentsOf = ({ tree }: Source): { line: number; text: string }[] =>
  [...tree.text.matchAll(/^[ \t]*\/\*\*(?!\/)([\s\S]*?)\*\//gm)].map((found) => ({
    line: lineOf(tree, found.index),
    text: found[1] ?? '',
  }));

test('no doc comment begins with a fragment', () => {
  const fragments = sources.flatMap((source) =>
    docCommentsOf(source)
      .filter(({ text }) => hasFragment(text))
      .map(({ line, text }) => `${source.file}:${line}: ${text.trim()}`),
  );
  expect(fragments).toEqual([]);
});

test.each([
  'Of the newest block.',
  '`Those` that wait.',
  'The same for a list.',
  '\n * In hex.\n',
  '0 in what nobody signed.',
  'The block. Of its transactions, the first.',
])('%j is a fragment', (comment) => {
  expect(hasFragment(comment)).toBe(true);
});

test.each(['The newest block.', 'Block height; null before the first. It never decreases.', '`0x` and hex digits.'])(
  '%j is none',
  (comment) => {
    expect(hasFragment(comment)).toBe(false);
  },
);
