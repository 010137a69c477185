/** Routes that steer the simulated node, for tests of apps. They exist beside a simulated node alone. */
import { Type } from '@sinclair/typebox';
import { principalBytes } from '../codec/address.ts';
import type { Block } from '../devnet/block.ts';
import type { BurnBlock } from '../devnet/burn-operation.ts';
import { MAX_FORK_DEPTH, type SimulatedNode } from '../devnet/node.ts';
import { cycles } from '../devnet/pox.ts';
import { templates } from '../devnet/traffic.ts';
import { ApiError, ParameterError } from '../http/errors.ts';
import { hostCheck, isFromOtherPage } from '../http/hosts.ts';
import { isLoopback, parseAddress } from '../http/ip-address.ts';
import { type Access, type Route, route } from '../http/route.ts';

/** The simulated node that a server was started with. */
export interface Steering {
  readonly node: SimulatedNode;
  /** Names of this server besides `localhost`. */
  readonly hosts: readonly string[];
}

/** Lets programs of this machine steer, and pages of this server. */
function accessTo(steering: Steering | null): Access<object, SimulatedNode> {
  const isOurs = hostCheck({ names: steering?.hosts ?? [], addresses: 'loopback' });
  return (request, clientAddress) => {
    const peer = parseAddress(clientAddress);
    if (peer === null || !isLoopback(peer)) throw new ApiError(403, 'Only programs of the same machine may steer');
    if (!isOurs(request.headers.get('host'))) {
      throw new ApiError(421, 'The Host of the request is not a name of this server (--allowed-hosts)');
    }
    if (isFromOtherPage(request)) throw new ApiError(403, 'A page of another origin may not steer');
    return () => {
      if (steering === null) throw new ApiError(503, 'This process has no simulated node');
      return steering.node;
    };
  };
}

const Hash = Type.String();
const ShownBlock = Type.Object({
  height: Type.Integer(),
  hash: Hash,
  index_block_hash: Hash,
  parent_index_block_hash: Type.Union([Hash, Type.Null()]),
  time: Type.Integer({ description: 'Unix seconds' }),
  tenure_height: Type.Integer(),
  bitcoin_height: Type.Integer({ description: 'The Bitcoin block that elected the tenure' }),
  bitcoin_hash: Hash,
  transactions: Type.Array(Hash, { description: 'Ids, the bookkeeping of the block included' }),
});
const ShownBitcoinBlock = Type.Object({ height: Type.Integer(), hash: Hash, time: Type.Integer() });
const Blocks = Type.Object({ blocks: Type.Array(ShownBlock) });

const shown = (block: Block) => ({
  height: block.height,
  hash: block.blockHash,
  index_block_hash: block.indexBlockHash,
  parent_index_block_hash: block.parent,
  time: block.time,
  tenure_height: block.tenure.height,
  bitcoin_height: block.burn.height,
  bitcoin_hash: block.burn.hash,
  transactions: block.receipts.map(({ txId }) => txId),
});

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
const closed = { additionalProperties: false };

const Mine = Type.Object(
  {
    count: Type.Optional(count),
    traffic: Type.Optional(Type.Integer({ minimum: 0, maximum: 200, default: 0 })),
    transactions: Type.Optional(Type.Array(Type.String({ pattern: '^(0x)?([0-9a-fA-F]{2})+$' }), { maxItems: 200 })),
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
    amount: Type.String({ pattern: '^[1-9]\\d{0,18}$', description: 'Micro-STX, in decimal' }),
  },
  closed,
);

/** A principal of the node's network. @throws ParameterError */
function requirePrincipal(text: string, { chain }: SimulatedNode): string {
  const versions = chain.network.name === 'mainnet' ? [22, 20] : [26, 21];
  if (versions.includes(principalBytes(text)?.[0] ?? -1)) return text;
  throw new ParameterError({ place: 'body', path: ['address'] }, `must be a principal of ${chain.network.name}`);
}

const Contract = Type.Object({
  name: Type.String(),
  clarity_version: Type.Union([Type.Integer(), Type.Null()]),
  functions: Type.Array(Type.String()),
  source: Type.String(),
});

/** What all routes have in common. */
const familyOf = (steering: Steering | null) =>
  ({
    tag: 'Simulated node',
    hidden: true,
    access: accessTo(steering),
    etag: null,
    snapshot: false,
    mainThread: true,
  }) as const;

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
        const { id, block } = await node.fund(requirePrincipal(address, node), BigInt(amount));
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
  return [...reads(family), ...makers(family), ...clocks(family)];
};
