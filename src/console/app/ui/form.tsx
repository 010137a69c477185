/** Parts of forms. */
import type { ComponentChildren, ComponentProps } from 'preact';
import { visible } from '../chain/format.ts';

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
export const Mistakes = ({ mistakes }: { mistakes: readonly string[] }) =>
  mistakes.length === 0 ? null : (
    <section class="note stack bad" aria-label="Mistakes" aria-live="polite">
      <ul>
        {mistakes.map((mistake) => (
          <li key={mistake} class="break">
            {visible(mistake)}
          </li>
        ))}
      </ul>
    </section>
  );
