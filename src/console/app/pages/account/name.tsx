/** One name: its owner, how long it is theirs, its zonefile and its subdomains. */
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, visible, words } from '../../chain/format.ts';
import { Facts, Page, Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { Scrollable } from '../../ui/scrollable.tsx';
import { Hash, Principal, TxLink } from '../../ui/values.tsx';

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
