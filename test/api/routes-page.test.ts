/** The page that lists the routes: it has every route that isn't deprecated; docs/migration.md has the others. */
import { expect, test } from 'bun:test';
import { devnetRoutes } from '../../src/api/devnet/routes.ts';
import { systemRoutes } from '../../src/api/stackside/system.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Turns } from '../../src/base/turns.ts';
import { resources } from '../../src/commands/serve/app.ts';
import { noFaucets } from '../../src/faucets/faucets.ts';
import { changeRoutes } from '../../src/hooks/routes/changes.ts';
import { emptyIndex } from './test-app.ts';

const page = await Bun.file(new URL('../../docs/api.md', import.meta.url)).text();

/** Segments of a path, with `{}` for every parameter. */
const segmentsOf = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((segment) => (segment.startsWith('{') ? '{}' : segment));

/** Paths that a row of a table names: whole ones, and ends that follow some beginning of an earlier one. */
function pathsIn(row: string, prefix: string): { span: string; paths: string[][] }[] {
  const whole: string[][] = [];
  const [, first = ''] = row.split(/(?<!\\)\|/);
  // Names of parameters are in brackets.
  return [...first.replace(/\([^)]*\)/g, '').matchAll(/`(?:POST )?([^`?]+)[^`]*`/g)].map(([, span = '']) => {
    const isEnd = span.startsWith('/') && !/^\/(extended|metadata|v\d)\b/.test(span);
    const path = segmentsOf(span.startsWith('/') ? span : `${prefix}/${span}`);
    const paths = isEnd
      ? whole.flatMap((before) => before.map((_, end) => [...before.slice(0, end + 1), ...path]))
      : [path];
    whole.push(...paths);
    return { span, paths };
  });
}

const named = page.split(/^## /m).flatMap((section) => {
  const prefix = /^`([^`]+)`/.exec(section)?.[1] ?? '';
  const tables = section.split('\n\n').filter((part) => part.startsWith('| route |'));
  return tables.flatMap((table) => table.trimEnd().split('\n').slice(2)).flatMap((row) => pathsIn(row, prefix));
});

const noServer = { snapshots: emptyIndex(), clock: systemClock, turns: new Turns(systemClock), elsewhere: null };
const declared = [
  ...resources('', systemClock.now, noFaucets).flat(),
  ...systemRoutes(null, () => () => undefined),
  ...changeRoutes(noServer),
  ...devnetRoutes(null),
].filter(({ hidden }) => !hidden);

const keyOf = (segments: readonly string[]): string => segments.join('/');

test("the page lists every route that isn't deprecated", () => {
  const known = new Set(named.flatMap(({ paths }) => paths.map(keyOf)));
  const lasting = declared.filter(({ deprecated }) => deprecated === null).map(({ path }) => path);
  expect(lasting.length).toBeGreaterThan(100);
  expect(lasting.filter((path) => !known.has(keyOf(segmentsOf(path.replace('{pox}', 'pox4')))))).toEqual([]);
});

test('the page lists no unknown route', () => {
  const patterns = declared.map(({ path }) => segmentsOf(path));
  const isRoute = (path: readonly string[]): boolean =>
    patterns.some(
      (pattern) => pattern.length === path.length && pattern.every((one, at) => one === '{}' || one === path[at]),
    );
  expect(named.filter(({ paths }) => !paths.some(isRoute)).map(({ span }) => span)).toEqual([]);
});
