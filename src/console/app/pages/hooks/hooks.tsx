/** The page of chainhooks, of one consumer, which the operator chooses, with the signing secret of a consumer. */

import { type Answer, get, post, remove } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { consumerHeaders, session, signOut } from '../../api/session.ts';
import { useAnswer, useGet } from '../../api/use-answer.ts';
import { count, visible } from '../../chain/format.ts';
import { failureLine, type Hook, healthOf } from '../../chain/hooks.ts';
import { every, now } from '../../ui/clock.ts';
import { Confirm, useAction } from '../../ui/form.tsx';
import {
  Button,
  ButtonLink,
  Choices,
  Copy,
  ListPanel,
  offsetQuery,
  Page,
  Panel,
  Problem,
  Show,
} from '../../ui/parts.tsx';
import { pathTo, url } from '../../ui/router.ts';
import { Ago, Badge, ChainText, HookLink } from '../../ui/values.tsx';
import { DeliveryCharts } from '../history-charts.tsx';

export function Hooks() {
  const chosen = url.value.query.get('consumer');
  return (
    <Page
      title="Chainhooks"
      lead="A chainhook sends an HTTP POST to your URL whenever a block contains something that its filters match."
      aside={
        <>
          {session.value?.access === 'key' ? <SignOut /> : null}
          <ButtonLink text="New chainhook" href={pathTo('newHook', { consumer: chosen })} class="primary" />
        </>
      }
    >
      {session.value?.operator === true ? <AllConsumers chosen={chosen} /> : <ConsumerHooks consumer={null} />}
      <DeliveryCharts />
    </Page>
  );
}

function SignOut() {
  const { run, problem, busy } = useAction();
  return (
    <>
      <Problem text={problem} />
      <Button text="Sign out" disabled={busy} onClick={() => run(signOut, 'Signed out')} />
    </>
  );
}

/** Renders the chainhooks and the secret of a consumer. @param consumer null for the session's consumer */
const ConsumerHooks = ({ consumer }: { consumer: string | null }) => (
  <>
    <HookList consumer={consumer} />
    <Secret key={consumer} consumer={consumer} />
  </>
);

/** Renders the consumers, and the chainhooks of the chosen one: by default the operator's own. */
function AllConsumers({ chosen }: { chosen: string | null }) {
  const consumers = useGet('/chainhooks/consumers', {}, tipVersion.value);
  const own = session.value?.consumer ?? '';
  const shown = chosen ?? own;
  return (
    <Show loaded={consumers}>
      {({ results }) => {
        const others = results.filter(({ consumer }) => consumer !== own);
        if (others.length === 0 && shown === own) return <ConsumerHooks consumer={null} />;
        const ownResult = results.find(({ consumer }) => consumer === own) ?? { consumer: own, hooks: 0, failing: 0 };
        return (
          <>
            <ConsumerFilter consumers={[ownResult, ...others]} chosen={shown} />
            <ConsumerHooks key={shown} consumer={shown} />
          </>
        );
      }}
    </Show>
  );
}

type Consumers = Answer<'/chainhooks/consumers'>['results'];

const ConsumerFilter = ({ consumers, chosen }: { consumers: Consumers; chosen: string }) => (
  <Panel
    title="Consumers"
    source="/chainhooks/consumers"
    aside={<span class="quiet">As the operator, you manage the chainhooks of all consumers.</span>}
  >
    <Choices
      class="panel-body"
      label="Consumer"
      name="consumer"
      choices={consumers.map(({ consumer, hooks, failing }) => {
        const badge = failing === 0 ? null : <Badge tone="bad">{count(failing)} failing</Badge>;
        const text = (
          <>
            <ChainText text={consumer} /> <span class="quiet">{count(hooks)}</span> {badge}
          </>
        );
        return [consumer, text] as const;
      })}
      chosen={chosen}
      clears={['offset']}
    />
  </Panel>
);

