/** What the routes of the simulated node share: who may steer, and how a block is shown. */
import { Type } from '@sinclair/typebox';
import { principalBytes } from '../codec/address.ts';
import type { Block } from '../devnet/block.ts';
import { RefusedTransaction, type SimulatedNode } from '../devnet/node.ts';
import { ApiError, type ErrorShape, ParameterError, problems } from '../http/errors.ts';
import { hostCheck, isFromOtherPage } from '../http/hosts.ts';
import { isLoopback, parseAddress } from '../http/ip-address.ts';
import type { Access } from '../http/route.ts';

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
    if (peer === null || !isLoopback(peer))
      throw new ApiError(403, 'Only programs on the same machine can control the simulated chain');
    if (!isOurs(request.headers.get('host'))) {
      throw new ApiError(421, 'The Host of the request is not a name of this server; --allowed-hosts adds names');
    }
    if (isFromOtherPage(request))
      throw new ApiError(403, "Web pages of other origins can't control the simulated chain");
    return () => {
      if (steering === null) throw new ApiError(503, 'This process has no simulated node');
      return steering.node;
    };
  };
}

export const Hash = Type.String();
export const ShownBlock = Type.Object({
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

/** A block as answers show it. */
export const shown = (block: Block) => ({
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

/** Bodies refuse fields that they don't have. */
export const closed = { additionalProperties: false };

/** A principal of the node's network. @param field the field of the body @throws ParameterError */
export function requirePrincipal(text: string, { chain }: SimulatedNode, field: string): string {
  const versions = chain.network.name === 'mainnet' ? [22, 20] : [26, 21];
  if (versions.includes(principalBytes(text)?.[0] ?? -1)) return text;
  throw new ParameterError({ place: 'body', path: [field] }, `must be a principal of ${chain.network.name}`);
}

/** An amount in the body of a request. */
export const MicroStx = Type.String({
  pattern: '^[1-9]\\d{0,18}$',
  rule: 'a whole number of micro-STX above 0, of at most 19 digits, as text',
  description: 'Micro-STX, in decimal',
});

/** What most routes say, with the field that is wrong, and the node's reason for refusing a transaction. */
const steeringErrors: ErrorShape = {
  ...problems,
  body: (error) => ({
    ...problems.body(error),
    ...(error instanceof ParameterError && error.path.length > 0 ? { field: error.path.join('.') } : {}),
    ...(error instanceof RefusedTransaction ? { reason: error.reason } : {}),
  }),
};

/** What all routes have in common. */
export const familyOf = (steering: Steering | null) =>
  ({
    tag: 'Simulated node',
    hidden: true,
    access: accessTo(steering),
    errors: steeringErrors,
    etag: null,
    snapshot: false,
    mainThread: true,
  }) as const;
