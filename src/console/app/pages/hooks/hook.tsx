/** The page of a chainhook: its state, deliveries, backfills and definition, and sample receivers. */

import { useState } from 'preact/hooks';
import { statusReason } from '../../../../hooks/delivery/failure.ts';
import { type Answer, type Body, patch, post, remove } from '../../api/api.ts';
import { tip } from '../../api/live.ts';
import { useGet } from '../../api/use-answer.ts';
import { count, plural, visible } from '../../chain/format.ts';
import { type Hook as HookObject, healthOf, missedBlocksOf, waitingDeliveriesText } from '../../chain/hooks.ts';
import { type Language, receivers } from '../../chain/receivers.ts';
import { Check, Confirm, Form, TextField, useAction } from '../../ui/form.tsx';
import {
  Button,
  ButtonLink,
  Choices,
  Copy,
  choiceOf,
  Figures,
  ListPanel,
  Page,
  Panel,
  Problem,
  Show,
  Tabs,
  TextBlock,
  useList,
} from '../../ui/parts.tsx';
import { go, pathTo } from '../../ui/router.ts';
import { Ago, Due, Meter, StateBadge, When } from '../../ui/values.tsx';
import { Deliveries, Skip } from './deliveries.tsx';
import { HealthBadge, hookVersion, missingHookText } from './hooks.tsx';

export function Hook({ id }: { id: string }) {
  const loaded = useGet('/chainhooks/me/{uuid}', { uuid: id }, hookVersion());
  const { data } = loaded;
  return (
    <Page
      kind="Chainhook"
      title={data === null ? id : visible(data.definition.name || id)}
      aside={data === null ? null : <HealthBadge hook={data} />}
      lead={data === null ? null : <code class="break">{data.definition.action.url}</code>}
    >
      <Show loaded={loaded} rows={5} missing={missingHookText(id)}>
        {(hook) => (
          <>
            <State hook={hook} onChange={loaded.retry} />
            <Actions hook={hook} onChange={loaded.retry} />
            <Tabs
              label="Parts of the chainhook"
              tabs={[
                ['deliveries', 'Deliveries', () => <Deliveries hook={hook.uuid} />],
                ['backfills', 'Backfills', () => <Backfills hook={hook.uuid} />],
                ['definition', 'Definition', () => <Definition hook={hook} />],
                ['receiver', 'Receivers', () => <SampleReceivers />],
              ]}
            />
          </>
        )}
      </Show>
    </Page>
  );
}

function Failure({ hook, onChange }: { hook: HookObject; onChange: () => void }) {
  const { run, problem, busy } = useAction();
  const { uuid, status } = hook;
  const { failing_delivery: id, last_error: error, last_failed_at: failedAt, next_attempt_at: next } = status;
  const waiting = waitingDeliveriesText(hook);
  if (id === null) return null;
  const params = { uuid, id };
  const change = (step: 'redeliver' | 'skip', done: string) => () =>
    run(() => post(`/chainhooks/me/{uuid}/deliveries/{id}/${step}`, params), done, { onSuccess: onChange });
  const isBlocked = next !== null || status.status === 'interrupted';
  return (
    <>
      <p class="break">
        The last attempt failed{failedAt === null ? '' : ' at '}
        {failedAt === null ? null : <When time={failedAt} />}: <code>{visible(error ?? 'no answer')}</code>
      </p>
      {next === null ? null : (
        <p>
          The next attempt is at <Due time={next} />.
        </p>
      )}
      {waiting === null || !isBlocked ? null : <p>{waiting}.</p>}
      <div class="row">
        {next === null ? null : (
          <Button
            text="Try now"
            class="primary"
            disabled={busy}
            onClick={change('redeliver', 'The delivery is due now')}
          />
        )}
        {isBlocked ? <Skip onConfirm={change('skip', 'The delivery is skipped')} /> : null}
        <ButtonLink text="Open the delivery" href={pathTo('delivery', { id: uuid, delivery: id })} />
      </div>
      <Problem text={problem} />
    </>
  );
}

