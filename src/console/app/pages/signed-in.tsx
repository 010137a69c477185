/** Pages for those who may manage chainhooks, and the form by which others sign in. */
import type { ComponentChildren, TargetedEvent } from 'preact';
import { useRef } from 'preact/hooks';
import { readSession, session, signIn } from '../api/session.ts';
import { useAnswer } from '../api/use-answer.ts';
import { useAction } from '../ui/actions.tsx';
import { Empty, Page, Show } from '../ui/parts.tsx';

/** @param title of the page, while it isn't shown */
export function SignedIn({ title, children }: { title: string; children: ComponentChildren }) {
  const loaded = useAnswer('session', readSession);
  const { value: known } = session;
  if (known?.signed_in === true) return <>{children}</>;
  return (
    <Page title={title}>
      <Show loaded={loaded}>
        {() =>
          known?.access === 'none' ? (
            <Empty>This process only reads: chainhooks are managed where the node’s events arrive.</Empty>
          ) : (
            <SignIn purpose="to manage chainhooks" />
          )
        }
      </Show>
    </Page>
  );
}

/** The form that takes a key. @param purpose what one signs in for */
export function SignIn({ purpose }: { purpose: string }) {
  const field = useRef<HTMLInputElement>(null);
  const { run, problem, busy } = useAction();
  const submit = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    run(() => signIn(field.current?.value ?? ''), 'Signed in');
  };
  return (
    <section class="panel sign-in" aria-label="Sign in">
      <div class="panel-body">
        <h2>Sign in {purpose}</h2>
        <p>
          Run <code>stackside console</code> on the server: it prints a link that signs this browser in. Or give a key
          of the API.
        </p>
        <form class="form" onSubmit={submit}>
          <label>
            API key
            <input ref={field} type="password" autocomplete="current-password" required />
          </label>
          {problem === null ? null : (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          <div class="buttons">
            <button type="submit" class="primary" disabled={busy}>
              Sign in
            </button>
          </div>
        </form>
      </div>
    </section>
  );
}
