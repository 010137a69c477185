/** Routes that steer the simulated node, for tests of apps. They exist beside a simulated node alone. */
import { Type } from '@sinclair/typebox';
import type { BurnBlock } from '../devnet/burn-chain.ts';
import { MAX_FORK_DEPTH, type SimulatedNode } from '../devnet/node.ts';
import { cycles } from '../devnet/pox.ts';
import { templates } from '../devnet/traffic.ts';
import { type Route, route } from '../http/route.ts';
import {
  closed,
  familyOf,
  Hash,
  MicroStx,
  requirePrincipal,
  ShownBlock,
  type Steering,
  shown,
} from './devnet-shared.ts';
import { senders } from './devnet-transactions.ts';

const ShownBitcoinBlock = Type.Object({ height: Type.Integer(), hash: Hash, time: Type.Integer() });
const Blocks = Type.Object({ blocks: Type.Array(ShownBlock) });

const shownBitcoin = ({ height, hash, time }: BurnBlock) => ({ height, hash, time });

const State = Type.Object({
  seed: Type.Integer(),
  network: Type.String(),
  chain_id: Type.Integer(),
  tip: ShownBlock,
  bitcoin: ShownBitcoinBlock,
  cycle: Type.Object({
    number: Type.Integer(),
    length: Type.Integer({ description: 'Bitcoin blocks' }),
    blocks_left: Type.Integer({ description: 'Bitcoin blocks until the next cycle begins' }),
  }),
  interval: Type.Integer({ description: 'Seconds between two blocks; 0 mines only what is asked for' }),
  pending: Type.Array(Hash, { description: 'Ids of transactions from outside that wait' }),
  faucet: Type.Object({ address: Type.String(), balance: Type.String({ description: 'Micro-STX' }) }),
});

function stateOf(node: SimulatedNode) {
  const { chain, tip, interval } = node;
  const { height } = tip.burnView;
  const { address } = node.faucet;
  return {
    seed: node.seed,
    network: chain.network.name,
    chain_id: chain.network.chainId,
    tip: shown(tip),
    bitcoin: shownBitcoin(tip.burnView),
    cycle: {
      number: cycles.of(height),
      length: cycles.length,
      blocks_left: cycles.startOf(cycles.of(height) + 1) - height,
    },
    interval,
    pending: node.pending.map(({ id }) => id),
    faucet: { address, balance: String(tip.world.spendable(address, height)) },
  };
}

const MAX_BLOCKS = 1_000;
const count = Type.Integer({ minimum: 1, maximum: MAX_BLOCKS, default: 1 });

const Mine = Type.Object(
  {
    count: Type.Optional(count),
    traffic: Type.Optional(Type.Integer({ minimum: 0, maximum: 200, default: 0 })),
    transactions: Type.Optional(
      Type.Array(Type.String({ pattern: '^(0x)?([0-9a-fA-F]{2})+$', rule: 'the hex digits of a transaction' }), {
        maxItems: 200,
      }),
    ),
  },
  closed,
);
const Fork = Type.Object(
  {
    depth: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_FORK_DEPTH, default: 1 })),
    length: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_FORK_DEPTH + 1 })),
  },
  closed,
);
const Bitcoin = Type.Object(
  { count: Type.Optional(count), tenures: Type.Optional(Type.Boolean({ default: true })) },
  closed,
);
const Cycle = Type.Object({ count: Type.Optional(Type.Integer({ minimum: 1, maximum: 20, default: 1 })) }, closed);
const Time = Type.Object({ seconds: Type.Integer({ minimum: 1, maximum: 31_536_000 }) }, closed);
const Interval = Type.Object({ seconds: Type.Integer({ minimum: 0, maximum: 3_600 }) }, closed);
const Fund = Type.Object(
  {
    address: Type.String(),
    amount: MicroStx,
  },
  closed,
);

const Contract = Type.Object({
  name: Type.String(),
  clarity_version: Type.Union([Type.Integer(), Type.Null()]),
  functions: Type.Array(Type.String()),
  source: Type.String(),
});

