/** Routes that make blocks and branches, and change the mempool. */
import { Type } from '@sinclair/typebox';
import type { Block } from '../../devnet/block.ts';
import type { BurnBlock } from '../../devnet/burn-chain.ts';
import { MAX_BLOCKS, MAX_CYCLES, MAX_FORK_DEPTH } from '../../devnet/limits.ts';
import type { Distance } from '../../devnet/node.ts';
import { type Route, route } from '../../http/route.ts';
import { Hash, named, nullable } from '../shared/fields.ts';
import {
  closed,
  DevnetBitcoinBlock,
  DevnetBlock,
  type DevnetFamily,
  devnetBitcoinBlock,
  devnetBlock,
  MicroStx,
  NAME,
  NAME_RULE,
  Owner,
  requireAtMostOneOf,
  requireOneOf,
  requireOwner,
  State,
  stateOf,
} from './family.ts';

const DEFAULT_SNAPSHOT = 'default';

const Blocks = named('DevnetBlocks', { blocks: Type.Array(DevnetBlock) });
const BitcoinBlocks = named('DevnetBitcoinBlocks', {
  bitcoin_blocks: Type.Array(DevnetBitcoinBlock),
  blocks: Type.Array(DevnetBlock),
});
const Funded = named('DevnetFunds', { tx_id: Hash, block: DevnetBlock });
/** Another branch, with the blocks that it replaced. */
const branch = {
  blocks: Type.Array(DevnetBlock, { description: 'Blocks of the new branch, oldest first' }),
  orphaned: Type.Array(DevnetBlock, { description: 'Blocks that left the chain, oldest first' }),
};
const Forked = named('DevnetFork', {
  ...branch,
  pending: Type.Array(Hash, { description: 'Ids of transactions that are pending again' }),
});
const Reverted = named('DevnetRevert', branch);
const Replaced = named('DevnetReplacement', { tx_id: Hash, replaced: Hash });

const serializeBoth = ({ burnBlocks, blocks }: { burnBlocks: readonly BurnBlock[]; blocks: readonly Block[] }) => ({
  bitcoin_blocks: burnBlocks.map(devnetBitcoinBlock),
  blocks: blocks.map(devnetBlock),
});

const count = Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_BLOCKS, default: 1 }));
const until = Type.Optional(Type.Integer({ minimum: 1, description: 'In place of `count`' }));
/** Returns the distance in a body, by default one step. @throws ParameterError if the body has both members */
function parseDistance(
  body: { count?: number; until_height?: number; until_cycle?: number },
  end: 'until_height' | 'until_cycle',
): Distance {
  requireAtMostOneOf(body, 'count', end);
  const last = body[end];
  return last === undefined ? { count: body.count ?? 1 } : { until: last };
}

const Mine = Type.Object(
  {
    count,
    until_height: until,
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
const Id = Type.String({ pattern: '^0x[0-9a-f]{64}$', rule: '0x and 64 hex digits' });
const SnapshotName = Type.String({ pattern: NAME, rule: NAME_RULE });
const NamedState = Type.Object(
  { name: Type.Optional(Type.String({ pattern: NAME, rule: NAME_RULE, default: DEFAULT_SNAPSHOT })) },
  closed,
);
const Revert = Type.Object({ index_block_hash: Type.Optional(Id), snapshot: Type.Optional(SnapshotName) }, closed);
const Drop = Type.Object({ tx_id: Id }, closed);
const Replace = Type.Object({ tx_id: Id, fee: MicroStx }, closed);
const Bitcoin = Type.Object(
  { count, until_height: until, tenures: Type.Optional(Type.Boolean({ default: true })) },
  closed,
);
const Cycle = Type.Object(
  { count: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_CYCLES, default: 1 })), until_cycle: until },
  closed,
);
const Fund = Type.Object({ address: Owner, amount: MicroStx }, closed);

/** A balance, which may be nothing. */
const Balance = Type.String({
  pattern: '^(0|[1-9]\\d{0,38})$',
  rule: 'a whole number of at most 39 digits, as text',
  description: 'Micro-STX or base units of the token, in decimal',
});
const SetBalance = Type.Object(
  {
    address: Owner,
    amount: Balance,
    asset: Type.Optional(
      Type.String({ description: 'A fungible token, such as `ST….shop::gold`, or the default, STX', maxLength: 300 }),
    ),
  },
  closed,
);
const BalanceSet = named('DevnetBalance', { tx_id: nullable(Hash), balance: Balance });