function State({ hook, onChange }: { hook: HookObject; onChange: () => void }) {
  const { note, tone } = healthOf(hook);
  const { status } = hook;
  const { oldest_pending_at: oldest, last_delivery_at: last, last_delivery_status_code: code } = status;
  return (
    <>
      {note === null ? null : (
        <section class={`note stack ${tone}`} aria-label="State of the chainhook" aria-live="polite">
          <p class="break">
            {status.status === 'interrupted' && status.failing_delivery !== null
              ? 'The chainhook was interrupted: nothing is sent until it is enabled again.'
              : visible(note)}
          </p>
          <Failure hook={hook} onChange={onChange} />
        </section>
      )}
      {status.warnings.map((warning) => (
        <section key={warning} class="note stack wait" aria-label="Warning">
          <p class="break">{visible(warning)}</p>
        </section>
      ))}
      <Figures
        label="The chainhook now"
        figures={[
          [
            'Waiting deliveries',
            count(status.pending_deliveries),
            oldest === null ? null : ['oldest ', <Ago time={oldest} />],
          ],
          ['Last delivery', last === null ? '–' : <Ago time={last} />, code === null ? null : `last answer ${code}`],
          ['Failures in a row', count(status.consecutive_failures)],
          ['Matching blocks', count(status.occurrence_count), `of ${count(status.evaluated_block_count)} evaluated`],
          ...(missedBlocksOf(hook) === 0 ? [['Blocks behind', count(status.lag_blocks)] as const] : []),
        ]}
      />
    </>
  );
}

function Actions({ hook, onChange }: { hook: HookObject; onChange: () => void }) {
  const { uuid, status, definition } = hook;
  const { run, problem, busy } = useAction();
  const missedBlocks = missedBlocksOf(hook);
  const change = (body: Body<'/chainhooks/me/{uuid}/enabled', 'patch'>) => () =>
    run(
      () => patch('/chainhooks/me/{uuid}/enabled', { uuid }, body),
      body.enabled ? 'The chainhook is enabled' : 'The chainhook is disabled',
      { onSuccess: onChange },
    );
  const button = (text: string, onClick: () => void) => <Button text={text} disabled={busy} onClick={onClick} />;
  const removeHook = () =>
    run(() => remove('/chainhooks/me/{uuid}', { uuid }), 'The chainhook is deleted', {
      onSuccess: () => go(pathTo('hooks')),
    });
  return (
    <>
      <div class="row">
        {status.enabled ? (
          button('Disable', change({ enabled: false }))
        ) : missedBlocks === 0 ? (
          button(status.status === 'interrupted' ? 'Enable and try again' : 'Enable', change({ enabled: true }))
        ) : (
          <>
            {button(
              `Enable and catch up on ${plural(missedBlocks, 'block')}`,
              change({ enabled: true, resume_from: 'last_evaluated' }),
            )}
            {button('Enable from the next block', change({ enabled: true, resume_from: 'tip' }))}
          </>
        )}
        <ButtonLink text="Edit" href={pathTo('editHook', { id: uuid })} />
        <Confirm action="Delete" question={`Delete “${visible(definition.name)}”?`} onConfirm={removeHook}>
          The chainhook sends nothing more. Its delivery log stays until retention removes it.
        </Confirm>
        <TestDelivery hook={uuid} />
      </div>
      <Problem text={problem} />
    </>
  );
}

function Definition({ hook: { uuid, definition } }: { hook: HookObject }) {
  const text = JSON.stringify(definition, null, 2);
  return (
    <Panel title="Definition" source={`/chainhooks/me/${uuid}`} aside={<Copy text={text} name="definition" />}>
      <TextBlock label="Definition as JSON" text={text} />
    </Panel>
  );
}

function TestDelivery({ hook }: { hook: string }) {
  const { run, result, problem, busy } = useAction<Answer<'/chainhooks/me/{uuid}/test', 'post'>>();
  const reason = statusReason(result?.status_code ?? 0);
  const send = () => run(() => post('/chainhooks/me/{uuid}/test', { uuid: hook }, {}), 'The test was sent');
  return (
    <>
      <Button text={busy ? 'Sending…' : 'Send a test'} disabled={busy} onClick={send} />
      {result === null ? null : (
        <span class={result.ok ? 'ok' : 'bad'} role="status">
          {result.status_code === null
            ? visible(result.error ?? 'No answer came.')
            : `The receiver answered ${result.status_code} after ${result.duration_ms} ms${reason === '' ? '' : `: ${reason}`}.`}
          {result.response_excerpt ? <code> {visible(result.response_excerpt.slice(0, 200))}</code> : null}
        </span>
      )}
      <Problem text={problem} />
    </>
  );
}

