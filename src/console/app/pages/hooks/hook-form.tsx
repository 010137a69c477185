/** The definition of a chainhook as a form, whose fields come from the schemas of filters. */

import { words } from '../../chain/format.ts';
import {
  type Draft,
  type FilterField,
  type FilterValues,
  fieldsOf,
  filterTypes,
  type Mistake,
  withField,
  withType,
} from '../../chain/hook-form.ts';
import { Panel } from '../../ui/parts.tsx';

interface HookFormProps {
  draft: Draft;
  mistakes: readonly Mistake[];
  onChange: (draft: Draft) => void;
}

export function HookForm({ draft, mistakes, onChange }: HookFormProps) {
  const { filters, options, action } = draft;
  const mistakeAt = (path: string): string | null => mistakes.find((one) => one.path === path)?.message ?? null;
  const setEvents = (events: FilterValues[]) => onChange({ ...draft, filters: { events } });
  return (
    <>
      <Panel title="Chainhook">
        <div class="panel-body form">
          <TextField
            label="Name"
            value={draft.name}
            help="For you alone: a name that tells this chainhook from others."
            mistake={mistakeAt('name')}
            onChange={(name) => onChange({ ...draft, name })}
          />
          <TextField
            label="URL of the receiver"
            value={action.url}
            help="Each matching block is sent there by POST, and again until the answer is 2xx."
            mistake={mistakeAt('action.url')}
            onChange={(url) => onChange({ ...draft, action: { ...action, url } })}
          />
        </div>
      </Panel>
      <Panel title="Filters" aside={<span class="quiet">A block matches if any of them does.</span>}>
        <div class="panel-body form">
          {filters.events.map((filter, index) => (
            <FilterForm
              key={index}
              number={index + 1}
              filter={filter}
              mistakeAt={(name) => mistakeAt(`filters.events.${index}.${name}`)}
              onChange={(changed) => setEvents(filters.events.with(index, changed))}
              onRemove={filters.events.length === 1 ? null : () => setEvents(filters.events.toSpliced(index, 1))}
            />
          ))}
          <div class="buttons">
            <button type="button" onClick={() => setEvents([...filters.events, { type: 'stx_transfer' }])}>
              Add a filter
            </button>
          </div>
        </div>
      </Panel>
      <Panel title="Options">
        <div class="panel-body form options">
          {FLAGS.map(([name, title]) => (
            <label key={name} class="check">
              <input
                type="checkbox"
                checked={options[name] === true}
                onChange={({ currentTarget }) =>
                  onChange({ ...draft, options: { ...options, [name]: currentTarget.checked } })
                }
              />
              {title}
            </label>
          ))}
          {LIMITS.map(([name, title]) => (
            <label key={name}>
              {title}
              <input
                type="number"
                min={0}
                placeholder="no limit"
                value={typeof options[name] === 'number' ? String(options[name]) : ''}
                onInput={({ currentTarget: { valueAsNumber: value } }) =>
                  onChange({ ...draft, options: { ...options, [name]: Number.isNaN(value) ? null : value } })
                }
              />
            </label>
          ))}
        </div>
      </Panel>
    </>
  );
}

const FLAGS = [
  ['enable_on_registration', 'Begin at once'],
  ['decode_clarity_values', 'Decode Clarity values'],
  ['include_contract_abi', 'Include interfaces of contracts'],
  ['include_contract_source_code', 'Include sources of contracts'],
  ['include_post_conditions', 'Include post-conditions'],
  ['include_raw_transactions', 'Include raw transactions'],
  ['include_block_metadata', 'Include metadata of the block'],
  ['include_block_signatures', 'Include signatures of the block'],
] as const;

const LIMITS = [
  ['expire_after_occurrences', 'Expire after matching blocks'],
  ['expire_after_evaluations', 'Expire after evaluated blocks'],
] as const;

interface FilterFormProps {
  number: number;
  filter: FilterValues;
  mistakeAt: (name: string) => string | null;
  onChange: (filter: FilterValues) => void;
  /** Null where it is the only one. */
  onRemove: (() => void) | null;
}

function FilterForm({ number, filter, mistakeAt, onChange, onRemove }: FilterFormProps) {
  return (
    <fieldset>
      <legend>Filter {number}</legend>
      <div class="form row">
        <label>
          Event
          <select value={filter.type} onChange={({ currentTarget }) => onChange(withType(filter, currentTarget.value))}>
            {filterTypes.map((type) => (
              <option key={type} value={type}>
                {words(type)}
              </option>
            ))}
          </select>
        </label>
        {onRemove === null ? null : (
          <button type="button" onClick={onRemove}>
            Remove
          </button>
        )}
      </div>
      {fieldsOf(filter.type).map((field) => (
        <Field
          key={field.name}
          field={field}
          value={filter[field.name]}
          mistake={mistakeAt(field.name)}
          onChange={(value) => onChange(withField(filter, field.name, value))}
        />
      ))}
    </fieldset>
  );
}

interface FieldProps {
  field: FilterField;
  value: unknown;
  mistake: string | null;
  onChange: (value: string | readonly string[]) => void;
}

/** `contract_identifier` gives `Contract identifier`. */
const titleOf = (name: string): string => words(name).replace(/^./, (letter) => letter.toUpperCase());

function Field({ field: { name, required, help, choices, many }, value, mistake, onChange }: FieldProps) {
  const label = required ? titleOf(name) : `${titleOf(name)} (optional)`;
  if (choices === null) {
    const text = value === undefined ? '' : String(value);
    return <TextField label={label} value={text} help={help} mistake={mistake} onChange={onChange} />;
  }
  if (!many) {
    return (
      <label>
        {label}
        <select
          value={typeof value === 'string' ? value : ''}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        >
          <option value="">any</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {words(choice)}
            </option>
          ))}
        </select>
      </label>
    );
  }
  const chosen = Array.isArray(value) ? (value as string[]) : [];
  return (
    <fieldset class="choices">
      <legend>{label}</legend>
      {choices.map((choice) => (
        <label key={choice} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(choice)}
            onChange={({ currentTarget }) =>
              onChange(choices.filter((one) => (one === choice ? currentTarget.checked : chosen.includes(one))))
            }
          />
          {words(choice)}
        </label>
      ))}
    </fieldset>
  );
}

interface TextFieldProps {
  label: string;
  value: string;
  help: string;
  mistake: string | null;
  onChange: (value: string) => void;
}

function TextField({ label, value, help, mistake, onChange }: TextFieldProps) {
  return (
    <label class={mistake === null ? '' : 'wrong'}>
      {label}
      <input
        type="text"
        value={value}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={mistake !== null}
        onInput={({ currentTarget }) => onChange(currentTarget.value.trimStart())}
      />
      {mistake === null ? null : <span class="problem">{mistake}</span>}
      {help === '' ? null : <span class="help">{help}</span>}
    </label>
  );
}
