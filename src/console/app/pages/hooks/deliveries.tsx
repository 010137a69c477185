/** The deliveries of a chainhook: their history, redelivery, and a page per delivery with its attempts and body. */

import { useState } from 'preact/hooks';
import { statusReason } from '../../../../hooks/delivery/failure.ts';
import { type Answer, post } from '../../api/api.ts';
import { useGet } from '../../api/use-answer.ts';
import { bytes, count, visible, words } from '../../chain/format.ts';
import { Confirm, TextField, useAction } from '../../ui/form.tsx';
import {
  Button,
  Choices,
  Commas,
  Copy,
  ListPanel,
  Page,
  Panel,
  Problem,
  Show,
  TablePanel,
  TextBlock,
  useList,
} from '../../ui/parts.tsx';
import { go, pathTo, url } from '../../ui/router.ts';
import { Ago, BlockLink, Due, Hash, StateBadge, When } from '../../ui/values.tsx';
import { hookVersion } from './hooks.tsx';

type ListedDelivery = Answer<'/chainhooks/me/{uuid}/deliveries'>['results'][number];

const STATES = ['pending', 'failed', 'delivered', 'dead', 'cancelled'] as const;

/** Returns the heights of a delivery's blocks. A minus marks rolled back blocks. */
function blocksOf({ apply, rollback }: Pick<ListedDelivery, 'apply' | 'rollback'>): string {
  const heights = [...rollback.map(({ height }) => `−${count(height)}`), ...apply.map(({ height }) => count(height))];
  return heights.length <= 3 ? heights.join(', ') : `${heights[0]} … ${heights.at(-1)}`;
}

/** Renders a button that skips a delivery, after a confirmation. */
export const Skip = ({ onConfirm }: { onConfirm: () => unknown }) => (
  <Confirm action="Skip" question="Skip this delivery?" onConfirm={onConfirm}>
    The receiver never gets this delivery, and the next one is sent.
  </Confirm>
);

/** Renders the deliveries of a chainhook, and a form that redelivers failed ones. */
export function Deliveries({ hook }: { hook: string }) {
  const state = STATES.find((name) => name === url.value.query.get('state')) ?? null;
  const params = { uuid: hook, state: state === null ? null : [state] };
  return (
    <ListPanel
      title="Deliveries"
      loaded={useList('/chainhooks/me/{uuid}/deliveries', params, hookVersion())}
      source={`/chainhooks/me/${hook}/deliveries`}
      aside={
        <Choices
          label="State"
          name="state"
          choices={[[null, 'All'], ...STATES.map((name) => [name, words(name)] as const)]}
          chosen={state}
        />
      }
      footer={<ResendFailed hook={hook} />}
      item="delivery"
      keyOf={({ id }) => id}
      stacked
      empty={state === null ? 'Nothing was delivered yet.' : `No delivery is ${words(state)}.`}
      columns={[
        [
          'Blocks',
          'first',
          (delivery) => (
            <a href={pathTo('delivery', { id: hook, delivery: delivery.id })}>{blocksOf(delivery) || delivery.id}</a>
          ),
        ],
        ['State', 'nowrap', ({ state }) => <StateBadge state={state} />],
        [
          'Answer',
          'fill',
          ({ last_attempt: attempt }) =>
            attempt === null ? (
              <span class="quiet">not sent yet</span>
            ) : (
              <>
                {attempt.status_code ?? visible(attempt.error ?? 'no answer')}{' '}
                <span class="quiet">in {count(attempt.duration_ms)} ms</span>
              </>
            ),
        ],
        ['Attempts', 'number medium named', ({ attempt_count: attempts }) => count(attempts)],
        ['Reason', 'medium nowrap named', ({ reason }) => words(reason)],
        ['Size', 'number wide named', ({ body_bytes: size }) => bytes(size)],
        ['Queued', 'number when', ({ created_at: time }) => <Ago time={time} />],
      ]}
    />
  );
}

function ResendFailed({ hook }: { hook: string }) {
  const [day, setDay] = useState('');
  const { run, problem } = useAction();
  // The start of the day in UTC, in Unix seconds.
  const since = day === '' ? null : Date.parse(day) / 1000;
  const resend = () =>
    run(async () => {
      const body = { state: ['dead' as const, 'failed' as const], ...(since === null ? {} : { since }) };
      await post('/chainhooks/me/{uuid}/deliveries/redeliver', { uuid: hook }, body);
    }, 'The deliveries are queued again');
  const selection = since === null ? 'all failed deliveries' : `deliveries that failed since ${day}`;
  return (
    <div class="panel-body form row">
      <TextField label="Failed since (UTC)" type="date" value={day} onChange={setDay} />
      <Confirm action={`Resend ${selection}`} question={`Resend ${selection}?`} onConfirm={resend}>
        The deliveries are queued in their original order, with their original bodies.
      </Confirm>
      <Problem text={problem} />
    </div>
  );
}

