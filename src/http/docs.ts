/** The OpenAPI document. The console's API reference shows it. */

import { type AnyElysia, Elysia } from 'elysia';
import { lazy } from '../base/cache.ts';
import { type Packed, packed, packedAnswer } from './content-coding.ts';
import { type ApiDescription, complete, documentationOf, type SwaggerDocument } from './openapi.ts';
import type { Responder } from './respond.ts';
import type { Plugin } from './route.ts';

const DOCUMENT = '/docs/json';

/**
 * Makes the document of an application's routes, compressed. It is made at the first request, since most servers never get one:
 * loading `@elysiajs/swagger` takes 5 ms and 3 MB.
 */
async function makeDocument(app: AnyElysia, version: string, described: ApiDescription): Promise<Packed> {
  const { swagger } = await import('@elysiajs/swagger');
  const documentation = documentationOf(version.match(/v(\S+)/)?.[1] ?? version, described);
  const documented = new Elysia()
    .use(app)
    .mapResponse(({ responseValue }) => Response.json(complete(responseValue as SwaggerDocument, described.examples)))
    .use(swagger({ documentation, specPath: DOCUMENT }));
  const published = await documented.handle(new Request(`http://localhost${DOCUMENT}`));
  if (!published.ok) throw new Error(`the OpenAPI document has status ${published.status}`);
  return packed(await published.arrayBuffer());
}

/**
 * Makes the plugin that serves the document.
 * @param version the text of `server_version`
 */
export const docs =
  (respond: Responder, version: string, described: ApiDescription): Plugin =>
  (app) => {
    // Routes don't change while a server runs.
    const document = lazy(() => makeDocument(app, version, described));
    return app.get(DOCUMENT, async ({ request }) => packedAnswer(request, await document(), respond.jsonHeaders()), {
      detail: { hide: true },
    });
  };
