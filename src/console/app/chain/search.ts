/** What is searched for: the page of each result, the texts that say by themselves which page is meant, and recent results. */
import type { PageName } from '../../page-paths.ts';
import type { Answer } from '../api/answer.ts';
import { storedList } from './stored-list.ts';

export type FoundItem = Answer<'/stackside/v1/search'>['results'][number];
type FoundKind = FoundItem['kind'];

/** A page with the parameters of its path. */
export interface PageOf {
  page: PageName;
  params: Readonly<Record<string, string>>;
}

/** Results of one kind, as a list shows them. */
export interface FoundGroup {
  kind: FoundKind;
  title: string;
  items: readonly FoundItem[];
}

const TITLES: Readonly<Record<FoundKind, string>> = {
  block: 'Blocks',
  burn_block: 'Bitcoin blocks',
  transaction: 'Transactions',
  bitcoin_address: 'Bitcoin addresses',
  address: 'Accounts',
  token: 'Tokens',
  contract: 'Contracts',
  name: 'Names',
};

/** Results by kind, the kind of the best result first. */
export const foundGroups = (results: readonly FoundItem[]): FoundGroup[] =>
  [...Map.groupBy(results, ({ kind }) => kind)].map(([kind, items]) => ({ kind, title: TITLES[kind], items }));

/** The page of a principal: of a contract or of an account. */
const principalPage = (id: string): PageOf => ({ page: id.includes('.') ? 'contract' : 'principal', params: { id } });

/** The page of a result. */
export function pageOfFound({ kind, id }: Pick<FoundItem, 'kind' | 'id'>): PageOf {
  switch (kind) {
    case 'block':
      return { page: 'block', params: { id } };
    case 'burn_block':
      return { page: 'bitcoinBlock', params: { id } };
    case 'transaction':
      return { page: 'transaction', params: { id } };
    case 'bitcoin_address':
      return { page: 'bitcoinAddress', params: { address: id } };
    case 'address':
    case 'contract':
      return principalPage(id);
    case 'token':
      return { page: 'token', params: { asset: id } };
    case 'name':
      return { page: 'name', params: { name: id } };
  }
}

const HEIGHT = /^#?(\d{1,10})$/;
const PRINCIPAL = /^(S[0-9A-Z]{27,41})(\.[a-z][a-z0-9_-]*)?$/i;
const ASSET = /^S[0-9A-Z]{27,41}\.[^:]+::./i;
const NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+){1,2}$/;

/**
 * The page that a text means by its form alone, whether or not the server knows what it names, as where its index begins above it;
 * null for other texts.
 */
function pageOfText(text: string): PageOf | null {
  const height = HEIGHT.exec(text)?.[1];
  if (height !== undefined) return { page: 'block', params: { id: height } };
  if (ASSET.test(text)) return { page: 'token', params: { asset: text } };
  const [, address, name = ''] = PRINCIPAL.exec(text) ?? [];
  return address === undefined ? null : principalPage(`${address.toUpperCase()}${name}`);
}

/**
 * The page that a search leads to: that of what equals the text, else the one that its form means, else that of the best result.
 * Null where there is none.
 */
export function pageOfSearch(text: string, results: readonly FoundItem[]): PageOf | null {
  const [best] = results;
  const meant = pageOfText(text);
  // A block that was asked for by its height has that in its path.
  if (best?.match === 'exact' && !(best.kind === 'block' && meant?.page === 'block')) return pageOfFound(best);
  if (meant !== null) return meant;
  if (best !== undefined) return pageOfFound(best);
  return NAME.test(text) ? { page: 'name', params: { name: text } } : null;
}

/** A text in three parts: before what was searched for, that, and after it. The text alone where it isn't in it. */
export function markedParts(text: string, searched: string): readonly [string, string, string] {
  const at = searched === '' ? -1 : text.toLowerCase().indexOf(searched.toLowerCase());
  const end = at + searched.length;
  return at === -1 ? [text, '', ''] : [text.slice(0, at), text.slice(at, end), text.slice(end)];
}

/** Recent results that are kept. */
const MOST_RECENT = 8;

const isKind = (kind: unknown): kind is FoundKind => typeof kind === 'string' && Object.hasOwn(TITLES, kind);

function recentItem(stored: unknown): FoundItem[] {
  const { kind, id, label, detail } = Object(stored) as Record<string, unknown>;
  if (!isKind(kind) || typeof id !== 'string' || typeof label !== 'string') return [];
  return [{ kind, id, label, detail: typeof detail === 'string' ? detail : null, match: 'exact', block_height: null }];
}

/** Recent results, newest first, from what the browser has stored. What can't be read is none. */
export const recentOf = (stored: string | null): FoundItem[] => storedList(stored, recentItem, MOST_RECENT);

const isSame = (one: FoundItem, other: FoundItem): boolean => one.kind === other.kind && one.id === other.id;

/** Recent results with one more. */
export const withRecent = (recent: readonly FoundItem[], item: FoundItem): FoundItem[] =>
  [item, ...withoutRecent(recent, item)].slice(0, MOST_RECENT);

/** Recent results without one. */
export const withoutRecent = (recent: readonly FoundItem[], item: FoundItem): FoundItem[] =>
  recent.filter((other) => !isSame(other, item));
