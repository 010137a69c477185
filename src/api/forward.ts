/** Requests that one thread passes on to another. */
import { directFetch } from '../direct-fetch.ts';
import { pathAndQuery } from './conventions/request-url.ts';

/** Passes requests on to a server of ours, as they are. */
export const forwardTo =
  (origin: string) =>
  async (request: Request): Promise<Response> => {
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
    const response = await directFetch(origin + pathAndQuery(request.url), {
      method: request.method,
      headers: request.headers,
      body: hasBody ? await request.arrayBuffer() : null,
      redirect: 'manual',
      decompress: false,
      signal: request.signal,
    });
    return new Response(response.body, { status: response.status, headers: response.headers });
  };
