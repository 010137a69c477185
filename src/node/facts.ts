/** Facts that both the index and its node have, and the requests for each to the node's RPC interface. */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { memoizeByObject } from '../base/cache.ts';
import type { Clock } from '../base/clock.ts';
import { exactJson, isTooDeep, MAX_FOREIGN_DEPTH, parsedJson } from '../base/json.ts';
import { makePacer } from '../base/turns.ts';
import { signerBits } from '../chain/normalise.ts';
import { PayloadError, parseJson } from '../chain/payload-reader.ts';
import { assetContractOf, assetNameOf, BOOT_ADDRESS, splitPrincipal } from '../codec/address.ts';
import { type ClarityValue, decodeClarity } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { clarityRepr } from '../codec/clarity-text.ts';
import { toHex } from '../codec/hex.ts';
import { decodeNakamotoBlock, transactionRoot } from '../codec/nakamoto-block.ts';
import { decodedTransaction, transactionId } from '../codec/transaction.ts';
import { strictText } from '../codec/utf8.ts';
import type { AccountFacts, BlockFacts, BlockTransaction } from '../store/queries/blocks/facts.ts';
import type { Reader } from '../store/read/index-reader.ts';
import { type NodeRpc, NodeUnreachableError } from './rpc.ts';

/** The kinds of facts, in the order of reports. */
export const factKinds = [
  'blocks',
  'sortitions',
  'transactions',
  'accounts',
  'contracts',
  'reward sets',
  'SIP-010 balances',
  'SIP-009 owners',
] as const;
export type FactKind = (typeof factKinds)[number];
/** The kinds that change from block to block, so that the first differing block can be found. */
export const changingKinds: readonly FactKind[] = ['accounts', 'SIP-010 balances', 'SIP-009 owners'];

export interface BlockAt {
  height: number;
  /** Index block hash. */
  hash: Uint8Array;
}

/** Named values of a thing; null if the thing doesn't exist. */
type Values = Record<string, string> | null;

/** Returned if the node has no comparable answer. */
export class NoAnswer {
  /** @param status of the response, if it is the reason */
  constructor(
    readonly reason: string,
    readonly status: number | null = null,
  ) {}
}

const statusAnswer = (status: number): NoAnswer => new NoAnswer(`status ${status}`, status);

/** Status of a node that doesn't have the thing. */
const NOT_FOUND = 404;

/** Status of a node that is too busy to answer. */
const TOO_MANY_REQUESTS = 429;

/** Returns the node's answer. @throws NodeUnreachableError if the node failed, so that a later answer is possible */
export function answerOrThrow<T>(answer: T | NoAnswer): T | NoAnswer {
  const status = answer instanceof NoAnswer ? answer.status : null;
  if (status === null || (status < 500 && status !== TOO_MANY_REQUESTS)) return answer;
  throw new NodeUnreachableError(`the node answered with status ${status}`);
}

/** Returns null if the node doesn't have the thing; otherwise the reason. */
const nullIfAbsent = (answer: NoAnswer): NoAnswer | null => (answer.status === NOT_FOUND ? null : answer);

/** A fact that both the index and the node have. */
export interface Fact {
  kind: FactKind;
  /** Name in a sentence. */
  subject: string;
  /** Reads the fact after a block of the index. @param burnHeight height of the newest Bitcoin block that the node has seen */
  index(reader: Reader, block: BlockAt, burnHeight: number): Values;
  node(node: ThrottledNode, block: BlockAt, burnHeight: number): Promise<Values | NoAnswer>;
}

export interface RequestOptions {
  /** Maximum requests per second. */
  rate: number;
  /** Number of repetitions if the node doesn't respond, or responds with a server error. */
  retries?: number;
  clock: Clock;
  signal?: AbortSignal;
}

const RETRIES = 3;
const FIRST_RETRY_MS = 250;

/** A client of the node with a limited rate of requests. */
export class ThrottledNode {
  readonly #turn: ReturnType<typeof makePacer>;

  constructor(
    private readonly rpc: NodeRpc,
    private readonly options: RequestOptions,
  ) {
    this.#turn = makePacer(options.rate, options.clock, options.signal);
  }

