/** The pages of names (BNS): a look-up with the names of a namespace, and a page per name. */

import type { Answer } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { mapLoaded, useGet } from '../../api/use-answer.ts';
import { count, exactTime, visible, words } from '../../chain/format.ts';
import { Form, TextField } from '../../ui/form.tsx';
import { Button, Choices, Empty, ListPanel, Page, Panel, Show, TextBlock, useList } from '../../ui/parts.tsx';
import { go, pathTo, url } from '../../ui/router.ts';
import { Badge, Hash, NameLink, NotifyMe, Principal, TxLink } from '../../ui/values.tsx';

/** The namespace whose names are shown first. Most names belong to it. */
const MAIN_NAMESPACE = 'btc';

export function Names() {
  const namespaces = useGet('/v1/namespaces', {});
  const namespaceParameter = url.value.query.get('namespace');
  const submit = (value: (name: string) => string) => {
    const name = value('name').toLowerCase();
    if (name !== '') go(pathTo('name', { name }));
  };
  return (
    <Page title="Names" lead="The Bitcoin name system: names, subdomains and their zonefiles.">
      <Form class="form row" onSubmit={submit}>
        <TextField label="Name" name="name" placeholder="alice.btc" />
        <Button text="Look up" type="submit" />
      </Form>
      <Show loaded={namespaces}>
        {({ namespaces: all }) => {
          const sorted = all.toSorted((a, b) => Number(b === MAIN_NAMESPACE) - Number(a === MAIN_NAMESPACE));
          return sorted[0] === undefined ? (
            <Empty>No namespace exists yet.</Empty>
          ) : (
            <NamespaceNames namespace={namespaceParameter ?? sorted[0]} all={sorted} />
          );
        }}
      </Show>
    </Page>
  );
}

function NamespaceNames({ namespace, all }: { namespace: string; all: readonly string[] }) {
  return (
    <ListPanel
      title={`Names of .${namespace}`}
      loaded={useList('/stackside/v1/names', { namespace })}
      aside={
        <Choices
          label="Namespaces"
          name="namespace"
          choices={all.map((name) => [name, `.${name}`])}
          chosen={namespace}
        />
      }
      stacked
      keyOf={({ name }) => name}
      empty="The namespace has no names."
      columns={[
        ['Name', 'main', ({ name }) => <NameLink name={name} />],
        ['Owner', 'named', ({ owner }) => <Principal principal={owner} />],
        ['Expires', 'named', ({ lease }) => <LeaseEnd lease={lease} />],
      ]}
    />
  );
}

/** The end of the year 9999. */
const LAST_DATE = 253_402_300_799;

const LeaseEnd = ({ lease }: { lease: Answer<'/stackside/v1/names/{name}'>['lease'] }) => {
  if (lease === null) return <span class="quiet">never</span>;
  const tenure = <>tenure {count(lease.tenure_height)}</>;
  return lease.has_ended ? (
    <span>
      <Badge tone="wait">ended</Badge> <span class="quiet nowrap">after {tenure}</span>
    </span>
  ) : (
    <span>
      {lease.expected_time > LAST_DATE ? null : (
        <span class="nowrap">about {exactTime(lease.expected_time).slice(0, 10)} </span>
      )}
      <span class="quiet nowrap">({tenure})</span>
    </span>
  );
};

function Lease({ name }: { name: string }) {
  const { data } = useGet('/stackside/v1/names/{name}', { name }, tipVersion.value);
  return data === null ? null : <LeaseEnd lease={data.lease} />;
}

const BnsName = ({ record }: { record: Answer<'/stackside/v1/names/bns-v2/{name}'> }) => (
  <Panel
    title="BNS-V2"
    source={`/stackside/v1/names/bns-v2/${record.name}`}
    facts={[
      ['Owner', record.owner === null ? null : <Principal principal={record.owner} whole copy />],
      ['Last operation', words(record.status.replaceAll('-', '_'))],
      ['Renew before', record.renewal === null ? null : `Bitcoin block ${count(record.renewal.burn_block_height)}`],
      ['Last transaction', <TxLink id={record.tx_id} whole />],
    ]}
  />
);

/** Renders the page of a name: its owner, expiry, zonefile and subdomains. */
export function Name({ name }: { name: string }) {
  const loaded = useGet('/v1/names/{name}', { name }, tipVersion.value);
  const { data: bnsName } = useGet('/stackside/v1/names/bns-v2/{name}', { name }, tipVersion.value);
  return (
    <Page kind="Name" title={visible(name)}>
      {bnsName === null ? null : <BnsName record={bnsName} />}
      <Show
        loaded={loaded}
        missing={
          bnsName === null
            ? `This server has no name ${visible(name)}.`
            : 'The first name system does not have the name.'
        }
      >
        {({ zonefile_hash: hash, ...record }) => (
          <>
            <NotifyMe kind="name" id={name} />
            <Panel
              title="Name"
              source={loaded.source}
              facts={[
                ['Owner', record.address === '' ? null : <Principal principal={record.address} whole copy />],
                ['Last operation', words(record.status.replaceAll('-', '_'))],
                ['Expires', 'expire_block' in record ? <Lease name={name} /> : null],
                ['Last transaction', record.last_txid === '' ? null : <TxLink id={record.last_txid} whole />],
                ['Hash of the zonefile', hash === '' ? null : <Hash value={hash} whole copy="hash of the zonefile" />],
              ]}
            />
            <Panel title="Zonefile" source={`/v1/names/${name}/zonefile`}>
              {record.zonefile == null || record.zonefile === '' ? (
                <Empty>No zonefile has arrived.</Empty>
              ) : (
                <TextBlock label="Text of the zonefile" text={record.zonefile} />
              )}
            </Panel>
            <Subdomains name={name} />
          </>
        )}
      </Show>
    </Page>
  );
}

const Subdomains = ({ name }: { name: string }) => (
  <ListPanel
    title="Subdomains"
    loaded={mapLoaded(useGet('/v1/names/{name}/subdomains', { name }), (results) => ({ results }))}
    keyOf={(subdomain) => subdomain}
    empty="The name has no subdomains."
    columns={[['Subdomain', '', (subdomain) => <NameLink name={subdomain} />]]}
  />
);
