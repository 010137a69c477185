/** One delivery: each attempt with what the receiver said, and the request as it was sent. */
import { useState } from 'preact/hooks';
import { api, bodyOf, doneOf } from '../../api/api.ts';
import { hookVersion } from '../../api/hook-version.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { bytes, count, visible, words } from '../../chain/format.ts';
import { Copy } from '../../ui/copy.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Facts, Page, Panel, Show, Table } from '../../ui/parts.tsx';
import { go, pathTo } from '../../ui/router.ts';
import { Scrollable } from '../../ui/scrollable.tsx';
import { useAction } from '../../ui/use-action.ts';
import { Ago, BlockLink, Hash, When } from '../../ui/values.tsx';
import { StateBadge } from './hook-deliveries.tsx';

export function Delivery({ hook, id }: { hook: string; id: string }) {
  const params = { path: { uuid: hook, id } };
  const delivery = useAnswer(
    `delivery ${id}`,
    (signal) => bodyOf(api.GET('/chainhooks/me/{uuid}/deliveries/{id}', { params, signal })),
    hookVersion(),
  );
  const source = `/chainhooks/me/${hook}/deliveries/${id}`;
  const { run, problem, busy } = useAction(delivery.retry);
  const resend = () =>
    run(async () => {
      const queued = await bodyOf(api.POST('/chainhooks/me/{uuid}/deliveries/{id}/redeliver', { params }));
      go(pathTo('delivery', { id: hook, delivery: queued.id }));
    }, 'The delivery is queued again');
  const skip = () =>
    run(() => doneOf(api.POST('/chainhooks/me/{uuid}/deliveries/{id}/skip', { params })), 'The delivery is given up');
  const state = delivery.data?.state ?? null;
  const isWaiting = state === 'pending' || state === 'failed' || state === 'in_flight';
  return (
    <Page
      kind="Delivery"
      title={id}
      heading={<span class="mono break">{id}</span>}
      beside={state === null ? null : <StateBadge state={state} />}
      lead={<a href={pathTo('hook', { id: hook })}>All deliveries of the chainhook</a>}
    >
      <Show loaded={delivery} rows={6}>
        {(found) => (
          <>
            <div class="buttons">
              <button type="button" class="primary" disabled={busy || isWaiting} onClick={resend}>
                Resend
              </button>
              {isWaiting ? (
                <Confirm action="Skip" question="Give up this delivery?" onConfirm={skip}>
                  The receiver never gets it, and the next delivery is sent.
                </Confirm>
              ) : null}
              {problem === null ? null : (
                <span class="problem" role="alert">
                  {problem}
                </span>
              )}
            </div>
            {found.problem === null ? null : (
              <section class="note bad" aria-label="Problem">
                <p class="break">{visible(found.problem)}</p>
              </section>
            )}
            <Panel title="Delivery" source={source}>
              <Facts
                facts={[
                  ['Reason', words(found.reason)],
                  ['Blocks applied', <Heights key="apply" blocks={found.apply} />],
                  [
                    'Blocks rolled back',
                    found.rollback.length === 0 ? null : <Heights key="back" blocks={found.rollback} />,
                  ],
                  ['Queued', <When key="queued" at={found.created_at} />],
                  ['Delivered', found.delivered_at === null ? null : <When key="done" at={found.delivered_at} />],
                  [
                    'Next attempt',
                    found.next_attempt_at === null ? null : <When key="next" at={found.next_attempt_at} />,
                  ],
                  ['Size', bytes(found.body_bytes)],
                  ['SHA-256 of the body', <Hash key="hash" value={found.body_sha256} copy="SHA-256" />],
                ]}
              />
            </Panel>
            <Attempts attempts={found.attempts} source={source} />
            <Payload payload={found.payload} source={source} />
          </>
        )}
      </Show>
    </Page>
  );
}

const Heights = ({ blocks }: { blocks: readonly { height: number; index_block_hash: string }[] }) => (
  <>
    {blocks.length === 0 ? 'none' : null}
    {blocks.map(({ height, index_block_hash: hash }, index) => (
      <span key={hash}>
        {index === 0 ? '' : ', '}
        <BlockLink height={height} />
      </span>
    ))}
  </>
);

interface Attempt {
  at: number;
  duration_ms: number;
  url_host: string;
  status_code: number | null;
  error: string | null;
  response_excerpt: string | null;
}

const Attempts = ({ attempts, source }: { attempts: readonly Attempt[]; source: string }) => (
  <Panel title="Attempts" source={source}>
    <Table
      label="Attempts"
      rows={attempts}
      keyOf={({ at, duration_ms: time }) => `${at} ${time}`}
      empty="The delivery was not sent yet."
      columns={[
        { name: 'When', class: 'nowrap top', cell: ({ at }) => <Ago at={at} /> },
        {
          name: 'Answer',
          class: 'nowrap top',
          cell: ({ status_code: code }) => (code === null ? <span class="quiet">none</span> : <strong>{code}</strong>),
        },
        {
          name: 'What the receiver said',
          class: 'fill',
          cell: ({ error, response_excerpt: excerpt }) => (
            <code class="break">{visible(error ?? excerpt ?? '') || <span class="quiet">nothing</span>}</code>
          ),
        },
        { name: 'Time', class: 'number medium top', cell: ({ duration_ms: time }) => `${count(time)} ms` },
        { name: 'Host', class: 'wide top', cell: ({ url_host: host }) => <code>{host}</code> },
      ]}
    />
  </Panel>
);

/** Characters of a body that are shown at first: a body may have megabytes. */
const SHOWN = 20_000;

function Payload({ payload, source }: { payload: object | null; source: string }) {
  const [whole, setWhole] = useState(false);
  if (payload === null) return <p class="empty">The body is kept no longer.</p>;
  const text = JSON.stringify(payload, null, 2);
  const isCut = !whole && text.length > SHOWN;
  return (
    <Panel title="Body" source={source} aside={<Copy text={text} what="body" />}>
      <Scrollable label="Body of the request" class="code payload">
        {visible(isCut ? text.slice(0, SHOWN) : text)}
      </Scrollable>
      {isCut ? (
        <div class="panel-body">
          <button type="button" onClick={() => setWhole(true)}>
            Show all {bytes(text.length)}
          </button>
        </div>
      ) : null}
    </Panel>
  );
}
