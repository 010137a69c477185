/** Looking up a name, and the names of each namespace. */
import type { TargetedEvent } from 'preact';
import { useRef } from 'preact/hooks';
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Empty, Page, Pager, Panel, Show } from '../../ui/parts.tsx';
import { go, pathTo, place, withQuery } from '../../ui/router.ts';

/** Names on a page of the API. */
const PER_PAGE = 100;

export function Names() {
  const field = useRef<HTMLInputElement>(null);
  const namespaces = useAnswer('namespaces', (signal) => bodyOf(api.GET('/v1/namespaces', { signal })));
  const asked = place.value.query.get('namespace');
  const look = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = field.current?.value.trim().toLowerCase() ?? '';
    if (name !== '') go(pathTo('name', { name }));
  };
  return (
    <Page title="Names" lead="The Bitcoin name system: names, subdomains and their zonefiles.">
      <form class="look-up" onSubmit={look}>
        <label for="name">Name</label>
        <input id="name" ref={field} type="text" placeholder="alice.btc" autocomplete="off" spellcheck={false} />
        <button type="submit">Look up</button>
      </form>
      <Show loaded={namespaces}>
        {({ namespaces: all }) => {
          const shown = asked ?? all[0];
          return shown === undefined ? (
            <Empty>No namespace exists yet.</Empty>
          ) : (
            <NamesOf namespace={shown} all={all} />
          );
        }}
      </Show>
    </Page>
  );
}

function NamesOf({ namespace, all }: { namespace: string; all: readonly string[] }) {
  const page = Math.max(0, Number(place.value.query.get('page')) || 0);
  const params = { path: { tld: namespace }, query: { page } };
  const names = useAnswer(`names ${namespace} ${page}`, (signal) =>
    bodyOf(api.GET('/v1/namespaces/{tld}/names', { params, signal })),
  );
  return (
    <Panel
      title={`Names of .${namespace}`}
      source={`/v1/namespaces/${namespace}/names`}
      aside={
        <nav class="filter" aria-label="Namespaces">
          {all.map((one) => (
            <a
              key={one}
              href={withQuery({ namespace: one, page: null })}
              aria-current={one === namespace ? 'true' : undefined}
            >
              .{one}
            </a>
          ))}
        </nav>
      }
    >
      <Show loaded={names} rows={6}>
        {(found) => (
          <>
            {found.length === 0 ? (
              <Empty>The namespace has no names{page > 0 ? ' on this page' : ''}.</Empty>
            ) : (
              <ul class="name-list">
                {found.map((name) => (
                  <li key={name}>
                    <a href={pathTo('name', { name })}>{name}</a>
                  </li>
                ))}
              </ul>
            )}
            <Pager
              name="page"
              next={found.length === PER_PAGE ? String(page + 1) : null}
              previous={page > 0 ? (page === 1 ? '' : String(page - 1)) : null}
            />
          </>
        )}
      </Show>
    </Panel>
  );
}
