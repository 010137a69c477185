/** Controls of the simulated node of a devnet: blocks, forks, funds, time and the mempool. */
import type { TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';
import { api, bodyOf } from '../../api/api.ts';
import { count, duration, plural } from '../../chain/format.ts';
import { useAction } from '../../ui/actions.tsx';
import { Panel } from '../../ui/parts.tsx';

interface Block {
  height: number;
}

const MICRO = 1_000_000;

const heights = (blocks: readonly Block[]): string =>
  blocks.length === 0
    ? 'no block'
    : `${plural(blocks.length, 'block')}, up to ${count(Math.max(...blocks.map(({ height }) => height)))}`;

interface Field {
  name: string;
  label: string;
  value: string;
  type?: 'number';
  /** Whether it may be left empty. */
  isOptional?: boolean;
}

interface Steering {
  action: string;
  fields: readonly Field[];
  /** Runs the command. @returns its result, as a sentence */
  run: (value: (name: string) => string) => Promise<string>;
}

/** Returns the distance: up to a height if one is given, otherwise a number of blocks. */
const distance = (value: (name: string) => string): { count: number } | { until_height: number } =>
  value('until') === '' ? { count: Number(value('count')) } : { until_height: Number(value('until')) };

const FAR: readonly Field[] = [
  { name: 'count', label: 'Blocks', value: '1', type: 'number' },
  { name: 'until', label: 'or up to height', value: '', type: 'number', isOptional: true },
];

const ALL: readonly Steering[] = [
  {
    action: 'Mine',
    fields: FAR,
    async run(value) {
      const { blocks } = await bodyOf(api.POST('/stackside/v1/devnet/mine', { body: distance(value) }));
      return `Mined ${heights(blocks)}.`;
    },
  },
  {
    action: 'Mine Bitcoin blocks',
    fields: FAR,
    async run(value) {
      const { bitcoin_blocks: blocks } = await bodyOf(
        api.POST('/stackside/v1/devnet/bitcoin', { body: distance(value) }),
      );
      return `Made ${heights(blocks)}, each with the first block of a tenure.`;
    },
  },
  {
    action: 'Fork',
    fields: [{ name: 'depth', label: 'Blocks to orphan', value: '1', type: 'number' }],
    async run(value) {
      const body = { depth: Number(value('depth')) };
      const { blocks, orphaned } = await bodyOf(api.POST('/stackside/v1/devnet/fork', { body }));
      return `Mined another branch with ${heights(blocks)}, in place of ${plural(orphaned.length, 'block')}.`;
    },
  },
  {
    action: 'Take a snapshot',
    fields: [{ name: 'name', label: 'Name', value: 'default' }],
    async run(value) {
      const { tip } = await bodyOf(api.POST('/stackside/v1/devnet/snapshot', { body: { name: value('name') } }));
      return `The state after block ${count(tip.height)} has the name ${value('name')}.`;
    },
  },
  {
    action: 'Go back',
    fields: [{ name: 'place', label: 'To a snapshot, or a height', value: 'default' }],
    async run(value) {
      const place = value('place').trim();
      const { orphaned } = await bodyOf(api.POST('/stackside/v1/devnet/revert', { body: await placeOf(place) }));
      const state = isHeight(place) ? `that after block ${count(place)}` : `that of ${place}`;
      return `The state is ${state}; ${plural(orphaned.length, 'block')} left the chain.`;
    },
  },
  {
    action: 'Fund',
    fields: [
      { name: 'address', label: 'Address', value: '' },
      { name: 'amount', label: 'STX', value: '100', type: 'number' },
    ],
    async run(value) {
      const address = value('address').trim();
      const amount = String(BigInt(Math.round(Number(value('amount')) * MICRO)));
      const { block } = await bodyOf(api.POST('/stackside/v1/devnet/fund', { body: { address, amount } }));
      return `Sent ${value('amount')} STX to ${address} in block ${count(block.height)}.`;
    },
  },
  {
    action: 'Let time pass',
    fields: [{ name: 'minutes', label: 'Minutes', value: '10', type: 'number' }],
    async run(value) {
      const seconds = 60 * Number(value('minutes'));
      await bodyOf(api.POST('/stackside/v1/devnet/time', { body: { seconds } }));
      return `The next block is ${duration(seconds)} later.`;
    },
  },
];

const isHeight = (place: string): boolean => /^\d+$/.test(place);

/**
 * Returns the body that identifies a state: by a snapshot, or by the block at a height. @throws RequestError if there
 * is no such block
 */
async function placeOf(place: string): Promise<{ snapshot: string } | { index_block_hash: string }> {
  if (!isHeight(place)) return { snapshot: place };
  const params = { path: { height_or_hash: place } };
  const { index_block_hash } = await bodyOf(api.GET('/extended/v2/blocks/{height_or_hash}', { params }));
  return { index_block_hash };
}

/** Renders the panel that controls the node. */
export const SimulatedNode = () => (
  <Panel title="Simulated node" source="/stackside/v1/devnet">
    <div class="panel-body grid" style={{ '--column': '26rem' }}>
      {ALL.map((steering) => (
        <Steer key={steering.action} {...steering} />
      ))}
    </div>
  </Panel>
);

function Steer({ action, fields, run: steered }: Steering) {
  const [said, setSaid] = useState('');
  const { run, problem, busy } = useAction();
  const submit = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    const formData = new FormData(event.currentTarget);
    setSaid('');
    run(
      async () => {
        const sentence = await steered((name) => String(formData.get(name) ?? ''));
        setSaid(sentence);
        return sentence;
      },
      (sentence) => sentence,
    );
  };
  return (
    <form class="form row" aria-label={action} onSubmit={submit}>
      {fields.map(({ name, label, value, type, isOptional = false }) => (
        <label key={name}>
          {label}
          <input
            name={name}
            {...(type === undefined ? { type: 'text' } : { type, min: 1 })}
            autocomplete="off"
            defaultValue={value}
            required={!isOptional}
          />
        </label>
      ))}
      <button type="submit" disabled={busy}>
        {action}
      </button>
      {said === '' ? null : <span class="quiet break">{said}</span>}
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
