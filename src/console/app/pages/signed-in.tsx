/** Shows a page to users who may manage chainhooks, and the sign-in form to others. */
import type { ComponentChildren, TargetedEvent } from 'preact';
import { useRef } from 'preact/hooks';
import { readSession, session, signIn } from '../api/session.ts';
import { useAnswer } from '../api/use-answer.ts';
import { useAction } from '../ui/actions.tsx';
import { Empty, Page, Show } from '../ui/parts.tsx';

/**
 * Renders its children if the session may manage chainhooks, otherwise the sign-in form. @param title shown above the
 * form
 */
export function SignedIn({ title, children }: { title: string; children: ComponentChildren }) {
  const loaded = useAnswer('session', readSession);
  const { value: known } = session;
  if (known?.signed_in === true) return <>{children}</>;
  return (
    <Page title={title}>
      <Show loaded={loaded}>
        {() =>
          known?.access === 'none' ? (
            <Empty>This process is read-only. Manage chainhooks on the process that receives the node’s events.</Empty>
          ) : (
            <SignIn purpose="to manage chainhooks" />
          )
        }
      </Show>
    </Page>
  );
}

/** Renders its children for the operator, and the sign-in form for others: the data is more than the API reveals. */
export function OperatorOnly({ children }: { children: ComponentChildren }) {
  const loaded = useAnswer('session', readSession);
  const { value: known } = session;
  if (known?.operator === true) return <>{children}</>;
  return (
    <Show loaded={loaded}>
      {({ access }) =>
        access === 'none' ? (
          <Empty>
            This process is read-only. Sign in as the operator on the process that receives the node’s events.
          </Empty>
        ) : (
          <SignIn purpose="as the operator" />
        )
      }
    </Show>
  );
}

/** Renders the sign-in form, with an input for an API key. @param purpose ends its title: `to manage chainhooks` */
function SignIn({ purpose }: { purpose: string }) {
  const field = useRef<HTMLInputElement>(null);
  const { run, problem, busy } = useAction();
  const submit = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    run(() => signIn(field.current?.value ?? ''), 'Signed in');
  };
  return (
    <section class="panel" aria-label="Sign in">
      <div class="panel-body stack">
        <h2>Sign in {purpose}</h2>
        <p>
          Run <code>stackside console</code> on the server: it prints a link that signs this browser in. Or enter an API
          key.
        </p>
        <form class="form stack" onSubmit={submit}>
          <label>
            API key
            <input ref={field} type="password" autocomplete="current-password" required />
          </label>
          {problem === null ? null : (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          <div class="row">
            <button type="submit" class="primary" disabled={busy}>
              Sign in
            </button>
          </div>
        </form>
      </div>
    </section>
  );
}
