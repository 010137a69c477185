/** Facts that both the index and its node know, and how each is asked of the node's RPC interface. */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { memoizeByObject } from '../base/cache.ts';
import { type Clock, pause } from '../base/clock.ts';
import { parsedJson } from '../base/json.ts';
import { signerBits } from '../chain/normalise.ts';
import { BOOT_ADDRESS, splitPrincipal } from '../codec/address.ts';
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

/** A canonical block. */
export interface BlockAt {
  height: number;
  /** Index block hash. */
  hash: Uint8Array;
}

/** What is said of a thing, by names; null where there is no such thing. */
type Values = Record<string, string> | null;

/** The node gives no answer that could be compared. */
export class NoAnswer {
  /** @param status of the response, if it is the reason */
  constructor(
    readonly reason: string,
    readonly status: number | null = null,
  ) {}
}

/** An answer with this status, which has no value. */
export const statusAnswer = (status: number): NoAnswer => new NoAnswer(`status ${status}`, status);

/** A status with which a node says that it can't answer now. */
const TOO_MANY = 429;

/** What a node answered. @throws NodeUnreachableError where it failed, so that it may answer later */
export function reached<T>(answer: T | NoAnswer): T | NoAnswer {
  const status = answer instanceof NoAnswer ? answer.status : null;
  if (status === null || (status < 500 && status !== TOO_MANY)) return answer;
  throw new NodeUnreachableError(`the node answered with status ${status}`);
}

/** Something that both the index and the node know. */
export interface Fact {
  kind: FactKind;
  /** As it is called in a sentence. */
  subject: string;
  /** Whether it changes from one block to the next, so that the first block at which it differs can be found. */
  changes: boolean;
  /** After a block that the index has. @param burnHeight height of the newest Bitcoin block that the node knows */
  index(reader: Reader, at: BlockAt, burnHeight: number): Values;
  node(node: AskedNode, at: BlockAt, burnHeight: number): Promise<Values | NoAnswer>;
}

export interface RequestOptions {
  /** Requests each second, at most. */
  rate: number;
  /** Times that a request is repeated which the node doesn't answer, or answers with a failure of its own. */
  retries?: number;
  clock: Clock;
  signal?: AbortSignal;
}

const bare = (hash: Uint8Array): string => hash.toHex();

const RETRIES = 3;
const FIRST_RETRY_MS = 250;

/** The node, asked at a bounded rate. */
export class AskedNode {
  private next = 0;

  constructor(
    private readonly rpc: NodeRpc,
    private readonly options: RequestOptions,
  ) {}

  /**
   * @returns a status other than 200 with its text, or the bytes
   * @throws NodeUnreachableError where it fails again and again; the signal's reason
   */
  async bytes(path: string, init?: RequestInit): Promise<{ status: number; bytes: Uint8Array }> {
    const { retries = RETRIES } = this.options;
    for (let tried = 0; ; tried++) {
      await this.turn(tried);
      try {
        const response = await this.rpc.request(path, init);
        const bytes = await response.bytes();
        if (response.status < 500 || tried === retries) return { status: response.status, bytes };
      } catch (error) {
        if (!(error instanceof NodeUnreachableError) || tried === retries) throw error;
      }
    }
  }

  /** The JSON value of an answer; a reason where it has another status, or isn't of the schema. */
  async json<T extends TSchema>(path: string, schema: T, init?: RequestInit): Promise<Static<T> | NoAnswer | null> {
    const { status, bytes } = await this.bytes(path, init);
    if (status === 404) return null;
    if (status !== 200) return statusAnswer(status);
    const value = parsedJson(strictText(bytes) ?? '');
    return Value.Check(schema, value) ? value : new NoAnswer('an answer of another form');
  }

  /** Waits until the next request may be made. */
  private async turn(tried: number): Promise<void> {
    const { rate, clock, signal } = this.options;
    signal?.throwIfAborted();
    const now = clock.monotonic();
    const at = Math.max(now, this.next) + (tried === 0 ? 0 : FIRST_RETRY_MS * 2 ** tried);
    this.next = at + 1000 / rate;
    if (at > now) await pause(clock, at - now, signal);
    signal?.throwIfAborted();
  }
}

const Account = Type.Object({
  balance: Type.String({ pattern: '^0x[0-9a-f]+$' }),
  locked: Type.String({ pattern: '^0x[0-9a-f]+$' }),
  unlock_height: Type.Integer(),
  nonce: Type.Integer(),
});

/** Boot contracts are deployed, and the first STX given, by transactions that use no nonce at the node. */
const boots: readonly string[] = Object.values(BOOT_ADDRESS);

