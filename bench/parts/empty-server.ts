/** The smallest HTTP server of this runtime, as a baseline for the API's routes. */
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
process.stdout.write(`${JSON.stringify({ api: server.url.origin })}\n`);
