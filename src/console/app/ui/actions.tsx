/** Requests that change data: their state, and a confirmation before those that can't be undone. */

import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { RequestError } from '../api/api.ts';
import { announce } from './parts.tsx';

interface Action {
  /** Whether a request is under way. */
  busy: boolean;
  /** Why the last request failed; null if it succeeded. */
  problem: string | null;
  /** Runs a request. Announces `done`, or what it says of the result, to screen readers if it succeeds. */
  run<T>(work: () => Promise<T>, done: string | ((result: T) => string)): void;
}

/** The state of a component's requests. @param after called when a request has succeeded */
export function useAction(after: () => void = () => {}): Action {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  return {
    busy,
    problem,
    run(work, done) {
      setBusy(true);
      setProblem(null);
      work()
        .then(
          (result) => {
            announce(typeof done === 'string' ? done : done(result));
            after();
          },
          (error: unknown) => {
            if (!(error instanceof RequestError)) throw error;
            setProblem(error.message);
          },
        )
        .finally(() => setBusy(false));
    },
  };
}

interface ConfirmProps {
  /** The text of the button, and of the button of the dialog that confirms. */
  action: string;
  question: string;
  children: ComponentChildren;
  onConfirm: () => void;
}

/** A button that opens a dialog, which asks for confirmation before the action. */
export function Confirm({ action, question, children, onConfirm }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        {action}
      </button>
      <dialog ref={dialog} class="dialog" aria-label={question}>
        <h2>{question}</h2>
        <p>{children}</p>
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button
            type="button"
            class="danger"
            onClick={() => {
              dialog.current?.close();
              onConfirm();
            }}
          >
            {action}
          </button>
        </div>
      </dialog>
    </>
  );
}
