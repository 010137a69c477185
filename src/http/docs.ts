/** The OpenAPI document, and a page that shows it and loads nothing from other servers. */

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type AnyElysia, Elysia } from 'elysia';
import { lazy } from '../base/cache.ts';
import { type ApiDescription, completed, documentationOf, type SwaggerDocument } from './openapi.ts';
import { type Packed, packedAnswer } from './packed.ts';
import type { Responder } from './respond.ts';
import type { Plugin } from './route.ts';
import scalar from './scalar/standalone.js.gz' with { type: 'file' };

const PAGE = '/docs';
const DOCUMENT = '/docs/json';
const SCRIPT = '/docs/scalar.js';
const START = '/docs/start.js';

/** Content-Security-Policy of the page: it can reach this server only, and only styles with the nonce apply. */
const policy = (nonce: string): string =>
  [
    "default-src 'self'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "worker-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const NONCE_BYTES = 16;

/** Compresses on a thread of the runtime, since it takes as long as hundreds of requests. */
const pack = promisify(gzip);

/**
 * Makes the document of an application's routes, compressed. It is made at the first request, since most servers never get one:
 * loading `@elysiajs/swagger` takes 5 ms and 3 MB.
 */
async function documentOf(app: AnyElysia, version: string, described: ApiDescription): Promise<Packed> {
  const { swagger } = await import('@elysiajs/swagger');
  const documentation = documentationOf(version.match(/v(\S+)/)?.[1] ?? version, described);
  const documented = new Elysia()
    .use(app)
    .mapResponse(({ responseValue }) => Response.json(completed(responseValue as SwaggerDocument, described.examples)))
    .use(swagger({ documentation, path: PAGE, specPath: DOCUMENT }));
  const published = await documented.handle(new Request(`http://localhost${DOCUMENT}`));
  if (!published.ok) throw new Error(`the OpenAPI document has status ${published.status}`);
  return { gzip: await pack(await published.arrayBuffer()) };
}

/**
 * Makes the plugin that serves the document and its page.
 * @param version the text of `server_version`
 */
export const docs =
  (respond: Responder, version: string, described: ApiDescription): Plugin =>
  (app) => {
    // Routes don't change while a server runs.
    const document = lazy(() => documentOf(app, version, described));
    const hidden = { detail: { hide: true } };
    const script = { ...respond.common(), 'content-type': 'text/javascript; charset=utf-8' };
    return app
      .get(DOCUMENT, async ({ request }) => packedAnswer(request, await document(), respond.jsonHeaders()), hidden)
      .get(PAGE, () => pageAnswer(respond, described), hidden)
      .get(START, () => new Response(START_SCRIPT, { headers: { ...script, 'cache-control': 'no-cache' } }), hidden)
      .get(
        SCRIPT,
        ({ request }) =>
          packedAnswer(request, { gzip: Bun.file(scalar) }, { ...script, 'cache-control': 'public, max-age=86400' }),
        hidden,
      );
  };

/** Settings of the page's script. */
const scalarConfig = {
  url: DOCUMENT,
  withDefaultFonts: false,
  hideClientButton: true,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
};

/** The page. Its script reads the settings, and renders everything else. */
function pageAnswer(respond: Responder, { title, description }: ApiDescription): Response {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES)).toHex();
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${Bun.escapeHTML(description)}">
<meta property="csp-nonce" content="${nonce}">
<title>${Bun.escapeHTML(title)}</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">body { margin: 0; }</style>
</head>
<body>
<script id="api-reference" data-configuration="${Bun.escapeHTML(JSON.stringify(scalarConfig))}"></script>
<script src="${START}"></script>
<script src="${SCRIPT}"></script>
</body>
</html>
`;
  const headers = {
    ...respond.common(),
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': policy(nonce),
    'x-content-type-options': 'nosniff',
  };
  return new Response(page, { headers });
}

/**
 * Runs before the page's script, which breaks the policy in three ways: style sheets get the nonce, style attributes are set
 * through the DOM, which the policy allows, and Zod doesn't try to compile code.
 */
const START_SCRIPT = `'use strict';
{
  globalThis.__zod_globalConfig = { jitless: true };
  const nonce = document.querySelector('meta[property=csp-nonce]').content;
  const { createElement } = Document.prototype;
  Document.prototype.createElement = function (...given) {
    const element = createElement.apply(this, given);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
  const { setAttribute } = Element.prototype;
  Element.prototype.setAttribute = function (name, value) {
    if (name === 'style') this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
  const innerHTML = Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML');
  Object.defineProperty(Element.prototype, 'innerHTML', {
    ...innerHTML,
    set(html) {
      innerHTML.set.call(this, String(html ?? '').replace(/(<[a-z][^<>]*\\s)style="/gi, '$1data-style="'));
      for (const element of (this.content ?? this).querySelectorAll('[data-style]')) {
        element.style.cssText = element.dataset.style;
        delete element.dataset.style;
      }
    },
  });
}
`;