/** An account's STX and nonce. */
const accountFact = (principal: string): Fact => ({
  kind: 'accounts',
  subject: principal,
  changes: true,
  index(reader, { height }, burnHeight) {
    return accountValues(principal, reader.facts.account(principal, height), burnHeight);
  },
  async node(node, { hash }, burnHeight) {
    const account = await askedAccount(node, principal, hash);
    return account instanceof NoAnswer ? account : accountValues(principal, account, burnHeight);
  },
});

/** An account as the node has it after a block. @throws NodeUnreachableError */
export async function askedAccount(
  node: AskedNode,
  principal: string,
  indexBlockHash: Uint8Array,
): Promise<AccountFacts | NoAnswer> {
  const answer = await node.json(`/v2/accounts/${principal}?proof=0&tip=${bare(indexBlockHash)}`, Account);
  if (answer === null) return statusAnswer(404);
  if (answer instanceof NoAnswer) return answer;
  return {
    balance: BigInt(answer.balance),
    locked: BigInt(answer.locked),
    unlockHeight: answer.unlock_height,
    nonce: BigInt(answer.nonce),
  };
}

/**
 * A lock that has ended by now counts as none: the index ends it with the first block whose tenure was elected at its height,
 * as the API always has, and a node by the newest Bitcoin block that the tenure has seen.
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

const Source = Type.Object({ source: Type.String() });

/** JSON whose keys are in one order, since a node's are in none. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, ordered(member)]),
  );
}

function sourceOf(raw: Uint8Array): string {
  const { payload } = decodedTransaction(raw);
  return payload.type === 'smart_contract' ? payload.source : '';
}

const contractPath = (what: string, contract: string, { hash }: BlockAt): string => {
  const { address, contractName } = splitPrincipal(contract);
  return `/v2/contracts/${what}/${address}/${contractName}?proof=0&tip=${bare(hash)}`;
};

/** A contract's source and interface, where the index has one: a node can be told not to send any. */
const contractFact = (contract: string): Fact => ({
  kind: 'contracts',
  subject: contract,
  changes: false,
  index(reader) {
    const found = reader.facts.contract(contract);
    if (found === undefined) return null;
    const { raw, interface: text } = found;
    return {
      source: sourceOf(raw),
      ...(text === null ? {} : { interface: JSON.stringify(ordered(parsedJson(text))) }),
    };
  },
  async node(node, at) {
    const source = await node.json(contractPath('source', contract, at), Source);
    if (source === null || source instanceof NoAnswer) return source;
    const answer = await node.json(contractPath('interface', contract, at), Type.Object({}));
    if (answer === null || answer instanceof NoAnswer) return answer;
    return { source: source.source, interface: JSON.stringify(ordered(answer)) };
  },
});

const StackerSet = Type.Object({
  stacker_set: Type.Object({
    signers: Type.Union([
      Type.Null(),
      Type.Array(Type.Object({ signing_key: Type.String(), stacked_amt: Type.Number(), weight: Type.Integer() })),
    ]),
  }),
});

/** The signers of a cycle, with their weights. Amounts are left out: JSON has numbers that no double holds. */
const rewardSetFact = (cycle: number): Fact => ({
  kind: 'reward sets',
  subject: `cycle ${cycle}`,
  changes: false,
  index(reader) {
    const signers = reader.facts.signers(cycle);
    return signersOf(signers.map(({ key, weight }) => ({ key: key.toHex(), weight })));
  },
  async node(node, { hash }) {
    const answer = await node.json(`/v3/stacker_set/${cycle}?tip=${bare(hash)}`, StackerSet);
    if (answer === null) return statusAnswer(404);
    if (answer instanceof NoAnswer) return answer;
    const { signers } = answer.stacker_set;
    return signersOf(
      (signers ?? []).map(({ signing_key, weight }) => ({ key: signing_key.replace(/^0x/, ''), weight })),
    );
  },
});

const signersOf = (signers: readonly { key: string; weight: number }[]): Values => ({
  signers: signers
    .map(({ key, weight }) => `${key} ${weight}`)
    .sort()
    .join(', '),
});

/**
 * Whether a transaction is in its block's body. Operations on Bitcoin have no bytes of their own; what the node makes
 * itself (token unlocks, contracts that an epoch deploys) has chain ID 0.
 */
const isInBody = ({ raw }: BlockTransaction): boolean =>
  raw.length > CHAIN_ID_END && raw.subarray(1, CHAIN_ID_END).some((byte) => byte !== 0);
/** Behind the version and the chain ID. */
const CHAIN_ID_END = 5;

/** A block as a node sends it; null where the node has none. */
type NodeBlock = ReturnType<typeof decodeNakamotoBlock> | NoAnswer | null;

