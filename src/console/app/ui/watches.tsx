/** Notifications about accounts, contracts, tokens and names, by this browser at each block or by a chainhook. */

import { effect, signal } from '@preact/signals';
import { assertRequestError, get, RequestError } from '../api/api.ts';
import { tipVersion } from '../api/live.ts';
import { liveQuery } from '../api/live-query.ts';
import { visible } from '../chain/format.ts';
import {
  isSame,
  parseWatches,
  readWatch,
  type Watch,
  type Watched,
  type WatchKind,
  withFirst,
  without,
} from '../chain/watches.ts';
import { Button, ButtonLink, TablePanel } from './parts.tsx';
import { go, pathTo } from './router.ts';
import { Ago, ChainText } from './values.tsx';

const KEY = 'stackside.watches';

const watches = signal<readonly Watch[]>(parseWatches(localStorage.getItem(KEY)));

function store(list: readonly Watch[]): void {
  watches.value = list;
  localStorage.setItem(KEY, JSON.stringify(list));
}

function watchedPath({ kind, id }: Watched): string {
  if (kind === 'account') return pathTo('principal', { id });
  if (kind === 'contract') return pathTo('contract', { id });
  return kind === 'name' ? pathTo('name', { name: id }) : pathTo('token', { asset: id });
}

/** Requests for the newest transaction of an object; null if there is none. */
const NEWEST: Readonly<Record<WatchKind, (id: string, signal: AbortSignal) => Promise<string | null>>> = {
  account: loadNewest,
  contract: loadNewest,
  // The transfers of a collection are calls of its contract.
  collection: (id, signal) => loadNewest(id.split('::').at(0) ?? '', signal),
  async token(id, signal) {
    const params = { asset_identifier: id, limit: 1 };
    const { results } = await get('/stackside/v1/tokens/ft/{asset_identifier}/transfers', params, signal);
    return results.at(0)?.tx_id ?? null;
  },
  async name(id, signal) {
    const { last_txid: last } = await get('/v1/names/{name}', { name: id }, signal);
    return last === '' ? null : last;
  },
};

async function loadNewest(principal: string, signal: AbortSignal): Promise<string | null> {
  const { results } = await get('/extended/v3/principals/{principal}/transactions', { principal, limit: 1 }, signal);
  return results.at(0)?.transaction.tx_id ?? null;
}

/** Whether this browser shows notifications: only if the user allows it, on encrypted pages and on this machine. */
const notifies = signal(canNotify());

function canNotify(): boolean {
  return 'Notification' in window && Notification.permission === 'granted';
}

/** Shows a notification of a change. All windows use the same tag, so that only one notification stays. */
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
  async load(signal) {
    const answers: [Watched, string | null][] = [];
    // One after the other: notifications aren't urgent, and pages need the connections.
    for (const { kind, id } of watches.value) {
      try {
        answers.push([{ kind, id }, await NEWEST[kind](id, signal)]);
      } catch (error) {
        if (!(error instanceof RequestError) || error.status !== 404) throw error;
      }
    }
    return answers;
  },
  onAnswer(answers) {
    const now = Math.floor(Date.now() / 1000);
    const news: Watch[] = [];
    // Keeps watches that were added or removed since.
    store(
      watches.value.map((watch) => {
        const newest = answers.find(([watched]) => isSame(watched, watch))?.[1] ?? null;
        const update = readWatch(watch, newest, now);
        if (update.isNews) news.push(update.watch);
        return update.watch;
      }),
    );
    for (const watch of news) notify(watch);
  },
  // The next block tries again.
  onError: assertRequestError,
});

function startToWatch({ kind, id }: Watched): void {
  store(withFirst(watches.value, { kind, id, seen: null, changed_at: null }));
  newestQuery.restart();
  if (!('Notification' in window)) return;
  void Notification.requestPermission().then(() => {
    notifies.value = canNotify();
  });
}

const stopWatching = (watched: Watched): void => store(without(watches.value, watched));

/** Starts to look for changes at each block. Called once. */
export function startWatches(): void {
  // Another window of this browser may change the watches.
  addEventListener('storage', ({ key, newValue }) => {
    if (key === KEY) watches.value = parseWatches(newValue);
  });
  effect(() => {
    if (tipVersion.value !== '' && watches.peek().length > 0) newestQuery.refresh();
  });
}

/** Renders a button that watches the shown object, and a link that creates a chainhook for it. */
export function NotifyMe(watched: Watched) {
  const isWatched = watches.value.some((watch) => isSame(watch, watched));
  return (
    <section class="row small" aria-label="Notifications">
      <span class="quiet">Notify me of new transactions:</span>
      <Button
        text={isWatched ? 'Watched in this browser' : 'In this browser'}
        aria-pressed={isWatched}
        onClick={() => (isWatched ? stopWatching(watched) : startToWatch(watched))}
      />
      <ButtonLink text="By a chainhook" href={pathTo('newHook', { template: watched.kind, of: watched.id })} />
      {isWatched ? <span class="quiet">{notificationHint()}</span> : null}
    </section>
  );
}

const notificationHint = (): string =>
  notifies.value
    ? 'While a page of this console is open, the browser notifies you. The overview lists what you watch.'
    : 'This browser can’t show notifications for this page. The overview lists what you watch.';

/** Renders the objects that this browser watches, with the last change of each; null if there are none. */
export function WatchList() {
  if (watches.value.length === 0) return null;
  return (
    <TablePanel
      title="Watched in this browser"
      aside={<span class="quiet">Stored only in this browser</span>}
      rows={watches.value}
      keyOf={({ kind, id }) => `${kind} ${id}`}
      stacked
      columns={[
        [
          'What',
          'main',
          (watch) => (
            <a href={watchedPath(watch)}>
              <ChainText text={watch.id} />
            </a>
          ),
        ],
        ['Kind', '', ({ kind }) => kind],
        ['New transaction', 'named', ({ changed_at: time }) => <Ago time={time} none="none since" />],
        ['Actions', 'number', (watch) => <Button text="Remove" class="link" onClick={() => stopWatching(watch)} />],
      ]}
    />
  );
}
