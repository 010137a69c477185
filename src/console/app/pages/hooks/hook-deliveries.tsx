/** The log of deliveries of a chainhook, and sending many of them again. */
import { useState } from 'preact/hooks';
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { hookVersion } from '../../api/hook-version.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { bytes, count, plural, visible, words } from '../../chain/format.ts';
import { STATE_TONES } from '../../chain/hook-status.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { listQuery } from '../../ui/list-state.ts';
import { Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo, place, withQuery } from '../../ui/router.ts';
import { useAction } from '../../ui/use-action.ts';
import { Ago, Badge } from '../../ui/values.tsx';

const PER_PAGE = 25;

export type ListedDelivery = Answer<'/chainhooks/me/{uuid}/deliveries'>['results'][number];

const STATES = ['pending', 'failed', 'delivered', 'dead', 'cancelled'] as const;
type State = (typeof STATES)[number];
const isState = (text: string | null): text is State => STATES.some((state) => state === text);

export const StateBadge = ({ state }: { state: string }) => (
  <Badge tone={STATE_TONES[state] ?? 'plain'}>{words(state)}</Badge>
);

/** The blocks of a delivery: those applied, and with a minus those rolled back. */
export function blocksOf({ apply, rollback }: Pick<ListedDelivery, 'apply' | 'rollback'>): string {
  const heights = [...rollback.map(({ height }) => `−${count(height)}`), ...apply.map(({ height }) => count(height))];
  return heights.length <= 3 ? heights.join(', ') : `${heights[0]} … ${heights.at(-1)}`;
}

export function Deliveries({ hook }: { hook: string }) {
  const query = listQuery(PER_PAGE);
  const asked = place.value.query.get('state');
  const state = isState(asked) ? asked : null;
  const params = { path: { uuid: hook }, query: { ...query, ...(state === null ? {} : { state: [state] }) } };
  const deliveries = useAnswer(
    `deliveries ${hook} ${query.cursor} ${state}`,
    (signal) => bodyOf(api.GET('/chainhooks/me/{uuid}/deliveries', { params, signal })),
    hookVersion(),
  );
  return (
    <Panel
      title="Deliveries"
      source={`/chainhooks/me/${hook}/deliveries`}
      aside={
        <nav class="filter" aria-label="State">
          {[null, ...STATES].map((one) => (
            <a
              key={one}
              href={withQuery({ state: one, cursor: null })}
              aria-current={one === state ? 'true' : undefined}
            >
              {one === null ? 'All' : words(one)}
            </a>
          ))}
        </nav>
      }
    >
      <Show loaded={deliveries} rows={8}>
        {({ results, total, cursor: { next, previous } }) => (
          <>
            <DeliveryTable hook={hook} deliveries={results} />
            <Pager next={next} previous={previous} total={plural(total, 'delivery', 'deliveries')} />
          </>
        )}
      </Show>
      <ResendFailed hook={hook} />
    </Panel>
  );
}

const DeliveryTable = ({ hook, deliveries }: { hook: string; deliveries: readonly ListedDelivery[] }) => (
  <Table
    label="Deliveries"
    rows={deliveries}
    keyOf={({ id }) => id}
    empty="Nothing was delivered yet."
    columns={[
      {
        name: 'Blocks',
        class: 'nowrap',
        cell: (delivery) => (
          <a href={pathTo('delivery', { id: hook, delivery: delivery.id })}>{blocksOf(delivery) || delivery.id}</a>
        ),
      },
      { name: 'State', class: 'nowrap', cell: ({ state }) => <StateBadge state={state} /> },
      {
        name: 'Answer',
        class: 'main',
        cell: ({ last_attempt: attempt }) =>
          attempt === null ? (
            <span class="quiet">not sent yet</span>
          ) : (
            <>
              {attempt.status_code ?? visible(attempt.error ?? 'no answer')}{' '}
              <span class="quiet">after {count(attempt.duration_ms)} ms</span>
            </>
          ),
      },
      { name: 'Attempts', class: 'number medium', cell: ({ attempt_count: attempts }) => count(attempts) },
      { name: 'Reason', class: 'medium nowrap', cell: ({ reason }) => words(reason) },
      { name: 'Size', class: 'number wide', cell: ({ body_bytes: size }) => bytes(size) },
      { name: 'Queued', class: 'number', cell: ({ created_at: at }) => <Ago at={at} /> },
    ]}
  />
);

/** The beginning of a day in UTC, in Unix seconds; null where no day is chosen. */
const startOf = (day: string): number | null => (day === '' ? null : Date.parse(day) / 1000);

/** Sends again what failed for good or was cut short, since a day or ever. */
function ResendFailed({ hook }: { hook: string }) {
  const [day, setDay] = useState('');
  const { run, problem } = useAction();
  const since = startOf(day);
  const resend = () =>
    run(async () => {
      const body = { state: ['dead' as const, 'failed' as const], ...(since === null ? {} : { since }) };
      await bodyOf(api.POST('/chainhooks/me/{uuid}/deliveries/redeliver', { params: { path: { uuid: hook } }, body }));
    }, 'The deliveries are queued again');
  const which = since === null ? 'all failed deliveries' : `all that failed since ${day}`;
  return (
    <div class="panel-body form row">
      <label>
        Failed since (UTC)
        <input type="date" value={day} onInput={({ currentTarget }) => setDay(currentTarget.value)} />
      </label>
      <Confirm action={`Resend ${which}`} question={`Resend ${which}?`} onConfirm={resend}>
        They are queued in their original order, with the bodies that they had.
      </Confirm>
      {problem === null ? null : (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
    </div>
  );
}
