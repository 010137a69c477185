/** Watching accounts, contracts, tokens and names in this browser: at each block, and told by notifications. */
import { effect, signal } from '@preact/signals';
import { api, bodyOf, RequestError } from '../api/api.ts';
import { tipVersion } from '../api/live.ts';
import { liveQuery } from '../api/order.ts';
import { visible } from '../chain/format.ts';
import {
  isSameWatch,
  readWatch,
  type Watch,
  type Watched,
  type WatchKind,
  watchesOf,
  withoutWatch,
  withWatch,
} from '../chain/watches.ts';
import { go, pathTo } from './router.ts';

const KEY = 'stackside.watches';

/** What is watched in this browser, newest first. */
export const watches = signal<readonly Watch[]>(watchesOf(localStorage.getItem(KEY)));

function store(list: readonly Watch[]): void {
  watches.value = list;
  localStorage.setItem(KEY, JSON.stringify(list));
}

/** The path of the page of something watched. */
export function watchedPath({ kind, id }: Watched): string {
  switch (kind) {
    case 'account':
      return pathTo('principal', { id });
    case 'contract':
      return pathTo('contract', { id });
    case 'name':
      return pathTo('name', { name: id });
    default:
      return pathTo('token', { asset: id });
  }
}

const HTTP_NOT_FOUND = 404;

/** How the newest transaction that concerns something is found; null without one. */
const NEWEST: Readonly<Record<WatchKind, (id: string, signal: AbortSignal) => Promise<string | null>>> = {
  account: newestOfPrincipal,
  contract: newestOfPrincipal,
  // The transfers of a collection are calls of its contract.
  collection: (id, signal) => newestOfPrincipal(id.split('::').at(0) ?? '', signal),
  async token(id, signal) {
    const params = { path: { asset_identifier: id }, query: { limit: 1 } };
    const { results } = await bodyOf(
      api.GET('/stackside/v1/tokens/ft/{asset_identifier}/transfers', { params, signal }),
    );
    return results.at(0)?.tx_id ?? null;
  },
  async name(id, signal) {
    const { last_txid: last } = await bodyOf(api.GET('/v1/names/{name}', { params: { path: { name: id } }, signal }));
    return last === '' ? null : last;
  },
};

async function newestOfPrincipal(principal: string, signal: AbortSignal): Promise<string | null> {
  const params = { path: { principal }, query: { limit: 1 } };
  const { results } = await bodyOf(api.GET('/extended/v3/principals/{principal}/transactions', { params, signal }));
  return results.at(0)?.transaction.tx_id ?? null;
}

/** Whether this browser shows notifications: it must allow them, and has them on encrypted pages and on this machine alone. */
export const notifies = signal(canNotify());

function canNotify(): boolean {
  return 'Notification' in window && Notification.permission === 'granted';
}

/** Tells of a change. Of several windows of the browser, one notification stays, as they have the same tag. */
function notify(watch: Watch): void {
  if (!canNotify()) return;
  const notification = new Notification(`New transaction: ${visible(watch.id)}`, {
    body: `A new transaction concerns this ${watch.kind}.`,
    tag: `${watch.kind} ${watch.id} ${watch.seen}`,
  });
  notification.onclick = () => {
    focus();
    go(watchedPath(watch));
  };
}

const newestQuery = liveQuery({
  async ask(signal) {
    const found: [Watched, string | null][] = [];
    // One after the other: a reader's notices are no hurry, and pages need the connections.
    for (const { kind, id } of watches.value) {
      try {
        found.push([{ kind, id }, await NEWEST[kind](id, signal)]);
      } catch (error) {
        if (!(error instanceof RequestError) || error.status !== HTTP_NOT_FOUND) throw error;
      }
    }
    return found;
  },
  answered(found) {
    const now = Math.floor(Date.now() / 1000);
    const news: Watch[] = [];
    // What was added or removed meanwhile stays so.
    store(
      watches.value.map((watch) => {
        const newest = found.find(([one]) => isSameWatch(one, watch))?.[1] ?? null;
        const read = readWatch(watch, newest, now);
        if (read.isNews) news.push(read.watch);
        return read.watch;
      }),
    );
    for (const watch of news) notify(watch);
  },
  failed(error) {
    // The next block asks again.
    if (!(error instanceof RequestError)) throw error;
  },
});

/** Watches something in this browser, and asks for its leave to notify. */
export function startToWatch(watched: Watched): void {
  store(withWatch(watches.value, watched));
  newestQuery.restart();
  if (!('Notification' in window)) return;
  void Notification.requestPermission().then(() => {
    notifies.value = canNotify();
  });
}

/** No longer watches something. */
export function stopWatching(watched: Watched): void {
  store(withoutWatch(watches.value, watched));
}

/** Begins to look for changes, at each block. Called once. */
export function startWatches(): void {
  // Another window of this browser may change them.
  addEventListener('storage', ({ key, newValue }) => {
    if (key === KEY) watches.value = watchesOf(newValue);
  });
  effect(() => {
    if (tipVersion.value !== '' && watches.peek().length > 0) newestQuery.refresh();
  });
}
