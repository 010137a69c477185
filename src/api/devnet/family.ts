/**
 * Shared parts of the routes that steer the simulated node: access, the form of errors, and blocks and the state as they
 * answer them.
 */
import { Type } from '@sinclair/typebox';
import { isVersionOf, principalBytes } from '../../codec/address.ts';
import type { Block } from '../../devnet/block.ts';
import type { BurnBlock } from '../../devnet/burn-chain.ts';
import { RefusedTransaction, type SimulatedNode } from '../../devnet/node.ts';
import { ApiError, type ErrorShape, ParameterError, Problem, problems } from '../../http/errors.ts';
import { hostCheck, isFromOtherPage, isLoopback, parseAddress } from '../../http/hosts.ts';
import { type Access, WITHOUT_INDEX } from '../../http/route.ts';
import { Amount, Hash, Height, nullable, object, UnixTime } from '../shared/fields.ts';
import { PATTERNS } from '../shared/identifiers.ts';

export const [DevnetBlock, devnetBlock] = object<Block>('DevnetBlock')({
  height: [Height, ({ height }) => height],
  hash: [Hash, ({ blockHash }) => blockHash],
  index_block_hash: [Hash, ({ indexBlockHash }) => indexBlockHash],
  parent_index_block_hash: [nullable(Hash), ({ parent }) => parent],
  time: [UnixTime, ({ time }) => time],
  tenure_height: [Height, ({ tenure }) => tenure.height],
  bitcoin_height: [
    Type.Integer({ minimum: 0, description: 'Height of the Bitcoin block that elected the tenure' }),
    ({ burn }) => burn.height,
  ],
  bitcoin_hash: [Hash, ({ burn }) => burn.hash],
  transactions: [
    Type.Array(Hash, { description: 'Ids, including the transactions that the miner creates' }),
    ({ receipts }) => receipts.map(({ txId }) => txId),
  ],
});

export const [DevnetBitcoinBlock, devnetBitcoinBlock] = object<BurnBlock>('DevnetBitcoinBlock')({
  height: [Height, ({ height }) => height],
  hash: [Hash, ({ hash }) => hash],
  time: [UnixTime, ({ time }) => time],
});

const [ShownSnapshot, shownSnapshot] = object<SimulatedNode['snapshots'][number]>('DevnetSnapshot')({
  name: [Type.String(), ({ name }) => name],
  height: [Height, ({ block }) => block.height],
  index_block_hash: [Hash, ({ block }) => block.indexBlockHash],
});

/** Returns the micro-STX that an account can spend after the tip. */
const balanceOf = ({ tip }: SimulatedNode, account: string): string =>
  String(tip.world.spendable(account, tip.burnView.height));

export const [State, stateOf] = object<SimulatedNode>('Devnet')({
  seed: [Type.Integer(), ({ options }) => options.seed],
  network: [Type.String(), ({ chain }) => chain.network.name],
  chain_id: [Type.Integer(), ({ chain }) => chain.network.chainId],
  tip: [DevnetBlock, ({ tip }) => devnetBlock(tip)],
  bitcoin: [DevnetBitcoinBlock, ({ tip }) => devnetBitcoinBlock(tip.burnView)],
  cycle: object<SimulatedNode>()({
    number: [Type.Integer(), ({ chain: { cycles }, tip }) => cycles.of(tip.burnView.height)],
    length: [Type.Integer({ description: 'Bitcoin blocks' }), ({ chain }) => chain.cycles.length],
    blocks_left: [
      Type.Integer({ description: 'Bitcoin blocks until the next cycle begins' }),
      ({ chain: { cycles }, tip }) => {
        const { height } = tip.burnView;
        return cycles.startOf(cycles.of(height) + 1) - height;
      },
    ],
  }),
  interval: [
    Type.Integer({ description: 'Seconds between two blocks; 0 mines only on request' }),
    ({ interval }) => interval,
  ],
  pending: [
    Type.Array(Hash, {
      description: 'Ids of pending transactions: broadcast ones, and those of blocks that a fork replaced',
    }),
    ({ pending }) => pending.map(({ id }) => id),
  ],
  replaceable: [
    Type.Array(Hash, { description: 'Ids of the pending transactions that `replace` can sign again' }),
    ({ replaceable }) => replaceable.map(({ id }) => id),
  ],
  snapshots: [
    Type.Array(ShownSnapshot, { description: 'Snapshots that the chain can revert to by name' }),
    ({ snapshots }) => snapshots.map(shownSnapshot),
  ],
  faucet: object<SimulatedNode>()({
    address: [Type.String(), ({ faucet }) => faucet.address],
    balance: [Amount, (node) => balanceOf(node, node.faucet.address)],
  }),
  accounts: [
    Type.Array(Type.Object({ name: Type.String(), address: Type.String(), balance: Amount }), {
      description: 'Accounts of the Clarinet project; none if contracts are simulated',
    }),
    (node) =>
      (node.options.accounts ?? []).map(({ name, address }) => ({ name, address, balance: balanceOf(node, address) })),
  ],
});

export interface Steering {
  readonly node: SimulatedNode;
  /** Names of this server, in addition to `localhost`. */
  readonly hosts: readonly string[];
  /** Returns the unfinished work before the chain can be used, or the problem that prevents it; null if it can be used. */
  preparation(): { problem: string; remedy: string } | null;
}

