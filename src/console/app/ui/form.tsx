/**
 * Forms with labelled inputs, and the requests of buttons: their state, and a confirmation before requests that can't be
 * undone.
 */
import type { ComponentChildren, ComponentProps } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { assertRequestError } from '../api/api.ts';
import { visible } from '../chain/format.ts';
import type { Mistake } from '../chain/hook-definition.ts';
import { announce, Button } from './parts.tsx';

const Help = ({ text = '' }: { text: ComponentChildren }) =>
  text === '' ? null : <span class="quiet tiny">{text}</span>;

type Input = ComponentProps<'input'>;

interface TextFieldProps extends Omit<Input, 'label' | 'type' | 'onChange'> {
  label: ComponentChildren;
  type?: 'text' | 'number' | 'password' | 'date' | 'search';
  /** The accepted input, in words. */
  help?: ComponentChildren;
  mistake?: string | null;
  onChange?: (value: string) => void;
}

/** Renders a labelled input, with the mistake and the accepted input below. Its type is text by default. */
export const TextField = ({ label, help, mistake = null, class: kind, onChange, ...input }: TextFieldProps) => (
  <label class={kind}>
    {label}
    <input
      {...({ type: 'text', autocomplete: 'off', spellcheck: false, ...input } as Input)}
      aria-invalid={mistake !== null}
      onInput={({ currentTarget }) => onChange?.(currentTarget.value)}
    />
    {mistake === null ? null : <span class="problem">{mistake}</span>}
    <Help text={help} />
  </label>
);

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  /** @param value returns the contents of an input by its name, without spaces at either end */
  onSubmit: (value: (name: string) => string, form: HTMLFormElement) => void;
}

/** Renders a form that calls a function in place of a request. */
export const Form = ({ onSubmit, ...others }: FormProps) => (
  <form
    {...others}
    onSubmit={(event) => {
      event.preventDefault();
      const data = new FormData(event.currentTarget);
      onSubmit((name) => String(data.get(name) ?? '').trim(), event.currentTarget);
    }}
  />
);

interface ChoiceFieldProps extends Pick<TextFieldProps, 'label' | 'help' | 'required'> {
  value: string;
  onChange: (value: string) => void;
  /** The values, or pairs of a value and its text. */
  choices: readonly (string | readonly [value: string, text: string])[];
}

/** Renders a labelled choice. */
export const ChoiceField = ({ label, value, choices, help, required = false, onChange }: ChoiceFieldProps) => (
  <label>
    {label}
    <select value={value} required={required} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {choices.map((choice) => {
        const [option, text] = typeof choice === 'string' ? [choice, choice] : choice;
        return (
          <option key={option} value={option}>
            {text}
          </option>
        );
      })}
    </select>
    <Help text={help} />
  </label>
);

interface CheckProps {
  checked: boolean;
  onChange: (checked: boolean) => void;
  children: ComponentChildren;
}

/** Renders a checkbox with its label. */
export const Check = ({ checked, onChange, children }: CheckProps) => (
  <label class="check">
    <input type="checkbox" checked={checked} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
    <span>{children}</span>
  </label>
);

/** Returns a handler of keys that calls a function at Ctrl-Enter. */
export const onCtrlEnter = (submit: () => void) => (event: KeyboardEvent) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  submit();
};

/** Renders the mistakes in a form. */
export const Mistakes = ({ mistakes }: { mistakes: readonly Mistake[] }) =>
  mistakes.length === 0 ? null : (
    <section class="note stack bad" aria-label="Mistakes" aria-live="polite">
      <ul>
        {mistakes.map(({ path, message }) => (
          <li key={path} class="break">
            {visible(`${path} ${message}`)}
          </li>
        ))}
      </ul>
    </section>
  );

interface RunOptions<Result> {
  /** Called if the request has succeeded, unless it was cancelled. */
  onSuccess?: (result: Result) => void;
}

interface Action<Result> {
  busy: boolean;
  /** Error of the last request; null while it runs, and if it succeeded. */
  problem: string | null;
  /** Result of the last request; null while it runs, and if it failed. */
  result: Result | null;
  /** Runs a request. If it succeeds, announces `done`, or its text for the result, to screen readers. */
  run<R extends Result>(
    work: (signal: AbortSignal) => Promise<R>,
    done: string | ((result: R) => string),
    options?: RunOptions<R>,
  ): void;
  /** Ends the last request, which then reports no error. The end of the component does the same. */
  cancel(): void;
}

/** Returns the state of a component's requests. A component has one, so that an error never outlives the next request. */
export function useAction<Result = unknown>(): Action<Result> {
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
    run(work, done, { onSuccess = () => {} } = {}) {
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
            if (!controller.signal.aborted) onSuccess(answer);
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
