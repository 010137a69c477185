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

/** The key of the shown entry of the browser's history, which is the entry's state. */
let entry = '';

const newEntry = (): string => Math.random().toString(36);

/** Storage key for the scroll position at which the user left an entry, in pixels. */
const positionKey = (): string => `stackside-scroll ${entry}`;

const savePosition = (): void => sessionStorage.setItem(positionKey(), String(scrollY));

let restoring = new AbortController();

/** Scrolls to a position as soon as the page is long enough, unless the user scrolls or types first. */
function restoreScroll(position: number): void {
  const controller = new AbortController();
  const end = () => controller.abort();
  const observer = new ResizeObserver(() => {
    scrollTo(0, position);
    if (scrollY >= position - 1 || document.querySelector('main [aria-busy]') === null) end();
  });
  controller.signal.addEventListener('abort', () => observer.disconnect());
  for (const type of ['wheel', 'touchstart', 'pointerdown', 'keydown']) {
    addEventListener(type, end, { signal: controller.signal });
  }
  observer.observe(document.body);
  restoring = controller;
}

/** Adopts the shown entry, and scrolls to where the user left it. */
function adoptEntry(): void {
  restoring.abort();
  const state = history.state as string | null;
  entry = state ?? newEntry();
  // Only the browser makes entries without a state: for a new document, or a link to a part of the page.
  if (state === null) history.replaceState(entry, '');
  const position = sessionStorage.getItem(positionKey());
  if (position !== null) restoreScroll(Number(position));
}

/** Navigates to a path of the console. Adds no history entry if `replace` is set or the page is already shown. */
export function go(to: string, { replace = false }: { replace?: boolean } = {}): void {
  const { pathname: previousPath, search, hash } = location;
  restoring.abort();
  if (replace || to === previousPath + search + hash) history.replaceState(entry, '', to);
  else {
    savePosition();
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
  history.scrollRestoration = 'manual';
  adoptEntry();
  addEventListener('popstate', () => {
    savePosition();
    url.value = readUrl();
    adoptEntry();
  });
  addEventListener('pagehide', savePosition);
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