  /**
   * Sends a request.
   * @returns a status other than 200 with its text, or the bytes
   * @throws NodeUnreachableError if it fails repeatedly; the signal's reason
   */
  async bytes(path: string, init?: RequestInit): Promise<{ status: number; bytes: Uint8Array }> {
    const { retries = RETRIES } = this.options;
    for (let attempts = 0; ; attempts++) {
      await this.#turn(attempts === 0 ? 0 : FIRST_RETRY_MS * 2 ** attempts);
      try {
        const response = await this.rpc.request(path, init);
        const bytes = await response.bytes();
        if (response.status < 500 || attempts === retries) return { status: response.status, bytes };
      } catch (error) {
        if (!(error instanceof NodeUnreachableError) || attempts === retries) throw error;
      }
    }
  }

  /** Returns an answer's JSON value, with exact integers; NoAnswer for a status other than 200, or JSON of another form. */
  async json<T extends TSchema>(path: string, schema: T, init?: RequestInit): Promise<Static<T> | NoAnswer> {
    const { status, bytes } = await this.bytes(path, init);
    if (status !== 200) return statusAnswer(status);
    const text = strictText(bytes) ?? '';
    if (isTooDeep(text, MAX_FOREIGN_DEPTH)) return new NoAnswer('an unexpected response');
    try {
      const value = parseJson(text);
      return Value.Check(schema, value) ? value : new NoAnswer('an unexpected response');
    } catch (error) {
      if (error instanceof PayloadError) return new NoAnswer("a response that isn't JSON");
      throw error;
    }
  }
}

const Account = Type.Object({
  balance: Type.String({ pattern: '^0x[0-9a-f]+$' }),
  locked: Type.String({ pattern: '^0x[0-9a-f]+$' }),
  unlock_height: Type.Integer(),
  nonce: Type.Integer(),
});

/** Boot addresses. At the node, their transactions, which deploy boot contracts and mint the first STX, use no nonce. */
const boots: readonly string[] = Object.values(BOOT_ADDRESS);

const accountFact = (principal: string): Fact => ({
  kind: 'accounts',
  subject: principal,
  index(reader, { height }, burnHeight) {
    return accountValues(principal, reader.facts.account(principal, height), burnHeight);
  },
  async node(node, { hash }, burnHeight) {
    const account = await requestAccount(node, principal, hash);
    return account instanceof NoAnswer ? account : accountValues(principal, account, burnHeight);
  },
});

/** Returns an account's state at the node after a block. @throws NodeUnreachableError */
export async function requestAccount(
  node: ThrottledNode,
  principal: string,
  indexBlockHash: Uint8Array,
): Promise<AccountFacts | NoAnswer> {
  const answer = await node.json(`/v2/accounts/${principal}?proof=0&tip=${indexBlockHash.toHex()}`, Account);
  if (answer instanceof NoAnswer) return answer;
  return {
    balance: BigInt(answer.balance),
    locked: BigInt(answer.locked),
    unlockHeight: answer.unlock_height,
    nonce: BigInt(answer.nonce),
  };
}

/**
 * Returns an account's values without a lock that has ended. Index and node end locks at different times: the index
 * with the first block whose tenure was elected at the unlock height, as the API always has; a node by the newest
 * Bitcoin block that the tenure has seen.
 */
function accountValues(principal: string, account: AccountFacts, burnHeight: number): Values {
  const { balance, locked, unlockHeight, nonce } = account;
  const isLocked = locked > 0n && unlockHeight > burnHeight;
  return {
    balance: String(isLocked ? balance : balance + locked),
    locked: String(isLocked ? locked : 0),
    'unlock height': String(isLocked ? unlockHeight : 0),
    ...(boots.includes(principal) ? {} : { nonce: String(nonce) }),
  };
}

/** Answer with a contract's source. */
export const Source = Type.Object({ source: Type.String() });

/** Returns JSON with sorted keys, because a node's keys have no order. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sortKeys(member)]),
  );
}

function sourceOf(raw: Uint8Array): string {
  const { payload } = decodedTransaction(raw);
  return payload.type === 'smart_contract' ? payload.source : '';
}

const contractPath = (part: string, contract: string, { hash }: BlockAt): string => {
  const { address, contractName } = splitPrincipal(contract);
  return `/v2/contracts/${part}/${address}/${contractName}?proof=0&tip=${hash.toHex()}`;
};

/** Returns a contract's source, and its interface unless the index lacks it: a node can be configured not to send it. */
const contractFact = (contract: string): Fact => ({
  kind: 'contracts',
  subject: contract,
  index(reader) {
    const contractFacts = reader.facts.contract(contract);
    if (contractFacts === undefined) return null;
    const { raw, interface: text } = contractFacts;
    return {
      source: sourceOf(raw),
      ...(text === null ? {} : { interface: JSON.stringify(sortKeys(parsedJson(text))) }),
    };
  },
  async node(node, block) {
    const source = await node.json(contractPath('source', contract, block), Source);
    if (source instanceof NoAnswer) return nullIfAbsent(source);
    const answer = await node.json(contractPath('interface', contract, block), Type.Object({}));
    if (answer instanceof NoAnswer) return nullIfAbsent(answer);
    return { source: source.source, interface: exactJson(sortKeys(answer)) };
  },
});

