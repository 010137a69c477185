/** One chainhook: how it does, its deliveries, its definition, backfills, and a receiver to copy. */
import { api, bodyOf, doneOf } from '../../api/api.ts';
import { hookVersion } from '../../api/hook-version.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, visible } from '../../chain/format.ts';
import { type Hook as HookObject, healthOf } from '../../chain/hook-status.ts';
import { Copy } from '../../ui/copy.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Figures } from '../../ui/figures.tsx';
import { Page, Panel, Show, Tabs, tabOf } from '../../ui/parts.tsx';
import { go, pathTo } from '../../ui/router.ts';
import { Scrollable } from '../../ui/scrollable.tsx';
import { useAction } from '../../ui/use-action.ts';
import { Ago } from '../../ui/values.tsx';
import { Backfills } from './hook-backfills.tsx';
import { Deliveries } from './hook-deliveries.tsx';
import { SampleReceiver } from './hook-receiver.tsx';
import { TestDelivery } from './hook-test.tsx';
import { HealthBadge } from './hooks.tsx';

const TABS = [
  ['deliveries', 'Deliveries'],
  ['backfills', 'Backfills'],
  ['definition', 'Definition'],
  ['receiver', 'Receiver'],
] as const;

export function Hook({ id }: { id: string }) {
  const params = { path: { uuid: id } };
  const hook = useAnswer(
    `hook ${id}`,
    (signal) => bodyOf(api.GET('/chainhooks/me/{uuid}', { params, signal })),
    hookVersion(),
  );
  const { data } = hook;
  return (
    <Page
      kind="Chainhook"
      title={data === null ? id : visible(data.definition.name === '' ? id : data.definition.name)}
      beside={data === null ? null : <HealthBadge hook={data} />}
      lead={data === null ? null : <code class="break">{data.definition.action.url}</code>}
    >
      <Show loaded={hook} rows={5}>
        {(found) => (
          <>
            <State hook={found} />
            <Actions hook={found} changed={hook.retry} />
            <Tabs label="Parts of the chainhook" tabs={TABS} />
            <Tab hook={found} />
          </>
        )}
      </Show>
    </Page>
  );
}

function Tab({ hook }: { hook: HookObject }) {
  switch (tabOf(TABS)) {
    case 'backfills':
      return <Backfills hook={hook.uuid} />;
    case 'definition':
      return <Definition hook={hook} />;
    case 'receiver':
      return <SampleReceiver />;
    default:
      return <Deliveries hook={hook.uuid} />;
  }
}

function State({ hook }: { hook: HookObject }) {
  const { note, tone } = healthOf(hook);
  const { status } = hook;
  return (
    <>
      {note === null ? null : (
        <section class={`note ${tone}`} aria-label="State of the chainhook" aria-live="polite">
          <p class="break">{visible(note)}</p>
        </section>
      )}
      {status.warnings.map((warning) => (
        <section key={warning} class="note wait" aria-label="Warning">
          <p class="break">{visible(warning)}</p>
        </section>
      ))}
      <Figures
        label="The chainhook now"
        figures={[
          {
            name: 'Waiting deliveries',
            value: count(status.pending_deliveries),
            note:
              status.oldest_pending_at === null ? undefined : (
                <>
                  oldest <Ago at={status.oldest_pending_at} />
                </>
              ),
          },
          {
            name: 'Last delivery',
            value: status.last_delivery_at === null ? '–' : <Ago at={status.last_delivery_at} />,
            note:
              status.last_delivery_status_code === null ? undefined : `answered ${status.last_delivery_status_code}`,
          },
          { name: 'Failures in a row', value: count(status.consecutive_failures) },
          {
            name: 'Matching blocks',
            value: count(status.occurrence_count),
            note: `of ${count(status.evaluated_block_count)} evaluated`,
          },
          { name: 'Blocks behind', value: count(status.lag_blocks) },
        ]}
      />
    </>
  );
}

function Actions({ hook: { uuid, status, definition }, changed }: { hook: HookObject; changed: () => void }) {
  const { run, problem, busy } = useAction(changed);
  const params = { path: { uuid } };
  const setEnabled = (enabled: boolean) =>
    run(
      () => doneOf(api.PATCH('/chainhooks/me/{uuid}/enabled', { params, body: { enabled } })),
      enabled ? 'The chainhook is enabled' : 'The chainhook is paused',
    );
  const remove = () =>
    run(async () => {
      await doneOf(api.DELETE('/chainhooks/me/{uuid}', { params }));
      go(pathTo('hooks'));
    }, 'The chainhook is deleted');
  return (
    <>
      <div class="buttons">
        <button type="button" disabled={busy} onClick={() => setEnabled(!status.enabled)}>
          {status.enabled ? 'Pause' : 'Enable'}
        </button>
        <a class="button" href={pathTo('editHook', { id: uuid })}>
          Edit
        </a>
        <Confirm action="Delete" question={`Delete “${visible(definition.name)}”?`} onConfirm={remove}>
          Nothing more is delivered. The log of its deliveries stays for a while.
        </Confirm>
        <TestDelivery hook={uuid} />
      </div>
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

function Definition({ hook: { uuid, definition } }: { hook: HookObject }) {
  const text = JSON.stringify(definition, null, 2);
  return (
    <Panel title="Definition" source={`/chainhooks/me/${uuid}`} aside={<Copy text={text} what="definition" />}>
      <Scrollable label="Definition as JSON" class="code">
        {visible(text)}
      </Scrollable>
    </Panel>
  );
}
