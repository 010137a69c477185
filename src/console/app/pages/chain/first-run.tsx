/** The page of a server without a block: a checklist that follows the server, with the one next step. */
import type { ComponentChildren } from 'preact';
import { type FirstStep, firstSteps } from '../../chain/first-run.ts';
import { chainState, stateTitle } from '../../chain/state.ts';
import type { ServerStatus } from '../../chain/types.ts';
import { Copy } from '../../ui/parts.tsx';
import { Badge } from '../../ui/values.tsx';

export function FirstRun({ status }: { status: ServerStatus }) {
  const steps = firstSteps(status);
  const hasOpen = steps.some(({ progress }) => progress === 'now');
  return (
    <section class="panel" aria-label="First steps">
      <header class="panel-head row spread">
        <h2>Until the first block</h2>
      </header>
      <ol class="panel-body stack" aria-live="polite" aria-label="Checklist">
        {steps.map((step) => (
          <Step key={step.name} {...step}>
            {step.progress === 'now' ? <NextStep status={status} /> : null}
          </Step>
        ))}
      </ol>
      {hasOpen ? null : <NextStep status={status} />}
    </section>
  );
}

const MARKS = { done: 'done', now: 'next', later: 'open' };
const TONES = { done: 'ok', now: 'wait', later: 'plain' } as const;

const Step = ({ name, text, progress, children }: FirstStep & { children: ComponentChildren }) => (
  <li class="stack">
    <p>
      <Badge tone={TONES[progress]}>{MARKS[progress]}</Badge> <strong>{name}</strong> {text}
    </p>
    {children}
  </li>
);

/** Renders the reason why no block arrives, and the next step, in the server's words. */
function NextStep({ status }: { status: ServerStatus }) {
  const { state, reason, next, observer } = status;
  return (
    <section class={`note stack ${chainState(status, false).tone === 'bad' ? 'bad' : 'wait'}`} aria-label="Next step">
      <div class="row spread">
        <h3>{stateTitle(state)}</h3>
        {observer === null ? null : <Copy text={observer} what="configuration" />}
      </div>
      {reason === null ? null : <p>{reason}</p>}
      <p>{next}</p>
      {observer === null ? null : <pre class="code scroll boxed">{observer}</pre>}
    </section>
  );
}
