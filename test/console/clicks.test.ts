/** The table of docs/console.md. The browser tests check its click counts. */
import { expect, test } from 'bun:test';
import { pagePaths } from '../../src/console/page-paths.ts';
import { clicksTo, thingsToFind } from './clicks.ts';

test('the table has forty things, each on a console page, and at least thirty within two clicks', () => {
  expect(thingsToFind.length).toBe(40);
  const paths: readonly string[] = Object.values(pagePaths);
  expect(thingsToFind.filter(({ page }) => !paths.includes(page.split('?')[0] ?? ''))).toEqual([]);
  expect(thingsToFind.filter(({ clicks }) => Number(clicks) <= 2).length).toBeGreaterThanOrEqual(30);
});

test('clicks are counted along page links, from the overview or from a search result', () => {
  const links = new Map([
    ['/', ['/blocks', '/blocks/7?from=1']],
    ['/blocks', ['/forks', '/blocks?cursor=9']],
    ['/blocks/8', ['/blocks/8?tab=signers']],
    ['/forks', []],
  ]);
  const thing = (page: string, begin = 'overview') => ({ page, begin, clicks: '' });
  const things = [
    ...[thing('/'), thing('/blocks/{id}'), thing('/forks'), thing('/sql')],
    ...[thing('/blocks/{id}', 'search'), thing('/blocks/{id}?tab=signers', 'search'), thing('/blocks?cursor')],
  ];
  expect(clicksTo(things, links)).toEqual([0, 1, 2, Number.POSITIVE_INFINITY, 0, 1, 2]);
});
