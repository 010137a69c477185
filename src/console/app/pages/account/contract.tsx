/** The page of a contract: its source, definitions, calls and logs, and the tabs of an account. */

import { contractNameOf } from '../../../../codec/address.ts';
import { type Answer, get, RequestError } from '../../api/api.ts';
import { type Loaded, useAnswer, useGet, usePart } from '../../api/use-answer.ts';
import { type Definition, parseDefinitions } from '../../chain/clarity.ts';
import { visible } from '../../chain/format.ts';
import { Source, Value } from '../../ui/code.tsx';
import { AGE, BLOCK, BLOCK_HEIGHT, TIME, TX_ID } from '../../ui/columns.tsx';
import { nothingMatches } from '../../ui/filters.tsx';
import { Form, TextField } from '../../ui/form.tsx';
import {
  Button,
  ButtonLink,
  Choices,
  Copied,
  Copy,
  DataPanel,
  Empty,
  ListPanel,
  Page,
  Panel,
  Show,
  type Tab,
  TablePanel,
  Tabs,
  useList,
} from '../../ui/parts.tsx';
import { go, pathTo, url, withQuery } from '../../ui/router.ts';
import { isDevnet } from '../../ui/server-status.tsx';
import { idOf, MinedStatus } from '../../ui/transactions.tsx';
import { BlockLink, ChainText, NotifyMe, Principal, TxLink, When } from '../../ui/values.tsx';
import { OnDevnet } from '../devnet-pages.tsx';
import { OtherNetwork, principalTabs, type Sizes, StxFigures, usePrincipalVersion } from './principal.tsx';

/** Returns an empty list for a contract that the chain doesn't have. @throws any other error */
function emptyIfMissing(error: unknown): { total: null; results: [] } {
  if (error instanceof RequestError && error.status === 404) return { total: null, results: [] };
  throw error;
}

async function loadListSizes(contract: string, signal: AbortSignal): Promise<Sizes> {
  const ofContract = { contract_id: contract, limit: 1 };
  const ofPrincipal = { principal: contract, limit: 1 };
  const lists = await Promise.all([
    get('/stackside/v1/smart-contracts/{contract_id}/calls', ofContract, signal).catch(emptyIfMissing),
    get('/stackside/v1/smart-contracts/{contract_id}/logs', ofContract, signal).catch(emptyIfMissing),
    get('/extended/v3/principals/{principal}/transactions', ofPrincipal, signal),
    get('/extended/v3/principals/{principal}/balances/ft', ofPrincipal, signal),
    get('/extended/v3/principals/{principal}/balances/nft', ofPrincipal, signal),
    get('/extended/v3/principals/{principal}/transfers/stx/inbound', ofPrincipal, signal),
    get('/extended/v3/principals/{principal}/transfers/stx/outbound', ofPrincipal, signal),
  ]);
  const [calls = 0, logs = 0, transactions = 0, ft = 0, nft = 0, received = 0, sent = 0] = lists.map(
    ({ total, results }) => total ?? results.length,
  );
  return { calls, logs, transactions, tokens: ft + nft, received, sent };
}

