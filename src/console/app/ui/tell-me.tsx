/** Notifications about the shown object, by this browser or by a chainhook. */
import { isSameWatch, type Watched } from '../chain/watches.ts';
import { Panel, Table } from './parts.tsx';
import { pathTo } from './router.ts';
import { Ago, ChainText } from './values.tsx';
import { notifies, startToWatch, stopWatching, watchedPath, watches } from './watches.ts';

/** Returns the path of the editor with filters for an object. */
const hookPath = ({ kind, id }: Watched): string =>
  `${pathTo('newHook')}?${new URLSearchParams({ template: kind, of: id })}`;

/** Renders a button that watches the shown object, and a link that creates a chainhook for it. */
export function TellMe(watched: Watched) {
  const isWatched = watches.value.some((one) => isSameWatch(one, watched));
  return (
    <section class="row small" aria-label="Notifications">
      <span class="quiet">Notify me of new transactions:</span>
      <button
        type="button"
        aria-pressed={isWatched}
        onClick={() => (isWatched ? stopWatching(watched) : startToWatch(watched))}
      >
        {isWatched ? 'Watched in this browser' : 'In this browser'}
      </button>
      <a class="button" href={hookPath(watched)}>
        By a chainhook
      </a>
      {isWatched ? <span class="quiet">{notificationHint()}</span> : null}
    </section>
  );
}

/** Explains how the browser notifies the user. */
const notificationHint = (): string =>
  notifies.value
    ? 'While a page of this console is open, the browser notifies you. The overview lists what you watch.'
    : 'This browser can’t show notifications for this page. The overview lists what you watch.';

/** Renders the objects that this browser watches, with the last change of each; null if there are none. */
export function WatchedHere() {
  if (watches.value.length === 0) return null;
  return (
    <Panel title="Watched in this browser" aside={<span class="quiet">Stored only in this browser</span>}>
      <Table
        label="Watched in this browser"
        rows={watches.value}
        keyOf={({ kind, id }) => `${kind} ${id}`}
        empty=""
        stacked
        columns={[
          {
            name: 'What',
            class: 'main',
            cell: (watch) => (
              <a href={watchedPath(watch)}>
                <ChainText text={watch.id} />
              </a>
            ),
          },
          { name: 'Kind', cell: ({ kind }) => kind },
          {
            name: 'New transaction',
            label: 'new transaction',
            cell: ({ changed_at: at }) => (at === null ? <span class="quiet">none since</span> : <Ago at={at} />),
          },
          {
            name: 'Actions',
            class: 'number',
            cell: (watch) => (
              <button type="button" class="link" onClick={() => stopWatching(watch)}>
                Remove
              </button>
            ),
          },
        ]}
      />
    </Panel>
  );
}