/** The access of every request to a server without a simulated node. */
const absent = (): never => {
  const message = "This server doesn't run a simulated node; stackside devnet does";
  throw new ApiError(404, message, 'NOT_A_DEVNET');
};

/** Grants access to programs on this machine, and to pages of this server. */
function accessTo(steering: Steering | null): Access<object, SimulatedNode> {
  const isOurs = hostCheck({ names: steering?.hosts ?? [], addresses: 'loopback' });
  return (request, clientAddress) => {
    if (steering === null) return absent;
    const peer = parseAddress(clientAddress);
    if (peer === null || !isLoopback(peer))
      throw new ApiError(403, 'Only programs on the same machine can control the simulated chain');
    if (!isOurs(request.headers.get('host'))) {
      throw new ApiError(421, 'The Host of the request is not a name of this server; --allowed-hosts adds names');
    }
    if (isFromOtherPage(request))
      throw new ApiError(403, "Web pages of other origins can't control the simulated chain");
    return () => steering.node;
  };
}

/** Unknown members of bodies are refused. */
export const closed = { additionalProperties: false };

const PRINCIPAL_FORM = new RegExp(PATTERNS.principal);

const isPrincipalOf = (text: string, { chain }: SimulatedNode): boolean =>
  isVersionOf(chain.network.name, principalBytes(text)?.[0]);

/** A principal of the node's network. @param field the field of the body @throws ParameterError */
export const requirePrincipal = (text: string, node: SimulatedNode, field: string): string =>
  isPrincipalOf(text, node) ? text : rejectPrincipal(text, node, field, '');

/** Returns a principal of the node's network, which may be given by the name of an account. @throws ParameterError */
export function requireOwner(text: string, node: SimulatedNode, field: string): string {
  if (isPrincipalOf(text, node)) return text;
  const names = node.accounts.names.join(', ') || 'none yet';
  const address = node.accounts.findNamed(text)?.address;
  return address ?? rejectPrincipal(text, node, field, `, or the name of an account (${names})`);
}

/** @param alternative to a principal, for the error @throws ParameterError */
function rejectPrincipal(text: string, { chain }: SimulatedNode, field: string, alternative: string): never {
  const bytes = principalBytes(text);
  const isMistyped = bytes === null && PRINCIPAL_FORM.test(text);
  throw new ParameterError(
    { location: 'body', path: [field] },
    isMistyped
      ? (name) => `invalid STX address in ${name}: its checksum is wrong, so a character may be mistyped`
      : `must be a principal of ${chain.network.name}${alternative}`,
  );
}

/** Checks that a body has at most one of two members. @throws ParameterError */
export function requireAtMostOneOf(body: object, first: string, second: string): void {
  if (!Object.hasOwn(body, first) || !Object.hasOwn(body, second)) return;
  throw new ParameterError({ location: 'body', path: [second] }, `must not be given together with ${first}`);
}

/** Checks that a body has one of two members. @throws ParameterError */
export function requireOneOf(body: object, first: string, second: string): void {
  requireAtMostOneOf(body, first, second);
  if (Object.hasOwn(body, first) || Object.hasOwn(body, second)) return;
  throw new ParameterError({ location: 'body', path: [] }, `must have ${first} or ${second}`);
}

/** The name of an account or a snapshot. */
export const NAME = '^[a-zA-Z0-9_-]{1,40}$';
export const NAME_RULE = 'a name of 1 to 40 letters, digits, _ and -';

/** Thrown if a read-only function can't be executed. */
export class UnreadError extends ApiError {
  /** @param reason the node's reason, such as `DivisionByZero` @param hint empty for none */
  constructor(
    readonly reason: string,
    hint = '',
  ) {
    super(400, `The function has no result: ${reason}${hint === '' ? '' : `: ${hint}`}`, 'NOT_READ');
  }
}

/** An address in the body of a request. */
export const Owner = Type.String({ description: 'A principal, or the name of an account' });

/** An amount in the body of a request. */
export const MicroStx = Type.String({
  pattern: '^[1-9]\\d{0,18}$',
  rule: 'a whole number of micro-STX above 0, of at most 19 digits, as text',
  description: 'Micro-STX, in decimal',
});

/** Errors in the usual form, with the wrong field, and the node's reason for refusing a transaction. */
const steeringErrors: ErrorShape = {
  ...problems,
  schema: Type.Object(
    {
      ...Problem.properties,
      field: Type.Optional(Type.String({ description: 'Field of the body that is wrong, such as `transactions.0`' })),
      reason: Type.Optional(Type.String({ description: 'Why the node refuses a transaction, or a function fails' })),
    },
    { $id: 'DevnetProblem' },
  ),
  body: (error) => ({
    ...problems.body(error),
    ...(error instanceof ParameterError && error.path.length > 0 ? { field: error.path.join('.') } : {}),
    ...(error instanceof RefusedTransaction || error instanceof UnreadError ? { reason: error.reason } : {}),
  }),
};

/** Creates the declarations that all routes share. */
export const familyOf = (steering: Steering | null) =>
  ({
    tag: 'Simulated node',
    access: accessTo(steering),
    keyless: true,
    errors: steeringErrors,
    notFound: "Simulated node not found: the server isn't a devnet (code `NOT_A_DEVNET`)",
    refusals: {
      403: 'The client is on another machine, or a web page of another origin',
      421: 'The Host of the request is not a name of this server',
    },
    ...WITHOUT_INDEX,
    mainThread: true,
  }) as const;

export type DevnetFamily = ReturnType<typeof familyOf>;
