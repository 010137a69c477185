/**
 * The page of a simulated chain, and other parts that only its console loads: the calls and deployments of contracts, and
 * the steps of a transaction.
 */
import { useState } from 'preact/hooks';
import { contractNameOf } from '../../../../codec/address.ts';
import { MAX_BLOCKS, MAX_FORK_DEPTH, MAX_STEP } from '../../../../devnet/limits.ts';
import { type Answer, post } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useGet } from '../../api/use-answer.ts';
import { count, duration, exactTime, plural, visible } from '../../chain/format.ts';
import { every } from '../../ui/clock.ts';
import { CONTRACT } from '../../ui/columns.tsx';
import { Form, TextField, useAction } from '../../ui/form.tsx';
import {
  Button,
  type Figure,
  Figures,
  ListPanel,
  Panel,
  Problem,
  Scrollable,
  Show,
  Table,
  TablePanel,
  TextBlock,
} from '../../ui/parts.tsx';
import { go, pathTo, url } from '../../ui/router.ts';
import { BlockLink, ChainText, Principal, Stx } from '../../ui/values.tsx';
import { pendingCount } from '../chain/mempool.tsx';

export { ContractCall, NewContract } from './contracts.tsx';

const SOURCE = '/stackside/v1/devnet';
type State = Answer<typeof SOURCE>;

/** Seconds between reads of the state: snapshots and pending transactions change without a block. */
const STATE_EVERY = 3;

export function DevnetControls() {
  const version = `${tipVersion.value} ${every(STATE_EVERY)}`;
  // The state has only the transactions that clients broadcast, without those of simulated users.
  const mempool = useGet('/extended/v1/tx/mempool/stats', {}, version);
  const pending = mempool.data === null ? null : pendingCount(mempool.data);
  return (
    <Show loaded={useGet(SOURCE, {}, version)}>
      {(state) => (
        <>
          <Figures label="The simulated chain" figures={figuresOf(state, pending)} />
          <SimulatedNode state={state} />
          <div class="grid">
            <Accounts state={state} />
            <div class="stack page">
              <Snapshots state={state} />
              <Contracts />
            </div>
          </div>
        </>
      )}
    </Show>
  );
}

/** @param pending number of pending transactions; null until it is loaded */
const figuresOf = ({ tip, bitcoin, cycle, interval }: State, pending: number | null): readonly Figure[] => [
  ['Height', <BlockLink height={tip.height} />],
  [
    'Bitcoin height',
    count(tip.bitcoin_height),
    bitcoin.height === tip.bitcoin_height ? null : `newest ${count(bitcoin.height)}`,
  ],
  ['Time of the newest block', exactTime(tip.time).slice(11, 19), exactTime(tip.time).slice(0, 10)],
  ['Reward cycle', count(cycle.number), `${plural(cycle.blocks_left, 'Bitcoin block')} until the next one`],
  ['Blocks', interval === 0 ? 'on request' : `every ${interval} s`],
  ['Pending', pending === null ? '–' : count(pending), 'transactions'],
];

const Accounts = ({ state: { accounts, faucet } }: { state: State }) => (
  <TablePanel
    title="Accounts"
    source={SOURCE}
    label="Accounts of the devnet"
    rows={[...accounts, { name: 'faucet', ...faucet }]}
    keyOf={({ name }) => name}
    stacked
    columns={[
      ['Name', 'first', ({ name }) => <ChainText text={name} />],
      ['Address', '', ({ address }) => <Principal principal={address} copy />],
      ['Balance', 'number', ({ balance }) => <Stx micro={balance} />],
    ]}
  />
);

function Snapshots({ state: { snapshots } }: { state: State }) {
  const { run, problem, busy } = useAction();
  const revert = (snapshot: string) =>
    run(() => post('/stackside/v1/devnet/revert', {}, { snapshot }), `The chain is back at ${snapshot}.`);
  return (
    <TablePanel
      title="Snapshots"
      source={SOURCE}
      rows={snapshots}
      keyOf={({ name }) => name}
      empty="There is no snapshot yet. Take one above, and return to it at any time."
      columns={[
        ['Name', '', ({ name }) => <ChainText text={name} />],
        ['Block', 'number', ({ height }) => <BlockLink height={height} />],
        [
          'Actions',
          'number',
          ({ name }) => (
            <button type="button" disabled={busy} onClick={() => revert(name)}>
              Go back<span class="sr-only"> to {name}</span>
            </button>
          ),
        ],
      ]}
    >
      <Problem text={problem} class="panel-body" />
    </TablePanel>
  );
}

