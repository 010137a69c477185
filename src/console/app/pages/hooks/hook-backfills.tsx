/** Backfills of a chainhook: deliveries for past blocks, with their progress. */
import type { TargetedEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { api, bodyOf, doneOf } from '../../api/api.ts';
import { hookVersion } from '../../api/hook-version.ts';
import { tip } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count } from '../../chain/format.ts';
import { Meter } from '../../ui/cost.tsx';
import { Panel, Show, Table } from '../../ui/parts.tsx';
import { useAction } from '../../ui/use-action.ts';
import { Ago, Badge } from '../../ui/values.tsx';

const MOST = 25;
const TONES = { queued: 'wait', running: 'wait', completed: 'ok', cancelled: 'plain', failed: 'bad' } as const;

export function Backfills({ hook }: { hook: string }) {
  const params = { path: { uuid: hook }, query: { limit: MOST } };
  const backfills = useAnswer(
    `backfills ${hook}`,
    (signal) => bodyOf(api.GET('/chainhooks/me/{uuid}/backfills', { params, signal })),
    hookVersion(),
  );
  const { run, problem } = useAction(backfills.retry);
  const cancel = (job: string) =>
    run(
      () => doneOf(api.DELETE('/chainhooks/me/{uuid}/backfills/{job}', { params: { path: { uuid: hook, job } } })),
      'The backfill is cancelled',
    );
  return (
    <>
      <NewBackfill hook={hook} started={backfills.retry} />
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <Panel title="Backfills" source={`/chainhooks/me/${hook}/backfills`}>
        <Show loaded={backfills}>
          {({ results }) => (
            <Table
              label="Backfills"
              rows={results}
              keyOf={({ id }) => id}
              empty="No past blocks were delivered yet."
              columns={[
                {
                  name: 'Blocks',
                  class: 'nowrap',
                  cell: ({ from_height: from, to_height: to }) => `${count(from)} to ${count(to)}`,
                },
                {
                  name: 'State',
                  class: 'nowrap',
                  cell: ({ state, dry_run: dry }) => (
                    <>
                      <Badge tone={TONES[state]}>{state}</Badge> {dry ? <span class="quiet">dry run</span> : null}
                    </>
                  ),
                },
                {
                  name: 'Searched',
                  class: 'number',
                  cell: ({ from_height: from, to_height: to, next_height: next }) => (
                    <Meter value={next - from} most={to - from + 1} />
                  ),
                },
                { name: 'Matches', class: 'number medium', cell: ({ matched_blocks: blocks }) => count(blocks) },
                { name: 'Delivered', class: 'number medium', cell: ({ deliveries }) => count(deliveries.delivered) },
                { name: 'Begun', class: 'number wide', cell: ({ created_at: at }) => <Ago at={at} /> },
                {
                  name: 'Actions',
                  class: 'number',
                  cell: ({ id, state }) =>
                    state === 'queued' || state === 'running' ? (
                      <button type="button" onClick={() => cancel(id)}>
                        Cancel
                      </button>
                    ) : null,
                },
              ]}
            />
          )}
        </Show>
      </Panel>
    </>
  );
}

function NewBackfill({ hook, started }: { hook: string; started: () => void }) {
  const from = useRef<HTMLInputElement>(null);
  const to = useRef<HTMLInputElement>(null);
  const [dry, setDry] = useState(false);
  const { run, problem, busy } = useAction(started);
  const submit = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    const body = {
      from_height: from.current?.valueAsNumber ?? 1,
      to_height: to.current?.valueAsNumber ?? 1,
      dry_run: dry,
    };
    run(
      () => doneOf(api.POST('/chainhooks/me/{uuid}/backfills', { params: { path: { uuid: hook } }, body })),
      'The backfill is queued',
    );
  };
  const height = tip.value?.height ?? 1;
  return (
    <Panel title="Deliver past blocks">
      <form class="panel-body form row" onSubmit={submit}>
        <label>
          From block
          <input ref={from} type="number" min={1} max={height} defaultValue="1" required />
        </label>
        <label>
          To block
          <input ref={to} type="number" min={1} max={height} defaultValue={String(height)} required />
        </label>
        <label class="check">
          <input type="checkbox" checked={dry} onChange={({ currentTarget }) => setDry(currentTarget.checked)} />
          Only count the matches
        </label>
        <button type="submit" class="primary" disabled={busy}>
          Begin
        </button>
        {problem === null ? null : (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
      </form>
    </Panel>
  );
}
