/** One delivery sent at once, with what the receiver said. */
import { useState } from 'preact/hooks';
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { visible } from '../../chain/format.ts';
import { useAction } from '../../ui/use-action.ts';

type Outcome = Answer<'/chainhooks/me/{uuid}/test', 'post'>;

export function TestDelivery({ hook }: { hook: string }) {
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const { run, problem, busy } = useAction();
  const send = () =>
    run(async () => {
      setOutcome(null);
      setOutcome(await bodyOf(api.POST('/chainhooks/me/{uuid}/test', { params: { path: { uuid: hook } }, body: {} })));
    }, 'The test was sent');
  return (
    <>
      <button type="button" disabled={busy} onClick={send}>
        {busy ? 'Sending…' : 'Send a test'}
      </button>
      {outcome === null ? null : <TestOutcome outcome={outcome} />}
      {problem === null ? null : (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}

const TestOutcome = ({ outcome }: { outcome: Outcome }) => (
  <span class={outcome.ok ? 'outcome ok' : 'outcome bad'} role="status">
    {outcome.status_code === null
      ? visible(outcome.error ?? 'No answer came.')
      : `The receiver answered ${outcome.status_code} after ${outcome.duration_ms} ms.`}
    {outcome.response_excerpt === null || outcome.response_excerpt === '' ? null : (
      <code> {visible(outcome.response_excerpt.slice(0, 200))}</code>
    )}
  </span>
);
