/** The state of the server and its node, read every few seconds for all pages. */
import { effect, signal } from '@preact/signals';
import { assertRequestError, get, type RequestError } from '../api/api.ts';
import { tipVersion } from '../api/live.ts';
import { liveQuery } from '../api/live-query.ts';
import type { Loaded } from '../api/use-answer.ts';
import type { ServerStatus } from '../chain/types.ts';

interface LastStatus {
  status: ServerStatus | null;
  /** Error of the last request; null if it succeeded. */
  error: RequestError | null;
}

/** The last status of the server. */
export const server = signal<LastStatus>({ status: null, error: null });

const EVERY_MS = 5_000;
const statusQuery = liveQuery({
  load: (signal) => get('/stackside/v1/status', {}, signal),
  onAnswer(status) {
    server.value = { status, error: null };
  },
  onError(error) {
    assertRequestError(error);
    server.value = { ...server.value, error };
  },
});

/** Starts to read the status: every few seconds while the page is visible, and at each block. Called once. */
export function startServerStatus(): void {
  effect(() => {
    tipVersion.value;
    statusQuery.refresh();
  });
  setInterval(() => {
    if (!document.hidden) statusQuery.refresh();
  }, EVERY_MS);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) statusQuery.refresh();
  });
}

/** Returns the status as the state of a component. */
export const useServerStatus = (): Loaded<ServerStatus> => ({
  data: server.value.status,
  error: server.value.error,
  source: '/stackside/v1/status',
  retry: statusQuery.restart,
});

/** Reports whether the node of this server is simulated; null until the status was read. */
export const isDevnet = (): boolean | null => server.value.status?.simulated_node ?? null;
