/** The search field: a combobox with the meanings of the typed text. */

import type { TargetedKeyboardEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { MAX_ASSET_LENGTH } from '../../../codec/address.ts';
import { assertRequestError, get } from '../api/api.ts';
import { count } from '../chain/format.ts';
import {
  groupResults,
  normalizeSearch,
  type PageOf,
  pageOfResult,
  pageOfSearch,
  type SearchResult,
} from '../chain/search.ts';
import { Form } from './form.tsx';
import { announce } from './parts.tsx';
import { go, pathTo, url } from './router.ts';
import { ChainText } from './values.tsx';

/** The id of the search field at the top of every page. */
export const SEARCH_ID = 'search';

/** Milliseconds without typing before the search starts. */
const PAUSE_MS = 120;
const MAX_RESULTS = 20;

const SEARCHABLE =
  'Search for a height, an id of a block or transaction, a Stacks or Bitcoin address, a contract, a token or a name.';
const NOT_FOUND = `Nothing was found. ${SEARCHABLE}`;

interface OptionsProps {
  id: string;
  groups: readonly { kind: string; title: string; items: readonly SearchResult[] }[];
  active: SearchResult | null;
  choose: (item: SearchResult) => void;
}

const optionId = (id: string, item: SearchResult): string => `${id}-${item.kind}-${encodeURIComponent(item.id)}`;

/** Renders the groups of the list. The field keeps the focus; pressing an option chooses it. */
const Options = ({ id, groups, active, choose }: OptionsProps) => (
  <div role="listbox" id={`${id}-list`} aria-label="Search results">
    {groups.map(({ kind, title, items }) => (
      // biome-ignore lint/a11y/useSemanticElements: a listbox has groups, and no fieldset
      <div key={title} role="group" aria-labelledby={`${id}-${kind}`}>
        <p id={`${id}-${kind}`} class="found quiet" role="presentation">
          {title}
        </p>
        {items.map((item) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus, and names the active option
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
          <div
            key={item.id}
            role="option"
            id={optionId(id, item)}
            class="found row"
            aria-selected={item === active}
            onClick={() => choose(item)}
          >
            <span class="fit">
              <ChainText text={item.label} />
            </span>
            {item.detail === null || item.detail === item.label ? null : (
              <span class="fit quiet">
                <ChainText text={item.detail} />
              </span>
            )}
          </div>
        ))}
      </div>
    ))}
  </div>
);

interface SearchAnswer {
  /** The searched text; empty before the first answer. */
  text: string;
  results: readonly SearchResult[];
  problem: string | null;
}

const NOTHING: SearchAnswer = { text: '', results: [], problem: null };

/** Requests the results of a text. @throws DOMException if the request was aborted */
async function searchFor(text: string, signal: AbortSignal): Promise<SearchAnswer> {
  try {
    const { results } = await get('/stackside/v1/search', { q: text, limit: MAX_RESULTS }, signal);
    return { text, results, problem: null };
  } catch (error) {
    if (signal.aborted) throw error;
    assertRequestError(error);
    return { text, results: [], problem: error.message };
  }
}

