/** Steering of the simulated node: blocks, forks, time, accounts and transactions. */
import { Type } from '@sinclair/typebox';
import { principalBytes } from '../codec/address.ts';
import { decodeClarity } from '../codec/clarity.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import { utf8Bytes } from '../codec/utf8.ts';
import type { Block } from '../devnet/block.ts';
import type { BurnBlock } from '../devnet/burn-chain.ts';
import { literalOf, readForms, SourceError } from '../devnet/contract-source.ts';
import { MAX_FORK_DEPTH, RefusedTransaction, type SimulatedNode } from '../devnet/node.ts';
import { cycles } from '../devnet/pox.ts';
import { templates } from '../devnet/traffic.ts';
import { contractCall, smartContract, tokenTransfer, versionedSmartContract } from '../devnet/transaction.ts';
import { type Account, impersonated } from '../devnet/wallet.ts';
import { ApiError, type ErrorShape, ParameterError, Problem, problems } from '../http/errors.ts';
import { hostCheck, isFromOtherPage, isLoopback, parseAddress } from '../http/hosts.ts';
import { type Access, type Route, route } from '../http/route.ts';
import { Amount, describedHex, Hash, Height, nullable, UnixTime } from './shared/values.ts';

/** The simulated node that a server was started with. */
export interface Steering {
  readonly node: SimulatedNode;
  /** Names of this server besides `localhost`. */
  readonly hosts: readonly string[];
}

/** The access of every request to a server without a simulated node. */
const absent = (): never => {
  const message = 'This server has no simulated node; stackside demo starts one with it';
  throw new ApiError(404, message, 'no_simulated_node');
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

const ShownBlock = Type.Object(
  {
    height: Height,
    hash: Hash,
    index_block_hash: Hash,
    parent_index_block_hash: nullable(Hash),
    time: UnixTime,
    tenure_height: Height,
    bitcoin_height: Type.Integer({ minimum: 0, description: 'Height of the Bitcoin block that elected the tenure' }),
    bitcoin_hash: Hash,
    transactions: Type.Array(Hash, { description: 'Ids, the bookkeeping of the block included' }),
  },
  { $id: 'DevnetBlock' },
);

/** Serializes a block. */
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

/** Unknown members of bodies are refused. */
const closed = { additionalProperties: false };

/** A principal of the node's network. @param field the field of the body @throws ParameterError */
function requirePrincipal(text: string, { chain }: SimulatedNode, field: string): string {
  const versions = chain.network.name === 'mainnet' ? [22, 20] : [26, 21];
  if (versions.includes(principalBytes(text)?.[0] ?? -1)) return text;
  throw new ParameterError({ location: 'body', path: [field] }, `must be a principal of ${chain.network.name}`);
}

/** An amount in the body of a request. */
const MicroStx = Type.String({
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
      reason: Type.Optional(Type.String({ description: "The node's word for why it refuses a transaction" })),
    },
    { $id: 'DevnetProblem' },
  ),
  body: (error) => ({
    ...problems.body(error),
    ...(error instanceof ParameterError && error.path.length > 0 ? { field: error.path.join('.') } : {}),
    ...(error instanceof RefusedTransaction ? { reason: error.reason } : {}),
  }),
};

/** What all routes have in common. */
const familyOf = (steering: Steering | null) =>
  ({
    tag: 'Simulated node',
    access: accessTo(steering),
    keyless: true,
    errors: steeringErrors,
    notFound: 'Simulated node not found: the server is no demo (code `no_simulated_node`)',
    refusals: {
      403: 'The client is on another machine, or a web page of another origin',
      421: 'The Host of the request is not a name of this server',
    },
    etag: null,
    history: 'none',
    snapshot: false,
    mainThread: true,
  }) as const;

const MEMO_BYTES = 34;
/** Last byte of a private key whose public key is compressed. */
const COMPRESSED = '01';

const AccountName = Type.String({
  pattern: '^[a-zA-Z0-9_-]{1,40}$',
  rule: 'a name of 1 to 40 letters, digits, _ and -',
});
/** The name of an account, or an address of at most 41 characters for which the operator speaks. */
const sender = Type.Optional(
  Type.String({ pattern: '^[a-zA-Z0-9_-]{1,41}$', rule: 'a name of 1 to 40 letters, digits, _ and -, or an address' }),
);
const ContractName = Type.String({
  pattern: '^[a-zA-Z][a-zA-Z0-9_-]{0,39}$',
  rule: 'a name of 1 to 40 letters, digits, _ and -, with a letter first',
});

