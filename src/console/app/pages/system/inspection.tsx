/** One inspection of the index: its button, its progress, and what it found. */
import type { ComponentChildren } from 'preact';
import { api, doneOf } from '../../api/api.ts';
import { count, duration } from '../../chain/format.ts';
import { now } from '../../ui/clock.ts';
import { Panel } from '../../ui/parts.tsx';
import { useAction } from '../../ui/use-action.ts';
import { Ago, Badge } from '../../ui/values.tsx';

interface State {
  state: 'running' | 'done' | 'failed' | 'cancelled';
  started_at: number;
  ended_at: number | null;
  progress: { number: number; of: number; name: string; detail: string } | null;
  problem: string | null;
}

interface InspectionProps {
  kind: 'check' | 'tables';
  title: string;
  action: string;
  explanation: string;
  /** Null where none was started. */
  inspection: State | null;
  /** Whether any inspection runs. */
  isBusy: boolean;
  /** Called when one was started or cancelled. */
  changed: () => void;
  children: ComponentChildren;
}

const SOURCE = '/stackside/v1/inspections';

export function Inspection(props: InspectionProps) {
  const { kind, title, action, explanation, inspection, isBusy, changed, children } = props;
  const { run, problem, busy } = useAction(changed);
  const isRunning = inspection?.state === 'running';
  const start = () => run(() => doneOf(api.POST('/stackside/v1/inspections', { body: { kind } })), `${title} started`);
  const cancel = () => run(() => doneOf(api.DELETE('/stackside/v1/inspections')), `${title} cancelled`);
  return (
    <Panel title={title} source={SOURCE} aside={inspection === null ? null : <Outcome inspection={inspection} />}>
      <div class="panel-body">
        <p class="quiet">{explanation}</p>
        {isRunning ? <Progress inspection={inspection} /> : null}
        <div class="buttons">
          {isRunning ? (
            <button type="button" disabled={busy} onClick={cancel}>
              Cancel
            </button>
          ) : (
            <button type="button" disabled={busy || isBusy} onClick={start}>
              {action}
            </button>
          )}
        </div>
        {problem === null && inspection?.problem == null ? null : (
          <p class="problem" role="alert">
            {problem ?? inspection?.problem}
          </p>
        )}
      </div>
      {children}
    </Panel>
  );
}

function Progress({ inspection: { progress, started_at: start } }: { inspection: State }) {
  const spent = duration(now.value - start);
  if (progress === null) return <p aria-live="polite">It begins. {spent}</p>;
  const { number, of, name, detail } = progress;
  const share = (100 * (number - 1)) / of;
  return (
    <>
      <div class="progress" role="progressbar" aria-label="Steps done" aria-valuenow={Math.floor(share)}>
        <span style={{ width: `${share}%` }} />
      </div>
      <p class="break">
        Step {count(number)} of {count(of)}: {name}
        {detail === '' ? '' : `, ${detail}`} <span class="quiet">for {spent}</span>
      </p>
    </>
  );
}

const OUTCOMES = {
  running: ['wait', 'Running'],
  done: ['ok', 'Done'],
  failed: ['bad', 'Failed'],
  cancelled: ['wait', 'Cancelled'],
} as const;

function Outcome({ inspection: { state, ended_at: end } }: { inspection: State }) {
  const [tone, text] = OUTCOMES[state];
  return (
    <>
      <Badge tone={tone}>{text}</Badge>
      {end === null ? null : <Ago at={end} />}
    </>
  );
}
