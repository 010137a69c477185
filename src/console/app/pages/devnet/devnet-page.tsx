/** The page of a simulated chain: its clock, accounts, contracts and snapshots, and the controls of its node. */
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, exactTime, plural } from '../../chain/format.ts';
import { useAction } from '../../ui/actions.tsx';
import { now } from '../../ui/clock.ts';
import { Figures, Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { BlockLink, ChainText, Principal, Stx } from '../../ui/values.tsx';
import { SimulatedNode } from './simulated-node.tsx';

const SOURCE = '/stackside/v1/devnet';
type State = Answer<'/stackside/v1/devnet'>;

/** Seconds between reads of the state: snapshots and pending transactions change without a block. */
const EVERY = 3;

export function DevnetControls() {
  const state = useAnswer(
    'devnet',
    (signal) => bodyOf(api.GET(SOURCE, { signal })),
    `${tipVersion.value} ${Math.floor(now.value / EVERY)}`,
  );
  return (
    <Show loaded={state}>
      {(found) => (
        <>
          <Figures label="The simulated chain" figures={figuresOf(found)} />
          <SimulatedNode />
          <div class="grid">
            <Accounts state={found} />
            <div class="stack page">
              <Snapshots state={found} />
              <Contracts />
            </div>
          </div>
        </>
      )}
    </Show>
  );
}

const figuresOf = ({ tip, bitcoin, cycle, interval, pending }: State) => [
  { name: 'Height', value: <BlockLink height={tip.height} /> },
  { name: 'Bitcoin height', value: count(bitcoin.height) },
  {
    name: 'Time of the newest block',
    value: exactTime(tip.time).slice(11, 19),
    note: exactTime(tip.time).slice(0, 10),
  },
  {
    name: 'Reward cycle',
    value: count(cycle.number),
    note: `${plural(cycle.blocks_left, 'Bitcoin block')} until the next one`,
  },
  { name: 'Blocks', value: interval === 0 ? 'on request' : `every ${interval} s` },
  { name: 'Pending', value: count(pending.length), note: 'transactions' },
];

const Accounts = ({ state: { accounts, faucet } }: { state: State }) => (
  <Panel title="Accounts" source={SOURCE}>
    <Table
      label="Accounts of the devnet"
      rows={[...accounts, { name: 'faucet', ...faucet }]}
      keyOf={({ name }) => name}
      empty=""
      columns={[
        { name: 'Name', cell: ({ name }) => <ChainText text={name} /> },
        { name: 'Address', cell: ({ address }) => <Principal principal={address} copy /> },
        { name: 'Balance', class: 'number', cell: ({ balance }) => <Stx micro={balance} /> },
      ]}
    />
  </Panel>
);

function Snapshots({ state: { snapshots } }: { state: State }) {
  const { run, problem, busy } = useAction();
  const revert = (snapshot: string) =>
    run(
      () => bodyOf(api.POST('/stackside/v1/devnet/revert', { body: { snapshot } })),
      `The state is that of ${snapshot}.`,
    );
  return (
    <Panel title="Snapshots" source={SOURCE}>
      {problem === null ? null : (
        <p class="panel-body problem" role="alert">
          {problem}
        </p>
      )}
      <Table
        label="Snapshots"
        rows={snapshots}
        keyOf={({ name }) => name}
        empty="There is no snapshot yet. Take one above, and return to it at any time."
        columns={[
          { name: 'Name', cell: ({ name }) => <ChainText text={name} /> },
          { name: 'Block', class: 'number', cell: ({ height }) => <BlockLink height={height} /> },
          {
            name: '',
            class: 'number',
            cell: ({ name }) => (
              <button type="button" disabled={busy} onClick={() => revert(name)}>
                Go back<span class="sr-only"> to {name}</span>
              </button>
            ),
          },
        ]}
      />
    </Panel>
  );
}

/** Number of the newest contracts. */
const NEWEST = 8;

function Contracts() {
  const params = { query: { limit: NEWEST } };
  const contracts = useAnswer(
    'newest contracts',
    (signal) => bodyOf(api.GET('/stackside/v1/contracts', { params, signal })),
    tipVersion.value,
  );
  return (
    <Panel
      title="Newest contracts"
      source={`/stackside/v1/contracts?limit=${NEWEST}`}
      aside={
        <>
          <a href={pathTo('newContract')}>Deploy a contract</a> <a href={pathTo('contracts')}>All</a>
        </>
      }
    >
      <Show loaded={contracts}>
        {({ results }) => (
          <Table
            label="Newest contracts"
            rows={results}
            keyOf={({ contract_id: id }) => id}
            empty="No contract was deployed yet."
            columns={[
              { name: 'Contract', class: 'main', cell: ({ contract_id: id }) => <Principal principal={id} /> },
              {
                name: 'Block',
                class: 'number',
                cell: ({ deployment }) => (deployment === null ? '–' : <BlockLink height={deployment.block_height} />),
              },
            ]}
          />
        )}
      </Show>
    </Panel>
  );
}
