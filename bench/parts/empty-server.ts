/** The least an HTTP server of this runtime does: what the API's routes are held against. */
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
process.stdout.write(`${JSON.stringify({ api: server.url.origin })}\n`);
