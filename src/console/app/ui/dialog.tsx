/** A question before something that can't be taken back. */
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

interface ConfirmProps {
  /** What the button that asks says. */
  action: string;
  question: string;
  children: ComponentChildren;
  onConfirm: () => void;
}

/** A button that asks before it acts. */
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
