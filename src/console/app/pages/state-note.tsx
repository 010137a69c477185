/** The state of the server, with its reason and the next step in the server's words. */
import type { ComponentChildren } from 'preact';
import { chainState, stateTitle } from '../chain/state.ts';
import type { ServerStatus } from '../chain/types.ts';
import { Copy } from '../ui/parts.tsx';

const AWAY =
  'The node’s RPC interface does not answer. Check that the node runs, and check --node-rpc. Indexed data stays available.';

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
  return (
    <section class={`note stack ${tone === 'bad' ? 'bad' : 'wait'}`} aria-label={label} aria-live="polite">
      <div class="row spread">
        <h2>{isLive ? 'The node is away' : stateTitle(state)}</h2>
        {observer === null ? null : <Copy text={observer} name="configuration" />}
      </div>
      {isLive || reason !== null ? <p>{isLive ? AWAY : reason}</p> : null}
      {isLive ? null : <p>{next}</p>}
      {observer === null ? null : <pre class="code scroll boxed">{observer}</pre>}
      {children}
    </section>
  );
}
