/** Shows a page to users who may manage chainhooks, and the sign-in form to others. */

import type { ComponentChildren } from 'preact';
import { readSession, session, signIn } from '../api/session.ts';
import { useAnswer } from '../api/use-answer.ts';
import { Form, TextField, useAction } from '../ui/form.tsx';
import { Button, Empty, Page, Problem, Show } from '../ui/parts.tsx';

interface SignedInProps {
  /** Title of the page with the sign-in form; without one, the page is around this component. */
  title?: string;
  /** Whether only the operator may see the children, because the data is more than the API reveals. */
  operator?: boolean;
  children: ComponentChildren;
}

/** Renders its children if the session may see them, otherwise the sign-in form. */
export function SignedIn({ title, operator = false, children }: SignedInProps) {
  const loaded = useAnswer('session', readSession);
  const currentSession = session.value;
  if (operator ? currentSession?.operator === true : currentSession?.signed_in === true) return <>{children}</>;
  const purpose = operator ? 'Sign in as the operator' : 'Manage chainhooks';
  const form = (
    <Show loaded={loaded}>
      {({ access }) =>
        access === 'none' ? (
          <Empty>This process is read-only. {purpose} on the process that receives the node’s events.</Empty>
        ) : (
          <SignIn purpose={operator ? 'as the operator' : 'to manage chainhooks'} />
        )
      }
    </Show>
  );
  return title === undefined ? form : <Page title={title}>{form}</Page>;
}

function SignIn({ purpose }: { purpose: string }) {
  const { run, problem, busy } = useAction();
  return (
    <section class="panel" aria-label="Sign in">
      <div class="panel-body stack">
        <h2>Sign in {purpose}</h2>
        <p>
          Run <code>stackside console</code> on the server: it prints a link that signs this browser in. Or enter an API
          key.
        </p>
        <Form class="form stack" onSubmit={(value) => run(() => signIn(value('key')), 'Signed in')}>
          <TextField label="API key" name="key" type="password" autocomplete="current-password" required />
          <Problem text={problem} />
          <div class="row">
            <Button text="Sign in" type="submit" class="primary" disabled={busy} />
          </div>
        </Form>
      </div>
    </section>
  );
}