/** Asks for a block. @param id bare hex, or `height/` and a height, with a query @throws NodeUnreachableError */
export async function nodeBlock(node: AskedNode, id: string): Promise<NodeBlock> {
  const { status, bytes } = await node.bytes(`/v3/blocks/${id}`);
  if (status === 404) return null;
  return status === 200 ? decodeNakamotoBlock(bytes) : statusAnswer(status);
}

/** A block's header, signatures and transactions (SIP-021). */
const blockFact = (
  block: BlockFacts,
  transactions: readonly BlockTransaction[],
  sent: (node: AskedNode) => Promise<NodeBlock>,
): Fact => {
  const own = transactions.filter(isInBody).map(({ raw }) => raw);
  const body = Buffer.concat(own);
  const id = bare(block.index_block_hash);
  return {
    kind: 'blocks',
    subject: `block ${block.height}`,
    changes: false,
    index: () => ({
      id,
      height: String(block.height),
      parent: bare(block.parent_index_block_hash),
      timestamp: String(block.block_time),
      'signer bits': block.signer_bits ?? '',
      'signer signatures': (block.signer_signatures ?? new Uint8Array(0)).toHex(),
      'transaction root': bare(transactionRoot(own.map(transactionId))),
      transactions: String(own.length),
      body: Bun.hash(body).toString(16),
    }),
    async node(node) {
      const decoded = await sent(node);
      // A missing block is no difference: a simulated node serves only its newest blocks.
      if (decoded === null) return new NoAnswer("the node doesn't have this block");
      if (decoded instanceof NoAnswer) return decoded;
      if (!decoded.ok) return { id, bytes: decoded.error.message };
      const { header, blockId, transactionCount, transactions: theirs } = decoded.value;
      return {
        id: bare(blockId),
        height: String(header.chainLength),
        parent: bare(header.parentBlockId),
        timestamp: String(header.timestamp),
        'signer bits': signerBits(header.poxTreatment) ?? '',
        'signer signatures': header.signerSignatures.map(bare).join(''),
        'transaction root': bare(header.transactionRoot),
        transactions: String(transactionCount),
        body: Bun.hash(theirs).toString(16),
      };
    },
  };
};

/** Asks for the sortition of a consensus hash, and the last one with a winner before it. @throws NodeUnreachableError */
export const askedSortitions = (node: AskedNode, consensusHash: Uint8Array) =>
  node.json(`/v3/sortitions/consensus/${bare(consensusHash)}`, Sortitions);

const Sortitions = Type.Array(
  Type.Object({
    burn_block_hash: Type.String(),
    burn_block_height: Type.Integer(),
    burn_header_timestamp: Type.Integer(),
    was_sortition: Type.Boolean(),
  }),
  { minItems: 1 },
);

/** The Bitcoin block that elected a block's tenure. The block names it by its consensus hash, which the id covers. */
const sortitionFact = (block: BlockFacts, sent: (node: AskedNode) => Promise<NodeBlock>): Fact => ({
  kind: 'sortitions',
  subject: `the sortition of block ${block.height}`,
  changes: false,
  index: () => ({
    hash: toHex(block.burn_block_hash),
    height: String(block.burn_block_height),
    time: String(block.burn_block_time),
    'was sortition': 'true',
  }),
  async node(node) {
    const decoded = await sent(node);
    if (decoded === null || decoded instanceof NoAnswer || !decoded.ok)
      return new NoAnswer("the block's consensus hash is not known");
    const { consensusHash } = decoded.value.header;
    const answer = await askedSortitions(node, consensusHash);
    if (answer === null) return null;
    if (answer instanceof NoAnswer) return answer;
    const [one] = answer;
    return {
      hash: one?.burn_block_hash ?? '',
      height: String(one?.burn_block_height),
      time: String(one?.burn_header_timestamp),
      'was sortition': String(one?.was_sortition),
    };
  },
});

const IndexedTransaction = Type.Object({
  index_block_hash: Type.String(),
  tx: Type.String(),
  result: Type.String(),
});

/**
 * A value's text without what node and API write differently: the quote before a principal, the word `list`, and
 * escapes in strings.
 */
