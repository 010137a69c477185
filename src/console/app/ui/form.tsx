/** Parts of forms. */
import { visible } from '../chain/format.ts';

interface TextFieldProps {
  label: string;
  value: string;
  help: string;
  mistake: string | null;
  /** Maximum number; absent for a text. */
  most?: number;
  onChange: (value: string) => void;
}

/** Renders a labelled input for a text or a number, with the mistake and the accepted input below. */
export function TextField({ label, value, help, mistake, most, onChange }: TextFieldProps) {
  return (
    <label>
      {label}
      <input
        {...(most === undefined ? { type: 'text' } : { type: 'number', min: 0, max: most })}
        value={value}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={mistake !== null}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      {mistake === null ? null : <span class="problem">{mistake}</span>}
      {help === '' ? null : <span class="quiet tiny">{help}</span>}
    </label>
  );
}

interface SearchFieldProps {
  label: string;
  value: string;
  help: string;
  onChange: (value: string) => void;
}

/** Renders the input that filters a list on the page. */
export const SearchField = ({ label, value, help, onChange }: SearchFieldProps) => (
  <label class="grow">
    {label}
    <input
      type="search"
      value={value}
      autocomplete="off"
      spellcheck={false}
      placeholder={help}
      onInput={({ currentTarget }) => onChange(currentTarget.value)}
    />
  </label>
);

interface ChoiceFieldProps {
  label: string;
  value: string;
  choices: readonly string[];
  help: string;
  onChange: (value: string) => void;
}

/** Renders a labelled choice of one among words. */
export const ChoiceField = ({ label, value, choices, help, onChange }: ChoiceFieldProps) => (
  <label>
    {label}
    <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {choices.map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </select>
    <span class="quiet tiny">{help}</span>
  </label>
);

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
