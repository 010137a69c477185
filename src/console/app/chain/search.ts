/** Search: the page of each result, and texts that identify a page without a search. */
import type { PageName } from '../../page-paths.ts';
import type { Answer } from '../api/api.ts';

export type SearchResult = Answer<'/stackside/v1/search'>['results'][number];
type ResultKind = SearchResult['kind'];

/** A page with the parameters of its path. */
export interface PageOf {
  page: PageName;
  params: Readonly<Record<string, string>>;
}

/** Each kind: its title, and the page of its objects with the parameter of its path. An address may be a contract. */
const KINDS: Readonly<Record<ResultKind, readonly [title: string, page: PageName, param: string]>> = {
  block: ['Blocks', 'block', 'id'],
  burn_block: ['Bitcoin blocks', 'bitcoinBlock', 'id'],
  transaction: ['Transactions', 'transaction', 'id'],
  bitcoin_address: ['Bitcoin addresses', 'bitcoinAddress', 'address'],
  address: ['Accounts', 'principal', 'id'],
  token: ['Tokens', 'token', 'asset'],
  contract: ['Contracts', 'contract', 'id'],
  bns_name: ['BNS-V2 names', 'name', 'name'],
  name: ['Names', 'name', 'name'],
};

/** Groups results by kind. The kind of the best result comes first. */
export const groupResults = (results: readonly SearchResult[]) =>
  [...Map.groupBy(results, ({ kind }) => kind)].map(([kind, items]) => ({ kind, title: KINDS[kind][0], items }));

const principalPage = (id: string): PageOf => ({ page: id.includes('.') ? 'contract' : 'principal', params: { id } });

/** Returns the page of a result. */
export function pageOfResult({ kind, id }: Pick<SearchResult, 'kind' | 'id'>): PageOf {
  if (kind === 'address') return principalPage(id);
  const [, page, param] = KINDS[kind];
  return { page, params: { [param]: id } };
}

/** Pattern of a height with separators, as pages show it: `#1,200`. */
const SEPARATED = /^#?\d{1,3}(,\d{3})+$/;
const HEIGHT = /^#?(\d{1,10})$/;
const PRINCIPAL = /^(S[0-9A-Z]{27,41})(\.[a-z][a-z0-9_-]*)?$/i;
const ASSET = /^S[0-9A-Z]{27,41}\.[^:]+::./i;
const NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+){1,2}$/;

/** Returns the searched text of a typed one: without spaces at either end, and a height without separators. */
export function normalizeSearch(typed: string): string {
  const text = typed.trim();
  return SEPARATED.test(text) ? text.replaceAll(',', '') : text;
}

/** Returns the page that a text identifies by its form, even if the server lacks the object; null for other texts. */
export function pageOfText(text: string): PageOf | null {
  const height = HEIGHT.exec(text)?.[1];
  if (height !== undefined) return { page: 'block', params: { id: height } };
  if (ASSET.test(text)) return { page: 'token', params: { asset: text } };
  const [, address, name = ''] = PRINCIPAL.exec(text) ?? [];
  return address === undefined ? null : principalPage(`${address.toUpperCase()}${name}`);
}

/** Returns the page of an exact match, else of the text's form, else of the best result; null if there is none. */
export function pageOfSearch(text: string, results: readonly SearchResult[]): PageOf | null {
  const [best] = results;
  const page = pageOfText(text);
  // The path of a block that the user searched by height contains the height.
  if (best?.match === 'exact' && !(best.kind === 'block' && page?.page === 'block')) return pageOfResult(best);
  if (page !== null) return page;
  if (best !== undefined) return pageOfResult(best);
  return NAME.test(text) ? { page: 'name', params: { name: text } } : null;
}
