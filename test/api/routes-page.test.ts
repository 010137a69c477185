import { expect, test } from 'bun:test';
import { pageWithRoutes, routesPage } from '../support/generate/route-tables.ts';

test('docs/api.md lists the current routes (bun run generate writes them)', async () => {
  expect(await pageWithRoutes()).toBe(await Bun.file(routesPage).text());
});
