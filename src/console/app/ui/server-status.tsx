/**
 * The state of the server and its node, read every few seconds for all pages, with its reason and the next step in the
 * server's words.
 */
import { effect, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { assertRequestError, get, type RequestError, type ServerStatus } from '../api/api.ts';
import { tipVersion } from '../api/live.ts';
import { liveQuery } from '../api/live-query.ts';
import type { Loaded } from '../api/use-answer.ts';
import { chainState, stateTitle } from '../chain/state.ts';
import { Copy } from './parts.tsx';

const AWAY =
  'The node’s RPC API doesn’t answer. Check that the node runs, and check --node-rpc. Indexed data stays available.';

interface StateNoteProps {
  status: ServerStatus;
  label?: string;
  children?: ComponentChildren;
}

/** Renders the state of a server; null if it is live and its node answers. */
export function StateNote({ status, label = 'State of the server', children }: StateNoteProps) {
  const { state, reason, next, observer, node } = status;
  const isLive = state === 'live';
  if (isLive && node.height !== null) return null;
  const { tone } = chainState(status, false);
  const texts = isLive ? [AWAY] : [reason, next].filter((text) => text !== null);
  return (
    <section class={`note stack ${tone === 'bad' ? 'bad' : 'wait'}`} aria-label={label} aria-live="polite">
      <div class="row spread">
        <h2>{isLive ? 'The node doesn’t answer' : stateTitle(state)}</h2>
        {observer === null ? null : <Copy text={observer} name="configuration" />}
      </div>
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
      {observer === null ? null : <pre class="code scroll boxed">{observer}</pre>}
      {children}
    </section>
  );
}

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