/** Renders the search field. @param id of the field @param text initial text */
export function Search({ id = SEARCH_ID, text: first = '' }: { id?: string; text?: string }) {
  const [text, setText] = useState(first);
  const [isOpen, setOpen] = useState(false);
  /** The newest answer. It stays while the next search runs. */
  const [answer, setAnswer] = useState(NOTHING);
  /** The page on which a text without an answer was submitted; null if none is. */
  const [submittedOn, setSubmittedOn] = useState<typeof url.value | null>(null);
  const [activeId, setActiveId] = useState<string | null>(null);
  const container = useRef<HTMLElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const typed = normalizeSearch(text);
  const isEmpty = typed === '';
  const isAnswered = !isEmpty && answer.text === typed;
  const groups = isEmpty ? [] : groupResults(answer.results);
  const options = groups.flatMap(({ items }) => items);
  const active = options.find((item) => optionId(id, item) === activeId) ?? null;
  const isListed = isOpen && options.length > 0;

  // Searches after a pause, or at once if the text was submitted. A newer search cancels an older one.
  useEffect(() => {
    if (isEmpty) setAnswer(NOTHING);
    const isWanted = isOpen || submittedOn !== null;
    if (isEmpty || isAnswered || !isWanted) return;
    const controller = new AbortController();
    const show = (newAnswer: SearchAnswer) => {
      const { results, problem } = newAnswer;
      setAnswer(newAnswer);
      announce(results.length === 0 ? (problem ?? 'Nothing was found.') : `${count(results.length)} results`);
      setSubmittedOn(null);
      if (submittedOn === url.value && problem === null) openBest(results);
    };
    const search = () =>
      searchFor(typed, controller.signal).then(show, (error: unknown) => {
        if (!controller.signal.aborted) throw error;
      });
    const timer = setTimeout(search, submittedOn === null ? PAUSE_MS : 0);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [typed, isAnswered, isOpen, submittedOn]);
  useEffect(() => {
    if (activeId !== null) document.querySelector(`#${CSS.escape(activeId)}`)?.scrollIntoView({ block: 'nearest' });
  }, [activeId]);

  function close(): void {
    setOpen(false);
    setActiveId(null);
  }

  function openPage({ page, params }: PageOf): void {
    setText('');
    close();
    field.current?.blur();
    go(pathTo(page, params));
  }

  const choose = (item: SearchResult): void => openPage(pageOfResult(item));

  /** Opens the page that a submitted text leads to, if there is one. */
  function openBest(results: readonly SearchResult[]): void {
    const to = pageOfSearch(typed, results);
    if (to !== null) openPage(to);
  }

  function submit(): void {
    setOpen(true);
    if (active !== null && isListed) choose(active);
    else if (isAnswered && answer.problem === null) openBest(answer.results);
    else if (!isEmpty) {
      setAnswer(NOTHING);
      setSubmittedOn(url.value);
    }
  }

  function handleKey(event: TargetedKeyboardEvent<HTMLInputElement>): void {
    const index = active === null ? -1 : options.indexOf(active);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && !event.altKey) {
      event.preventDefault();
      setOpen(true);
      // The field is the position before the first option and after the last one.
      const nextIndex = (index + 1 + step + options.length + 1) % (options.length + 1);
      const next = options[nextIndex - 1];
      setActiveId(next === undefined ? null : optionId(id, next));
    } else if (event.key === 'Escape' && (isListed || problem !== null)) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  }

  const problem = isOpen && isAnswered && options.length === 0 ? (answer.problem ?? NOT_FOUND) : null;
  const message = problem ?? (isOpen && isEmpty ? SEARCHABLE : null);
  const describedBy = message === null ? undefined : `${id}-message`;
  return (
    <search
      ref={container}
      onFocusOut={({ relatedTarget }) => {
        if (!container.current?.contains(relatedTarget as Node | null)) close();
      }}
    >
      <Form onSubmit={submit}>
        <input
          ref={field}
          id={id}
          value={text}
          type="text"
          enterkeyhint="search"
          inputmode="search"
          name="q"
          role="combobox"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={MAX_ASSET_LENGTH}
          placeholder="Search names, addresses, ids, heights"
          aria-label="Search the chain"
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-expanded={isListed}
          aria-controls={isListed ? `${id}-list` : undefined}
          aria-activedescendant={isListed && active !== null ? (activeId ?? undefined) : undefined}
          aria-describedby={describedBy}
          aria-keyshortcuts={id === SEARCH_ID ? '/ Control+K Meta+K' : undefined}
          onFocus={() => setOpen(true)}
          onClick={() => setOpen(true)}
          onKeyDown={handleKey}
          onInput={({ currentTarget }) => {
            setSubmittedOn(null);
            setText(currentTarget.value);
            setOpen(true);
          }}
        />
      </Form>
      {isListed ? (
        // biome-ignore lint/a11y/noStaticElementInteractions: a press keeps the focus in the field
        <div class="found-list panel small" onMouseDown={(event) => event.preventDefault()}>
          <Options id={id} groups={groups} active={active} choose={choose} />
        </div>
      ) : null}
      {message === null ? null : (
        <p class={`found-list panel panel-body ${message === SEARCHABLE ? 'quiet' : ''}`} id={describedBy}>
          {message}
        </p>
      )}
    </search>
  );
}
