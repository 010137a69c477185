import { expect, test } from 'bun:test';
import { pageWithRoutes, routesPage } from '../support/generate/route-tables.ts';

test('docs/api.md lists the routes that the generator writes', async () => {
  expect(await pageWithRoutes()).toBe(await Bun.file(routesPage).text());
});
