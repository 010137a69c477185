/** The diagram in docs/architecture.md: which part of src may import which. */
import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import ts from 'typescript';

const ROOT = new URL('..', import.meta.url).pathname;
const sources = [...new Glob('src/**/*.{ts,tsx}').scanSync(ROOT)].filter((file) => !file.endsWith('.d.ts')).sort();

/**
 * The parts of the source, from the bottom up. Parts on one line don't import each other. A file belongs to the part
 * with the longest matching name.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['src/base/'],
  ['src/codec/'],
  ['src/chain/'],
  ['src/store/rows/'],
  ['src/store/views/'],
  ['src/store/log/'],
  ['src/store/files/'],
  ['src/store/model/'],
  ['src/store/queries/'],
  ['src/store/effects/', 'src/store/hooks/', 'src/store/sql/'],
  ['src/store/read/'],
  ['src/store/ingest/'],
  ['src/store/check/'],
  ['src/store/base/'],
  ['src/http/'],
  ['src/node/', 'src/faucets/', 'src/devnet/', 'src/storage/', 'src/cluster/'],
  ['src/archive/'],
  ['src/api/shared/'],
  [
    'src/api/v1/',
    'src/api/v2/',
    'src/api/v3/',
    'src/api/names/',
    'src/api/',
    'src/hooks/',
    'src/live/',
    'src/console/',
  ],
  // The chainhook editor is built from the schemas of filters.
  ['src/console/app/api/'],
  ['src/console/app/chain/'],
  ['src/console/app/ui/'],
  ['src/console/app/pages/'],
  ['src/console/app/'],
  ['src/log.ts'],
  ['src/settings/', 'src/metrics/'],
  // The addresses of the threads' files are next to main.ts, because the compiled executable looks for them there.
  ['src/thread-urls.ts'],
  ['src/commands/', 'src/testing/'],
  [
    'src/main.ts',
    'src/api-thread.ts',
    'src/archive-thread.ts',
    'src/checkpoint-thread.ts',
    'src/clarity-engine.ts',
    'src/query-thread.ts',
    'src/reading-thread.ts',
  ],
];

interface Edge {
  from: string;
  to: string;
}

/** Returns every import of a file: static, dynamic and type-only. */
async function importsOf(file: string): Promise<Edge[]> {
  const { importedFiles } = ts.preProcessFile(await Bun.file(join(ROOT, file)).text(), true, true);
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => ({ from: file, to: join(dirname(file), fileName) }))
    .filter(({ to }) => to.startsWith('src/') && /(?<!\.d)\.tsx?$/.test(to));
}

const edges = (await Promise.all(sources.map(importsOf))).flat();

/** Returns the part of a file, and its level. */
function partOf(file: string): { part: string; height: number } {
  const place = LAYERS.flatMap((parts, height) => parts.map((part) => ({ part, height })))
    .filter(({ part }) => file.startsWith(part))
    .sort((a, b) => b.part.length - a.part.length)[0];
  if (place === undefined) throw new Error(`${file} is in no part of the picture`);
  return place;
}

function mayImport({ from, to }: Edge): boolean {
  const [above, below] = [partOf(from), partOf(to)];
  return above.part === below.part || above.height > below.height;
}

/** Groups of files that import each other in a circle (Tarjan). */
function circles(): string[][] {
  const next = Map.groupBy(edges, ({ from }) => from);
  const index = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  function visit(file: string): void {
    index.set(file, index.size);
    lowest.set(file, index.get(file)!);
    open.push(file);
    for (const { to } of next.get(file) ?? []) {
      if (!index.has(to)) visit(to);
      if (open.includes(to)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(to)!));
    }
    if (lowest.get(file) !== index.get(file)) return;
    const circle = open.splice(open.indexOf(file));
    if (circle.length > 1) circles.push(circle.sort());
  }
  for (const file of sources) if (!index.has(file)) visit(file);
  return circles;
}

test('every file belongs to a part', () => {
  for (const file of sources) expect(() => partOf(file)).not.toThrow();
  expect(edges.length).toBeGreaterThan(1000);
});