function HookList({ consumer }: { consumer: string | null }) {
  const { limit, offset } = offsetQuery();
  const headers = consumerHeaders(consumer);
  const hooks = useAnswer(
    `hooks ${consumer} ${offset}`,
    (signal) => get('/chainhooks/me', { limit, offset }, signal, headers),
    hookVersion(),
  );
  const title = consumer === null ? 'Chainhooks' : `Chainhooks of ${visible(consumer)}`;
  return (
    <ListPanel
      title={title}
      loaded={hooks}
      // A link can't send the header that names another consumer.
      source={consumer === null || consumer === session.value?.consumer ? '/chainhooks/me' : undefined}
      item="chainhook"
      pager="offset"
      keyOf={({ uuid }) => uuid}
      empty="There is no chainhook yet."
      below={(hook) => {
        const line = failureLine(hook, now.value);
        return line === null ? null : <span class="problem small">{line}</span>;
      }}
      columns={[
        ['Name', 'main', (hook) => <HookLink hook={hook} />],
        ['Status', 'nowrap', (hook) => <HealthBadge hook={hook} />],
        ['Receiver', 'wide nowrap', ({ definition }) => <code>{hostOf(definition.action.url)}</code>],
        ['Waiting', 'number', ({ status }) => count(status.pending_deliveries)],
        ['Last delivery', 'number medium', ({ status }) => <Ago time={status.last_delivery_at} none="none" />],
        ['Matches', 'number wide', ({ status }) => count(status.occurrence_count)],
      ]}
    />
  );
}

export const HealthBadge = ({ hook }: { hook: Hook }) => {
  const { tone, word } = healthOf(hook);
  return <Badge tone={tone}>{word}</Badge>;
};

const hostOf = (url: string): string => URL.parse(url)?.host ?? url;

const SECRET = '/chainhooks/me/secret';

/** HTTP status if the server can't decrypt the secret. */
const UNREADABLE = 409;

function Secret({ consumer }: { consumer: string | null }) {
  const headers = consumerHeaders(consumer);
  const secret = useAnswer(`secret ${consumer}`, (signal) => get(SECRET, {}, signal, headers));
  const { run, problem } = useAction();
  const change = (request: () => Promise<unknown>, done: string) => run(request, done, { onSuccess: secret.retry });
  const changes = (exists: boolean) => (
    <div class="row">
      <Confirm
        action={exists ? 'Rotate the secret' : 'Create a secret'}
        question={exists ? 'Rotate the secret?' : 'Create a secret?'}
        onConfirm={() => change(() => post(SECRET, {}, undefined, headers), 'The new secret is in force')}
      >
        {exists
          ? 'Deliveries are signed with the new secret from now on, and for one day with the old one as well.'
          : 'Deliveries are signed with the secret from now on.'}
      </Confirm>
      {exists ? (
        <Confirm
          action="Delete the secret"
          question="Delete the secret?"
          onConfirm={() => change(() => remove(SECRET, {}, undefined, headers), 'The secret is deleted')}
        >
          Deliveries are no longer signed, and receivers that check signatures refuse them.
        </Confirm>
      ) : null}
    </div>
  );
  return (
    <Panel title="Signing secret">
      <div class="panel-body stack">
        <p>
          Deliveries are signed with this secret by the rules of Standard Webhooks, so that a receiver can tell them
          from others.
        </p>
        {secret.error?.status === UNREADABLE ? (
          <>
            <Problem text={secret.error.message} />
            {changes(true)}
          </>
        ) : (
          <Show loaded={secret} rows={1}>
            {({ signing_secret: value }) => (
              <>
                {value === null ? (
                  <p class="quiet">There is no secret: deliveries are not signed.</p>
                ) : (
                  <p>
                    <span aria-hidden="true">••••••••••••</span> <Copy text={value} name="secret" />
                  </p>
                )}
                {changes(value !== null)}
              </>
            )}
          </Show>
        )}
        <Problem text={problem} />
      </div>
    </Panel>
  );
}

/** Seconds between reads of the state of chainhooks, which also changes between blocks. */
const READ_EVERY = 3;

/** Describes that a chainhook doesn't exist, or was deleted. */
export const missingHookText = (id: string): string => `This server has no chainhook ${id}.`;

/** Returns a version for responses about chainhooks, which changes with each block and every few seconds. */
export const hookVersion = (): string => `${tipVersion.value} ${every(READ_EVERY)}`;
