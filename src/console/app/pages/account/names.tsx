/** The pages of names (BNS): a look-up with the names of a namespace, and one name with its zonefile and subdomains. */
import type { TargetedEvent } from 'preact';
import { useRef } from 'preact/hooks';
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, visible, words } from '../../chain/format.ts';
import { Empty, Facts, Page, Pager, Panel, Scrollable, Show, Table } from '../../ui/parts.tsx';
import { go, pathTo, place, withQuery } from '../../ui/router.ts';
import { Hash, Principal, TxLink } from '../../ui/values.tsx';

/** Names per page of the API. */
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

/** The page of a name: its owner, expiry, zonefile and subdomains. */
export function Name({ name }: { name: string }) {
  const params = { path: { name } };
  const found = useAnswer(
    `name ${name}`,
    (signal) => bodyOf(api.GET('/v1/names/{name}', { params, signal })),
    tipVersion.value,
  );
  return (
    <Page kind="Name" title={visible(name)}>
      <Show loaded={found}>
        {(known) => (
          <>
            <Panel title="Name" source={`/v1/names/${name}`}>
              <Facts
                facts={[
                  [
                    'Owner',
                    known.address === '' ? null : <Principal key="owner" principal={known.address} whole copy />,
                  ],
                  ['Status', words(known.status.replaceAll('-', '_'))],
                  [
                    'Expires after Bitcoin block',
                    'expire_block' in known && known.expire_block ? count(known.expire_block) : 'never',
                  ],
                  ['Last transaction', known.last_txid === '' ? null : <TxLink key="tx" id={known.last_txid} />],
                  [
                    'Hash of the zonefile',
                    known.zonefile_hash === '' ? null : (
                      <Hash key="hash" value={known.zonefile_hash} copy="hash of the zonefile" />
                    ),
                  ],
                ]}
              />
            </Panel>
            <Panel title="Zonefile" source={`/v1/names/${name}/zonefile`}>
              {known.zonefile == null || known.zonefile === '' ? (
                <p class="empty">No zonefile has arrived.</p>
              ) : (
                <Scrollable label="Text of the zonefile" class="code">
                  {visible(known.zonefile)}
                </Scrollable>
              )}
            </Panel>
            <Subdomains name={name} />
          </>
        )}
      </Show>
    </Page>
  );
}

function Subdomains({ name }: { name: string }) {
  const subdomains = useAnswer(`subdomains ${name}`, (signal) =>
    bodyOf(api.GET('/v1/names/{name}/subdomains', { params: { path: { name } }, signal })),
  );
  return (
    <Panel title="Subdomains" source={`/v1/names/${name}/subdomains`}>
      <Show loaded={subdomains}>
        {(found) => (
          <Table
            label="Subdomains"
            rows={found}
            keyOf={(one) => one}
            empty="The name has no subdomains."
            columns={[{ name: 'Subdomain', cell: (one) => <a href={pathTo('name', { name: one })}>{one}</a> }]}
          />
        )}
      </Show>
    </Panel>
  );
}
