/** Routes that call contracts: transactions, each signed and mined in a separate block, and read-only functions. */
import { type Static, Type } from '@sinclair/typebox';
import { nearestName } from '../../base/nearest-name.ts';
import type { AbiType } from '../../codec/abi.ts';
import { DEPLOYED_NAME_PATTERN, principalBytes } from '../../codec/address.ts';
import { deploymentPayload } from '../../codec/boot-transaction.ts';
import { decodedOrThrow } from '../../codec/bytes-reader.ts';
import { clarityValueOf, decodeClarity, MAX_CLARITY_VERSION } from '../../codec/clarity.ts';
import { clarityRepr } from '../../codec/clarity-text.ts';
import { fromHex, toHex } from '../../codec/hex.ts';
import { utf8Bytes } from '../../codec/utf8.ts';
import type { Block } from '../../devnet/block.ts';
import type { ContractInterface } from '../../devnet/contract.ts';
import { parseArgumentText } from '../../devnet/contract-source.ts';
import { RefusedTransaction, type Signing, type SimulatedNode } from '../../devnet/node.ts';
import { readFunction } from '../../devnet/rpc.ts';
import { contractCall, tokenTransfer } from '../../devnet/transaction.ts';
import { type Account, impersonate } from '../../devnet/wallet.ts';
import { ApiError, notFound, ParameterError } from '../../http/errors.ts';
import { type Route, route } from '../../http/route.ts';
import { describedHex, Hash, named, nullable } from '../shared/fields.ts';
import { TxId } from '../shared/parameters.ts';
import {
  closed,
  DevnetBlock,
  type DevnetFamily,
  devnetBlock,
  MicroStx,
  NAME,
  NAME_RULE,
  Owner,
  requireOwner,
  requirePrincipal,
  UnreadError,
} from './family.ts';

const MEMO_BYTES = 34;
const CLARITY_NONE = '0x09';
/** Last byte of a private key with a compressed public key. */
const COMPRESSED = '01';

const AccountName = Type.String({ pattern: NAME, rule: NAME_RULE });
/** The name of an account, or an address of at most 41 characters: of an account, or one that the simulated node impersonates. */
const sender = Type.Optional(
  Type.String({ pattern: '^[a-zA-Z0-9_-]{1,41}$', rule: 'a name of 1 to 40 letters, digits, _ and -, or an address' }),
);
const ContractName = Type.String({
  pattern: `^${DEPLOYED_NAME_PATTERN}$`,
  rule: 'a name of 1 to 40 letters, digits, _ and -, with a letter first',
});

const NamedAccount = Type.Object({ name: AccountName }, closed);
const ShownAccount = named('DevnetAccount', { address: Type.String(), private_key: Type.String() });
const Transfer = Type.Object(
  {
    sender,
    recipient: Owner,
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
    clarity_version: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_CLARITY_VERSION })),
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

const FailureSchema = Type.Object(
  {
    place: nullable(
      named('DevnetPlace', {
        contract: Type.String(),
        line: Type.Integer(),
        column: Type.Integer(),
        expression: Type.String({ description: 'Source of the expression that made the error' }),
      }),
    ),
    trace: Type.String({ description: 'Calls of functions with arguments and results' }),
    costs: Type.Array(Type.Object({ function: Type.String(), runtime: Type.Integer() }), {
      description: 'Runtime cost of each function, without the functions that it calls',
    }),
  },
  { $id: 'DevnetFailure', description: 'Why a call failed, if a Clarity engine executed it' },
);

/** A transaction that the server signed and mined. */
const Sent = named('DevnetTransaction', {
  tx_id: Hash,
  status: Type.String(),
  result: describedHex('The serialized Clarity value'),
  repr: Type.String({ description: 'The result as Clarity shows it' }),
  error: Type.Union([Type.String(), Type.Null()], { description: 'Why a contract failed at run time' }),
  sender: Type.String(),
  block: DevnetBlock,
  failure: nullable(FailureSchema),
});

