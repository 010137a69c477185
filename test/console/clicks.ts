/** The things to find in docs/console.md, and their number of clicks. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pagePaths } from '../../src/console/page-paths.ts';

interface Thing {
  /** The path of the page, with its parameters in braces, and the query that selects a part of the page. */
  page: string;
  begin: string;
  /** As the page has it. */
  clicks: string;
}

const text = readFileSync(join(import.meta.dir, '../../docs/console.md'), 'utf8');

/** The rows of the table. */
export const thingsToFind: readonly Thing[] = [...text.matchAll(/^\| [^|]+ \| `([^`]+)` \| (\w+) \| (\w+) \|$/gm)].map(
  ([, page = '', begin = '', clicks = '']) => ({ page, begin, clicks }),
);

const patterns: readonly string[] = Object.values(pagePaths);

/** Returns the pattern of a path, or null if no page has the path. */
function patternOf(path: string): string | null {
  const segments = path.split('/');
  const match = patterns.find((pattern) => {
    const parts = pattern.split('/');
    return (
      parts.length === segments.length && parts.every((part, index) => part.startsWith('{') || part === segments[index])
    );
  });
  return match ?? null;
}

/** Returns true if a link leads to a row's page: the same pattern, the same query parameters, and no other tab. */
function leadsTo(link: string, { page }: Thing): boolean {
  const [pattern = '', query = ''] = page.split('?');
  const { pathname, searchParams } = new URL(link, 'http://console');
  if (patternOf(pathname) !== pattern) return false;
  const params = [...new URLSearchParams(query)];
  if (!params.some(([name]) => name === 'tab') && searchParams.has('tab')) return false;
  return params.every(([name, value]) => (value === '' ? searchParams.has(name) : searchParams.get(name) === value));
}

/** Pages that the search opens. */
const FOUND_BY_SEARCH: readonly string[] = [
  pagePaths.block,
  pagePaths.bitcoinBlock,
  pagePaths.bitcoinAddress,
  pagePaths.transaction,
  pagePaths.principal,
  pagePaths.contract,
  pagePaths.token,
  pagePaths.name,
];

/**
 * Returns the number of clicks from a row's starting page to each thing, or infinity if no link leads there.
 * @param links the links of each visited page, by path
 */
export function clicksTo(things: readonly Thing[], links: ReadonlyMap<string, readonly string[]>): number[] {
  /**
   * Two paths are the same page if both show the same. Links to an object count if the visits include an object of its
   * kind.
   */
  const kindOf = (path: string) => {
    const { pathname, searchParams } = new URL(path, 'http://console');
    return `${patternOf(pathname)} ${searchParams.get('tab') ?? ''}`;
  };
  const looked = Map.groupBy(links, ([path]) => kindOf(path));
  const near = (thing: Thing): number => {
    const begins = (path: string) =>
      thing.begin === 'overview'
        ? path === pagePaths.overview
        : !path.includes('?') && FOUND_BY_SEARCH.includes(patternOf(path) ?? '');
    let here = [...links.keys()].filter(begins);
    const visitedKinds = new Set<string>();
    for (let clicks = 0; here.length > 0; clicks++) {
      if (here.some((path) => leadsTo(path, thing))) return clicks;
      const next = here.flatMap((path) => (looked.get(kindOf(path)) ?? []).flatMap(([, list]) => list));
      for (const path of here) visitedKinds.add(kindOf(path));
      here = [...new Set(next)].filter((path) => leadsTo(path, thing) || !visitedKinds.has(kindOf(path)));
    }
    return Number.POSITIVE_INFINITY;
  };
  return things.map(near);
}
