/** All chainhooks with how they do, and the secret that signs their deliveries. */
import { api, bodyOf, doneOf } from '../api/api.ts';
import { tipVersion } from '../api/live.ts';
import { session, signOut } from '../api/session.ts';
import { useAnswer } from '../api/use-answer.ts';
import { count, plural } from '../chain/format.ts';
import { type Hook, healthOf } from '../chain/hook-status.ts';
import { pathTo, place } from '../shell/router.ts';
import { Copy } from '../ui/copy.tsx';
import { Confirm } from '../ui/dialog.tsx';
import { Page, Pager, Panel, Show, Table } from '../ui/parts.tsx';
import { useAction } from '../ui/use-action.ts';
import { Ago, Badge, ChainText } from '../ui/values.tsx';
import { DeliveryCharts } from './history-charts.tsx';

const PER_PAGE = 30;

export function Hooks() {
  const offset = Math.max(0, Number(place.value.query.get('offset')) || 0);
  const hooks = useAnswer(
    `hooks ${offset}`,
    (signal) => bodyOf(api.GET('/chainhooks/me', { params: { query: { limit: PER_PAGE, offset } }, signal })),
    tipVersion.value,
  );
  return (
    <Page
      title="Chainhooks"
      lead="A chainhook sends an HTTP POST to your URL whenever a block contains something that its filters match."
      beside={
        <>
          {session.value?.access === 'key' ? (
            <button type="button" onClick={() => void signOut()}>
              Sign out
            </button>
          ) : null}
          <a class="button primary" href={pathTo('newHook')}>
            New chainhook
          </a>
        </>
      }
    >
      <Panel title="Chainhooks">
        <Show loaded={hooks} rows={5}>
          {({ results, total }) => (
            <>
              <HookTable hooks={results} />
              <Pager
                name="offset"
                next={offset + PER_PAGE < total ? String(offset + PER_PAGE) : null}
                previous={offset > PER_PAGE ? String(offset - PER_PAGE) : ''}
                total={plural(total, 'chainhook')}
              />
            </>
          )}
        </Show>
      </Panel>
      <DeliveryCharts />
      <Secret />
    </Page>
  );
}

export const HealthBadge = ({ hook }: { hook: Hook }) => {
  const { tone, word } = healthOf(hook);
  return <Badge tone={tone}>{word}</Badge>;
};

const HookTable = ({ hooks }: { hooks: readonly Hook[] }) => (
  <Table
    label="Chainhooks"
    rows={hooks}
    keyOf={({ uuid }) => uuid}
    empty="There is no chainhook yet."
    columns={[
      {
        name: 'Name',
        class: 'main',
        cell: ({ uuid, definition }) => (
          <a href={pathTo('hook', { id: uuid })}>
            <ChainText text={definition.name === '' ? uuid : definition.name} />
          </a>
        ),
      },
      { name: 'Status', class: 'nowrap', cell: (hook) => <HealthBadge hook={hook} /> },
      {
        name: 'Receiver',
        class: 'wide nowrap',
        cell: ({ definition }) => <code>{hostOf(definition.action.url)}</code>,
      },
      { name: 'Waiting', class: 'number', cell: ({ status }) => count(status.pending_deliveries) },
      {
        name: 'Last delivery',
        class: 'number medium',
        cell: ({ status: { last_delivery_at: at, last_delivery_status_code: code } }) =>
          at === null ? (
            <span class="quiet">none</span>
          ) : (
            <>
              {code === null ? null : <span class="quiet">{code} </span>}
              <Ago at={at} />
            </>
          ),
      },
      { name: 'Matches', class: 'number wide', cell: ({ status }) => count(status.occurrence_count) },
    ]}
  />
);

/** The host of a URL; the URL itself where it is none. */
const hostOf = (url: string): string => URL.parse(url)?.host ?? url;

function Secret() {
  const secret = useAnswer('secret', (signal) => bodyOf(api.GET('/chainhooks/me/secret', { signal })));
  const { run, problem } = useAction(secret.retry);
  return (
    <Panel title="Signing secret">
      <div class="panel-body">
        <p>
          Deliveries are signed with this secret by the rules of Standard Webhooks, so that a receiver can tell them
          from others.
        </p>
        <Show loaded={secret} rows={1}>
          {({ signing_secret: value }) => (
            <>
              {value === null ? (
                <p class="quiet">There is none: deliveries are not signed.</p>
              ) : (
                <p class="secret">
                  <span aria-hidden="true">••••••••••••</span> <Copy text={value} what="secret" />
                </p>
              )}
              <div class="buttons">
                <Confirm
                  action={value === null ? 'Create a secret' : 'Rotate the secret'}
                  question={value === null ? 'Create a secret?' : 'Rotate the secret?'}
                  onConfirm={() => run(() => bodyOf(api.POST('/chainhooks/me/secret')), 'The secret is new')}
                >
                  Deliveries are signed with the new secret from now on, and for one day with the former one as well.
                </Confirm>
                {value === null ? null : (
                  <Confirm
                    action="Delete the secret"
                    question="Delete the secret?"
                    onConfirm={() => run(() => doneOf(api.DELETE('/chainhooks/me/secret')), 'The secret is deleted')}
                  >
                    Deliveries are no longer signed, and receivers that check signatures refuse them.
                  </Confirm>
                )}
              </div>
            </>
          )}
        </Show>
        {problem === null ? null : (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
      </div>
    </Panel>
  );
}