const DeploymentSent = named('DevnetDeployment', {
  ...Sent.properties,
  error_line: nullable(
    Type.Integer({ description: 'Line on which the failed definition starts; the first line is 1' }),
  ),
});

const Read = named('DevnetRead', { result: describedHex('The serialized Clarity value'), repr: Type.String() });

/** Returns the account that signs (default: the faucet), or the impersonated account. @throws ParameterError */
function findSigner(node: SimulatedNode, name: string | undefined): Signing {
  if (name === undefined) return { account: node.faucet, isSigned: true };
  const account = node.options.impersonates ? impersonate(name, node.chain.network) : null;
  return account === null ? { account: requireAccount(node, name), isSigned: true } : { account, isSigned: false };
}

/** @throws ParameterError if no account has the name or the address */
function requireAccount(node: SimulatedNode, name: string): Account {
  const account = node.accounts.findNamed(name) ?? node.accounts.findByAddress(name);
  if (account !== undefined) return account;
  const names = node.accounts.names.join(', ') || 'none yet';
  const remedy =
    principalBytes(name) === null
      ? `POST /stackside/v1/devnet/account adds ${name}`
      : 'a devnet with --unsafe-impersonate accepts every address';
  throw new ParameterError(
    { location: 'body', path: ['sender'] },
    `must be the name or the address of an account (${names}); ${remedy}`,
  );
}

/** Signs and mines a payload. @returns the body of the response */
async function send(node: SimulatedNode, signing: Signing, payload: Uint8Array) {
  const { id, block } = await node.send(signing, payload);
  return explain(node, id, block, signing.account.address);
}

async function explain(node: SimulatedNode, id: string, block: Block, from: string) {
  const failure = (await node.clarity?.failure(id, block)) ?? null;
  return { ...findOutcome(id, block), sender: from, block: devnetBlock(block), failure };
}

const NOT_MINED = 'Transaction not found: the newest blocks of the simulated chain have none with this id';

/** Finds a mined transaction of an account. @throws ApiError 404 */
function minedTransaction(node: SimulatedNode, id: string) {
  for (const block of node.chain.ancestors(node.tip)) {
    const transaction = block.transactions.find((candidate) => candidate.id === id);
    if (transaction !== undefined) return explain(node, id, block, transaction.origin.account.address);
  }
  throw notFound(NOT_MINED);
}

/** The result of a transaction in its block. @throws ApiError if the block doesn't contain it */
function findOutcome(id: string, { receipts }: Block) {
  const receipt = receipts.find(({ txId }) => txId === id);
  if (receipt === undefined) {
    throw new ApiError(
      409,
      `${id} stays in the mempool: after its earlier pending transactions, the account can't pay for this one`,
    );
  }
  const { status, result, vmError: error } = receipt;
  return { tx_id: id, status, result: toHex(result), repr: clarityRepr(result), error };
}

/**
 * Serializes an argument: a Clarity literal, or `0x` and a serialized value.
 * @param contract the deployer of the contract `.name`
 * @param type the declared type of the parameter, if the function is known
 * @throws ParameterError
 */
function argumentBytes(text: string, index: number, contract: string, type: AbiType | undefined): Uint8Array {
  const value = serializedValue(text, type) ?? parseArgumentText(text, contract);
  if (value !== null) return value;
  throw new ParameterError(
    { location: 'body', path: ['arguments', String(index)] },
    'must be a literal (u1, true, none, "text", \'ST…, (list u1 u2), { a: u1 }), a buffer such as 0x6d79, or 0x and the hex digits of a serialized Clarity value',
  );
}

