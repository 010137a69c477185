/** The console's pages and files. All pages are the same document, which only requests that accept HTML get. */

import { Type } from '@sinclair/typebox';
import { type Lazy, lazy } from '../base/cache.ts';
import { percentDecoded } from '../codec/utf8.ts';
import { acceptsHtml, type Packed, packedAnswer } from '../http/content-coding.ts';
import { notFound, unknownRoute } from '../http/errors.ts';
import { pathOf } from '../http/request-url.ts';
import { Redirect, type Route, route } from '../http/route.ts';
import type { ConsoleBundle } from './bundle.ts';
import { groups, type PageName, pagePaths } from './page-paths.ts';

const FILES = '/console';

/** Content-Security-Policy: the page reaches only this server, runs no inline script, and turns no text into HTML. */
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

async function pageAnswer(status = 200): Promise<Response> {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': POLICY,
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    vary: 'accept',
  };
  return new Response(renderDocument(await consoleFiles()), { status, headers });
}

/** A year, the maximum for caches. Changed content gets another name. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

async function fileAnswer(name: string, request: Request): Promise<Response> {
  const file = (await consoleFiles()).byName.get(name);
  if (file === undefined) throw notFound('The console does not have this file');
  return packedAnswer(request, file, {
    'content-type': file.type,
    'cache-control': IMMUTABLE,
    'x-content-type-options': 'nosniff',
  });
}

const common = {
  tag: 'Console',
  hidden: true,
  etag: null,
  history: 'none',
  snapshot: false,
  response: Type.Void(),
  refusals: { 400: 'The path is malformed' },
  // A page has several files, which cost nothing to read.
  cost: 0,
} as const;

/** Returns the response to clients that don't accept HTML: a redirect to the data of the page, or an error. */
function redirectToData(path: string, request: Request): Redirect {
  if (path === pagePaths.overview) return new Redirect('/extended', 301);
  if (path === pagePaths.reference) return new Redirect('/docs/json');
  throw unknownRoute(request);
}

/** Returns the 404 of an unknown path: the console's page for a browser; null for other clients. */
export const notFoundPage = (request: Request): Promise<Response> | null =>
  request.method === 'GET' && acceptsHtml(request) ? pageAnswer(404) : null;

/** Paths of the public explorer, with the page that each leads to. */
const EXPLORER: Readonly<Record<string, (id: string) => PageName>> = {
  '/txid/{id}': () => 'transaction',
  '/block/{id}': () => 'block',
  '/btcblock/{id}': () => 'bitcoinBlock',
  '/address/{id}': (id) => (id.includes('.') ? 'contract' : 'principal'),
  '/token/{id}': (id) => (id.includes('::') ? 'token' : 'contract'),
};

/** The routes of the console. They have no declared parameters: the page checks the values in its path. */
export const consoleRoutes: readonly Route[] = [
  ...Object.entries(pagePaths).map(([name, path]) =>
    route({
      ...common,
      path,
      operationId: `console-${name}`,
      summary: 'A page of the console',
      handle: ({ request }) =>
        acceptsHtml(request)
          ? pageAnswer(percentDecoded(pathOf(request.url)) === null ? 404 : 200)
          : redirectToData(path, request),
    }),
  ),
  ...Object.entries(EXPLORER).map(([path, pageOf]) =>
    route({
      ...common,
      path,
      operationId: `console-explorer-${path.split('/')[1]}`,
      summary: 'Leads from a path of the public explorer to the page of the console',
      handle({ request }) {
        if (!acceptsHtml(request)) throw unknownRoute(request);
        const id = percentDecoded(pathOf(request.url).split('/')[2] ?? '');
        if (id === null) return pageAnswer(404);
        return new Redirect(pagePaths[pageOf(id)].replace(/\{\w+\}/, encodeURIComponent(id)));
      },
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

/** The logo: three blocks, each on top of the previous one. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='7' fill='%23312e81'/%3E%3Cg fill='%23fff'%3E%3Crect x='7' y='20' width='18' height='4' rx='1'/%3E%3Crect x='10' y='14' width='15' height='4' rx='1' opacity='.8'/%3E%3Crect x='13' y='8' width='12' height='4' rx='1' opacity='.6'/%3E%3C/g%3E%3C/svg%3E";

const navigation = groups
  .map(({ title, sections }) => {
    const links = sections
      .filter(([page]) => page !== 'devnet')
      .map(([page, name]) => `<li><a href="${pagePaths[page]}">${name}</a></li>`);
    return `<p class="quiet tiny">${title}</p><ul>${links.join('')}</ul>`;
  })
  .join('');

/** Returns the document of every page: a frame without texts of the chain, which the script replaces by its own. */
const renderDocument = ({ script, style }: Pick<ConsoleFiles, 'script' | 'style'>): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Stackside</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${FILES}/${style}">
<script type="module" src="${FILES}/${script}"></script>
</head>
<body>
<header class="bar row"><a class="logo" href="/">Stackside</a></header>
<nav class="nav" aria-label="Pages of the console">${navigation}</nav>
<main id="main">
<noscript>The console needs JavaScript. The <a href="/docs/json">OpenAPI document</a> describes the same data.</noscript>
<div class="page stack" aria-busy="true"><span class="skeleton"></span><span class="skeleton"></span></div>
</main>
</body>
</html>
`;

interface ConsoleFiles extends Omit<ConsoleBundle, 'files'> {
  byName: ReadonlyMap<string, Packed & { type: string }>;
}

/** The bundle that `build.ts` made; only in a compiled executable. */
declare const STACKSIDE_CONSOLE: ConsoleBundle | undefined;

function decodeBundle({ script, style, files }: ConsoleBundle): ConsoleFiles {
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));
  const byName = files.map(
    ({ name, type, zstd, gzip, br }) => [name, { type, zstd: bytes(zstd), gzip: bytes(gzip), br: bytes(br) }] as const,
  );
  return { script, style, byName: new Map(byName) };
}

/**
 * The files of the console: from the executable, or built from the source, which takes a moment. The first call makes
 * them. Later calls return the same promise, unless it failed.
 */
export const consoleFiles: Lazy<Promise<ConsoleFiles>> = lazy(async () => {
  try {
    if (typeof STACKSIDE_CONSOLE !== 'undefined') return decodeBundle(STACKSIDE_CONSOLE);
    return decodeBundle(await (await import('./bundle.ts')).bundleConsole());
  } catch (error) {
    consoleFiles.clear();
    throw error;
  }
});