export function Contract({ contract }: { contract: string }) {
  const version = usePrincipalVersion(contract);
  const loaded = useGet('/extended/v3/smart-contracts/{contract_id}', {
    contract_id: contract,
    include: ['source_code'],
  });
  const [address = '', name = contract] = contract.split('.');
  const isMissing = loaded.error?.status === 404 && !loaded.error.isBeforeHistory && !BOOT_ADDRESS.test(address);
  const lists = useAnswer(`sizes of ${contract}`, (signal) => loadListSizes(contract, signal));
  const sizes = lists.data ?? {};
  const source = loaded.data?.source_code ?? null;
  const defined = parseDefinitions(source ?? '');
  const functions = defined.flatMap(({ kind, name: functionName }) => (kind === 'public' ? [functionName] : []));
  const shared = { contract, version };
  const onlyIf = (condition: boolean, ...parts: Tab[]): Tab[] => (condition ? parts : []);
  const tabs: readonly Tab[] = [
    ...onlyIf(
      !isMissing,
      ['source', 'Source', () => <Deployment address={address} loaded={loaded} />],
      [
        'functions',
        'Interface',
        () => (
          <Show loaded={loaded} missing={missingReason(address)}>
            {() => <Definitions contract={contract} defined={defined} api={loaded.source} />}
          </Show>
        ),
        source === null ? undefined : defined.length,
      ],
      [
        'read',
        'Read-only calls',
        () => <Values {...shared} tab="read" />,
        // The source of a simulated boot contract defines nothing, but the node can read its interface.
        defined.length === 0 ? undefined : defined.filter(({ kind }) => READABLE.includes(kind)).length,
      ],
    ),
    ...onlyIf(!isMissing && isDevnet() === true, [
      'call',
      'Call a function',
      () => <OnDevnet>{({ ContractCall }) => <ContractCall contract={contract} />}</OnDevnet>,
    ]),
    ['calls', 'Calls', () => <ContractCalls {...shared} functions={functions} />, sizes.calls],
    ['logs', 'Logs', () => <Values {...shared} tab="logs" />, sizes.logs],
    ...onlyIf(!isMissing, ['deployer', 'Same deployer', () => <SameDeployer contract={contract} deployer={address} />]),
    ...principalTabs({ principal: contract, version }, sizes),
  ];
  return (
    <Page
      kind="Contract"
      title={name}
      heading={
        <Copied text={contract} name="contract identifier">
          {name}
        </Copied>
      }
      lead={
        <>
          {isMissing ? 'of' : 'deployed by'} <Principal principal={address} whole />
        </>
      }
    >
      {isMissing ? <p class="note wait">The chain has no contract with this identifier.</p> : null}
      <OtherNetwork principal={contract} />
      <StxFigures principal={contract} version={version} />
      <NotifyMe kind="contract" id={contract} />
      <Tabs label="Parts of the contract" tabs={tabs} />
    </Page>
  );
}

type LoadedContract = Loaded<Answer<'/extended/v3/smart-contracts/{contract_id}'>>;

function Deployment({ address, loaded }: { address: string; loaded: LoadedContract }) {
  const source = loaded.data?.source_code ?? null;
  return (
    <>
      <DataPanel
        title="Deployment"
        loaded={loaded}
        missing={missingReason(address)}
        facts={({ tx_id, block, clarity_version: clarity }) => [
          ['Transaction', <TxLink id={tx_id} whole />],
          ['Block', <BlockLink height={block.height} />],
          ['Time', <When chain time={block.time} />],
          ['Clarity version', clarity ?? 'the default of its epoch'],
        ]}
      />
      {source === null ? null : (
        <Panel title="Source" source={loaded.source} aside={<Copy text={source} name="source" />}>
          <Source source={source} />
        </Panel>
      )}
    </>
  );
}

/** Pattern of the addresses of boot contracts. They have no private key. */
const BOOT_ADDRESS = /^S[A-Z]0{17}/;

/** Returns the reason why the index has no source of a boot contract; undefined for other contracts. */
const missingReason = (address: string): string | undefined =>
  BOOT_ADDRESS.test(address)
    ? 'This is a boot contract: no transaction deployed it, so the index doesn’t have its source. Other tabs show its calls and logs.'
    : undefined;

const GROUPS = [
  ['Public functions', ['public']],
  ['Read-only functions', ['read-only']],
  ['Tokens', ['fungible-token', 'non-fungible-token']],
  ['Data', ['data-var', 'map']],
  ['Constants', ['constant']],
  ['Private functions', ['private']],
  ['Traits', ['trait']],
] as const satisfies readonly (readonly [string, readonly Definition['kind'][]])[];

interface DefinitionsProps {
  contract: string;
  defined: readonly Definition[];
  /** API path of the source. */
  api: string | undefined;
}