/** Integers of JSON that may exceed a double. */
export const Exact = Type.Union([Type.Integer(), Type.BigInt()]);

const StackerSet = Type.Object({
  stacker_set: Type.Object({
    signers: Type.Union([
      Type.Null(),
      Type.Array(Type.Object({ signing_key: Type.String(), stacked_amt: Exact, weight: Type.Integer() })),
    ]),
  }),
});

/** Requests the signers of a cycle in the state after a block, with keys in bare hex and decimal micro-STX. @throws NodeUnreachableError */
export async function requestSigners(node: ThrottledNode, cycle: number, id: string) {
  const answer = await node.json(`/v3/stacker_set/${cycle}?tip=${id}`, StackerSet);
  if (answer instanceof NoAnswer) return answer;
  return (answer.stacker_set.signers ?? []).map(({ signing_key, stacked_amt, weight }) => ({
    signing_key: signing_key.replace(/^0x/, ''),
    stacked_amt: String(stacked_amt),
    weight,
  }));
}

const rewardSetFact = (cycle: number): Fact => ({
  kind: 'reward sets',
  subject: `cycle ${cycle}`,
  index(reader) {
    return signersOf(reader.facts.signers(cycle).map(({ key, weight }) => `${key.toHex()} ${weight}`));
  },
  async node(node, { hash }) {
    const signers = await requestSigners(node, cycle, hash.toHex());
    if (signers instanceof NoAnswer) return signers;
    return signersOf(signers.map(({ signing_key: key, weight }) => `${key} ${weight}`));
  },
});

const signersOf = (signers: string[]): Values => ({ signers: signers.sort().join(', ') });

/**
 * Reports whether a transaction is in its block's body. Operations on Bitcoin have no bytes. Transactions that the node
 * creates (token unlocks, contracts that an epoch deploys) have chain ID 0.
 */
const isInBody = ({ raw }: BlockTransaction): boolean =>
  raw.length > CHAIN_ID_END && raw.subarray(1, CHAIN_ID_END).some((byte) => byte !== 0);
/** Offset after the version and the chain ID. */
const CHAIN_ID_END = 5;

type NodeBlock = ReturnType<typeof decodeNakamotoBlock> | NoAnswer;

/** Requests a block. @param id bare hex, or `height/` and a height, with a query @throws NodeUnreachableError */
export async function nodeBlock(node: ThrottledNode, id: string): Promise<NodeBlock> {
  const { status, bytes } = await node.bytes(`/v3/blocks/${id}`);
  return status === 200 ? decodeNakamotoBlock(bytes) : statusAnswer(status);
}

/** A block's header, signatures and transactions (SIP-021). */
const blockFact = (
  block: BlockFacts,
  transactions: readonly BlockTransaction[],
  requestBlock: (node: ThrottledNode) => Promise<NodeBlock>,
): Fact => {
  const rawTransactions = transactions.filter(isInBody).map(({ raw }) => raw);
  const body = Buffer.concat(rawTransactions);
  const id = block.index_block_hash.toHex();
  return {
    kind: 'blocks',
    subject: `block ${block.height}`,
    index: () => ({
      id,
      height: String(block.height),
      parent: block.parent_index_block_hash.toHex(),
      timestamp: String(block.block_time),
      'signer bits': block.signer_bits ?? '',
      'signer signatures': (block.signer_signatures ?? new Uint8Array(0)).toHex(),
      'transaction root': transactionRoot(rawTransactions.map(transactionId)).toHex(),
      transactions: String(rawTransactions.length),
      body: Bun.hash(body).toString(16),
    }),
    async node(node) {
      const decoded = await requestBlock(node);
      // A missing block isn't a difference: a simulated node serves only its newest blocks.
      if (decoded instanceof NoAnswer) return nullIfAbsent(decoded) ?? new NoAnswer("the node doesn't have this block");
      if (!decoded.ok) return { id, bytes: decoded.error.message };
      const { header, blockId, transactionCount, transactions: nodeBody } = decoded.value;
      return {
        id: blockId.toHex(),
        height: String(header.chainLength),
        parent: header.parentBlockId.toHex(),
        timestamp: String(header.timestamp),
        'signer bits': signerBits(header.poxTreatment) ?? '',
        'signer signatures': header.signerSignatures.map((signature) => signature.toHex()).join(''),
        'transaction root': header.transactionRoot.toHex(),
        transactions: String(transactionCount),
        body: Bun.hash(nodeBody).toString(16),
      };
    },
  };
};