/** Returns the bytes of a serialized value; null for other texts, and for a buffer's literal in place of a buffer. */
function serializedValue(text: string, type: AbiType | undefined): Uint8Array | null {
  if (!/^0x([0-9a-fA-F]{2})+$/.test(text)) return null;
  const bytes = fromHex(text);
  const value = clarityValueOf(bytes);
  if (value?.bytes.length !== bytes.length) return null;
  const isBuffer = typeof type === 'object' && 'buffer' in type;
  return isBuffer && value.type !== 'buffer' ? null : bytes;
}

/** Returns the id of a contract, which may be given by the name that an account deployed it by. @throws ParameterError */
function requireContract(text: string, node: SimulatedNode): string {
  if (text.includes('.')) return requirePrincipal(text, node, 'contract');
  const id = node.contractNamed(text);
  if (id !== undefined) return id;
  throw new ParameterError(
    { location: 'body', path: ['contract'] },
    'must be a contract identifier (an address, a dot and a name), or the name of a deployed contract of an account',
  );
}

type Functions = ContractInterface['functions'];

/** Maximum number of functions that an error names. */
const MAX_NAMES = 20;

/** Explains why a contract has no such function with this access, and names functions that it has. */
function hintFor(name: string, functions: Functions, access: 'public' | 'read_only'): string {
  const declared = functions.find((candidate) => candidate.name === name);
  if (declared?.access === 'read_only') return `${name} is read-only, so use read`;
  if (declared?.access === 'public') return `${name} is public, so use call`;
  if (declared !== undefined) return `${name} is private`;
  const names = functions.filter((candidate) => candidate.access === access).map((candidate) => candidate.name);
  const similar = nearestName(name, names);
  if (similar !== null) return `did you mean ${similar}?`;
  const rest = names.length > MAX_NAMES ? ', …' : '';
  return names.length === 0
    ? 'the contract has none'
    : `the contract has ${names.slice(0, MAX_NAMES).join(', ')}${rest}`;
}

/** Checks that a contract has a public function, if the node knows all its functions. @throws RefusedTransaction */
function requirePublic(contract: string, name: string, { tip }: SimulatedNode): void {
  const template = tip.world.contract(contract)?.template;
  if (template === undefined || template.isPartial === true) return;
  const { functions } = template.abi;
  if (functions.some((declared) => declared.name === name && declared.access === 'public')) return;
  throw new RefusedTransaction(['function'], 'NoSuchPublicFunction', hintFor(name, functions, 'public'));
}

/** Returns the contract, its functions, and the serialized arguments, of a body. @throws ParameterError */
function parseCall(body: Static<typeof Call>, node: SimulatedNode) {
  const contract = requireContract(body.contract, node);
  const [deployer = ''] = contract.split('.');
  const { functions = [] } = node.tip.world.contract(contract)?.template.abi ?? {};
  const params = functions.find(({ name }) => name === body.function)?.args ?? [];
  const args = (body.arguments ?? []).map((text, index) => argumentBytes(text, index, deployer, params[index]?.type));
  return { contract, functions, args };
}

/** Executes a read-only function on the tip. @throws ParameterError, UnreadError */
async function runRead(body: Static<typeof Call>, node: SimulatedNode) {
  const { contract, functions, args } = parseCall(body, node);
  const values = args.map((bytes) => decodedOrThrow(decodeClarity(bytes)));
  const sender = findSigner(node, body.sender).account.address;
  const answer = await readFunction(node, node.tip, { contract, functionName: body.function, args: values, sender });
  if (!answer.okay) {
    const isReadOnly = functions.some(({ name, access }) => name === body.function && access === 'read_only');
    const isUnknown = functions.length === 0 || isReadOnly;
    throw new UnreadError(answer.cause, isUnknown ? '' : hintFor(body.function, functions, 'read_only'));
  }
  const result = answer.result ?? CLARITY_NONE;
  return { result, repr: clarityRepr(fromHex(result)) };
}

/** @throws ParameterError */
function requireMemo(text: string): string {
  if (utf8Bytes(text).length <= MEMO_BYTES) return text;
  throw new ParameterError({ location: 'body', path: ['memo'] }, `must NOT have more than ${MEMO_BYTES} bytes`);
}

