/** All chainhooks with how they do, of one consumer or, for the operator, of all. */
import { api, bodyOf } from '../../api/api.ts';
import { actingFor } from '../../api/consumer.ts';
import { tipVersion } from '../../api/live.ts';
import { session, signOut } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, plural, visible } from '../../chain/format.ts';
import { type Hook, healthOf } from '../../chain/hook-status.ts';
import { Page, Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo, place, withQuery } from '../../ui/router.ts';
import { useAction } from '../../ui/use-action.ts';
import { Ago, Badge, ChainText } from '../../ui/values.tsx';
import { DeliveryCharts } from '../history-charts.tsx';
import { Secret } from './hook-secret.tsx';

const PER_PAGE = 30;

export function Hooks() {
  const chosen = place.value.query.get('consumer');
  return (
    <Page
      title="Chainhooks"
      lead="A chainhook sends an HTTP POST to your URL whenever a block contains something that its filters match."
      beside={
        <>
          {session.value?.access === 'key' ? <SignOut /> : null}
          <a class="button primary" href={newHookPath(chosen)}>
            New chainhook
          </a>
        </>
      }
    >
      {session.value?.operator === true ? <OfConsumers chosen={chosen} /> : <OfConsumer consumer={null} />}
      <DeliveryCharts />
    </Page>
  );
}

function SignOut() {
  const { run, problem, busy } = useAction();
  return (
    <>
      {problem === null ? null : (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
      <button type="button" disabled={busy} onClick={() => run(signOut, 'Signed out')}>
        Sign out
      </button>
    </>
  );
}

/** The page on which a chainhook of a consumer is made. */
const newHookPath = (consumer: string | null): string =>
  consumer === null ? pathTo('newHook') : `${pathTo('newHook')}?${new URLSearchParams({ consumer })}`;

/** The chainhooks of one consumer and the secret of their deliveries. @param consumer null for the own one */
const OfConsumer = ({ consumer }: { consumer: string | null }) => (
  <>
    <HookList consumer={consumer} />
    <Secret key={consumer} consumer={consumer} />
  </>
);

/** The most consumers whose chainhooks are listed on one page; the rest is a click away. */
const MOST_LISTS = 12;

/** What the operator sees: the chainhooks of all consumers, or of one. */
function OfConsumers({ chosen }: { chosen: string | null }) {
  const consumers = useAnswer(
    'consumers',
    (signal) => bodyOf(api.GET('/chainhooks/consumers', { signal })),
    tipVersion.value,
  );
  const own = session.value?.consumer ?? null;
  return (
    <Show loaded={consumers}>
      {({ results }) => {
        const isOwnAlone = chosen === null && results.every(({ consumer }) => consumer === own);
        if (isOwnAlone) return <OfConsumer consumer={null} />;
        return (
          <>
            <ConsumerFilter consumers={results} chosen={chosen} />
            {chosen === null && results.length > MOST_LISTS ? (
              <p class="quiet">
                The chainhooks of the first {MOST_LISTS} consumers follow; choose a consumer to see its chainhooks.
              </p>
            ) : null}
            {chosen === null ? (
              results.slice(0, MOST_LISTS).map(({ consumer }) => <HookList key={consumer} consumer={consumer} isPart />)
            ) : (
              <OfConsumer key={chosen} consumer={chosen} />
            )}
          </>
        );
      }}
    </Show>
  );
}

interface ConsumerFilterProps {
  consumers: readonly { consumer: string; hooks: number }[];
  chosen: string | null;
}

const ConsumerFilter = ({ consumers, chosen }: ConsumerFilterProps) => (
  <Panel
    title="Consumers"
    source="/chainhooks/consumers"
    aside={<span class="quiet">You act for all of them, as the operator.</span>}
  >
    <nav class="panel-body filter" aria-label="Consumer">
      <a href={withQuery({ consumer: null, offset: null })} aria-current={chosen === null ? 'true' : undefined}>
        All
      </a>
      {consumers.map(({ consumer, hooks }) => (
        <a
          key={consumer}
          href={withQuery({ consumer, offset: null })}
          aria-current={consumer === chosen ? 'true' : undefined}
        >
          <ChainText text={consumer} /> <span class="quiet">{count(hooks)}</span>
        </a>
      ))}
    </nav>
  </Panel>
);

interface HookListProps {
  /** Null for the own one. */
  consumer: string | null;
  /** Whether this is one of several lists of the page, which only begins here. */
  isPart?: boolean;
}

function HookList({ consumer, isPart = false }: HookListProps) {
  const offset = isPart ? 0 : Math.max(0, Number(place.value.query.get('offset')) || 0);
  const request = { params: { query: { limit: PER_PAGE, offset } }, headers: actingFor(consumer) };
  const hooks = useAnswer(
    `hooks ${consumer} ${offset}`,
    (signal) => bodyOf(api.GET('/chainhooks/me', { ...request, signal })),
    tipVersion.value,
  );
  const title = consumer === null ? 'Chainhooks' : `Chainhooks of ${visible(consumer)}`;
  // A link can't say that it acts for another consumer.
  const source = consumer === null || consumer === session.value?.consumer ? '/chainhooks/me' : undefined;
  return (
    <Panel title={title} source={source}>
      <Show loaded={hooks} rows={5}>
        {({ results, total }) => (
          <>
            <HookTable label={title} hooks={results} />
            {isPart ? (
              <p class="pager">
                <a href={withQuery({ consumer, offset: null })}>{plural(total, 'chainhook')}</a>
              </p>
            ) : (
              <Pager
                name="offset"
                next={offset + PER_PAGE < total ? String(offset + PER_PAGE) : null}
                previous={offset > PER_PAGE ? String(offset - PER_PAGE) : ''}
                total={plural(total, 'chainhook')}
              />
            )}
          </>
        )}
      </Show>
    </Panel>
  );
}

export const HealthBadge = ({ hook }: { hook: Hook }) => {
  const { tone, word } = healthOf(hook);
  return <Badge tone={tone}>{word}</Badge>;
};

const HookTable = ({ label, hooks }: { label: string; hooks: readonly Hook[] }) => (
  <Table
    label={label}
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