const Sortitions = Type.Array(
  Type.Object({
    burn_block_hash: Type.String(),
    burn_block_height: Type.Integer(),
    burn_header_timestamp: Type.Integer(),
    consensus_hash: Type.String(),
    was_sortition: Type.Boolean(),
    stacks_parent_ch: Type.Union([Type.String(), Type.Null()]),
  }),
  { minItems: 1 },
);
export type Sortition = Static<typeof Sortitions>[number];

/**
 * Requests the sortition of a Bitcoin block.
 * @param path `/burn_height/N` or `/consensus/HASH` with bare hex; the newest block if omitted
 * @throws NodeUnreachableError
 */
export async function requestSortition(node: ThrottledNode, path = ''): Promise<Sortition | NoAnswer> {
  const sortitions = await node.json(`/v3/sortitions${path}`, Sortitions);
  return sortitions instanceof NoAnswer ? sortitions : sortitions[0]!;
}

/** Returns the Bitcoin block that elected a block's tenure. The block names it by its consensus hash, which the id covers. */
const sortitionFact = (block: BlockFacts, requestBlock: (node: ThrottledNode) => Promise<NodeBlock>): Fact => ({
  kind: 'sortitions',
  subject: `the sortition of block ${block.height}`,
  index: () => ({
    hash: toHex(block.burn_block_hash),
    height: String(block.burn_block_height),
    time: String(block.burn_block_time),
    'was sortition': 'true',
  }),
  async node(node) {
    const decoded = await requestBlock(node);
    if (decoded instanceof NoAnswer || !decoded.ok) return new NoAnswer("the block's consensus hash is not known");
    const sortition = await requestSortition(node, `/consensus/${decoded.value.header.consensusHash.toHex()}`);
    if (sortition instanceof NoAnswer) return nullIfAbsent(sortition);
    return {
      hash: sortition.burn_block_hash,
      height: String(sortition.burn_block_height),
      time: String(sortition.burn_header_timestamp),
      'was sortition': String(sortition.was_sortition),
    };
  },
});

const IndexedTransaction = Type.Object({ index_block_hash: Type.String(), tx: Type.String(), result: Type.String() });

/**
 * Returns a value's text without the parts that node and API write differently: the quote before a principal, the word
 * `list`, and escapes in strings.
 */
const plainRepr = (repr: string): string =>
  repr
    .replace(/\(list ?/g, '(')
    .replace(/'(?=S[0-9A-Z])/g, '')
    .replaceAll('\\', '');

/**
 * Returns a transaction's bytes and result. A node with `txindex` returns the block in which it first saw a
 * transaction, even after a fork. Its result is valid only if this block is canonical.
 */
const transactionFact = (block: BlockFacts, { tx_id, result, raw }: BlockTransaction): Fact => ({
  kind: 'transactions',
  subject: toHex(tx_id),
  index: () => ({ bytes: raw.toHex(), result: plainRepr(clarityRepr(result)) }),
  async node(node) {
    const answer = await node.json(`/v3/transaction/${tx_id.toHex()}`, IndexedTransaction);
    if (answer instanceof NoAnswer) return nullIfAbsent(answer) ?? new NoAnswer('no entry in its transaction index');
    if (answer.index_block_hash.replace(/^0x/, '') !== block.index_block_hash.toHex()) {
      return new NoAnswer('an entry of another block');
    }
    return { bytes: answer.tx, result: plainRepr(answer.result) };
  },
});

const Call = Type.Object({ okay: Type.Boolean(), result: Type.Optional(Type.String()) });

/** Calls a read-only function with one argument, and returns the value inside `ok`. */
async function callReadOnly(
  node: ThrottledNode,
  contract: string,
  functionName: string,
  argument: Uint8Array,
  { hash }: BlockAt,
): Promise<ClarityValue | NoAnswer> {
  const { address, contractName } = splitPrincipal(contract);
  const path = `/v2/contracts/call-read/${address}/${contractName}/${functionName}?tip=${hash.toHex()}`;
  const answer = await node.json(path, Call, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sender: address, arguments: [toHex(argument)] }),
  });
  if (answer instanceof NoAnswer) return answer;
  const { result = '' } = answer;
  const decoded = /^0x([0-9a-f]{2})+$/.test(result) ? decodeClarity(Uint8Array.fromHex(result.slice(2))) : null;
  if (decoded?.ok !== true || decoded.value.type !== 'ok') return new NoAnswer(`${functionName} returns no value`);
  return decoded.value.value;
}

