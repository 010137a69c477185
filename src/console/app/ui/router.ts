/** The browser's location as a signal, and the links that change it without loading the document again. */
import { computed, signal } from '@preact/signals';
import { percentDecoded } from '../../../codec/utf8.ts';
import { type PageName, pagePaths } from '../../page-paths.ts';
import { urlOf } from '../api/api.ts';

const readUrl = () => ({ path: location.pathname, query: new URLSearchParams(location.search), hash: location.hash });

/** The current path, query and fragment. */
export const url = signal(readUrl());

/** Path parameters by name. */
export type Params = Readonly<Record<string, string>>;

const patterns = (Object.entries(pagePaths) as [PageName, string][]).map(
  ([page, path]) => [page, new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}/?$`)] as const,
);

function pageAt(path: string): { page: PageName; params: Params } | null {
  for (const [page, pattern] of patterns) {
    const match = pattern.exec(path);
    const params = Object.entries(match?.groups ?? {}).map(([name, text]) => [name, percentDecoded(text)] as const);
    if (match !== null && params.every(([, value]) => value !== null)) {
      return { page, params: Object.fromEntries(params) as Params };
    }
  }
  return null;
}

/** Returns the last part of a path, decoded; empty if its escapes are not valid UTF-8. */
export const lastPart = (path: string): string =>
  percentDecoded(path.split('/').findLast((part) => part !== '') ?? '') ?? '';

/** The page shown, with its parameters; null if no page has the path. */
export const current = computed(() => pageAt(url.value.path));

/** Returns the path of a page. @param params path parameters by name; others become the query, without those that are null */
export const pathTo = (page: PageName, params: Readonly<Record<string, string | number | null>> = {}): string =>
  urlOf(pagePaths[page], params);

/** Returns the current path with changed query parameters; null removes a parameter. */
export function withQuery(changes: Readonly<Record<string, string | null>>): string {
  const query = new URLSearchParams(url.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  return query.size === 0 ? url.value.path : `${url.value.path}?${query}`;
}

const newEntry = (): string => Math.random().toString(36);

/** The key of the shown entry of the browser's history, which is its state. */
let entry = newEntry();

/** Scroll positions of the entries, in pixels by key. */
let positions = new Map<string, number>();
/** Storage key for a window's positions while it shows another document. */
const POSITIONS = 'stackside-scroll';

let endRestoring = (): void => undefined;

/** Scrolls to a position as soon as the page is long enough, unless the user scrolls or types first. */
function restoreScroll(position: number): void {
  endRestoring();
  const abortController = new AbortController();
  const observer = new ResizeObserver(() => {
    scrollTo(0, position);
    if (scrollY >= position - 1 || document.querySelector('main [aria-busy]') === null) endRestoring();
  });
  endRestoring = () => {
    abortController.abort();
    observer.disconnect();
  };
  for (const type of ['wheel', 'touchstart', 'pointerdown', 'keydown']) {
    addEventListener(type, endRestoring, { signal: abortController.signal });
  }
  observer.observe(document.body);
}

/** Shows a history entry again, at the position where the user left it. */
function showEntry(state: string | null): void {
  positions.set(entry, scrollY);
  url.value = readUrl();
  if (state === null) {
    // The browser made the entry for a link to a part of the page, and scrolls there.
    entry = newEntry();
    history.replaceState(entry, '');
    return;
  }
  entry = state;
  restoreScroll(positions.get(entry) ?? 0);
}

/** Adopts the entry of a new document, and its position if it was shown before. */
function restoreEntry(): void {
  history.scrollRestoration = 'manual';
  positions = new Map(JSON.parse(sessionStorage.getItem(POSITIONS) ?? '[]') as [string, number][]);
  const state = history.state as string | null;
  entry = state ?? newEntry();
  if (state === null) history.replaceState(entry, '');
  const position = positions.get(entry);
  if (position !== undefined) restoreScroll(position);
  addEventListener('pagehide', () => {
    positions.set(entry, scrollY);
    sessionStorage.setItem(POSITIONS, JSON.stringify([...positions]));
  });
}

/** Navigates to a path of the console. Adds no history entry if `replace` is set or the page is already shown. */
export function go(to: string, { replace = false }: { replace?: boolean } = {}): void {
  const { pathname: previousPath, search, hash } = location;
  endRestoring();
  if (replace || to === previousPath + search + hash) history.replaceState(entry, '', to);
  else {
    positions.set(entry, scrollY);
    entry = newEntry();
    history.pushState(entry, '', to);
  }
  url.value = readUrl();
  if (location.pathname !== previousPath) {
    scrollTo(0, 0);
    document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });
  }
}

const isPartOf = ({ pathname, search, origin }: Location, to: URL): boolean =>
  to.hash !== '' && to.origin === origin && to.pathname === pathname && to.search === search;

/** Returns the URL of a clicked link that the router follows; null if the browser handles the click. */
function linkOf(event: MouseEvent): URL | null {
  const { button, metaKey, ctrlKey, shiftKey, altKey } = event;
  if (event.defaultPrevented || button !== 0 || metaKey || ctrlKey || shiftKey || altKey) return null;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.target !== '' || link.hasAttribute('download')) return null;
  const url = new URL(link.href);
  // The browser scrolls to the fragment and moves the focus there, as required by the link that skips the navigation.
  if (isPartOf(location, url)) return null;
  return url.origin === location.origin && pageAt(url.pathname) !== null ? url : null;
}

/** Handles clicks on links of the console, and back and forward. Called once. */
export function startRouter(): void {
  restoreEntry();
  addEventListener('popstate', ({ state }) => showEntry(state));
  document.addEventListener('click', (event) => {
    const clicked = linkOf(event);
    if (clicked === null) return;
    event.preventDefault();
    go(clicked.pathname + clicked.search + clicked.hash);
    // The user reads another page of a list from its start.
    const panel = (event.target as Element).closest('nav')?.closest('.panel');
    panel?.firstElementChild?.scrollIntoView({ block: 'nearest' });
  });
}
