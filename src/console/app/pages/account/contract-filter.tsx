/** The form that narrows the calls and logs of a contract; the address holds what was chosen. */
import type { TargetedEvent } from 'preact';
import type { ContractFilter } from '../../api/contract-search.ts';
import { go, place, withQuery } from '../../ui/router.ts';

/** The query parameters of the address, by the member that each holds. */
const PARAMETERS = { name: 'name', condition: 'is', from: 'from', to: 'to' } as const satisfies Record<
  keyof ContractFilter,
  string
>;
type Member = keyof typeof PARAMETERS;
const MEMBERS = Object.keys(PARAMETERS) as Member[];

/** What the address narrows the list to. */
export function chosenFilter(): ContractFilter {
  const { query } = place.value;
  const text = (member: Member): string => query.get(PARAMETERS[member]) ?? '';
  return { name: text('name'), condition: text('condition'), from: text('from'), to: text('to') };
}

/** Changes of the address that forget the filter. */
export const NO_FILTER: Readonly<Record<string, null>> = Object.fromEntries(
  Object.values(PARAMETERS).map((parameter) => [parameter, null]),
);

/** What the fields of words, and those of heights, have beside what all have. */
const TEXT = { type: 'text', autocomplete: 'off', spellcheck: false } as const;
const HEIGHT = { type: 'number', min: 0 } as const;

interface FilterFormProps {
  filter: ContractFilter;
  /** What is named: a field or an argument. Without it, the list is narrowed by heights alone. */
  of: string | null;
}

export function FilterForm({ filter, of }: FilterFormProps) {
  const submit = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const changes = MEMBERS.map((member) => [PARAMETERS[member], String(form.get(member) ?? '').trim() || null]);
    go(withQuery({ ...Object.fromEntries(changes), cursor: null }));
  };
  // A key makes the field anew where the address has another value.
  const field = (member: Member, label: string, placeholder: string, kind: typeof TEXT | typeof HEIGHT) => (
    <label>
      {label}
      <input key={filter[member]} name={member} placeholder={placeholder} defaultValue={filter[member]} {...kind} />
    </label>
  );
  const isChosen = MEMBERS.some((member) => filter[member] !== '');
  return (
    <form class="panel-body form row" onSubmit={submit}>
      {of === null ? null : field('name', of, 'amount', TEXT)}
      {of === null ? null : field('condition', 'Condition', 'gte:1000', TEXT)}
      {field('from', 'From block', 'first', HEIGHT)}
      {field('to', 'To block', 'newest', HEIGHT)}
      <button type="submit">Filter</button>
      {isChosen ? (
        <a class="button" href={withQuery({ ...NO_FILTER, cursor: null })}>
          Show all
        </a>
      ) : null}
    </form>
  );
}
