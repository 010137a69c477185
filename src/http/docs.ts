/** The API described: the OpenAPI document, and a page to read it that loads nothing from elsewhere. */
import { type AnyElysia, Elysia } from 'elysia';
import { madeOnce } from '../base/made-once.ts';
import { heightComponents, KEY_SCHEME, type RecordedExample, withExample, withHeights } from './openapi.ts';
import { packedAnswer } from './packed.ts';
import type { Responder } from './respond.ts';
import { type Route, routerPath } from './route.ts';
import script from './scalar/standalone.js.gz' with { type: 'file' };

const PAGE = '/docs';
const DOCUMENT = '/docs/json';
const SCRIPT = '/docs/scalar.js';

/** What the document says besides the routes. */
export interface ApiDescription {
  title: string;
  description: string;
  tags: { name: string; description: string }[];
  /** Recorded examples by operation id. */
  examples: Readonly<Record<string, RecordedExample>>;
}

/**
 * The address the document was asked for, whatever proxies stand before: a relative URL is resolved by whoever reads it.
 */
const SERVERS = [{ url: '/', description: 'The server that serves this document' }];

/** Nothing but this server is asked, whatever the script would like to. */
const POLICY = [
  "default-src 'self'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "worker-src 'self' blob:",
].join('; ');

/** What answers requests for the description. */
interface Texts {
  page: string;
  document: string;
}

/**
 * Makes the document and its page. The plugin that does it is loaded here, since most servers are never asked for either.
 * @param routes those to describe
 */
async function textsOf(
  routes: readonly Route[],
  version: string,
  { title, description, tags, examples }: ApiDescription,
): Promise<Texts> {
  const { swagger } = await import('@elysiajs/swagger');
  const app = new Elysia().use(
    swagger({
      provider: 'scalar',
      path: PAGE,
      specPath: DOCUMENT,
      scalarCDN: SCRIPT,
      scalarConfig,
      documentation: {
        openapi: '3.1.0',
        info: { title, description, version: version.match(/v(\S+)/)?.[1] ?? version },
        servers: SERVERS,
        tags,
        components: { securitySchemes: { [KEY_SCHEME]: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } } },
      },
    }),
  );
  for (const { method, path, hidden, snapshot, detail } of routes) {
    if (hidden) continue;
    const declared: Declared = { path, operation: detail, snapshot };
    const shown = { summary: detail.summary, [DECLARED]: declared };
    app.route(method, routerPath(path), '', { detail: shown });
  }
  const answer = (path: string) => app.handle(new Request(`http://localhost${path}`));
  const [page, document] = await Promise.all([answer(PAGE), answer(DOCUMENT)]);
  return {
    page: await page.text(),
    document: JSON.stringify(withDeclarations(await document.json(), examples)),
  };
}

/**
 * The routes of the document and its page.
 * @param version the text of `server_version`
 * @param routes those to describe
 */
export function docs(
  respond: Responder,
  version: string,
  described: ApiDescription,
  routes: readonly Route[],
): AnyElysia {
  // Routes don't change while a server runs, and the document is megabytes of text.
  const texts = madeOnce(() => textsOf(routes, version, described));
  const hidden = { detail: { hide: true } };
  return new Elysia({ name: 'docs' })
    .get(DOCUMENT, async () => respond.jsonText(200, (await texts()).document), hidden)
    .get(PAGE, async () => new Response((await texts()).page, { headers: pageHeaders(respond) }), hidden)
    .get(SCRIPT, ({ request }) => scriptAnswer(request, respond), hidden);
}

/** What stands in the plugin's document for a route's own entry. */
const DECLARED = 'x-declared';

interface Declared {
  /** The path with the names of its parameters. */
  path: string;
  operation: Route['detail'];
  /** Whether the index is read. */
  snapshot: boolean;
}

function entryOf({ operation, snapshot }: Declared, examples: ApiDescription['examples']): object {
  const entry = withExample(operation, examples);
  return snapshot ? withHeights(entry) : entry;
}

/** The document with each route as it declares itself: the router knows its parameters by their places alone. */
function withDeclarations(document: unknown, examples: ApiDescription['examples']): unknown {
  if (typeof document !== 'object' || document === null || !('paths' in document)) return document;
  const paths: Record<string, Record<string, object>> = {};
  for (const [routed, methods] of Object.entries(document.paths as Record<string, Record<string, object>>)) {
    for (const [method, entry] of Object.entries(methods)) {
      const { [DECLARED]: declared } = entry as { [DECLARED]?: Declared };
      const path = declared?.path ?? routed;
      paths[path] = {
        ...paths[path],
        [method]: declared === undefined ? entry : entryOf(declared, examples),
      };
    }
  }
  const components = 'components' in document ? (document.components as object) : {};
  return { ...document, components: { ...components, ...heightComponents }, paths };
}

const pageHeaders = (respond: Responder) => ({
  ...respond.common(),
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
  'content-security-policy': POLICY,
});

/** The page's script. */
const scriptAnswer = (request: Request, respond: Responder): Promise<Response> =>
  packedAnswer(
    request,
    { gzip: Bun.file(script) },
    {
      ...respond.common(),
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=86400',
    },
  );

/** Settings of the page; the plugin's types know only some of them. */
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
