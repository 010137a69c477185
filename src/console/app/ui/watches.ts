/**
 * Watches accounts, contracts, tokens and names in this browser: checks them at each block, and shows notifications.
 */
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

/** The objects that this browser watches, newest first. */
export const watches = signal<readonly Watch[]>(watchesOf(localStorage.getItem(KEY)));

function store(list: readonly Watch[]): void {
  watches.value = list;
  localStorage.setItem(KEY, JSON.stringify(list));
}

/** Returns the path of the page of something watched. */
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

/** Requests for the newest transaction of an object; null if there is none. */
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

/**
 * Whether this browser shows notifications. It must allow them, and supports them only on encrypted pages and on this
 * machine.
 */
export const notifies = signal(canNotify());

function canNotify(): boolean {
  return 'Notification' in window && Notification.permission === 'granted';
}

/**
 * Shows a notification of a change. If several windows are open, only one notification stays, because all have the same
 * tag.
 */
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
    const answers: [Watched, string | null][] = [];
    // One after the other: notifications aren't urgent, and pages need the connections.
    for (const { kind, id } of watches.value) {
      try {
        answers.push([{ kind, id }, await NEWEST[kind](id, signal)]);
      } catch (error) {
        if (!(error instanceof RequestError) || error.status !== HTTP_NOT_FOUND) throw error;
      }
    }
    return answers;
  },
  answered(answers) {
    const now = Math.floor(Date.now() / 1000);
    const news: Watch[] = [];
    // Keeps watches that were added or removed since.
    store(
      watches.value.map((watch) => {
        const newest = answers.find(([one]) => isSameWatch(one, watch))?.[1] ?? null;
        const read = readWatch(watch, newest, now);
        if (read.isNews) news.push(read.watch);
        return read.watch;
      }),
    );
    for (const watch of news) notify(watch);
  },
  failed(error) {
    // The next block tries again.
    if (!(error instanceof RequestError)) throw error;
  },
});

/** Starts to watch an object in this browser, and requests the permission for notifications. */
export function startToWatch(watched: Watched): void {
  store(withWatch(watches.value, watched));
  newestQuery.restart();
  if (!('Notification' in window)) return;
  void Notification.requestPermission().then(() => {
    notifies.value = canNotify();
  });
}

/** Stops watching an object. */
export function stopWatching(watched: Watched): void {
  store(withoutWatch(watches.value, watched));
}

/** Starts to look for changes at each block. Called once. */
export function startWatches(): void {
  // Another window of this browser may change the watches.
  addEventListener('storage', ({ key, newValue }) => {
    if (key === KEY) watches.value = watchesOf(newValue);
  });
  effect(() => {
    if (tipVersion.value !== '' && watches.peek().length > 0) newestQuery.refresh();
  });
}