test('imports run one way', () => {
  const against = edges.filter((edge) => !mayImport(edge)).map(({ from, to }) => `${from} imports ${to}`);
  expect(against).toEqual([]);
});

test('no files import each other in a circle', () => {
  expect(circles().map((circle) => circle.join(' '))).toEqual([]);
});

test('writers of effects share only look-ups with queries, so formats of columns are in store/rows', () => {
  const LOOK_UPS = ['accounts/account-states', 'blocks/chain', 'contracts/value-search', 'numbers'];
  const between = edges.filter(
    ({ from, to }) => from.startsWith('src/store/effects/') && to.startsWith('src/store/queries/'),
  );
  expect(new Set(between.map(({ to }) => to))).toEqual(new Set(LOOK_UPS.map((name) => `src/store/queries/${name}.ts`)));
});

test('the versions of the API share only the code in api/shared', () => {
  const versions = ['v1', 'v2', 'v3', 'names'].map((version) => `src/api/${version}/`);
  const versionOf = (file: string) => versions.find((version) => file.startsWith(version));
  const between = edges.filter(
    ({ from, to }) => versionOf(to) !== undefined && from.startsWith('src/api/') && versionOf(from) !== versionOf(to),
  );
  expect(between).toEqual([]);
});

test('stackside compare imports only the base, the HTTP client and the parts of commands', () => {
  const inCompare = (file: string) => file.startsWith('src/commands/compare/');
  const MAY_IMPORT = /^src\/(base\/|commands\/(cli|compare)\/|http\/direct-fetch\.ts$)/;
  const across = edges.filter(({ from, to }) => inCompare(from) && !MAY_IMPORT.test(to));
  const importers = edges.filter(({ from, to }) => inCompare(to) && !inCompare(from)).map(({ from }) => from);
  expect(across).toEqual([]);
  expect(new Set(importers)).toEqual(new Set(['src/commands/data/commands.ts']));
});

/** Words that start statements, as they occur in texts. */
const SQL =
  /\b(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO|DELETE\s+FROM|UPDATE\s+\w+\s+SET|CREATE\s+(TABLE|INDEX)|PRAGMA\s|BEGIN\s+IMMEDIATE)/;

/** Returns the texts of a file, without its comments. */
async function textsOf(file: string): Promise<string[]> {
  const code = await Bun.file(join(ROOT, file)).text();
  if (!SQL.test(code) && !code.includes('bun:sqlite')) return [];
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest);
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
      texts.push(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return texts;
}

test('only the store uses SQLite, and only the log that hosts share has other SQL', async () => {
  for (const file of sources) {
    const texts = await textsOf(file);
    const statements = texts.filter((text) => SQL.test(text));
    if (file.startsWith('src/store/queries/transactions/transactions.ts')) expect(statements).not.toEqual([]);
    if (file.startsWith('src/store/')) continue;
    const isShared = file.startsWith('src/cluster/');
    expect([file, ...(isShared ? [] : statements), ...texts.filter(isDatabase)]).toEqual([file]);
  }
});

const isDatabase = (text: string): boolean => text === 'bun:sqlite';

const PAGES = ['*.md', '{docs,bench,packaging}/**/*.md'].flatMap((glob) => [...new Bun.Glob(glob).scanSync(ROOT)]);
const NAMED = /`((?:[a-z0-9-]+\/)+(?:[a-z0-9.-]+\.(?:ts|tsx|json|md))?)`/g;

test('the pages name files that are there', async () => {
  let count = 0;
  for (const page of PAGES) {
    const text = await Bun.file(join(ROOT, page)).text();
    const named = [...text.matchAll(NAMED)].map(([, name = '']) => name);
    count += named.length;
    const isThere = (name: string) => ['', 'src', 'src/console'].some((folder) => existsSync(join(ROOT, folder, name)));
    expect([page, ...named.filter((name) => !isThere(name))]).toEqual([page]);
  }
  expect(count).toBeGreaterThan(120);
});