/** Routes that make blocks. */
export const makers = (family: DevnetFamily): Route[] => {
  const post = { ...family, method: 'POST' } as const;
  const optional = { ...post, optionalBody: true } as const;
  return [
    route({
      ...optional,
      path: '/stackside/v1/devnet/mine',
      operationId: 'mineDevnetBlocks',
      summary: 'Mine blocks',
      description:
        'Broadcasts `transactions`, then mines `count` blocks, or up to `until_height`, with all pending transactions that can be mined. Each block also has `traffic` transactions of simulated users, which only a chain with simulated contracts has.',
      body: Mine,
      response: Blocks,
      handle: async ({ caller: node, body }) => {
        const distance = parseDistance(body, 'until_height');
        const blocks = await node.mine(distance, body.traffic ?? 0, body.transactions ?? []);
        return { blocks: blocks.map(devnetBlock) };
      },
    }),
    route({
      ...optional,
      path: '/stackside/v1/devnet/fork',
      operationId: 'forkDevnet',
      summary: 'Mine another branch',
      description:
        'Mines `length` blocks, by default one more than `depth`, on the block that is `depth` blocks below the tip. The branch wins if it is longer than `depth`; transactions of the replaced blocks are pending again.',
      body: Fork,
      response: Forked,
      handle: async ({ caller: node, body: { depth = 1, length = depth + 1 } }) => {
        const { blocks, orphaned, pending } = await node.fork(depth, length);
        return { blocks: blocks.map(devnetBlock), orphaned: orphaned.map(devnetBlock), pending: [...pending] };
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/revert',
      operationId: 'revertDevnet',
      summary: 'Go back to the state after a block',
      description: `Mines an empty branch that is longer than the chain, on a snapshot's block or on one of the newest ${MAX_FORK_DEPTH} blocks. All pending transactions and those of the replaced blocks are dropped, and so are later Bitcoin blocks and time that was added. The snapshot then moves to the new tip, so that you can revert to it repeatedly.`,
      body: Revert,
      response: Reverted,
      handle: async ({ caller: node, body }) => {
        requireOneOf(body, 'index_block_hash', 'snapshot');
        const { blocks, orphaned } = await node.revert(body);
        return { blocks: blocks.map(devnetBlock), orphaned: orphaned.map(devnetBlock) };
      },
    }),
    route({
      ...optional,
      path: '/stackside/v1/devnet/snapshot',
      operationId: 'nameDevnetState',
      summary: 'Name the state after the tip',
      description:
        'Saves the tip by a name for `revert`, and returns the state. A new snapshot with the same name replaces it.',
      body: NamedState,
      response: State,
      handle: async ({ caller: node, body: { name = DEFAULT_SNAPSHOT } }) => {
        await node.snapshot(name);
        return stateOf(node);
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/replace',
      operationId: 'replaceDevnetTransaction',
      summary: 'Send a pending transaction again with a higher fee',
      description:
        'Signs a pending transaction again with another fee, which must be higher, and drops the previous one. The simulated node must have the key of the sender, unless it runs with `--unsafe-impersonate`.',
      body: Replace,
      response: Replaced,
      handle: async ({ caller: node, body: { tx_id: replaced, fee } }) => ({
        tx_id: await node.replace(replaced, BigInt(fee)),
        replaced,
      }),
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/drop',
      operationId: 'dropDevnetTransaction',
      summary: 'Drop a pending transaction',
      description: 'Removes a transaction from the mempool, and returns the state.',
      body: Drop,
      response: State,
      handle: async ({ caller: node, body: { tx_id: id } }) => {
        await node.drop(id);
        return stateOf(node);
      },
    }),
    route({
      ...optional,
      path: '/stackside/v1/devnet/bitcoin',
      operationId: 'mineDevnetBitcoinBlocks',
      summary: 'Make Bitcoin blocks',
      description:
        'Makes `count` Bitcoin blocks, or up to `until_height`. With `tenures`, each elected miner mines its first block.',
      body: Bitcoin,
      response: BitcoinBlocks,
      handle: async ({ caller: node, body }) =>
        serializeBoth(await node.bitcoin(parseDistance(body, 'until_height'), body.tenures ?? true)),
    }),
    route({
      ...optional,
      path: '/stackside/v1/devnet/cycle',
      operationId: 'mineDevnetCycles',
      summary: 'Advance to another reward cycle',
      description:
        'Makes Bitcoin blocks with tenures until `count` reward cycles have begun, or the cycle `until_cycle`.',
      body: Cycle,
      response: BitcoinBlocks,
      handle: async ({ caller: node, body }) => serializeBoth(await node.cycle(parseDistance(body, 'until_cycle'))),
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/fund',
      operationId: 'fundDevnetAddress',
      summary: 'Give STX to an address, in a separate block',
      description: 'Sends micro-STX from the faucet.',
      body: Fund,
      response: Funded,
      handle: async ({ caller: node, body: { address, amount } }) => {
        const { id, block } = await node.fund(requireOwner(address, node, 'address'), BigInt(amount));
        return { tx_id: id, block: devnetBlock(block) };
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/balance',
      operationId: 'setDevnetBalance',
      summary: 'Set the STX or the tokens of an address',
      description:
        "Gives an address exactly this balance, by a transfer from or to the faucet in a separate block. The key of the address isn't needed. A lower balance takes a nonce of the address, and is impossible for a contract. If it is lower by at most the fee, the faucet first pays the fee in another block. A balance of tokens can only rise: the missing tokens are minted, with the event in a transfer of one micro-STX from the faucet. `tx_id` is null if the address had this balance.",
      body: SetBalance,
      response: BalanceSet,
      handle: async ({ caller: node, body: { address, amount, asset } }) => {
        const principal = requireOwner(address, node, 'address');
        const transaction =
          asset === undefined
            ? await node.setBalance(principal, BigInt(amount))
            : await node.setTokens(principal, asset, BigInt(amount));
        return { tx_id: transaction?.id ?? null, balance: amount };
      },
    }),
  ];
};