const FROM_SENDER = 'from the account whose name or address is `sender`, by default the faucet';
const REFUSED = "If the node refuses the transaction, nothing is mined, and `reason` contains the node's error.";

/** Routes that sign and mine. @param family the declarations that all routes of the simulated node share */
export const senders = (family: DevnetFamily): Route[] => {
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
        const { address, privateKey } = node.accounts.named(name);
        return { address, private_key: `${privateKey.toHex()}${COMPRESSED}` };
      },
    }),
    route({
      ...family,
      path: '/stackside/v1/devnet/transactions/{tx_id}',
      operationId: 'getDevnetTransaction',
      summary: 'Result of a mined transaction, and why it failed',
      description:
        'Returns the result of a transaction in one of the last 100 blocks. If a Clarity engine executed a call that failed, `failure` has the expression that made the error, the calls and their costs. The engine keeps them for the last 100 failed calls.',
      params: { tx_id: TxId },
      response: Sent,
      notFound: NOT_MINED,
      handle: ({ caller: node, params }) => minedTransaction(node, toHex(params.tx_id)),
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/transfer',
      operationId: 'sendDevnetTransfer',
      summary: 'Send STX, in a separate block',
      description: `Signs and mines a transfer of micro-STX ${FROM_SENDER}. ${REFUSED}`,
      refusals: sendingRefusals,
      body: Transfer,
      response: Sent,
      handle: ({ caller: node, body: { sender: name, recipient, amount, memo = '' } }) => {
        const payload = tokenTransfer(requireOwner(recipient, node, 'recipient'), BigInt(amount), requireMemo(memo));
        return send(node, findSigner(node, name), payload);
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/deploy',
      operationId: 'deployDevnetContract',
      summary: 'Deploy a contract, in a separate block',
      description: `Signs and mines the deployment of a contract ${FROM_SENDER}. ${REFUSED} If the analysis fails, \`error\` has the reason, and \`error_line\` the line on which the faulty definition begins.`,
      refusals: sendingRefusals,
      body: Deploy,
      response: DeploymentSent,
      async handle({ caller: node, body: { sender: senderName, name, source, clarity_version: version } }) {
        const clarityVersion = version ?? null;
        const answer = await send(node, findSigner(node, senderName), deploymentPayload(name, source, clarityVersion));
        const { sender: deployer, error, block } = answer;
        const deployment = { kind: 'deploy', sender: deployer, name, source, clarityVersion } as const;
        const place =
          error === null ? null : await node.clarity?.failingForm(block.parent_index_block_hash!, deployment, error);
        return { ...answer, error_line: place?.line ?? null };
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/call',
      operationId: 'callDevnetContract',
      summary: 'Call a function of a contract, in a separate block',
      description: `Signs and mines a call of a public function ${FROM_SENDER}. Each argument is a Clarity literal, such as \`u1\`, \`none\`, \`"text"\`, \`'ST…\` or \`(list u1 u2)\`, or \`0x\` and a serialized value. Every \`repr\` in answers is such a literal. Digits after \`0x\` that aren't a serialized value, or not a serialized buffer for a parameter of that type, are the buffer itself. ${REFUSED}`,
      refusals: sendingRefusals,
      body: Call,
      response: Sent,
      handle: ({ caller: node, body }) => {
        const { contract, args } = parseCall(body, node);
        requirePublic(contract, body.function, node);
        return send(node, findSigner(node, body.sender), contractCall(contract, body.function, args));
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/read',
      operationId: 'readDevnetContract',
      summary: 'Call a read-only function of a contract',
      description:
        'Executes a read-only function on the tip, and returns its result. The arguments are as for `call`. If the function fails, `reason` is the error.',
      body: Call,
      response: Read,
      handle: ({ caller: node, body }) => runRead(body, node),
    }),
  ];
};