/** Returns a balance, by the contract's `get-balance` (SIP-010). */
const ftFact = (asset: string, principal: string): Fact => ({
  kind: 'SIP-010 balances',
  subject: `${asset} of ${principal}`,
  index: (reader, { height }) => ({ balance: String(reader.facts.ftBalance(asset, principal, height)) }),
  async node(node, block) {
    const value = await callReadOnly(node, assetContractOf(asset), 'get-balance', clarity.principal(principal), block);
    if (value instanceof NoAnswer) return value;
    return value.type === 'uint' ? { balance: String(value.value) } : new NoAnswer('get-balance returns no number');
  },
});

/** Returns an owner, by the contract's `get-owner` (SIP-009). */
const nftFact = (asset: string, value: Uint8Array): Fact => ({
  kind: 'SIP-009 owners',
  subject: `${asset} ${clarityRepr(value)}`,
  index: (reader, { height }) => ({ owner: reader.facts.nftOwner(asset, value, height) ?? 'none' }),
  async node(node, block) {
    const owner = await callReadOnly(node, assetContractOf(asset), 'get-owner', value, block);
    if (owner instanceof NoAnswer) return owner;
    if (owner.type === 'none') return { owner: 'none' };
    const principal = owner.type === 'some' && owner.value.type === 'principal' ? owner.value.value : null;
    return principal === null ? new NoAnswer('get-owner returns no principal') : { owner: principal };
  },
});

/**
 * Reports whether the function's source only returns the ledger's value. If it computes anything else, the values can't
 * be compared.
 */
function readsLedger(reader: Reader, asset: string, functionName: string, parameter: string, read: string) {
  const contract = reader.facts.contract(assetContractOf(asset));
  if (contract === undefined) return false;
  const source = sourceOf(contract.raw)
    .replace(/;;[^\n]*/g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([()]) ?/g, '$1');
  const match = new RegExp(`\\(define-read-only\\(${functionName}\\(([a-z0-9-]+) ${parameter}\\)\\)`).exec(source);
  return (
    match !== null &&
    source.startsWith(`(ok(${read} ${assetNameOf(asset)} ${match[1]})))`, match.index + match[0].length)
  );
}

/**
 * Returns the facts of a block that the block touched and no later block did. If you go down block by block, each fact
 * comes once. A partial history omits facts that depend on earlier blocks: accounts that weren't looked up at the node,
 * and tokens of contracts that were deployed before.
 * @param height of a canonical block @param highest height of the last block that counts as later
 */
export function factsOf(reader: Reader, height: number, highest: number): Fact[] {
  const [block, touched] = [reader.facts.block(height), reader.facts.touched(height, highest)];
  if (block === undefined) return [];
  const facts: Fact[] = [];
  if (block.signer_bits !== null) {
    // Both facts are in the block, which is requested only once.
    const requestBlock = memoizeByObject((node: ThrottledNode) => nodeBlock(node, block.index_block_hash.toHex()));
    facts.push(blockFact(block, touched.transactions, requestBlock), sortitionFact(block, requestBlock));
    const bodyTransactions = touched.transactions.filter(isInBody);
    facts.push(...bodyTransactions.map((transaction) => transactionFact(block, transaction)));
  }
  for (const principal of touched.principals) {
    if (reader.principals.knowledge(principal) === 'known') facts.push(accountFact(principal));
  }
  facts.push(...touched.contracts.map(contractFact));
  facts.push(...touched.cycles.map(rewardSetFact));
  for (const { asset, principal } of touched.ft) {
    if (readsLedger(reader, asset, 'get-balance', 'principal', 'ft-get-balance')) {
      facts.push(ftFact(asset, principal));
    }
  }
  for (const { asset, value } of touched.nft) {
    if (readsLedger(reader, asset, 'get-owner', 'uint', 'nft-get-owner?')) facts.push(nftFact(asset, value));
  }
  return facts;
}
