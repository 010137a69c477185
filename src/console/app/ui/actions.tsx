/** Requests that change data: their state, and a confirmation before requests that can't be undone. */

import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { onlyRequestError } from '../api/api.ts';
import { announce, Button } from './parts.tsx';

interface Action {
  /** Whether a request is running. */
  busy: boolean;
  /** Error of the last request; null if it succeeded. */
  problem: string | null;
  /** Runs a request. If it succeeds, announces `done`, or its text for the result, to screen readers. */
  run<T>(work: () => Promise<T>, done: string | ((result: T) => string)): void;
}

/** Returns the state of a component's requests. @param after called when a request has succeeded */
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
            onlyRequestError(error);
            setProblem(error.message);
          },
        )
        .finally(() => setBusy(false));
    },
  };
}

interface ConfirmProps {
  /** Text of the button, and of the confirmation dialog's button. */
  action: string;
  question: string;
  children: ComponentChildren;
  onConfirm: () => void;
}

/** Renders a button that opens a confirmation dialog before the action. */
export function Confirm({ action, question, children, onConfirm }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <Button text={action} onClick={() => dialog.current?.showModal()} />
      <dialog ref={dialog} aria-label={question}>
        <div class="panel-body stack">
          <h2>{question}</h2>
          <p>{children}</p>
          <div class="row">
            <Button text="Cancel" onClick={() => dialog.current?.close()} />
            <Button
              text={action}
              class="bad"
              onClick={() => {
                dialog.current?.close();
                onConfirm();
              }}
            />
          </div>
        </div>
      </dialog>
    </>
  );
}