/** Renders the page of a delivery: its state, its attempts with the receiver's responses, and its body. */
export function Delivery({ hook, id }: { hook: string; id: string }) {
  const params = { uuid: hook, id };
  const loaded = useGet('/chainhooks/me/{uuid}/deliveries/{id}', params, hookVersion());
  const { source } = loaded;
  const { run, problem, busy } = useAction();
  const resend = () =>
    run(() => post('/chainhooks/me/{uuid}/deliveries/{id}/redeliver', params), 'The delivery is queued again', {
      onSuccess: (delivery) => go(pathTo('delivery', { id: hook, delivery: delivery.id })),
    });
  const skip = () =>
    run(() => post('/chainhooks/me/{uuid}/deliveries/{id}/skip', params), 'The delivery is skipped', {
      onSuccess: loaded.retry,
    });
  const state = loaded.data?.state ?? null;
  const isWaiting = state === 'pending' || state === 'failed' || state === 'in_flight';
  return (
    <Page
      kind="Delivery"
      title={id}
      heading={<span class="mono break">{id}</span>}
      aside={state === null ? null : <StateBadge state={state} />}
      lead={<a href={pathTo('hook', { id: hook })}>All deliveries of the chainhook</a>}
    >
      <Show loaded={loaded} rows={6} missing={`This server has no delivery ${visible(id)}.`}>
        {(delivery) => (
          <>
            <div class="row">
              <Button text="Resend" class="primary" disabled={busy || isWaiting} onClick={resend} />
              {isWaiting ? <Skip onConfirm={skip} /> : null}
              <Problem text={problem} />
            </div>
            {delivery.problem === null ? null : (
              <section class="note stack bad" aria-label="Problem">
                <p class="break">{visible(delivery.problem)}</p>
              </section>
            )}
            <Panel
              title="Delivery"
              source={source}
              facts={[
                ['Reason', words(delivery.reason)],
                ['Blocks applied', <Heights blocks={delivery.apply} />],
                ['Blocks rolled back', delivery.rollback.length === 0 ? null : <Heights blocks={delivery.rollback} />],
                ['Queued', <When time={delivery.created_at} />],
                ['Delivered', delivery.delivered_at === null ? null : <When time={delivery.delivered_at} />],
                ['Next attempt', delivery.next_attempt_at === null ? null : <Due time={delivery.next_attempt_at} />],
                ['Size', bytes(delivery.body_bytes)],
                ['SHA-256 of the body', <Hash value={delivery.body_sha256} whole copy="SHA-256" />],
              ]}
            />
            <Attempts attempts={delivery.attempts} source={source} />
            <Payload payload={delivery.payload} source={source} />
          </>
        )}
      </Show>
    </Page>
  );
}

const Heights = ({ blocks }: { blocks: readonly { height: number }[] }) =>
  blocks.length === 0 ? (
    'none'
  ) : (
    <Commas items={blocks.map(({ height }) => <BlockLink key={height} height={height} />)} />
  );

type Attempt = Answer<'/chainhooks/me/{uuid}/deliveries/{id}'>['attempts'][number];

const Attempts = ({ attempts, source }: { attempts: readonly Attempt[]; source: string | undefined }) => (
  <TablePanel
    title="Attempts"
    source={source}
    rows={attempts}
    keyOf={({ at, duration_ms: time }) => `${at} ${time}`}
    empty="The delivery was not sent yet."
    columns={[
      ['When', 'nowrap', ({ at }) => <Ago time={at} />],
      [
        'Answer',
        'nowrap',
        ({ status_code: code }) => (code === null ? <span class="quiet">none</span> : <strong>{code}</strong>),
      ],
      [
        'Response or error',
        'fill',
        ({ status_code: code, error, response_excerpt: excerpt }) => {
          const text = error ?? (excerpt || statusReason(code ?? 0));
          return <code class="break">{visible(text) || <span class="quiet">nothing</span>}</code>;
        },
      ],
      ['Time', 'number medium', ({ duration_ms: time }) => `${count(time)} ms`],
      ['Host', 'wide', ({ url_host: host }) => <code>{host}</code>],
    ]}
  />
);

function Payload({ payload, source }: { payload: object | null; source: string | undefined }) {
  if (payload === null) return <p class="panel-body quiet">The body is no longer stored.</p>;
  const text = JSON.stringify(payload, null, 2);
  return (
    <Panel title="Body" source={source} aside={<Copy text={text} name="body" />}>
      <TextBlock label="Body of the request" text={text} />
    </Panel>
  );
}
