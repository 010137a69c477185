/** A contract: its source, what it defines, what it printed, and its account. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { type Definition, definitions } from '../../chain/clarity.ts';
import { visible } from '../../chain/format.ts';
import { Source } from '../../ui/code.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Empty, Facts, Page, Panel, Show, Table, Tabs, tabOf } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { BlockLink, ChainText, Principal as PrincipalLink, TxLink, When } from '../../ui/values.tsx';
import { ContractCalls, FUNCTION } from './contract-calls.tsx';
import { ContractLogs } from './contract-logs.tsx';
import { PrincipalTab, StxFigures, usePrincipalVersion } from './principal.tsx';
import { PrincipalHistory } from './principal-history.tsx';

const TABS = [
  ['source', 'Source'],
  ['functions', 'Interface'],
  ['calls', 'Calls'],
  ['logs', 'Logs'],
  ['transactions', 'Transactions'],
  ['tokens', 'Tokens'],
  ['received', 'STX received'],
  ['sent', 'STX sent'],
] as const;

export function Contract({ contract }: { contract: string }) {
  const version = usePrincipalVersion(contract);
  const params = { path: { contract_id: contract }, query: { include: ['source_code' as const] } };
  const loaded = useAnswer(`contract ${contract}`, (signal) =>
    bodyOf(api.GET('/extended/v3/smart-contracts/{contract_id}', { params, signal })),
  );
  const [address = '', name = contract] = contract.split('.');
  const tab = tabOf(TABS);
  const source = loaded.data?.source_code ?? null;
  return (
    <Page
      kind="Contract"
      title={name}
      heading={
        <span class="with-copy">
          {name}
          <Copy text={contract} what="contract identifier" />
        </span>
      }
      lead={
        <>
          deployed by <PrincipalLink principal={address} whole />
        </>
      }
    >
      <StxFigures principal={contract} version={version} />
      <PrincipalHistory principal={contract} />
      <Tabs label="Parts of the contract" tabs={TABS} />
      {tab === 'source' ? (
        <>
          <Show loaded={loaded} missing={missingReason(address)}>
            {({ tx_id, block, clarity_version: clarity }) => (
              <Panel title="Deployment" source={`/extended/v3/smart-contracts/${contract}`}>
                <Facts
                  facts={[
                    ['Transaction', <TxLink key="id" id={tx_id} />],
                    ['Block', <BlockLink key="block" height={block.height} />],
                    ['Time', <When key="time" at={block.time} />],
                    ['Clarity version', clarity ?? 'as its epoch has it'],
                  ]}
                />
              </Panel>
            )}
          </Show>
          {source === null ? null : (
            <Panel title="Source" source={sourcePath(contract)} aside={<Copy text={source} what="source" />}>
              <Source source={source} label="Source of the contract" />
            </Panel>
          )}
        </>
      ) : tab === 'functions' ? (
        <Show loaded={loaded} missing={missingReason(address)}>
          {() => <Definitions contract={contract} source={source ?? ''} />}
        </Show>
      ) : tab === 'calls' ? (
        <ContractCalls contract={contract} functions={callable(source ?? '')} version={version} />
      ) : tab === 'logs' ? (
        <ContractLogs contract={contract} version={version} />
      ) : (
        <PrincipalTab tab={tab} principal={contract} version={version} />
      )}
    </Page>
  );
}

/** Addresses of the contracts that are part of the chain's rules: no key belongs to them. */
const BOOT_ADDRESS = /^S[A-Z]0{17}/;

/** Why the index doesn't have a contract, where there is more to say than that. */
const missingReason = (address: string): string | undefined =>
  BOOT_ADDRESS.test(address)
    ? 'No transaction deployed this contract: it came with a change of the chain’s rules, so the index has no source of it. Its calls and logs are here.'
    : undefined;

/** Names of the functions that transactions can call. */
const callable = (source: string): string[] =>
  definitions(source).flatMap(({ kind, name }) => (kind === 'public' ? [name] : []));

const GROUPS = [
  ['Public functions', ['public']],
  ['Read-only functions', ['read-only']],
  ['Tokens', ['fungible-token', 'non-fungible-token']],
  ['Data', ['data-var', 'map']],
  ['Constants', ['constant']],
  ['Private functions', ['private']],
  ['Traits', ['trait']],
] as const satisfies readonly (readonly [string, readonly Definition['kind'][]])[];

/** The path of the API that has the source of a contract. */
const sourcePath = (contract: string): string => `/extended/v3/smart-contracts/${contract}?include=source_code`;

/** What the source defines, each with a link to its line. */
function Definitions({ contract, source }: { contract: string; source: string }) {
  const defined = definitions(source);
  const groups = GROUPS.map(([title, kinds]) => ({
    title,
    rows: defined.filter(({ kind }) => (kinds as readonly string[]).includes(kind)),
  })).filter(({ rows }) => rows.length > 0);
  if (groups.length === 0) {
    return (
      <Empty>The source that the node posted defines nothing: it holds no more than comments and expressions.</Empty>
    );
  }
  return (
    <>
      {groups.map(({ title, rows }) => (
        <Panel key={title} title={title} source={sourcePath(contract)}>
          <Table
            label={title}
            rows={rows}
            keyOf={({ line, name }) => `${line} ${name}`}
            empty=""
            columns={[
              { name: 'Name', class: 'nowrap', cell: (row) => <DefinitionName contract={contract} definition={row} /> },
              {
                name: 'Definition',
                class: 'fill',
                cell: ({ detail }) => <code class="quiet break">{visible(detail)}</code>,
              },
              {
                name: 'Line',
                class: 'number',
                cell: ({ line }) => <a href={`${pathTo('contract', { id: contract })}#L${line}`}>{line}</a>,
              },
            ]}
          />
        </Panel>
      ))}
    </>
  );
}

/** Where a definition leads to: a token to its page, and a function to its calls. */
function definitionPath(contract: string, { kind, name }: Definition): string | null {
  if (kind === 'fungible-token' || kind === 'non-fungible-token') {
    return pathTo('token', { asset: `${contract}::${name}` });
  }
  if (kind !== 'public') return null;
  return `${pathTo('contract', { id: contract })}?${new URLSearchParams({ tab: 'calls', [FUNCTION]: name })}`;
}

function DefinitionName({ contract, definition }: { contract: string; definition: Definition }) {
  const path = definitionPath(contract, definition);
  const text = (
    <code>
      <ChainText text={definition.name} />
    </code>
  );
  return path === null ? text : <a href={path}>{text}</a>;
}
