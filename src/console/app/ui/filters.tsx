/** The form of the filters of a list, and the filters that are active. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ChosenFilters } from '../chain/filters.ts';
import { Form } from './form.tsx';
import { announce, Button, Empty, Icon, Panel, type PanelProps } from './parts.tsx';
import { go, withQuery } from './router.ts';

/** Types of inputs. An invalid day gets an input for text, which can show it. */
const DATE = { type: 'date' } as const;
const TEXT = { type: 'text' } as const;

function FilterField({ name, label, input, placeholder, text, mistake }: ChosenFilters['filters'][number]) {
  const id = `filter-${name}`;
  const attributes = {
    id,
    name,
    'aria-invalid': mistake !== null,
    'aria-describedby': mistake === null ? undefined : `${id}-mistake`,
  };
  return (
    <div class="field-group">
      <label for={id}>{label}</label>
      {typeof input === 'string' ? (
        // The key renders a new input if the query has another text, because `defaultValue` is read only once.
        <input
          key={text}
          {...attributes}
          {...(input === 'day' && mistake === null ? DATE : TEXT)}
          defaultValue={text}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
        />
      ) : (
        <select key={text} {...attributes}>
          <option value="">Any</option>
          {input.map(([value, title]) => (
            <option key={value} value={value} selected={value === text}>
              {title}
            </option>
          ))}
        </select>
      )}
      {mistake === null ? null : (
        <p class="problem" id={`${id}-mistake`} role="alert">
          {mistake}
        </p>
      )}
    </div>
  );
}

/** Renders the form of a list's filters, and the active filters, each with a link that removes it. */
function Filters({ chosen: { filters, isActive, conditions } }: { chosen: ChosenFilters }) {
  const active = filters.filter(({ text }) => text !== '');
  const without = (names: readonly string[]) =>
    withQuery({ cursor: null, ...Object.fromEntries(names.map((name) => [name, null])) });
  const inWords = active.map(({ words, mistake }) => mistake ?? words).join(', ');
  const lastText = useRef(inWords);
  useEffect(() => {
    if (lastText.current !== inWords) announce(isActive ? `Filtered by ${inWords}` : 'No filter');
    lastText.current = inWords;
  }, [inWords]);
  const submit = (value: (name: string) => string, form: HTMLFormElement) => {
    const texts = filters.map(({ name }) => [name, value(name) || null]);
    form.closest('details')?.removeAttribute('open');
    go(withQuery({ ...Object.fromEntries(texts), cursor: null }));
  };
  const isWrong = conditions === null;
  return (
    <div class="panel-body stack small">
      {/* The key opens the form if a filter is wrong, and closes it when all are right. */}
      <details key={String(isWrong)} open={isWrong}>
        <summary>Filter</summary>
        <Form class="form grid" onSubmit={submit}>
          {filters.map((filter) => (
            <FilterField key={filter.name} {...filter} />
          ))}
          <Button text="Apply" type="submit" class="primary" />
        </Form>
      </details>
      {isActive ? (
        <ul class="row" aria-label="Active filters">
          {active.map(({ name, words, text }) => (
            <li key={name}>
              <a class="badge accent row" href={without([name])} title={text} aria-label={`Remove the filter ${words}`}>
                <span class="fit">{words}</span>
                <Icon name="cross" />
              </a>
            </li>
          ))}
          {active.length > 1 ? (
            <li>
              <a class="badge accent" href={without(active.map(({ name }) => name))}>
                Remove all
              </a>
            </li>
          ) : null}
        </ul>
      ) : null}
    </div>
  );
}

interface FilteredPanelProps extends Omit<PanelProps, 'children'> {
  chosen: ChosenFilters;
  children: (conditions: NonNullable<ChosenFilters['conditions']>) => ComponentChildren;
}

/** Renders a panel with the form of filters, and below it the list, unless a filter is invalid: then no request is made. */
export const FilteredPanel = ({ chosen, children, ...panel }: FilteredPanelProps) => (
  <Panel {...panel}>
    <Filters chosen={chosen} />
    {chosen.conditions === null ? <Empty>A filter is wrong: see above.</Empty> : children(chosen.conditions)}
  </Panel>
);

/** Returns the text of a filtered list without a row. @param isMore whether there is a next page */
export const nothingMatches = (isMore: boolean): string =>
  isMore
    ? 'None of the searched transactions matches. The next page continues the search.'
    : 'No transaction matches all of these filters.';
