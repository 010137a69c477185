/** The tool that changes lines at random: the changes it makes, and that a seed draws the same ones again. */
import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import equivalents from './equivalent.json';
import { isSame, type Mutant, Mutants, placeOf } from './mutant.ts';
import { mutationsOf } from './mutations.ts';
import { groupsOf, withChange } from './project.ts';

/** The types that the tool needs, without the compiler's library. */
const LIBRARY = `
interface Array<T> { length: number; [n: number]: T; push(one: T): number }
interface Boolean {} interface Function {} interface CallableFunction {} interface NewableFunction {}
interface IArguments {} interface Number {} interface Object {} interface RegExp {} interface String {}
interface PromiseLike<T> { then(done: (value: T) => void): void }
interface Promise<T> { then(done: (value: T) => void): void }
interface PromiseConstructor { new <T>(run: (done: (value: T) => void) => void): Promise<T> }
declare const Promise: PromiseConstructor;
`;

/** Returns every text that one change can make of a file. */
function changedTexts(text: string): string[] {
  const files = new Map([
    ['file.ts', text],
    ['library.d.ts', LIBRARY],
  ]);
  const host: ts.CompilerHost = {
    getSourceFile: (name) => {
      const text = files.get(name);
      return text === undefined ? undefined : ts.createSourceFile(name, text, ts.ScriptTarget.ESNext, true);
    },
    getDefaultLibFileName: () => 'library.d.ts',
    writeFile: () => {},
    getCurrentDirectory: () => '',
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
    fileExists: (name) => files.has(name),
    readFile: (name) => files.get(name),
  };
  const program = ts.createProgram(['file.ts'], { target: ts.ScriptTarget.ESNext, strict: true, types: [] }, host);
  return mutationsOf(program.getSourceFile('file.ts')!, program.getTypeChecker()).map((mutation) =>
    withChange(text, mutation),
  );
}

test.each([
  ['const f = (a: number) => a < 3;', ['const f = (a: number) => !(a < 3);', 'const f = (a: number) => a <= 3;']],
  ['const a = 1 + 2;', ['const a = 1 - 2;']],
  ["const a = 'x' + 2;", []],
  ['f(); function f(): number { return 1; }', ['; function f(): number { return 1; }']],
  [
    'function f(a: number[]): number[] { if (a.length === 0) return a; return a; }',
    [
      'function f(a: number[]): number[] { ; return a; }',
      'function f(a: number[]): number[] { if (a.length !== 0) return a; return a; }',
      'function f(a: number[]): number[] { if (a.length === 0) return []; return a; }',
      'function f(a: number[]): number[] { if (a.length === 0) return a; return []; }',
    ],
  ],
  [
    'const g = (a: number, b: number, c: string) => null; const x = g(1, 2, "");',
    ['const g = (a: number, b: number, c: string) => null; const x = g(2, 1, "");'],
  ],
  ['const f = (a: boolean): number | null => (a ? 1 : null);', ['const f = (a: boolean): number | null => null;']],
  [
    'async function f(a: Promise<void>): Promise<void> { await a; }',
    [
      'async function f(a: Promise<void>): Promise<void> { return; await a; }',
      'async function f(a: Promise<void>): Promise<void> { ; }',
      'async function f(a: Promise<void>): Promise<void> { a; }',
    ],
  ],
  [
    'for (const a of [[1]]) { a.push(2); }',
    ['for (const a of [[1]]) { a.push(2); break; }', 'for (const a of [[1]]) { ; }'],
  ],
  [
    "const a = 'SELECT a FROM b WHERE a >= ?1 AND b = 2 ORDER BY a DESC';",
    [
      "const a = 'SELECT a FROM b WHERE a > ?1 AND b = 2 ORDER BY a DESC';",
      "const a = 'SELECT a FROM b WHERE a >= ?1 OR b = 2 ORDER BY a DESC';",
      "const a = 'SELECT a FROM b WHERE a >= ?1 AND b <> 2 ORDER BY a DESC';",
      "const a = 'SELECT a FROM b WHERE a >= ?1 AND b = 2 ORDER BY a';",
    ],
  ],
  ["const a = 'a = b';", []],
  ['interface A { a: boolean }', []],
])('the mutants of %s', (text, expected) => {
  expect(changedTexts(text).sort()).toEqual(expected.toSorted());
});

const LINES = ['a < b;', 'c < d;', '', 'c < d;'];
const file = { file: 'src/a.ts', text: LINES.join('\n') };
const changes = [...file.text.matchAll(/</g)].map(({ index }) => ({
  kind: 'comparison' as const,
  start: index,
  end: index + 1,
  after: '<=',
}));

/** The first mutants of a seed. */
function draw(seed: number, count: number): Mutant[] {
  const source = new Mutants([{ ...file, changes }]);
  const mutants: Mutant[] = [];
  while (mutants.length < count) mutants.push(source.draw(seed, mutants));
  return mutants;
}

test('a seed draws the same mutants again, each of another line', () => {
  expect(new Mutants([{ ...file, changes }]).size).toBe(3);
  const seeds = Array.from({ length: 20 }, (_, seed) => draw(seed, 3));
  for (const [seed, mutants] of seeds.entries()) {
    expect(draw(seed, 3)).toEqual(mutants);
    expect(draw(seed, 2)).toEqual(mutants.slice(0, 2));
    expect(mutants.map(({ line }) => line).sort()).toEqual([1, 2, 4]);
  }
  expect(new Set(seeds.map(([first]) => first!.line)).size).toBe(3);
});

test('a mutant is found in its moved line, the nearest of equal lines, and not in a changed line', () => {
  const mutant = draw(1, 3).find(({ line }) => line === 4)!;
  const applied = (text: string) => {
    const place = placeOf(mutant, text);
    return place && withChange(text, place);
  };
  expect(applied(file.text)).toBe('a < b;\nc < d;\n\nc <= d;');
  expect(applied(`\n\n${file.text}`)).toBe('\n\na < b;\nc <= d;\n\nc < d;');
  expect(applied('c < d;')).toBe('c <= d;');
  expect(applied('c < e;')).toBeNull();
});

test('tests run in growing groups without an empty one, since a run without files would run all', () => {
  const names = Array.from({ length: 40 }, (_, n) => `${n}.test.ts`);
  const groups = groupsOf(names, () => 1_000);
  expect(groups.flat()).toEqual(names);
  expect(groups.map(({ length }) => length)).toEqual([4, 8, 16, 12]);
  expect(groupsOf(['slow', 'slower', 'quick'], (name) => (name === 'quick' ? 1 : 100_000))).toEqual([
    ['slow'],
    ['slower'],
    ['quick'],
  ]);
  expect(groupsOf([], () => 1)).toEqual([]);
});

test('every equivalent mutant is in the source, in one line, with a reason', () => {
  const entries = equivalents as unknown as (Omit<Mutant, 'line' | 'kind'> & { why: string })[];
  for (const entry of entries) {
    const path = join(import.meta.dir, '../..', entry.file);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    expect({ ...entry, found: placeOf({ ...entry, line: 1, kind: 'statement' }, text) !== null }).toEqual({
      ...entry,
      found: true,
    });
    // A line without words, such as a closing brace, matches many lines.
    expect([entry.text, text.split('\n').filter((line) => line === entry.text)]).toEqual([
      expect.stringMatching(/\w/),
      [entry.text],
    ]);
    expect(entry.why.length).toBeGreaterThan(10);
    expect(entries.filter((other) => isSame(entry, other))).toHaveLength(1);
  }
});
