/**
 * The types of the routes that the console and the tour of a client call, generated from our OpenAPI document.
 * `bun test/support/generate/api-types.ts` rewrites them after a route or a call has changed; a test checks that they are up to
 * date, and the type check that console and tour compile with them.
 */
import { join } from 'node:path';
import { Glob } from 'bun';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { appOf } from '../api/app.ts';
import { snapshotsBy } from '../data/snapshots-by.ts';

const app = join(import.meta.dir, '../../../src/console/app');

export const typesFile = join(app, 'api/openapi.d.ts');

/** Fails on every read, because a document doesn't need data. */
const noData = snapshotsBy(() => {
  throw new Error('no data');
});

/** The OpenAPI document of this source. */
export async function apiDocument(): Promise<OpenAPI3> {
  const api = appOf({ snapshots: noData, version: 'stackside v0.0.0 (api:types)', log: () => {} });
  const response = await api.handle(new Request('http://localhost/docs/json'));
  return (await response.json()) as OpenAPI3;
}

/** Paths of the API as the console's sources write them, each the first argument of a call. */
export async function calledPaths(): Promise<Set<string>> {
  const called = new Set<string>();
  for await (const file of new Glob('**/*.{ts,tsx}').scan(app)) {
    if (file.endsWith('.d.ts')) continue;
    const text = await Bun.file(join(app, file)).text();
    for (const [, path = ''] of text.matchAll(/'(\/(?:extended|v[123]|chainhooks|stackside)(?:\/[^']*)?)'/g)) {
      called.add(path);
    }
  }
  return called;
}

/** Paths that published clients already have types for, or that clients of another server don't call. */
const NOT_TOURED = ['/extended/v1', '/chainhooks', '/stackside'];

/** Whether the tour of a client calls a path: v3, the current routes of v2, and names. */
function isToured(path: string, item: object): boolean {
  const operation: unknown = 'get' in item ? item.get : undefined;
  const isDeprecated =
    typeof operation === 'object' && operation !== null && 'deprecated' in operation && operation.deprecated === true;
  return !isDeprecated && !NOT_TOURED.some((start) => path.startsWith(start));
}

/** Keys that the types don't need: most of the document. */
const WORDS = new Set(['description', 'summary', 'example', 'examples', 'pattern', 'minimum', 'maximum', 'default']);

/** Removes these keys from the document. A schema property with one of these names is an object, and stays. */
const withoutWords = (document: OpenAPI3): OpenAPI3 =>
  JSON.parse(
    JSON.stringify(document, (key, value: unknown) =>
      WORDS.has(key) && (typeof value !== 'object' || key.startsWith('example')) ? undefined : value,
    ),
  ) as OpenAPI3;

type Operation = { parameters?: { in: string }[]; responses: Record<string, { headers?: unknown }> };

/** Removes errors, headers and the minimum height from a path's operations: no caller reads or sends them by their types. */
const withoutHeaders = (item: Record<string, Operation>) =>
  Object.fromEntries(
    Object.entries(item).map(([method, { parameters = [], responses, ...operation }]) => [
      method,
      {
        ...operation,
        parameters: parameters.filter((parameter) => parameter.in !== 'header'),
        responses: Object.fromEntries(
          Object.entries(responses)
            .filter(([status]) => status.startsWith('2'))
            .map(([status, { headers: _, ...response }]) => [status, response]),
        ),
      },
    ]),
  );

/** Removes the components that the paths don't refer to, directly or through other components. */
function withoutUnused({ components, ...document }: OpenAPI3): OpenAPI3 {
  const all = components as unknown as Record<string, Record<string, unknown>>;
  const used: Record<string, Record<string, unknown>> = { schemas: {} };
  const addReferences = (part: unknown): void => {
    for (const [, kind = '', name = ''] of JSON.stringify(part).matchAll(/"#\/components\/(\w+)\/(\w+)"/g)) {
      const named = used[kind];
      if (named === undefined || name in named) continue;
      named[name] = all[kind]?.[name];
      addReferences(named[name]);
    }
  };
  addReferences(document.paths);
  return { ...document, components: used };
}

/** Characters of a line. */
const WIDTH = 150;

/** Removes comments, headers of responses and members of type `never`, and puts each type that is short enough on one line. */
function compact(text: string): string {
  const lines: string[] = [];
  const open: number[] = [];
  for (const line of text
    .replaceAll(/ *\/\*\*.*?\*\/\n/gs, '')
    .replaceAll(/^ *\w+\?: never;\n/gm, '')
    .replaceAll(/^ *headers: \{\n.*\n *\};\n/gm, '')
    .split('\n')) {
    lines.push(line);
    if (/^ *\}/.test(line)) {
      const start = open.pop() ?? 0;
      const type = lines
        .slice(start)
        .map((part, index) => (index === 0 ? part : part.trim()))
        .join(' ');
      if (type.length <= WIDTH) lines.splice(start, lines.length, type);
    }
    if (line.endsWith('{')) open.push(lines.length - 1);
  }
  return lines.join('\n');
}

/** The text of the types file. */
export async function apiTypes(): Promise<string> {
  const document = await apiDocument();
  const called = await calledPaths();
  const typed = Object.entries(document.paths ?? {}).filter(([path, item]) => called.has(path) || isToured(path, item));
  const paths = Object.fromEntries(
    typed.map(([path, item]) => [path, withoutHeaders(item as unknown as Record<string, Operation>)]),
  );
  const types = await openapiTS(withoutUnused(withoutWords({ ...document, paths } as OpenAPI3)));
  return `/* Generated by test/support/generate/api-types.ts. */\n\n${compact(astToString(types))}`;
}

if (import.meta.main) await Bun.write(typesFile, await apiTypes());
