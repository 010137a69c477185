/** Additional endpoints that receive every broadcast transaction. */
import { directFetch } from '../http/direct-fetch.ts';

export type BroadcastEvent =
  | { event: 'extra_endpoints_unreadable'; file: string; cause: unknown }
  | { event: 'extra_broadcast_failed'; endpoint: string; status?: number; cause?: unknown };

const TIMEOUT_MS = 10_000;

/**
 * The URLs in a file: one per line, `#` begins a comment. The file is read for each broadcast, so that it may change.
 */
async function endpointsOf(file: string, log: (event: BroadcastEvent) => void): Promise<string[]> {
  try {
    const lines = (await Bun.file(file).text()).split('\n').map((line) => line.trim());
    return lines.filter((line) => line !== '' && !line.startsWith('#'));
  } catch (cause) {
    log({ event: 'extra_endpoints_unreadable', file, cause });
    return [];
  }
}

/** An endpoint without path and query, which may hold keys, for the log. */
function shown(endpoint: string): string {
  return URL.parse(endpoint)?.origin ?? 'not a URL';
}

/**
 * Sends each broadcast to the endpoints in the file, if there is one. Their failures are logged and have no other
 * effect.
 */
export function extraBroadcasts(file: string | null, log: (event: BroadcastEvent) => void) {
  async function post(endpoint: string, body: Uint8Array<ArrayBuffer>, contentType: string): Promise<void> {
    try {
      const headers = { 'content-type': contentType };
      const response = await directFetch(endpoint, {
        method: 'POST',
        body,
        headers,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await response.body?.cancel();
      if (!response.ok) {
        log({ event: 'extra_broadcast_failed', endpoint: shown(endpoint), status: response.status });
      }
    } catch (cause) {
      log({ event: 'extra_broadcast_failed', endpoint: shown(endpoint), cause });
    }
  }

  return async (body: Uint8Array<ArrayBuffer>, contentType: string): Promise<void> => {
    if (file === null) return;
    const endpoints = await endpointsOf(file, log);
    await Promise.all(endpoints.map((endpoint) => post(endpoint, body, contentType)));
  };
}