/** Routes that show the simulated node. */
const reads = (family: ReturnType<typeof familyOf>): Route[] => [
  route({
    ...family,
    path: '/devnet',
    operationId: 'getSimulatedNode',
    summary: 'State of the simulated node',
    response: State,
    handle: ({ caller: node }) => stateOf(node),
  }),
  route({
    ...family,
    path: '/devnet/contracts',
    operationId: 'getSimulatedContracts',
    summary: 'Contracts whose functions are simulated',
    response: Type.Object({ contracts: Type.Array(Contract) }),
    handle: () => ({
      contracts: templates.map(({ name, clarityVersion, source, calls = {}, reads: read = {} }) => ({
        name,
        clarity_version: clarityVersion ?? null,
        functions: [...Object.keys(calls), ...Object.keys(read)],
        source,
      })),
    }),
  }),
];

/** Routes that make blocks. */
const makers = (family: ReturnType<typeof familyOf>): Route[] => {
  const post = { ...family, method: 'POST', optionalBody: true } as const;
  return [
    route({
      ...post,
      path: '/devnet/mine',
      operationId: 'mine',
      summary: 'Mine blocks',
      body: Mine,
      response: Blocks,
      handle: async ({ caller: node, body }) => {
        const blocks = await node.mine(body.count ?? 1, body.traffic ?? 0, body.transactions ?? []);
        return { blocks: blocks.map(shown) };
      },
    }),
    route({
      ...post,
      path: '/devnet/fork',
      operationId: 'fork',
      summary: 'Mine another branch',
      body: Fork,
      response: Type.Object({
        blocks: Type.Array(ShownBlock),
        orphaned: Type.Array(ShownBlock),
        pending: Type.Array(Hash),
      }),
      handle: async ({ caller: node, body: { depth = 1, length = depth + 1 } }) => {
        const { blocks, orphaned, pending } = await node.fork(depth, length);
        return { blocks: blocks.map(shown), orphaned: orphaned.map(shown), pending: [...pending] };
      },
    }),
    ...[
      { path: '/devnet/bitcoin', operationId: 'mineBitcoin', summary: 'Make Bitcoin blocks' },
      { path: '/devnet/cycle', operationId: 'mineCycle', summary: 'Go on to another reward cycle' },
    ].map((named) =>
      route({
        ...post,
        ...named,
        body: named.path === '/devnet/cycle' ? Cycle : Bitcoin,
        response: Type.Object({ bitcoin_blocks: Type.Array(ShownBitcoinBlock), blocks: Type.Array(ShownBlock) }),
        handle: async ({ caller: node, body }) => {
          const { count: many = 1, tenures = true } = body as { count?: number; tenures?: boolean };
          const made = named.path === '/devnet/cycle' ? node.cycle(many) : node.bitcoin(many, tenures);
          const { burnBlocks, blocks } = await made;
          return { bitcoin_blocks: burnBlocks.map(shownBitcoin), blocks: blocks.map(shown) };
        },
      }),
    ),
    route({
      ...post,
      path: '/devnet/fund',
      operationId: 'fund',
      summary: 'Give STX to an address, in a block of its own',
      body: Fund,
      response: Type.Object({ tx_id: Hash, block: ShownBlock }),
      handle: async ({ caller: node, body: { address, amount } }) => {
        const { id, block } = await node.fund(requirePrincipal(address, node, 'address'), BigInt(amount));
        return { tx_id: id, block: shown(block) };
      },
    }),
  ];
};

/** Routes that set the clock. */
const clocks = (family: ReturnType<typeof familyOf>): Route[] => {
  const post = { ...family, method: 'POST', response: State } as const;
  return [
    route({
      ...post,
      path: '/devnet/time',
      operationId: 'advanceTime',
      summary: 'Move the time of the next block on',
      body: Time,
      handle: async ({ caller: node, body }) => {
        await node.advance(body.seconds);
        return stateOf(node);
      },
    }),
    route({
      ...post,
      path: '/devnet/interval',
      operationId: 'setInterval',
      summary: 'Mine by the clock, or only what is asked for',
      body: Interval,
      handle: async ({ caller: node, body }) => {
        await node.mineEvery(body.seconds);
        return stateOf(node);
      },
    }),
  ];
};

/** @param steering null in an API thread, which passes requests on */
export const devnetRoutes = (steering: Steering | null): readonly Route[] => {
  const family = familyOf(steering);
  return [...reads(family), ...makers(family), ...senders(family), ...clocks(family)];
};
