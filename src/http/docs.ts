/** The API described: the OpenAPI document, and a page to read it that loads nothing from elsewhere. */
import { swagger } from '@elysiajs/swagger';
import { type AnyElysia, Elysia } from 'elysia';
import type { Responder } from './respond.ts';
import { DECLARED, type Declared } from './route.ts';
import script from './scalar/standalone.js.gz' with { type: 'file' };

const PAGE = '/docs';
const DOCUMENT = '/docs/json';
const SCRIPT = '/docs/scalar.js';

const INFO = {
  title: 'Stackside',
  description: 'Chain data of the Stacks blockchain: blocks, transactions, principals, tokens.',
};

/** Nothing but this server is asked, whatever the script would like to. */
const POLICY = [
  "default-src 'self'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "worker-src 'self' blob:",
].join('; ');

/** @param version the text of `server_version` */
export function docs(respond: Responder, version: string): AnyElysia {
  const reference = swagger({
    provider: 'scalar',
    path: PAGE,
    specPath: DOCUMENT,
    scalarCDN: SCRIPT,
    scalarConfig,
    documentation: {
      openapi: '3.1.0',
      info: { ...INFO, version: version.match(/v(\S+)/)?.[1] ?? version },
    },
  });
  // The plugin's own route for its page is a fixed response, which no hook can give headers: it is replaced.
  const html = Promise.resolve(reference.handle(new Request(`http://localhost${PAGE}`))).then((page) => page.text());
  const hidden = { detail: { hide: true } };
  return new Elysia({ name: 'docs' })
    .mapResponse(({ responseValue }) =>
      responseValue instanceof Response ? responseValue : respond.json(200, withDeclarations(responseValue)),
    )
    .use(reference)
    .get(PAGE, async () => new Response(await html, { headers: pageHeaders(respond) }), hidden)
    .get(SCRIPT, ({ request }) => scriptAnswer(request, respond), hidden);
}

/** The document with each route as it declares itself: the router knows its parameters by their places alone. */
function withDeclarations(document: unknown): unknown {
  if (typeof document !== 'object' || document === null || !('paths' in document)) return document;
  const paths: Record<string, Record<string, object>> = {};
  for (const [routed, methods] of Object.entries(document.paths as Record<string, Record<string, object>>)) {
    for (const [method, entry] of Object.entries(methods)) {
      const { [DECLARED]: declared } = entry as { [DECLARED]?: Declared };
      const path = declared?.path ?? routed;
      paths[path] = { ...paths[path], [method]: declared?.operation ?? entry };
    }
  }
  return { ...document, paths };
}

const pageHeaders = (respond: Responder) => ({
  ...respond.common(),
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
  'content-security-policy': POLICY,
});

/** The page's script as it is kept, compressed, for a client that takes gzip, and unpacked for others. */
async function scriptAnswer(request: Request, respond: Responder): Promise<Response> {
  const headers = {
    ...respond.common(),
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=86400',
    vary: 'accept-encoding',
  };
  if (takesGzip(request)) {
    return new Response(Bun.file(script), { headers: { ...headers, 'content-encoding': 'gzip' } });
  }
  return new Response(Bun.gunzipSync(await Bun.file(script).bytes()), { headers });
}

/** Whether `Accept-Encoding` names gzip, or anything, without the weight 0 (RFC 9110, 12.5.3). */
const takesGzip = (request: Request): boolean =>
  (request.headers.get('accept-encoding') ?? '').split(',').some((coding) => {
    const [name, weight = ''] = coding.split(';').map((part) => part.trim().toLowerCase());
    return (name === 'gzip' || name === '*') && !/^q=0(\.0*)?$/.test(weight);
  });

/** Beyond what the plugin's types know of the page's own settings. */
const scalarConfig = {
  spec: { url: DOCUMENT },
  customCss: '',
  withDefaultFonts: false,
  hideClientButton: true,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
};
