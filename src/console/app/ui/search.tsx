/** The search field: finds the page of a height, hash, address, contract, token or name. */
import type { TargetedEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { api, bodyOf, RequestError } from '../api/api.ts';
import { onlyLast } from '../api/order.ts';
import { announce, Icon } from './parts.tsx';
import { go, pathTo, place } from './router.ts';
import { principalPath } from './values.tsx';

/** The id of the search field at the top of every page. */
export const SEARCH_ID = 'search';

const HASH = /^(0x)?[0-9a-f]{64}$/i;
const HEIGHT = /^#?\d{1,10}$/;
const PRINCIPAL = /^S[0-9A-Z]{27,41}(\.[a-zA-Z][a-zA-Z0-9_-]*)?$/i;
const NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+){1,2}$/;

/** A principal with its address in capitals, as the c32 alphabet of addresses (SIP-005) has it. */
function principalText(text: string): string {
  const [address = '', ...name] = text.split('.');
  return [address.toUpperCase(), ...name].join('.');
}

/** The path of the transaction, block or Bitcoin block with a hash; null if there is none. @throws RequestError */
async function pathOfHash(text: string): Promise<string | null> {
  const id = text.toLowerCase().replace(/^(0x)?/, '0x');
  const found = await bodyOf(api.GET('/extended/v1/search/{id}', { params: { path: { id } } })).catch(nothing);
  if (found?.found === true) {
    const { entity_type: kind } = found.result;
    return kind === 'block_hash' ? pathTo('block', { id }) : pathTo('transaction', { id });
  }
  const params = { path: { height_or_hash: id } };
  const bitcoinBlock = await bodyOf(api.GET('/extended/v2/burn-blocks/{height_or_hash}', { params })).catch(nothing);
  return bitcoinBlock === null ? null : pathTo('bitcoinBlock', { id });
}

/** Null if the server found nothing or refused the id. @throws the error otherwise */
function nothing(error: unknown): null {
  if (error instanceof RequestError && (error.status === 404 || error.status === 400)) return null;
  throw error;
}

/** The path of the page that a search finds; null if it finds none. @throws RequestError */
async function pathOfSearch(text: string): Promise<string | null> {
  if (text.includes('::')) return pathTo('token', { asset: text });
  if (HEIGHT.test(text)) return pathTo('block', { id: text.replace('#', '') });
  if (HASH.test(text)) return pathOfHash(text);
  if (PRINCIPAL.test(text)) return principalPath(principalText(text));
  if (NAME.test(text)) return pathTo('name', { name: text });
  return null;
}

const NOT_FOUND = 'Nothing was found. Search for a block height, a hash, an address, a contract, a token or a name.';

/** The next search, and any typing, make the result of an earlier search obsolete. */
const newSearch = onlyLast();

/**
 * The search field.
 * @param id of the field
 * @param text that it has at first
 */
export function Search({ id = SEARCH_ID, text: first = '' }: { id?: string; text?: string }) {
  const [problem, setProblem] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = field.current?.value.trim() ?? '';
    if (text === '') return;
    setProblem(null);
    const from = place.value;
    const isLast = newSearch();
    // A result that arrives after the user went to another page is ignored.
    const isWanted = () => isLast() && place.value === from;
    pathOfSearch(text).then(
      (path) => {
        if (!isWanted()) return;
        if (path === null) {
          setProblem(NOT_FOUND);
          announce(NOT_FOUND);
          return;
        }
        if (field.current !== null) field.current.value = '';
        go(path);
      },
      (error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
        if (!isWanted()) return;
        setProblem(error.message);
        announce(error.message);
      },
    );
  };
  return (
    <search>
      <form class="search" onSubmit={submit}>
        <Icon name="search" />
        <input
          ref={field}
          id={id}
          defaultValue={first}
          type="search"
          name="q"
          autocomplete="off"
          spellcheck={false}
          placeholder="Height, hash, address, contract or name"
          aria-label="Search the chain"
          aria-describedby={problem === null ? undefined : `${id}-problem`}
          aria-keyshortcuts={id === SEARCH_ID ? '/' : undefined}
          onInput={() => {
            newSearch();
            setProblem(null);
          }}
        />
        {id === SEARCH_ID ? <kbd>/</kbd> : null}
      </form>
      {problem === null ? null : (
        <p class="search-problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </search>
  );
}
