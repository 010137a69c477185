/** Requests of buttons: their state, and a confirmation before requests that can't be undone. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { assertRequestError } from '../api/api.ts';
import { announce, Button } from './parts.tsx';

interface Action<Result> {
  busy: boolean;
  /** Error of the last request; null if it succeeded. */
  problem: string | null;
  /** Result of the last request; null while it runs, and if it failed. */
  result: Result | null;
  /** Runs a request. If it succeeds, announces `done`, or its text for the result, to screen readers. */
  run(work: (signal: AbortSignal) => Promise<Result>, done: string | ((result: Result) => string)): void;
  /** Ends the last request, which then reports no error. The end of the component does the same. */
  cancel(): void;
}

/** Returns the state of a component's requests. @param onSuccess called when a request has succeeded */
export function useAction<Result = unknown>(onSuccess: () => void = () => {}): Action<Result> {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [result, setResult] = useState<Result | null>(null);
  const running = useRef(new AbortController());
  const cancel = () => {
    running.current.abort();
    setBusy(false);
  };
  useEffect(() => cancel, []);
  return {
    busy,
    problem,
    result,
    cancel,
    run(work, done) {
      const controller = new AbortController();
      running.current = controller;
      setBusy(true);
      setProblem(null);
      setResult(null);
      work(controller.signal)
        .then(
          (answer) => {
            setResult(answer);
            announce(typeof done === 'string' ? done : done(answer));
            onSuccess();
          },
          (error: unknown) => {
            if (controller.signal.aborted && error instanceof DOMException) return;
            assertRequestError(error);
            if (!controller.signal.aborted) setProblem(error.message);
          },
        )
        .finally(() => {
          if (running.current === controller) setBusy(false);
        });
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