const NamedAccount = Type.Object({ name: AccountName }, closed);
const ShownAccount = Type.Object({ address: Type.String(), private_key: Type.String() }, { $id: 'DevnetAccount' });
const Transfer = Type.Object(
  {
    sender,
    recipient: Type.String(),
    amount: MicroStx,
    memo: Type.Optional(Type.String({ maxLength: MEMO_BYTES, default: '' })),
  },
  closed,
);
const Deploy = Type.Object(
  {
    sender,
    name: ContractName,
    source: Type.String({ minLength: 1, maxLength: 100_000 }),
    clarity_version: Type.Optional(Type.Integer({ minimum: 1, maximum: 6 })),
  },
  closed,
);
const Call = Type.Object(
  {
    sender,
    contract: Type.String(),
    function: Type.String({ minLength: 1, maxLength: 128 }),
    arguments: Type.Optional(Type.Array(Type.String({ maxLength: 100_000 }), { maxItems: 100 })),
  },
  closed,
);

/** A transaction that the server signed and mined. */
const Sent = Type.Object(
  {
    tx_id: Hash,
    status: Type.String(),
    result: describedHex('The serialized Clarity value'),
    error: Type.Union([Type.String(), Type.Null()], { description: 'Why a contract failed at run time' }),
    sender: Type.String(),
    block: ShownBlock,
  },
  { $id: 'DevnetTransaction' },
);

/** Who sends a transaction. */
interface Signing {
  account: Account;
  /** False for an account whose key nobody has here. */
  isSigned: boolean;
}

/** The account that signs (default: the faucet), or the one for which the operator speaks. @throws ParameterError */
function signerOf(node: SimulatedNode, name: string | undefined): Signing {
  if (name === undefined) return { account: node.faucet, isSigned: true };
  const account = node.impersonates ? impersonated(name, node.chain.network) : null;
  return account === null ? { account: node.account(name), isSigned: true } : { account, isSigned: false };
}

/** Signs and mines a payload. @returns the answer of the route */
async function sent(node: SimulatedNode, { account, isSigned }: Signing, payload: Uint8Array) {
  const { id, block } = await node.send(account, payload, isSigned);
  return { ...outcomeOf(id, block), sender: account.address, block: shown(block) };
}

/** The result of a transaction in its block. @throws ApiError if the block doesn't contain it */
function outcomeOf(id: string, { receipts }: Block) {
  const receipt = receipts.find(({ txId }) => txId === id);
  if (receipt === undefined) {
    throw new ApiError(
      409,
      `${id} stays in the mempool: after its earlier pending transactions, the account can't pay for this one`,
    );
  }
  return { tx_id: id, status: receipt.status, result: toHex(receipt.result), error: receipt.vmError };
}

/** Serializes an argument: a Clarity literal, or `0x` and a serialized value. @throws ParameterError */
function argumentBytes(text: string, at: number, contract: string): Uint8Array {
  const value = text.startsWith('0x') ? serializedValue(text) : literalValue(text, contract);
  if (value !== null) return value;
  throw new ParameterError(
    { location: 'body', path: ['arguments', String(at)] },
    'must be a literal (u1, true, none, "text", \'ST…), or 0x and the hex digits of a serialized Clarity value',
  );
}

function serializedValue(text: string): Uint8Array | null {
  if (!/^0x([0-9a-fA-F]{2})+$/.test(text)) return null;
  const bytes = fromHex(text);
  return decodeClarity(bytes).ok ? bytes : null;
}

function literalValue(text: string, contract: string): Uint8Array | null {
  try {
    const forms = readForms(text);
    return forms.length === 1 ? (literalOf(forms[0], contract)?.value ?? null) : null;
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return null;
  }
}

/** The id of a contract. @throws ParameterError */
function requireContract(text: string, node: SimulatedNode): string {
  if (!text.includes('.')) {
    throw new ParameterError(
      { location: 'body', path: ['contract'] },
      'must be a contract identifier: an address, a dot and a name',
    );
  }
  return requirePrincipal(text, node, 'contract');
}

/** @throws ParameterError */
function requireMemo(text: string): string {
  if (utf8Bytes(text).length <= MEMO_BYTES) return text;
  throw new ParameterError({ location: 'body', path: ['memo'] }, `must have at most ${MEMO_BYTES} bytes`);
}

const FROM_SENDER = 'from the account that `sender` names, by default the faucet';
const REFUSED = 'If the node refuses the transaction, nothing is mined, and `reason` has its word.';

