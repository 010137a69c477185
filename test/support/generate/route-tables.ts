/** The tables of routes in docs/api.md, from their declarations: `bun test/support/generate/route-tables.ts` writes them. */
import { join } from 'node:path';
import { devnetRoutes } from '../../../src/api/devnet/routes.ts';
import { systemRoutes } from '../../../src/api/stackside/system.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { Turns } from '../../../src/base/turns.ts';
import { changeRoutes } from '../../../src/hooks/routes/changes.ts';
import { emptyIndex } from '../../api/test-app.ts';
import { routesOf } from '../api/app.ts';

export const routesPage = join(import.meta.dir, '../../../docs/api.md');

const BEGIN = '<!-- routes: written by test/support/generate/route-tables.ts -->\n';
const END = '<!-- end of routes -->';

const HEAD = '| route | returns |\n|---|---|\n';

/** The routes of a server that are neither hidden nor deprecated. docs/migration.md lists the deprecated ones. */
function presentRoutes() {
  const unread = { snapshots: emptyIndex(), clock: systemClock, turns: new Turns(systemClock), elsewhere: null };
  return [
    ...routesOf(''),
    ...systemRoutes(null, () => () => undefined),
    ...changeRoutes(unread),
    ...devnetRoutes(null),
  ].filter(({ hidden, deprecated }) => !hidden && deprecated === null);
}

function rowOf({ method, path, detail }: ReturnType<typeof presentRoutes>[number]): string {
  const needsKey = detail.description?.includes('Requires the admin key') ? ' (admin key)' : '';
  return `| \`${method === 'GET' ? '' : `${method} `}${path}\` | ${detail.summary}${needsKey} |\n`;
}

/** Path prefixes, in the order of the tables. A route belongs to the first table with a matching prefix. */
const PREFIXES = ['/extended/v3', '/extended/v2', '/extended', '/stackside/v1/devnet', '/stackside/v1', '/metadata/v1'];

const prefixOf = (path: string): string => PREFIXES.find((prefix) => path.startsWith(prefix)) ?? path;

/** The page with the tables of the present routes in it. */
export async function pageWithRoutes(): Promise<string> {
  const page = await Bun.file(routesPage).text();
  const begin = page.indexOf(BEGIN) + BEGIN.length;
  const routes = presentRoutes().sort((a, b) => Number(a.path > b.path) - Number(a.path < b.path));
  const byPrefix = Map.groupBy(routes, ({ path }) => prefixOf(path));
  const tables = PREFIXES.map(
    (prefix) => `\n### Below \`${prefix}\`\n\n${HEAD}${(byPrefix.get(prefix) ?? []).map(rowOf).join('')}`,
  );
  return `${page.slice(0, begin)}${tables.join('')}\n${page.slice(page.indexOf(END))}`;
}

if (import.meta.main) await Bun.write(routesPage, await pageWithRoutes());
