/** Deprecated routes: docs/migration.md has the published list with their successors, and the server declares no others. */
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { DeprecationPolicy } from '../../src/http/deprecation.ts';
import type { Route } from '../../src/http/route.ts';
import { routesOf } from '../support/api/app.ts';
import { routeContext } from './route-context.ts';

/** Routes of the node's RPC, which is reachable through the same port. */
const OF_THE_NODE = ['/v2/fees/transaction', '/v3/transaction/{}'];

/** A path without the names of its parameters, which are ours to choose, and without its query. */
const shape = (path: string): string => path.replace(/\{\w+\}/g, '{}').replace(/\?.*/, '');

/** The rows of the page, each with the shape of a route, and the cell that names its successors. */
const page = await Bun.file(join(import.meta.dir, '../../docs/migration.md')).text();
const rows = [...page.matchAll(/^\| (`(?:GET|POST) [^|]+) \| ([^|]+) \|/gm)].flatMap(([, cell = '', successors = '']) =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, route]) => ({
    route: shape(route!),
    successors: successors.replaceAll('`P/', '`/extended/v3/principals/{}/').replace(/\{\w+\}/g, '{}'),
  })),
);
const routes = routesOf();
const nameOf = ({ method, path }: Route): string => shape(`${method} ${path}`);
const deprecated = routes.filter((route) => route.deprecated !== null);

test('the migration page has a row for each deprecated route', () => {
  expect(deprecated.map(nameOf).sort()).toEqual(rows.map(({ route }) => route).sort());
});

const lasting = new Set([
  ...OF_THE_NODE,
  ...routes.filter((route) => route.deprecated === null).map(({ path }) => shape(path)),
]);

test.each(deprecated.map((route) => [nameOf(route), route] as const))(
  '%s names successors of the page',
  (name, route) => {
    const { replacement, related } = route.deprecated!;
    const { successors } = rows.find((row) => row.route === name)!;
    for (const successor of [replacement ?? [], related ?? []].flat().map(shape)) {
      const isNamed = successors.includes(`${successor}\``) || successors.includes(`${successor}?`);
      expect([successor, isNamed, lasting.has(successor)]).toEqual([successor, true, true]);
    }
    // Events of several transactions have no successor.
    const hasSuccessor = successors.startsWith('`/extended/') && !name.endsWith('/tx/events');
    if (hasSuccessor) expect([name, replacement ?? related ?? null]).not.toEqual([name, null]);
  },
);

describe('for any request, the deprecated route sends a warning, or 410 when switched off:', () => {
  /** Requests a route with some text for each parameter: the answer has the deprecation headers even for invalid text. */
  const ask = ({ method, path, serve }: Route, deprecation: DeprecationPolicy) => {
    const url = `http://localhost${path.replace(/\{\w+\}/g, '1')}`;
    return serve(routeContext({ deprecation }))(new Request(url, { method }));
  };
  test.each(deprecated.map((route) => [nameOf(route), route] as const))('%s', async (_, route) => {
    const answer = await ask(route, { enabled: true, sunset: null });
    expect(answer.headers.get('warning')).toStartWith('299 - "Deprecated: ');
    expect(route.detail).toMatchObject({ deprecated: true });
    const removed = await ask(route, { enabled: false, sunset: null });
    expect([removed.status, removed.headers.get('warning')]).toEqual([410, answer.headers.get('warning')]);
  });
});

test('no other route is marked deprecated', () => {
  for (const route of routes.filter(({ deprecated: declaration }) => declaration === null)) {
    expect([nameOf(route), 'deprecated' in route.detail]).toEqual([nameOf(route), false]);
  }
});