/** Renders tables of a contract's definitions by kind. */
function Definitions({ contract, defined, api }: DefinitionsProps) {
  const groups = GROUPS.map(([title, kinds]) => ({
    title,
    rows: defined.filter(({ kind }) => (kinds as readonly string[]).includes(kind)),
  })).filter(({ rows }) => rows.length > 0);
  if (groups.length === 0) {
    return <Empty>The source defines nothing: it has only comments and expressions.</Empty>;
  }
  return (
    <>
      {groups.map(({ title, rows }) => (
        <TablePanel
          key={title}
          title={title}
          source={api}
          rows={rows}
          keyOf={({ line, name }) => `${line} ${name}`}
          columns={[
            ['Name', 'nowrap', (row) => <DefinitionName contract={contract} definition={row} />],
            ['Definition', 'fill', ({ detail }) => <code class="quiet break">{visible(detail)}</code>],
            ['Line', 'number', ({ line }) => <a href={`${pathTo('contract', { id: contract })}#L${line}`}>{line}</a>],
          ]}
        />
      ))}
    </>
  );
}

/** Definitions that the node reads. */
const READABLE: readonly Definition['kind'][] = ['read-only', 'data-var', 'map', 'constant'];

/** Returns the path of a definition: a token, a public function's calls, or the read form; null for others. */
function definitionPath(contract: string, { kind, name }: Definition): string | null {
  if (kind === 'fungible-token' || kind === 'non-fungible-token') {
    return pathTo('token', { asset: `${contract}::${name}` });
  }
  if (kind === 'public') return pathTo('contract', { id: contract, tab: 'calls', [FUNCTION]: name });
  return READABLE.includes(kind) ? pathTo('contract', { id: contract, tab: 'read', [READ]: name }) : null;
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

/** Query parameters for the function whose calls are shown, and for the definition that the node reads. */
const FUNCTION = 'function';
const READ = 'read';

interface ContractCallsProps {
  contract: string;
  functions: readonly string[];
  version: string;
}

function ContractCalls({ contract, functions, version }: ContractCallsProps) {
  const name = url.value.query.get(FUNCTION);
  const params = { contract_id: contract, function_name: name, ...searchQuery('arg') };
  return (
    <ListPanel
      title={name === null ? 'Calls' : `Calls of ${visible(name)}`}
      loaded={useList('/stackside/v1/smart-contracts/{contract_id}/calls', params, version)}
      keyOf={idOf}
      empty="No transaction matches. Calls by other contracts are not listed."
      stacked
      columns={[
        [
          'Call',
          'main',
          (call) => (
            <>
              <ChainText text={call.function_name} /> <Arguments values={call.function_args} />
            </>
          ),
        ],
        ['Status', 'nowrap', ({ status }) => <MinedStatus status={status} />],
        ['From', 'nowrap named', ({ sender }) => <Principal principal={sender} />],
        TX_ID,
        BLOCK_HEIGHT,
        TIME,
      ]}
    >
      {functions.length === 0 ? null : (
        <Choices
          class="panel-body"
          label="Function"
          name={FUNCTION}
          choices={[[null, 'All'], ...functions.map((item) => [item, <ChainText key={item} text={item} />] as const)]}
          chosen={name}
          clears={FILTER}
        />
      )}
      <FilterForm nameLabel={name === null ? null : 'Argument'} />
    </ListPanel>
  );
}

/** Maximum characters of the arguments in a row. The transaction's page shows all. */
const MAX_ARGUMENTS = 90;
const MAX_TITLE = 2_000;

function Arguments({ values }: { values: readonly { name: string; repr: string }[] }) {
  const text = values.map(({ repr }) => repr).join(' ');
  const namedValues = values.map(({ name, repr }) => `${name} ${repr}`).join('\n');
  return (
    <span title={visible(namedValues.slice(0, MAX_TITLE))}>
      <Value repr={text.length > MAX_ARGUMENTS ? `${text.slice(0, MAX_ARGUMENTS)}…` : text} />
    </span>
  );
}

/** Renders the reads and the logs of a contract: a part of the bundle that is loaded with the first of its tabs. */
function Values({ contract, tab, version }: { contract: string; tab: 'read' | 'logs'; version: string }) {
  const part = usePart('contract values', () => import('./contract-values.tsx'));
  return (
    <Show loaded={part}>
      {({ ContractLogs, ContractReads }) =>
        tab === 'read' ? (
          <ContractReads contract={contract} parameter={READ} />
        ) : (
          <ContractLogs contract={contract} version={version} query={searchQuery('field')}>
            <FilterForm nameLabel="Field" />
          </ContractLogs>
        )
      }
    </Show>
  );
}

function SameDeployer({ contract, deployer }: { contract: string; deployer: string }) {
  const conditions = { sender: deployer, type: ['smart_contract' as const], status: ['success' as const] };
  return (
    <ListPanel
      title="Contracts of the same deployer"
      loaded={useList('/stackside/v1/transactions', conditions)}
      keyOf={idOf}
      empty={({ cursor: { next } }) =>
        next === null ? 'No transaction of this account deployed a contract.' : nothingMatches(true)
      }
      stacked
      columns={[
        [
          'Contract',
          'main',
          (deployment) => {
            const id = deployment.type === 'smart_contract' ? deployment.smart_contract.contract_id : '';
            const name = <ChainText text={contractNameOf(id)} />;
            return id === contract ? (
              <>
                {name} <span class="quiet">(this one)</span>
              </>
            ) : (
              <a href={pathTo('contract', { id })}>{name}</a>
            );
          },
        ],
        TX_ID,
        BLOCK,
        AGE,
      ]}
    />
  );
}

/** Query parameters of the filter of calls or logs: a name, a condition on its value, and the first and last block. */
const FILTER = ['name', 'is', 'from', 'to'];

const filterText = (parameter: string): string => url.value.query.get(parameter) ?? '';

/** Returns the filter in the query, for the API. @param kind the kind of thing that the filter's name belongs to */
function searchQuery(kind: 'field' | 'arg'): Readonly<Record<string, string | null>> {
  const name = filterText('name');
  return {
    [name === '' ? kind : `${kind}.${name}`]: filterText('is') || null,
    from_height: filterText('from') || null,
    to_height: filterText('to') || null,
  };
}

const HEIGHT = { type: 'number', min: 0 } as const;

/** Renders the filter of calls or logs. @param nameLabel label of the first input; null to filter only by height */
function FilterForm({ nameLabel }: { nameLabel: string | null }) {
  const submit = (value: (name: string) => string) => {
    const changes = FILTER.map((parameter) => [parameter, value(`filter-${parameter}`) || null]);
    go(withQuery({ ...Object.fromEntries(changes), cursor: null }));
  };
  const field = (name: string, label: string, placeholder: string, kind: typeof HEIGHT | object = {}) => {
    const value = filterText(name);
    // The key renders a new input if the query has another value, because `defaultValue` is read only once. The name has
    // a prefix, because Preact can't add inputs to a form whose member `is` is an input.
    return (
      <TextField
        key={value}
        label={label}
        placeholder={placeholder}
        name={`filter-${name}`}
        defaultValue={value}
        {...kind}
      />
    );
  };
  const none = Object.fromEntries(FILTER.map((parameter) => [parameter, null]));
  return (
    <Form class="panel-body form row" onSubmit={submit}>
      {nameLabel === null ? null : field('name', nameLabel, 'amount')}
      {nameLabel === null ? null : field('is', 'Condition', 'gte:1000')}
      {field('from', 'From block', 'first', HEIGHT)}
      {field('to', 'To block', 'newest', HEIGHT)}
      <Button text="Filter" type="submit" />
      {FILTER.some((parameter) => filterText(parameter) !== '') ? (
        <ButtonLink text="Show all" href={withQuery({ ...none, cursor: null })} />
      ) : null}
    </Form>
  );
}
