/** Requests that one thread passes on to another. */

/** Passes requests on to a server of ours, as they are. */
export const forwardTo =
  (origin: string) =>
  async (request: Request): Promise<Response> => {
    const path = request.url.slice(request.url.indexOf('/', request.url.indexOf('://') + 3));
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
    const response = await fetch(origin + path, {
      method: request.method,
      headers: request.headers,
      body: hasBody ? await request.arrayBuffer() : null,
      redirect: 'manual',
      decompress: false,
      signal: request.signal,
    });
    return new Response(response.body, { status: response.status, headers: response.headers });
  };