const Contracts = () => (
  <ListPanel
    title="Newest contracts"
    loaded={useGet('/stackside/v1/contracts', { limit: 8 }, tipVersion.value)}
    pager={null}
    aside={
      <>
        <a href={pathTo('newContract')}>Deploy a contract</a> <a href={pathTo('contracts')}>All</a>
      </>
    }
    keyOf={({ contract_id: id }) => id}
    empty="No contract was deployed yet."
    columns={[
      CONTRACT,
      [
        'Block',
        'number',
        ({ deployment }) => (deployment === null ? '–' : <BlockLink height={deployment.block_height} />),
      ],
    ]}
  />
);

const heights = (blocks: readonly { height: number }[]): string =>
  blocks.length === 0
    ? 'no block'
    : `${plural(blocks.length, 'block')}, up to ${count(Math.max(...blocks.map(({ height }) => height)))}`;

interface Field {
  name: string;
  label: string;
  value: string;
  /** Returns the attributes of an input for a number. Other inputs are texts. */
  number?: (state: State) => ReturnType<typeof numberInput>;
  /** Whether it may be left empty. */
  isOptional?: boolean;
}

const numberInput = (max: number, step = 1, min = step) => ({ type: 'number', min, max, step }) as const;

interface Command {
  action: string;
  fields: readonly Field[];
  /** Runs the command. @returns its result, as a sentence */
  run: (value: (name: string) => string) => Promise<string>;
}

/** Returns the distance: up to a height if one is given, otherwise a number of blocks. */
const parseDistance = (value: (name: string) => string): { count: number } | { until_height: number } =>
  value('until') === '' ? { count: Number(value('count')) } : { until_height: Number(value('until')) };

/** Returns the fields of a distance. @param heightOf returns the current height */
const distanceFields = (heightOf: (state: State) => number): readonly Field[] => [
  { name: 'count', label: 'Blocks', value: '1', number: () => numberInput(MAX_BLOCKS) },
  {
    name: 'until',
    label: 'or up to height',
    value: '',
    number: (state) => numberInput(heightOf(state) + MAX_BLOCKS, 1, heightOf(state) + 1),
    isOptional: true,
  },
];

const COMMANDS: readonly Command[] = [
  {
    action: 'Mine',
    fields: distanceFields(({ tip }) => tip.height),
    async run(value) {
      const { blocks } = await post('/stackside/v1/devnet/mine', {}, parseDistance(value));
      return `Mined ${heights(blocks)}.`;
    },
  },
  {
    action: 'Mine Bitcoin blocks',
    fields: distanceFields(({ bitcoin }) => bitcoin.height),
    async run(value) {
      const { bitcoin_blocks: blocks } = await post('/stackside/v1/devnet/bitcoin', {}, parseDistance(value));
      return `Made ${heights(blocks)}, each with the first block of a tenure.`;
    },
  },
  {
    action: 'Fork',
    fields: [{ name: 'depth', label: 'Blocks to orphan', value: '1', number: () => numberInput(MAX_FORK_DEPTH) }],
    async run(value) {
      const body = { depth: Number(value('depth')) };
      const { blocks, orphaned } = await post('/stackside/v1/devnet/fork', {}, body);
      return `Mined another branch with ${heights(blocks)}, in place of ${plural(orphaned.length, 'block')}.`;
    },
  },
  {
    action: 'Take a snapshot',
    fields: [{ name: 'name', label: 'Name', value: 'default' }],
    async run(value) {
      const { tip } = await post('/stackside/v1/devnet/snapshot', {}, { name: value('name') });
      return `The state after block ${count(tip.height)} has the name ${value('name')}.`;
    },
  },
  {
    action: 'Fund',
    fields: [
      { name: 'address', label: 'Address', value: '' },
      {
        name: 'amount',
        label: 'STX',
        value: '100',
        number: ({ faucet }) => numberInput(Math.floor(Number(faucet.balance) / 1_000_000), 0.000001),
      },
    ],
    async run(value) {
      const address = value('address');
      const amount = String(BigInt(Math.round(Number(value('amount')) * 1_000_000)));
      const { block } = await post('/stackside/v1/devnet/fund', {}, { address, amount });
      return `Sent ${value('amount')} STX to ${address} in block ${count(block.height)}.`;
    },
  },
  {
    action: 'Let time pass',
    fields: [{ name: 'minutes', label: 'Minutes', value: '10', number: () => numberInput(MAX_STEP / 60) }],
    async run(value) {
      const seconds = 60 * Number(value('minutes'));
      await post('/stackside/v1/devnet/time', {}, { seconds });
      return `The next block is ${duration(seconds)} later.`;
    },
  },
];