/** Routes that sign and mine. @param family what all routes of the simulated node have in common */
const senders = (family: ReturnType<typeof familyOf>): Route[] => {
  const post = { ...family, method: 'POST' } as const;
  const sendingRefusals = {
    ...family.refusals,
    409: 'The transaction stays in the mempool: earlier ones spend the funds',
  };
  return [
    route({
      ...post,
      path: '/stackside/v1/devnet/account',
      operationId: 'getDevnetAccount',
      summary: 'An account by a name of your choice, with its key',
      description:
        'Returns the address and the private key of an account. The seed and the name decide both, so never use the key elsewhere.',
      body: NamedAccount,
      response: ShownAccount,
      handle: ({ caller: node, body: { name } }) => {
        const { address, privateKey } = node.account(name);
        return { address, private_key: `${privateKey.toHex()}${COMPRESSED}` };
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/transfer',
      operationId: 'sendDevnetTransfer',
      summary: 'Send STX, in a block of its own',
      description: `Signs and mines a transfer of micro-STX ${FROM_SENDER}. ${REFUSED}`,
      refusals: sendingRefusals,
      body: Transfer,
      response: Sent,
      handle: ({ caller: node, body: { sender: name, recipient, amount, memo = '' } }) => {
        const payload = tokenTransfer(
          requirePrincipal(recipient, node, 'recipient'),
          BigInt(amount),
          requireMemo(memo),
        );
        return sent(node, signerOf(node, name), payload);
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/deploy',
      operationId: 'deployDevnetContract',
      summary: 'Deploy a contract, in a block of its own',
      description: `Signs and mines the deployment of a contract ${FROM_SENDER}. ${REFUSED}`,
      refusals: sendingRefusals,
      body: Deploy,
      response: Sent,
      handle: ({ caller: node, body: { sender: who, name, source, clarity_version: version } }) => {
        const payload =
          version === undefined ? smartContract(name, source) : versionedSmartContract(version, name, source);
        return sent(node, signerOf(node, who), payload);
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/call',
      operationId: 'callDevnetContract',
      summary: 'Call a function of a contract, in a block of its own',
      description: `Signs and mines a call of a public function ${FROM_SENDER}. Each argument is a Clarity literal, such as \`u1\`, \`none\`, \`"text"\` or \`'ST…\`, or \`0x\` and a serialized value. ${REFUSED}`,
      refusals: sendingRefusals,
      body: Call,
      response: Sent,
      handle: ({ caller: node, body }) => {
        const contract = requireContract(body.contract, node);
        const [deployer = ''] = contract.split('.');
        const values = (body.arguments ?? []).map((text, at) => argumentBytes(text, at, deployer));
        return sent(node, signerOf(node, body.sender), contractCall(contract, body.function, values));
      },
    }),
  ];
};

const ShownBitcoinBlock = Type.Object({ height: Height, hash: Hash, time: UnixTime }, { $id: 'DevnetBitcoinBlock' });
const Blocks = Type.Object({ blocks: Type.Array(ShownBlock) }, { $id: 'DevnetBlocks' });
const BitcoinBlocks = Type.Object(
  { bitcoin_blocks: Type.Array(ShownBitcoinBlock), blocks: Type.Array(ShownBlock) },
  { $id: 'DevnetBitcoinBlocks' },
);
const Funded = Type.Object({ tx_id: Hash, block: ShownBlock }, { $id: 'DevnetFunds' });
/** Another branch, with the blocks that it replaced. */
const branch = {
  blocks: Type.Array(ShownBlock, { description: 'Blocks of the new branch, oldest first' }),
  orphaned: Type.Array(ShownBlock, { description: 'Blocks that left the chain, oldest first' }),
};
const Forked = Type.Object(
  { ...branch, pending: Type.Array(Hash, { description: 'Ids of broadcast transactions that are pending again' }) },
  { $id: 'DevnetFork' },
);
const Reverted = Type.Object(branch, { $id: 'DevnetRevert' });

const shownBitcoin = ({ height, hash, time }: BurnBlock) => ({ height, hash, time });

/** Serializes Bitcoin blocks with the blocks of Stacks that came with them. */
const shownBoth = ({ burnBlocks, blocks }: { burnBlocks: readonly BurnBlock[]; blocks: readonly Block[] }) => ({
  bitcoin_blocks: burnBlocks.map(shownBitcoin),
  blocks: blocks.map(shown),
});

const State = Type.Object(
  {
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
    pending: Type.Array(Hash, { description: 'Ids of broadcast transactions that wait' }),
    faucet: Type.Object({ address: Type.String(), balance: Amount }),
  },
  { $id: 'Devnet' },
);

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
const Id = Type.String({ pattern: '^0x[0-9a-f]{64}$', rule: '0x and 64 hex digits' });
const Revert = Type.Object({ index_block_hash: Id }, closed);
const Drop = Type.Object({ tx_id: Id }, closed);
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

const Contract = Type.Object(
  {
    name: Type.String(),
    clarity_version: nullable(Type.Integer()),
    functions: Type.Array(Type.String()),
    source: Type.String(),
  },
  { $id: 'DevnetContract' },
);

/** Routes that show the simulated node. */
const reads = (family: ReturnType<typeof familyOf>): Route[] => [
  route({
    ...family,
    path: '/stackside/v1/devnet',
    operationId: 'getDevnet',
    summary: 'State of the simulated node',
    description: 'Returns the tip, the reward cycle, the interval, the pending transactions and the faucet.',
    response: State,
    handle: ({ caller: node }) => stateOf(node),
  }),
  route({
    ...family,
    path: '/stackside/v1/devnet/contracts',
    operationId: 'getDevnetContracts',
    summary: 'Contracts whose functions are simulated',
    description:
      'Lists the contracts whose functions work where no Clarity runs, with their sources: deployed character by character, by anybody and with any name.',
    response: Type.Object({ contracts: Type.Array(Contract) }, { $id: 'DevnetContracts' }),
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
  const post = { ...family, method: 'POST' } as const;
  const optional = { ...post, optionalBody: true } as const;
  return [
    route({
      ...optional,
      path: '/stackside/v1/devnet/mine',
      operationId: 'mineDevnetBlocks',
      summary: 'Mine blocks',
      description:
        'Broadcasts `transactions`, then mines `count` blocks with all pending transactions that can be mined; each has `traffic` transactions of simulated users, too.',
      body: Mine,
      response: Blocks,
      handle: async ({ caller: node, body }) => {
        const blocks = await node.mine(body.count ?? 1, body.traffic ?? 0, body.transactions ?? []);
        return { blocks: blocks.map(shown) };
      },
    }),
    route({
      ...optional,
      path: '/stackside/v1/devnet/fork',
      operationId: 'forkDevnet',
      summary: 'Mine another branch',
      description:
        'Mines `length` blocks, by default one more than `depth`, on the block that is `depth` blocks below the tip. The branch wins if it is longer than `depth`; broadcast transactions of the replaced blocks are pending again.',
      body: Fork,
      response: Forked,
      handle: async ({ caller: node, body: { depth = 1, length = depth + 1 } }) => {
        const { blocks, orphaned, pending } = await node.fork(depth, length);
        return { blocks: blocks.map(shown), orphaned: orphaned.map(shown), pending: [...pending] };
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/revert',
      operationId: 'revertDevnet',
      summary: 'Go back to the state after a block',
      description: `Mines an empty branch that is longer than the chain, on the tip or one of the ${MAX_FORK_DEPTH} blocks below it. What was broadcast since is dropped.`,
      body: Revert,
      response: Reverted,
      handle: async ({ caller: node, body: { index_block_hash: hash } }) => {
        const { blocks, orphaned } = await node.revert(hash);
        return { blocks: blocks.map(shown), orphaned: orphaned.map(shown) };
      },
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
      description: 'Makes `count` Bitcoin blocks. With `tenures`, each elected miner mines its first block.',
      body: Bitcoin,
      response: BitcoinBlocks,
      handle: async ({ caller: node, body: { count: many = 1, tenures = true } }) =>
        shownBoth(await node.bitcoin(many, tenures)),
    }),
    route({
      ...optional,
      path: '/stackside/v1/devnet/cycle',
      operationId: 'mineDevnetCycles',
      summary: 'Go on to another reward cycle',
      description: 'Makes Bitcoin blocks with tenures until `count` reward cycles have begun.',
      body: Cycle,
      response: BitcoinBlocks,
      handle: async ({ caller: node, body: { count: many = 1 } }) => shownBoth(await node.cycle(many)),
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/fund',
      operationId: 'fundDevnetAddress',
      summary: 'Give STX to an address, in a block of its own',
      description: 'Sends micro-STX from the faucet.',
      body: Fund,
      response: Funded,
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
      path: '/stackside/v1/devnet/time',
      operationId: 'advanceDevnetTime',
      summary: 'Move the time of the next block on',
      description: 'Moves the time on by `seconds`, and returns the state.',
      body: Time,
      handle: async ({ caller: node, body }) => {
        await node.advance(body.seconds);
        return stateOf(node);
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/interval',
      operationId: 'setDevnetInterval',
      summary: 'Mine by the clock, or only what is asked for',
      description:
        'Sets the seconds between two blocks, 0 for none but those that are asked for, and returns the state.',
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
