/**
 * The console's pages and files. Each page is the same document, whose script reads the path. Only a request that names
 * HTML, as those of a browser's address line do, gets it; other clients get what the path answered without a console.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import { takesHtml } from '../http/accepts.ts';
import { notFound, UnknownRouteError } from '../http/errors.ts';
import { packedAnswer } from '../http/packed.ts';
import { Redirect, type Route, route } from '../http/route.ts';
import { documentOf, FILES } from './document.ts';
import { consoleFiles } from './files.ts';
import { pagePaths } from './page-paths.ts';

/** Only this server is asked, no script stands in the document, and no text can become HTML. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

async function pageAnswer(): Promise<Response> {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': POLICY,
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    vary: 'accept',
  };
  return new Response(documentOf(await consoleFiles()), { headers });
}

/** A year, the longest that caches keep anything: another content has another name. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

async function fileAnswer(name: string, request: Request): Promise<Response> {
  const file = (await consoleFiles()).byName.get(name);
  if (file === undefined) throw notFound('The console has no such file');
  return packedAnswer(request, file, {
    'content-type': file.type,
    'cache-control': IMMUTABLE,
    'x-content-type-options': 'nosniff',
  });
}

const common = { tag: 'Console', hidden: true, etag: null, snapshot: false, response: Type.Void() } as const;

/** What a page's path answers to clients that don't take HTML: where an API client begins, or that there is no route. */
function withoutPage(path: string, request: Request): Redirect {
  if (path === pagePaths.overview) return new Redirect('/extended', 301);
  throw new UnknownRouteError(request);
}

/** The parameters of a path, whose values the page itself checks. */
const parametersOf = (path: string): Record<never, TSchema> =>
  Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, Type.String()]));

/** The routes of the console. */
export const consoleRoutes: readonly Route[] = [
  ...Object.entries(pagePaths).map(([name, path]) =>
    route({
      ...common,
      path,
      operationId: `console-${name}`,
      summary: 'A page of the console',
      params: parametersOf(path),
      handle: ({ request }) => (takesHtml(request) ? pageAnswer() : withoutPage(path, request)),
    }),
  ),
  route({
    ...common,
    path: `${FILES}/{file}`,
    operationId: 'console-file',
    summary: 'A script or style sheet of the console',
    params: { file: Type.String() },
    notFound: 'File of the console not found',
    handle: ({ params, request }) => fileAnswer(params.file, request),
  }),
];