function Backfills({ hook }: { hook: string }) {
  const backfills = useList('/chainhooks/me/{uuid}/backfills', { uuid: hook }, hookVersion());
  const { run, problem } = useAction();
  const cancel = (job: string) =>
    run(() => remove('/chainhooks/me/{uuid}/backfills/{job}', { uuid: hook, job }), 'The backfill is cancelled', {
      onSuccess: backfills.retry,
    });
  return (
    <>
      <NewBackfill hook={hook} onStart={backfills.retry} />
      <Problem text={problem} />
      <ListPanel
        title="Backfills"
        loaded={backfills}
        item="backfill"
        keyOf={({ id }) => id}
        empty="No past blocks were delivered yet."
        stacked
        columns={[
          ['Blocks', 'first nowrap', ({ from_height: from, to_height: to }) => `${count(from)} to ${count(to)}`],
          [
            'State',
            'nowrap',
            ({ state, dry_run: dry }) => (
              <>
                <StateBadge state={state} /> {dry ? <span class="quiet">dry run</span> : null}
              </>
            ),
          ],
          [
            'Searched',
            'number named',
            ({ from_height: from, to_height: to, next_height: next }) => (
              <Meter value={next - from} total={to - from + 1} />
            ),
          ],
          ['Matches', 'number medium named', ({ matched_blocks: blocks }) => count(blocks)],
          ['Delivered', 'number medium named', ({ deliveries }) => count(deliveries.delivered)],
          ['Created', 'number wide when', ({ created_at: time }) => <Ago time={time} />],
          [
            'Actions',
            'number',
            ({ id, state }) =>
              state === 'queued' || state === 'running' ? <Button text="Cancel" onClick={() => cancel(id)} /> : null,
          ],
        ]}
      />
    </>
  );
}

function NewBackfill({ hook, onStart }: { hook: string; onStart: () => void }) {
  const [dry, setDry] = useState(false);
  const { run, problem, busy } = useAction();
  const submit = (value: (name: string) => string) => {
    const body = { from_height: Number(value('from')), to_height: Number(value('to')), dry_run: dry };
    run(() => post('/chainhooks/me/{uuid}/backfills', { uuid: hook }, body), 'The backfill is queued', {
      onSuccess: onStart,
    });
  };
  const height = tip.value?.block_height ?? 1;
  return (
    <Panel title="Deliver past blocks">
      <Form class="panel-body form row" onSubmit={submit}>
        <TextField label="From block" name="from" type="number" min={1} max={height} defaultValue="1" required />
        <TextField label="To block" name="to" type="number" min={1} max={height} defaultValue={`${height}`} required />
        <Check checked={dry} onChange={setDry}>
          Only count the matches
        </Check>
        <Button text="Start" type="submit" class="primary" disabled={busy} />
        <Problem text={problem} />
      </Form>
    </Panel>
  );
}

const LANGUAGES = Object.entries(receivers).map(([language, { title }]) => [language as Language, title] as const);

function SampleReceivers() {
  const language = choiceOf('language', LANGUAGES);
  const { title, file, source } = receivers[language];
  return (
    <>
      <Choices label="Language" name="language" choices={LANGUAGES} chosen={language} />
      <Panel
        title={language === 'curl' ? 'A signed delivery with curl' : `A receiver in ${title}`}
        aside={
          <>
            <code>{file}</code>
            <Copy text={source} name={file} />
          </>
        }
      >
        <div class="panel-body stack">
          <p>
            {language === 'curl'
              ? 'The script sends your receiver an empty delivery with a valid signature.'
              : 'The receiver checks the signature and its time, handles each delivery once, and undoes blocks that a fork removed.'}{' '}
            Set <code>STACKSIDE_SIGNING_SECRET</code> to the signing secret, which the page Chainhooks has.
          </p>
        </div>
        <TextBlock label={`Source of ${file}`} text={source} />
      </Panel>
    </>
  );
}