const plain = (repr: string): string =>
  repr
    .replace(/\(list ?/g, '(')
    .replace(/'(?=S[0-9A-Z])/g, '')
    .replaceAll('\\', '');

/**
 * A transaction's bytes and result. A node with `txindex` names the block in which it first saw a transaction, also after
 * a fork: its result is that of the canonical chain only where this block is canonical.
 */
const transactionFact = (block: BlockFacts, { tx_id, result, raw }: BlockTransaction): Fact => ({
  kind: 'transactions',
  subject: toHex(tx_id),
  changes: false,
  index: () => ({ bytes: bare(raw), result: plain(clarityRepr(result)) }),
  async node(node) {
    const answer = await node.json(`/v3/transaction/${bare(tx_id)}`, IndexedTransaction);
    if (answer === null) return new NoAnswer('no entry in its transaction index');
    if (answer instanceof NoAnswer) return answer;
    if (answer.index_block_hash.replace(/^0x/, '') !== bare(block.index_block_hash)) {
      return new NoAnswer('an entry of another block');
    }
    return { bytes: answer.tx, result: plain(answer.result) };
  },
});

const Call = Type.Object({ okay: Type.Boolean(), result: Type.Optional(Type.String()) });

/** What a read-only function of one argument says inside `ok`. */
async function readOnly(
  node: AskedNode,
  contract: string,
  functionName: string,
  argument: Uint8Array,
  { hash }: BlockAt,
): Promise<ClarityValue | NoAnswer> {
  const { address, contractName } = splitPrincipal(contract);
  const path = `/v2/contracts/call-read/${address}/${contractName}/${functionName}?tip=${bare(hash)}`;
  const answer = await node.json(path, Call, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sender: address, arguments: [toHex(argument)] }),
  });
  if (answer === null) return statusAnswer(404);
  if (answer instanceof NoAnswer) return answer;
  const { result = '' } = answer;
  const decoded = /^0x([0-9a-f]{2})+$/.test(result) ? decodeClarity(Uint8Array.fromHex(result.slice(2))) : null;
  if (decoded?.ok !== true || decoded.value.type !== 'ok') return new NoAnswer(`${functionName} gives no value`);
  return decoded.value.value;
}

/** A balance by the contract's `get-balance` (SIP-010). */
const ftFact = (asset: string, principal: string): Fact => ({
  kind: 'SIP-010 balances',
  subject: `${asset} of ${principal}`,
  changes: true,
  index: (reader, { height }) => ({ balance: String(reader.facts.ftBalance(asset, principal, height)) }),
  async node(node, at) {
    const value = await readOnly(node, contractOf(asset), 'get-balance', clarity.principal(principal), at);
    if (value instanceof NoAnswer) return value;
    return value.type === 'uint' ? { balance: String(value.value) } : new NoAnswer('get-balance gives no number');
  },
});

/** An owner by the contract's `get-owner` (SIP-009). */
const nftFact = (asset: string, value: Uint8Array): Fact => ({
  kind: 'SIP-009 owners',
  subject: `${asset} ${clarityRepr(value)}`,
  changes: true,
  index: (reader, { height }) => ({ owner: reader.facts.nftOwner(asset, value, height) ?? 'none' }),
  async node(node, at) {
    const owner = await readOnly(node, contractOf(asset), 'get-owner', value, at);
    if (owner instanceof NoAnswer) return owner;
    if (owner.type === 'none') return { owner: 'none' };
    const known = owner.type === 'some' && owner.value.type === 'principal' ? owner.value.value : null;
    return known === null ? new NoAnswer('get-owner gives no principal') : { owner: known };
  },
});

const contractOf = (asset: string): string => asset.slice(0, asset.indexOf('::'));
const tokenOf = (asset: string): string => asset.slice(asset.indexOf('::') + 2);

/**
 * Whether a read-only function says what the ledger has and nothing of its own, by its source: whatever else it says is
 * the contract's business.
 */
function readsLedger(reader: Reader, asset: string, functionName: string, parameter: string, read: string) {
  const contract = reader.facts.contract(contractOf(asset));
  if (contract === undefined) return false;
  const source = sourceOf(contract.raw)
    .replace(/;;[^\n]*/g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([()]) ?/g, '$1');
  const declared = new RegExp(`\\(define-read-only\\(${functionName}\\(([a-z0-9-]+) ${parameter}\\)\\)`).exec(source);
  return (
    declared !== null &&
    source.startsWith(`(ok(${read} ${tokenOf(asset)} ${declared[1]})))`, declared.index + declared[0].length)
  );
}

/**
 * The facts of a block, each of what it touched and no later block did: from a block down, each comes once. In an index that
 * begins at a block, what depends on blocks below is none: accounts that the node was not asked about, tokens of contracts that
 * were deployed below.
 * @param height of a canonical block @param upTo height of the last block that counts as a later one
 */
export function factsOf(reader: Reader, height: number, upTo: number): Fact[] {
  const [block, touched] = [reader.facts.block(height), reader.facts.touched(height, upTo)];
  if (block === undefined) return [];
  const facts: Fact[] = [];
  if (block.signer_bits !== null) {
    // Both facts are in the block, which is asked for once.
    const sent = memoizeByObject((node: AskedNode) => nodeBlock(node, bare(block.index_block_hash)));
    facts.push(blockFact(block, touched.transactions, sent), sortitionFact(block, sent));
    const own = touched.transactions.filter(isInBody);
    facts.push(...own.map((transaction) => transactionFact(block, transaction)));
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