const SimulatedNode = ({ state }: { state: State }) => (
  <Panel title="Simulated node" source={SOURCE}>
    <div class="panel-body grid" style={{ '--column': '26rem' }}>
      {COMMANDS.map((command) => (
        <CommandForm key={command.action} {...command} state={state} />
      ))}
    </div>
  </Panel>
);

function CommandForm({ action, fields, run: runCommand, state }: Command & { state: State }) {
  const { run, result, problem, busy } = useAction<string>();
  return (
    <Form class="form row" aria-label={action} onSubmit={(value) => run(() => runCommand(value), String)}>
      {fields.map(({ name, label, value, number, isOptional = false }) => (
        <TextField
          key={name}
          name={name}
          label={label}
          {...number?.(state)}
          defaultValue={value}
          required={!isOptional}
        />
      ))}
      <Button text={action} type="submit" disabled={busy} />
      {result === null ? null : <span class="quiet break">{result}</span>}
      <Problem text={problem} />
    </Form>
  );
}

/** Renders the expression that made the error, the calls, and the costs of functions; nothing if they aren't known. */
export function FailedCall({ id }: { id: string }) {
  const { data, source } = useGet('/stackside/v1/devnet/transactions/{tx_id}', { tx_id: id });
  const failure = data?.failure ?? null;
  if (failure === null) return null;
  const { place, trace, costs } = failure;
  return (
    <Panel title="Failed expression" source={source}>
      {place === null ? null : (
        <>
          <p class="panel-body">
            The error was made on{' '}
            <a href={`${pathTo('contract', { id: place.contract })}#L${place.line}`}>
              line {place.line} of {contractNameOf(place.contract)}
            </a>
            .
          </p>
          <TextBlock label="Expression" text={place.expression} boxed />
        </>
      )}
      {trace === '' ? null : (
        // The cause is at the end of the trace, which has a limit of its own.
        <Scrollable label="Calls" class="code scroll boxed">
          {visible(trace)}
        </Scrollable>
      )}
      {costs.length === 0 ? null : (
        <Table
          label="Runtime cost by function"
          rows={costs}
          keyOf={(cost) => cost.function}
          columns={[
            ['Function', 'main', (cost) => <code title={cost.function}>{contractNameOf(cost.function)}</code>],
            ['Runtime cost', 'number', ({ runtime }) => count(runtime)],
          ]}
        />
      )}
    </Panel>
  );
}

/** Renders buttons that mine the next block, and that replace or drop a transaction. @param fee in micro-STX */
export function PendingSteps({ id, fee }: { id: string; fee: string }) {
  const { data: state } = useGet(SOURCE, {}, `${tipVersion.value} ${every(STATE_EVERY)}`);
  const { run, problem, busy } = useAction();
  const [newFee, setNewFee] = useState(String(2n * BigInt(fee)));
  const mine = () => post('/stackside/v1/devnet/mine', {}, {});
  const drop = () => post('/stackside/v1/devnet/drop', {}, { tx_id: id });
  async function replaceAndFollow(): Promise<void> {
    const { path } = url.value;
    const { tx_id: other } = await post('/stackside/v1/devnet/replace', {}, { tx_id: id, fee: newFee.trim() });
    // The page may have shown the replaced transaction as dropped by now, without this form.
    if (url.value.path === path) go(pathTo('transaction', { id: other }));
  }
  const replace = () => run(replaceAndFollow, 'Replaced the transaction');
  return (
    <Form class="form row" aria-label="Steps of the simulated node" onSubmit={replace}>
      <Button text="Mine a block" disabled={busy} onClick={() => run(mine, 'Mined a block')} />
      <Button text="Drop" disabled={busy} onClick={() => run(drop, 'Dropped the transaction')} />
      {state?.replaceable.includes(id) === true ? (
        <>
          <TextField
            label="Fee in micro-STX"
            type="number"
            required
            min={String(BigInt(fee) + 1n)}
            value={newFee}
            onChange={setNewFee}
          />
          <Button text="Replace" type="submit" disabled={busy} />
        </>
      ) : null}
      <Problem text={problem} />
    </Form>
  );
}
