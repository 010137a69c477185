/** The secret that signs the deliveries of a consumer. */
import { api, bodyOf, doneOf } from '../../api/api.ts';
import { actingFor } from '../../api/consumer.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Copy } from '../../ui/copy.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Panel, Show } from '../../ui/parts.tsx';
import { useAction } from '../../ui/use-action.ts';

/** The status of an answer of a server that can't read the secret. */
const UNREADABLE = 409;

/** @param consumer null for the own one */
export function Secret({ consumer }: { consumer: string | null }) {
  const headers = actingFor(consumer);
  const secret = useAnswer(`secret ${consumer}`, (signal) =>
    bodyOf(api.GET('/chainhooks/me/secret', { headers, signal })),
  );
  const { run, problem } = useAction(secret.retry);
  const changes = (exists: boolean) => (
    <div class="buttons">
      <Confirm
        action={exists ? 'Rotate the secret' : 'Create a secret'}
        question={exists ? 'Rotate the secret?' : 'Create a secret?'}
        onConfirm={() => run(() => bodyOf(api.POST('/chainhooks/me/secret', { headers })), 'The secret is new')}
      >
        Deliveries are signed with the new secret from now on, and for one day with the former one as well.
      </Confirm>
      {exists ? (
        <Confirm
          action="Delete the secret"
          question="Delete the secret?"
          onConfirm={() => run(() => doneOf(api.DELETE('/chainhooks/me/secret', { headers })), 'The secret is deleted')}
        >
          Deliveries are no longer signed, and receivers that check signatures refuse them.
        </Confirm>
      ) : null}
    </div>
  );
  return (
    <Panel title="Signing secret">
      <div class="panel-body">
        <p>
          Deliveries are signed with this secret by the rules of Standard Webhooks, so that a receiver can tell them
          from others.
        </p>
        {secret.error?.status === UNREADABLE ? (
          <>
            <p class="problem" role="alert">
              {secret.error.message}
            </p>
            {changes(true)}
          </>
        ) : (
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
                {changes(value !== null)}
              </>
            )}
          </Show>
        )}
        {problem === null ? null : (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
      </div>
    </Panel>
  );
}
