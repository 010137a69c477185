/** The browser's location as a signal, and the links that change it without loading the document again. */
import { computed, signal } from '@preact/signals';
import { type PageName, pagePaths } from '../../page-paths.ts';

const here = () => ({ path: location.pathname, query: new URLSearchParams(location.search), hash: location.hash });

/** The current path, query and fragment. */
export const place = signal(here());

/** Path parameters by name. */
export type Params = Readonly<Record<string, string>>;

/** The page at a path, with its parameters; null if no page has the path. */
function pageAt(path: string): { page: PageName; params: Params } | null {
  const segments = path.replace(/(?<=.)\/$/, '').split('/');
  for (const [page, pattern] of Object.entries(pagePaths) as [PageName, string][]) {
    const params = paramsOf(pattern.split('/'), segments);
    if (params !== null) return { page, params };
  }
  return null;
}

function paramsOf(pattern: readonly string[], segments: readonly string[]): Record<string, string> | null {
  if (pattern.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [at, expected] of pattern.entries()) {
    const segment = segments[at] ?? '';
    if (!expected.startsWith('{')) {
      if (expected !== segment) return null;
      continue;
    }
    const value = decoded(segment);
    if (value === null || value === '') return null;
    params[expected.slice(1, -1)] = value;
  }
  return params;
}

/** A decoded path segment; null if its escapes are not valid UTF-8. */
function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

/** The last part of a path, decoded; empty if its escapes are not valid UTF-8. */
export const lastPart = (path: string): string => decoded(path.split('/').findLast((part) => part !== '') ?? '') ?? '';

/** The page shown, with its parameters; null if no page has the path. */
export const current = computed(() => pageAt(place.value.path));

/** The path of a page. @param params path parameters by name */
export function pathTo(page: PageName, params: Readonly<Record<string, string | number>> = {}): string {
  return pagePaths[page].replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

/** The current path with changed query parameters; null removes a parameter. */
export function withQuery(changes: Readonly<Record<string, string | null>>): string {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return text === '' ? place.value.path : `${place.value.path}?${text}`;
}

/** Navigates to a path of the console. @param replace whether to replace the entry of the browser's history */
export function go(to: string, { replace = false }: { replace?: boolean } = {}): void {
  const before = location.pathname;
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  place.value = here();
  if (location.pathname !== before) {
    scrollTo(0, 0);
    document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });
  }
}

/** Whether a link leads to a fragment of the page shown. */
const isPartOf = ({ pathname, search, origin }: Location, to: URL): boolean =>
  to.hash !== '' && to.origin === origin && to.pathname === pathname && to.search === search;

/** The URL of a clicked link that the router follows; null if the browser handles the click. */
function linkOf(event: MouseEvent): URL | null {
  if (
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  ) {
    return null;
  }
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.target !== '' || link.hasAttribute('download')) return null;
  const url = new URL(link.href);
  // The browser scrolls to the fragment and moves the focus there, as the link that skips the navigation needs.
  if (isPartOf(location, url)) return null;
  return url.origin === location.origin && pageAt(url.pathname) !== null ? url : null;
}

/** Handles clicks on links of the console, and back and forward. Called once. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    place.value = here();
  });
  document.addEventListener('click', (event) => {
    const url = linkOf(event);
    if (url === null) return;
    event.preventDefault();
    go(url.pathname + url.search + url.hash);
  });
}
