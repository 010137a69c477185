/** The RPC interface of the simulated node, on a port of localhost. */

import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Clock } from '../base/clock.ts';
import { exactNumber, isTooDeep, MAX_DEPTH } from '../base/json.ts';
import type { UnexpectedEvent } from '../base/log-events.ts';
import { tupleOf, uint, uintOf } from '../chain/pox/print.ts';
import { parseStacksAddress, principalBytes, splitPrincipal } from '../codec/address.ts';
import { bitcoinToStacks } from '../codec/bitcoin-address.ts';
import { BytesReader, DecodeError, decoded } from '../codec/bytes-reader.ts';
import { type ClarityValue, decodeClarity } from '../codec/clarity.ts';
import { clarity, u32 } from '../codec/clarity-encode.ts';
import { clarityRepr } from '../codec/clarity-text.ts';
import { sha512_256 } from '../codec/hash.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import { readPayload } from '../codec/payload.ts';
import { transactionId } from '../codec/transaction.ts';
import { percentDecoded } from '../codec/utf8.ts';
import { type Listen, stopGracefully } from '../http/listener.ts';
import { BodyError, bodyBytes, bodyText } from '../http/request-body.ts';
import { Rejection, wideHex } from './admission.ts';
import { type Block, bodyOf, eventPayload, type SealedHeader } from './block.ts';
import type { BurnBlock } from './burn-chain.ts';
import { concat } from './bytes.ts';
import type { SimulatedChain } from './chain.ts';
import { EngineEndedError, type EngineRead, EngineRefusedError } from './clarity/engine.ts';
import type { ClarityMiner } from './clarity/miner.ts';
import { toVmError } from './clarity/outcome.ts';
import { type ContractTemplate, isOfType, namedArguments, notSimulated, type ReadContext } from './contract.ts';
import { parseConstant } from './contract-source.ts';
import type { Receipt } from './execute.ts';
import { SLOT } from './pox.ts';
import { payerOf } from './transaction.ts';

const textResponse = (status: number, message: string): Response => new Response(message, { status });

/** Returns the decoded parameters of a path; null if the path doesn't match. */
function paramsOf(pattern: string, path: string): string[] | null {
  const [expected, actual] = [pattern.split('/'), path.split('/')];
  if (expected.length !== actual.length) return null;
  if (!expected.every((part, index) => part === actual[index] || (part === '*' && actual[index] !== ''))) return null;
  return actual.filter((_, index) => expected[index] === '*').map(decodePart);
}

function decodePart(part: string): string {
  const decoded = percentDecoded(part);
  if (decoded === null) throw new RpcError(400, `${part} is not a part of a path`);
  return decoded;
}

/** The node behind the interface: a simulated node, or only a chain. */
export interface ServedNode {
  readonly chain: SimulatedChain;
  /** The published tip. */
  readonly tip: Block;
  /** Executes the contracts; undefined if they are simulated. */
  readonly clarity?: Pick<ClarityMiner, 'read' | 'constant'> | undefined;
  /** @returns the id of the transaction with 0x @throws DecodeError, Rejection */
  submit(raw: Uint8Array): Promise<string>;
}

/** Returns the block named by `?tip=`. @throws RpcError */
function blockAt(node: ServedNode, tip: string | null): Block {
  if (tip === null || tip === '' || tip === 'latest') return node.tip;
  if (!/^(0x)?[0-9a-f]{64}$/i.test(tip)) throw new RpcError(400, 'tip is not a block id');
  const block = node.chain.block(toId(tip));
  if (block === undefined) throw new RpcError(404, 'The block of tip is not kept');
  return block;
}

/** Answers a request to a node's RPC interface. @throws unexpected errors */
export async function answerRpc(node: ServedNode, request: Request): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url);
  try {
    const matches = routes.flatMap((route) => {
      const params = paramsOf(route.path, pathname);
      return params === null ? [] : [{ route, params }];
    });
    const match = matches.find(({ route }) => route.method === request.method);
    if (match === undefined) {
      return matches.length === 0
        ? textResponse(404, 'Not found')
        : textResponse(405, `Method not allowed: ${request.method}`);
    }
    const { route, params } = match;
    const answer = await route.answer({ node, block: blockAt(node, query.get('tip')), params, query, request });
    return answer instanceof Response ? answer : Response.json(answer);
  } catch (error) {
    if (error instanceof BodyError) return textResponse(400, error.message);
    if (!(error instanceof RpcError)) throw error;
    return textResponse(error.status, error.message);
  }
}

interface RpcServerOptions {
  readonly clock: Clock;
  readonly listen: Listen;
  readonly log: (event: UnexpectedEvent) => void;
}

const IDLE_SECONDS = 75;

/**
 * Serves a node's RPC interface on a free port of localhost.
 * @returns its URL without a trailing slash, and a function that answers the running requests and stops it
 * @throws OperatorError if it can't listen
 */
export function startRpc(node: ServedNode, { clock, listen, log }: RpcServerOptions) {
  const server = listen({
    what: 'The simulated node',
    hostname: '127.0.0.1',
    port: 0,
    bodyLimit: MAX_RPC_BODY,
    idleSeconds: IDLE_SECONDS,
    fetch: (request) => answerRpc(node, request),
    refuse: textResponse,
    log,
  });
  return { url: server.url.origin, stop: () => stopGracefully(server, clock) };
}

class RpcError extends Error {
  override readonly name = 'RpcError';
  constructor(
    readonly status: 400 | 401 | 404 | 500 | 501,
    message: string,
  ) {
    super(message);
  }
}

interface RpcRequest {
  readonly node: ServedNode;
  /** The requested block state: at `?tip=`, by default at the tip. */
  readonly block: Block;
  /** Values of the path's parameters, in order. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  readonly request: Request;
}

interface RpcRoute {
  readonly method: 'GET' | 'POST';
  /** Path of the route; `*` is a parameter. */
  readonly path: string;
  /** @returns the answer, or its JSON @throws RpcError */
  answer(request: RpcRequest): unknown;
}

/** Maximum bytes of a body: a transaction of 2 MB in hex, with its JSON. */
const MAX_RPC_BODY = 5_000_000;

/** Returns the JSON of a request's body. @throws RpcError */
async function readJson(request: Request): Promise<unknown> {
  const text = await bodyText(request, MAX_RPC_BODY);
  if (isTooDeep(text)) throw new RpcError(400, `The JSON body is nested deeper than ${MAX_DEPTH} levels`);
  try {
    return JSON.parse(text);
  } catch {
    throw new RpcError(400, 'Failed to parse JSON body');
  }
}

/** Returns the bytes of a hex text. @throws RpcError */
function hexBytes(text: unknown, what: string): Uint8Array {
  if (typeof text !== 'string') throw new RpcError(400, `${what} must be a hex string`);
  try {
    return fromHex(text);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new RpcError(400, `${what} is not hex: ${error.message}`);
  }
}

/** Returns a hash without 0x, as in the node's JSON. */
const bare = (hash: string): string => hash.replace(/^0x/, '');
/** Returns the id of a block or a transaction as the chain has it. @param text hex with or without 0x */
const toId = (text: string): string => `0x${bare(text).toLowerCase()}`;

/** Adds proofs unless the client declines them. They are empty texts, because the simulation has none. */
const withProof = <T extends object>(value: T, query: URLSearchParams, ...names: string[]): T =>
  query.get('proof') === '0' ? value : { ...value, ...Object.fromEntries(names.map((name) => [name, ''])) };

const noHash = '00'.repeat(32);
const ZEROS = `0x${noHash}`;
/** Limits of a tenure on the public networks. */
const blockLimit = {
  read_count: 15_000,
  read_length: 100_000_000,
  runtime: 5_000_000_000,
  write_count: 15_000,
  write_length: 15_000_000,
};
const LAST_HEIGHT = 2n ** 63n - 1n;
function info({ node, block }: RpcRequest) {
  const consensus = block.burnView.consensusHash.toHex();
  const stable = block.burnView.parent ?? block.burnView;
  return {
    peer_version: 4_207_599_116,
    pox_consensus: consensus,
    burn_block_height: block.burnView.height,
    stable_pox_consensus: stable.consensusHash.toHex(),
    stable_burn_block_height: stable.height,
    server_version: 'stacks-node simulated by Stackside',
    network_id: node.chain.network.chainId,
    parent_network_id: 3_669_344_250,
    stacks_tip_height: block.height,
    stacks_tip: bare(block.blockHash),
    stacks_tip_consensus_hash: block.burn.consensusHash.toHex(),
    genesis_chainstate_hash: noHash,
    unanchored_tip: null,
    unanchored_seq: null,
    tenure_height: block.tenure.height,
    exit_at_block_height: null,
    is_fully_synced: true,
    node_public_key: null,
    node_public_key_hash: null,
    last_pox_anchor: null,
    stackerdbs: [],
  };
}

/** The epochs of a chain, and the versions of its stacking contract, by their first burn heights. */
interface Eras {
  readonly epochs: readonly (readonly [id: string, start: number, networkEpoch: number])[];
  readonly versions: readonly (readonly [contract: string, activation: number])[];
}

/** Eras of the simulated chain before pox-5. Locks of pox-2 and pox-3 ended one block after the start of an epoch. */
const SIMULATED: Eras = {
  epochs: [
    ['Epoch22', 106, 7],
    ['Epoch25', 109, 7],
    ['Epoch33', 120, 14],
  ],
  versions: [
    ['pox', 0],
    ['pox-2', 105],
    ['pox-3', 108],
    ['pox-4', 109],
  ],
};

/** Eras of a chain with an engine: one epoch from the first block on. */
const REAL: Eras = { epochs: [['Epoch34', 0, 14]], versions: SIMULATED.versions.map(([contract]) => [contract, 0]) };

/** Returns the eras up to a block. */
function erasOf({ node, block: { world } }: RpcRequest): Eras {
  if (node.clarity !== undefined) return REAL;
  const { pox5Height = Number.POSITIVE_INFINITY } = world;
  // A node doesn't list a version that is never active.
  if (pox5Height === Number.POSITIVE_INFINITY) return SIMULATED;
  return {
    epochs: [...SIMULATED.epochs, ['Epoch40', pox5Height, 15]],
    versions: [...SIMULATED.versions, ['pox-5', pox5Height]],
  };
}

/**
 * Returns micro-STX at a block: the minimum of a reward slot, the supply, and the stacked amounts of a cycle and of the next
 * cycle. With an engine, the contract returns them.
 * @throws RpcError
 */
async function loadStackingTotals({ node: { chain, clarity: engine }, block }: RpcRequest, cycle: number) {
  const { world, burnView } = block;
  if (engine === undefined) {
    const stacked = world.stacked(burnView.height);
    return { minimum: SLOT, supply: world.supply(), present: stacked, next: stacked };
  }
  const { boot: sender } = chain.network;
  const ask = async (functionName: string, ...args: string[]): Promise<ClarityValue> => {
    const read = { kind: 'call', contract: `${sender}.pox-4`, functionName, args, sender } as const;
    return decodeArgument(await readEngine(engine, block, read));
  };
  const stackedIn = async (id: number) => uintOf(await ask('get-total-ustx-stacked', toHex(clarity.uint(id))))!;
  const info = await ask('get-pox-info');
  const facts = tupleOf(info.type === 'ok' ? info.value : info) ?? new Map();
  return {
    minimum: uint('min-amount-ustx')(facts),
    supply: uint('total-liquid-supply-ustx')(facts),
    present: await stackedIn(cycle),
    next: await stackedIn(cycle + 1),
  };
}

async function pox(request: RpcRequest) {
  const { node, block } = request;
  const { cycles, network } = node.chain;
  const { boot } = network;
  const { height } = block.burnView;
  const id = cycles.of(height);
  const next = cycles.startOf(id + 1);
  const prepare = cycles.prepareStartOf(id + 1);
  const { epochs, versions } = erasOf(request);
  const stacked = await loadStackingTotals(request, id);
  const slot = exactNumber(stacked.minimum);
  const last = epochs.findLastIndex(([, start]) => start <= height);
  return {
    contract_id: `${boot}.${block.world.isActive('pox-4', height) ? 'pox-4' : 'pox-5'}`,
    pox_activation_threshold_ustx: 0,
    first_burnchain_block_height: 0,
    current_burnchain_block_height: height,
    current_epoch: epochs[last]?.[0],
    prepare_phase_block_length: cycles.prepareLength,
    reward_phase_block_length: cycles.length - cycles.prepareLength,
    reward_slots: 2 * (cycles.length - cycles.prepareLength),
    rejection_fraction: null,
    total_liquid_supply_ustx: exactNumber(stacked.supply),
    current_cycle: { id, min_threshold_ustx: slot, stacked_ustx: exactNumber(stacked.present), is_pox_active: true },
    next_cycle: {
      id: id + 1,
      min_threshold_ustx: slot,
      min_increment_ustx: exactNumber(stacked.supply / 5_000n),
      stacked_ustx: exactNumber(stacked.next),
      prepare_phase_start_block_height: prepare,
      blocks_until_prepare_phase: prepare - height,
      reward_phase_start_block_height: next,
      blocks_until_reward_phase: next - height,
      ustx_until_pox_rejection: null,
    },
    epochs: epochs.map(([epoch, start, networkEpoch], index) => ({
      epoch_id: epoch,
      start_height: start,
      end_height: epochs[index + 1]?.[1] ?? exactNumber(LAST_HEIGHT),
      block_limit: blockLimit,
      network_epoch: networkEpoch,
    })),
    min_amount_ustx: slot,
    prepare_cycle_length: cycles.prepareLength,
    reward_cycle_id: id,
    reward_cycle_length: cycles.length,
    rejection_votes_left_required: null,
    next_reward_cycle_in: next - height,
    // The first cycle of a version is the next cycle that starts.
    contract_versions: versions.map(([contract, activation]) => ({
      contract_id: `${boot}.${contract}`,
      activation_burnchain_block_height: activation,
      first_reward_cycle_id: Math.ceil(activation / cycles.length),
    })),
  };
}

function tenure({ node, block }: RpcRequest) {
  const { consensusHash, parentConsensusHash, indexBlockHash, parentIndexBlockHash } = block.tenure;
  return {
    consensus_hash: consensusHash.toHex(),
    tenure_start_block_id: bare(indexBlockHash),
    parent_consensus_hash: parentConsensusHash?.toHex() ?? '00'.repeat(20),
    parent_tenure_start_block_id: bare(parentIndexBlockHash ?? noHash),
    tip_block_id: bare(block.indexBlockHash),
    tip_height: block.height,
    reward_cycle: node.chain.cycles.of(block.burn.height),
  };
}

function transaction({ node, params: [requestedId = ''] }: RpcRequest) {
  const id = toId(requestedId);
  for (const { receipts, indexBlockHash } of node.chain.ancestors(node.tip)) {
    const receipt = receipts.find(({ txId }) => txId === id);
    if (receipt === undefined) continue;
    return { index_block_hash: bare(indexBlockHash), tx: bare(receipt.rawTx), result: clarityRepr(receipt.result) };
  }
  throw new RpcError(404, `The blocks that this node keeps don't contain transaction ${bare(id)}`);
}

/** Returns the block in the path, canonical or not. Block 0 has the format of an earlier epoch. @throws RpcError */
function storedBlock({ node, params: [id = ''] }: RpcRequest): { block: Block; header: SealedHeader } {
  const block = node.chain.block(toId(id));
  if (block === undefined || block.header === null) throw new RpcError(404, `No such block ${bare(id)}\n`);
  return { block, header: block.header };
}

/** Returns the bytes of a block (SIP-021). */
function blockBytes({ block, header }: ReturnType<typeof storedBlock>): Response {
  const transactions = bodyOf(block.receipts).map(({ rawTx }) => fromHex(rawTx));
  const bytes = concat(header.bytes, u32(transactions.length), ...transactions);
  return new Response(bytes, { headers: { 'content-type': 'application/octet-stream' } });
}

function blockByHeight({ node, block: tip, params: [height = ''] }: RpcRequest): Response {
  for (const block of node.chain.ancestors(tip)) {
    const { header } = block;
    if (String(block.height) === height && header !== null) return blockBytes({ block, header });
  }
  throw new RpcError(404, `No such block #${height}\n`);
}

/** The `authorization` header for replays, like a node's `connection_options.auth_token`. */
export const RPC_TOKEN = 'simulated-node';

/**
 * Executes a block again, and returns the results of its transactions. The block's body doesn't contain operations on
 * Bitcoin.
 */
function replay(request: RpcRequest) {
  if (request.request.headers.get('authorization') !== RPC_TOKEN) throw new RpcError(401, 'Unauthorized');
  const { block, header } = storedBlock(request);
  return {
    block_id: bare(block.indexBlockHash),
    block_hash: bare(block.blockHash),
    block_height: block.height,
    parent_block_id: bare(block.parent ?? noHash),
    consensus_hash: block.burn.consensusHash.toHex(),
    fees: exactNumber(block.transactions.reduce((sum, transaction) => sum + payerOf(transaction).fee, 0n)),
    tx_merkle_root: header.transactionRoot.toHex(),
    state_index_root: header.stateRoot.toHex(),
    timestamp: block.time,
    miner_signature: header.minerSignature.toHex(),
    signer_signature: [],
    transactions: bodyOf(block.receipts).map(replayedTransaction),
    valid_merkle_root: true,
  };
}

function replayedTransaction({ txId, rawTx, result, cost, events, status, vmError }: Receipt, txIndex: number) {
  return {
    txid: bare(txId),
    tx_index: txIndex,
    data: {},
    hex: bare(rawTx),
    result_hex: toHex(result),
    stx_burned: 0,
    execution_cost: cost,
    events: events.map((event, index) => eventPayload(event, txId, index)),
    post_condition_aborted: status === 'abort_by_post_condition',
    vm_error: vmError,
    profiler: null,
    execution_stats: { secs: 0, nanos: 0 },
  };
}

/** Generates the Bitcoin blocks that the tip's branch has seen, newest first. */
function* burnBlocksOf({ block }: RpcRequest): Generator<BurnBlock> {
  for (let burn: BurnBlock | undefined = block.burnView; burn !== undefined; burn = burn.parent) yield burn;
}

/** Returns the election of a Bitcoin block, and the last election before it. */
function sortition({ chain }: ServedNode, burn: BurnBlock) {
  const tenure = chain.elected(burn);
  let last = burn.parent;
  while (last !== undefined && chain.elected(last) === undefined) last = last.parent;
  return {
    burn_block_hash: burn.hash,
    burn_block_height: burn.height,
    burn_header_timestamp: burn.time,
    sortition_id: toHex(sha512_256(burn.consensusHash)),
    parent_sortition_id: burn.parent === undefined ? ZEROS : toHex(sha512_256(burn.parent.consensusHash)),
    consensus_hash: toHex(burn.consensusHash),
    was_sortition: tenure !== undefined,
    miner_pk_hash160: tenure === undefined ? null : toHex(tenure.miner.hash160),
    stacks_parent_ch: tenure?.parentConsensusHash == null ? null : toHex(tenure.parentConsensusHash),
    last_sortition_ch: toHex(last?.consensusHash ?? new Uint8Array(20)),
    committed_block_hash: tenure === undefined ? null : (tenure.parentIndexBlockHash ?? ZEROS),
    vrf_seed: tenure === undefined ? null : toHex(sha512_256(concat(tenure.miner.hash160, burn.consensusHash))),
  };
}

function sortitions(request: RpcRequest, burn: BurnBlock | undefined, missing: string) {
  if (burn === undefined) throw new RpcError(404, `Could not find snapshot ${missing}\n`);
  return [sortition(request.node, burn)];
}

function tenureBlocks(request: RpcRequest) {
  const consensusHash = bare(request.params[0] ?? '').toLowerCase();
  const blocks = [...request.node.chain.ancestors(request.block)].filter(
    ({ burn }) => burn.consensusHash.toHex() === consensusHash,
  );
  const [newest] = blocks;
  if (newest === undefined) throw new RpcError(404, `No such tenure ${consensusHash}\n`);
  return {
    consensus_hash: consensusHash,
    last_sortition_ch: newest.tenure.parentConsensusHash?.toHex() ?? '00'.repeat(20),
    burn_block_height: newest.burn.height,
    burn_block_hash: bare(newest.burn.hash),
    stacks_blocks: blocks.map((block) => ({
      block_id: bare(block.indexBlockHash),
      header_type: block.header === null ? 'epoch2' : 'nakamoto',
      block_hash: bare(block.blockHash),
      parent_block_id: bare(block.parent ?? noHash),
      height: block.height,
    })),
  };
}

function stackerSet({ block, params: [cycle = ''] }: RpcRequest) {
  const chosen = block.rewardSets.find((rewardSet) => String(rewardSet.cycle) === cycle);
  if (chosen === undefined) {
    const error = {
      err_msg:
        'Could not read reward set. Prepare phase may not have started for this cycle yet. Err = PoXAnchorBlockRequired',
      err_type: 'not_available_try_again',
      response: 'error',
    };
    return Response.json(error, { status: 400 });
  }
  const { pox_ustx_threshold, rewarded_addresses, signers, start_cycle_state } = chosen.set;
  const number = (text: string) => exactNumber(BigInt(text));
  return {
    stacker_set: {
      pox_ustx_threshold: pox_ustx_threshold === null ? null : number(pox_ustx_threshold),
      reward_set_version: 0,
      rewarded_addresses: rewarded_addresses.map((address) => {
        const { version, hash160 } = parseStacksAddress(bitcoinToStacks(address) ?? '')!;
        return { Standard: [{ bytes: hash160.toHex(), version }, 'SerializeP2PKH'] };
      }),
      signers: signers.map((signer) => ({ ...signer, stacked_amt: number(signer.stacked_amt) })),
      start_cycle_state,
    },
  };
}

function account({ block, params: [principal = ''], query }: RpcRequest) {
  if (principalBytes(principal) === null) throw new RpcError(400, `${principal} is not a principal`);
  const { world, burnView } = block;
  const lock = world.locked(principal, burnView.height);
  const state = {
    balance: wideHex(world.spendable(principal, burnView.height)),
    locked: wideHex(lock?.amount ?? 0n),
    unlock_height: lock?.unlockHeight ?? 0,
    nonce: world.nonce(principal),
  };
  return withProof(state, query, 'balance_proof', 'nonce_proof');
}

/** Returns the contract in the path. @param part the requested part, for the error @throws RpcError if there is none */
function requireContract({ block: { world, burnView }, params: [address = '', name = ''] }: RpcRequest, part: string) {
  const contract = `${address}.${name}`;
  const deployed = world.contract(contract);
  if (deployed === undefined) throw new RpcError(404, `No contract ${part} found`);
  const context: ReadContext = { world, contract, burnHeight: burnView.height };
  return { context, template: deployed.template, height: deployed.height };
}

function ownProperty<T>(all: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return all !== undefined && Object.hasOwn(all, name) ? all[name] : undefined;
}

function decodeArgument(text: unknown): ClarityValue {
  const value = decodeClarity(hexBytes(text, 'An argument'));
  if (!value.ok) throw new RpcError(400, `Failed to deserialize an argument: ${value.error.message}`);
  return value.value;
}

function source(request: RpcRequest) {
  const { template, height } = requireContract(request, 'source data');
  return withProof({ source: template.source, publish_height: height }, request.query, 'proof');
}

/**
 * Reads from a contract that an engine executes.
 * @returns null if the value doesn't exist
 * @throws RpcError if the engine isn't available
 */
async function readEngine(engine: Pick<ClarityMiner, 'read'>, block: Block, read: EngineRead): Promise<string | null> {
  const answer = await askEngine(() => engine.read(block, read));
  return answer.okay ? answer.result : null;
}

/** A result in hex, or null if it doesn't exist; or the cause of a refusal. */
type ReadAnswer =
  | { readonly okay: true; readonly result: string | null }
  | { readonly okay: false; readonly cause: string };

/** Asks the engine. @throws RpcError if the engine isn't available */
async function askEngine(ask: () => Promise<string | null>): Promise<ReadAnswer> {
  try {
    return { okay: true, result: await ask() };
  } catch (error) {
    if (error instanceof EngineRefusedError) return { okay: false, cause: toVmError(error.message) };
    if (error instanceof EngineEndedError) throw new RpcError(500, error.message);
    throw error;
  }
}

const ReadOnlyCall = Type.Object({ sender: Type.String(), arguments: Type.Array(Type.String()) });

async function callRead(request: RpcRequest) {
  const body = await readJson(request.request);
  if (!Value.Check(ReadOnlyCall, body)) throw new RpcError(400, 'The body must have sender and arguments');
  if (principalBytes(body.sender) === null) throw new RpcError(400, 'sender is not a principal');
  const args = body.arguments.map(decodeArgument);
  const [address, name, functionName = ''] = request.params;
  return readFunction(request.node, request.block, {
    contract: `${address}.${name}`,
    functionName,
    args,
    sender: body.sender,
  });
}

interface FunctionRead {
  contract: string;
  functionName: string;
  args: readonly ClarityValue[];
  /** The `tx-sender`: a principal. */
  sender: string;
}

/** Executes a read-only function on the state after a block. @throws RpcError if the engine isn't available */
export async function readFunction(
  { clarity: engine }: ServedNode,
  block: Block,
  call: FunctionRead,
): Promise<ReadAnswer> {
  const { contract, functionName, args, sender } = call;
  const { world, burnView } = block;
  const template = world.contract(contract)?.template;
  if (template === undefined) return { okay: false, cause: `Unchecked(NoSuchContract("${contract}"))` };
  const mistake = mistakeOf(template, call);
  if (mistake !== null) return { okay: false, cause: mistake };
  if (engine !== undefined) {
    const bytes = args.map((value) => toHex(value.bytes));
    // The engine doesn't accept a contract as the sender, so the contract's address replaces it.
    const { address } = splitPrincipal(sender);
    return askEngine(() => engine.read(block, { kind: 'call', contract, functionName, args: bytes, sender: address }));
  }
  const simulated = ownProperty(template.functions, functionName);
  if (simulated?.read === undefined) return { okay: false, cause: notSimulated(functionName, contract) };
  const context = { world, contract, burnHeight: burnView.height };
  return { okay: true, result: toHex(simulated.read(context, namedArguments(simulated, args))) };
}

/** Returns the node's reason for refusing a read-only call of a contract; null if the call is valid. */
function mistakeOf({ abi, isPartial = false }: ContractTemplate, call: FunctionRead): string | null {
  const { contract, functionName, args } = call;
  const declared = abi.functions.find(({ name, access }) => name === functionName && access !== 'private');
  if (declared === undefined) {
    return isPartial ? notSimulated(functionName, contract) : `Unchecked(UndefinedFunction("${functionName}"))`;
  }
  if (declared.access === 'public') return 'NotReadOnly';
  if (args.length !== declared.args.length) {
    return `Unchecked(IncorrectArgumentCount(${declared.args.length}, ${args.length}))`;
  }
  const mistyped = declared.args.find(({ type }, index) => !isOfType(args[index]!, type));
  return mistyped === undefined ? null : `Unchecked(TypeValueError(${JSON.stringify(mistyped.type)}, …))`;
}

async function mapEntry(request: RpcRequest) {
  const key = hexBytes(await readJson(request.request), 'The key');
  const decoded = decodeClarity(key);
  if (!decoded.ok) throw new RpcError(400, `Failed to deserialize the key: ${decoded.error.message}`);
  const { context, template } = requireContract(request, 'map');
  const map = request.params[2] ?? '';
  const { clarity: engine } = request.node;
  if (engine !== undefined) {
    if (!template.abi.maps.some(({ name }) => name === map)) throw new RpcError(404, 'Data map not found');
    const { contract } = context;
    const entry = await readEngine(engine, request.block, { kind: 'entry', contract, map, key: toHex(key) });
    return withProof({ data: entry ?? toHex(clarity.none()) }, request.query, 'proof');
  }
  const entryOf = ownProperty(template.maps, map);
  if (entryOf === undefined) throw new RpcError(404, 'Data map not found');
  const value = entryOf(context, key);
  return withProof({ data: toHex(value === undefined ? clarity.none() : clarity.some(value)) }, request.query, 'proof');
}

async function variable(request: RpcRequest) {
  const { context, template } = requireContract(request, 'data');
  const name = request.params[2] ?? '';
  const { clarity: engine } = request.node;
  if (engine !== undefined) {
    const { contract } = context;
    const read = await readEngine(engine, request.block, { kind: 'variable', contract, name });
    if (read !== null) return withProof({ data: read }, request.query, 'proof');
  }
  const value = ownProperty(template.variables, name);
  if (value !== undefined) return withProof({ data: toHex(value(context)) }, request.query, 'proof');
  throw new RpcError(404, 'Data var not found');
}

async function constant(request: RpcRequest) {
  const { context, template } = requireContract(request, 'data');
  const [deployer = '', , name = ''] = request.params;
  const written = parseConstant(template.source, name, deployer);
  if (written === undefined) throw new RpcError(404, 'Constant not found');
  if (written !== null) return { data: toHex(written) };
  const { clarity: engine } = request.node;
  const answer = engine && (await askEngine(() => engine.constant(request.block, context.contract, name)));
  if (answer?.okay === true && answer.result !== null) return { data: answer.result };
  throw new RpcError(501, `The simulated node can't return ${name}, because an expression computes it`);
}

const Broadcast = Type.Object({ tx: Type.String() });
const MAX_TRANSACTION = 2_097_152;

/** Returns the bytes of a transaction: the whole body, or hex in JSON. @throws RpcError */
async function rawTransaction(request: Request): Promise<Uint8Array> {
  if (request.headers.get('content-type')?.startsWith('application/json') !== true)
    return bodyBytes(request, MAX_RPC_BODY);
  const body = await readJson(request);
  if (!Value.Check(Broadcast, body)) throw new RpcError(400, 'The body must have tx, a transaction in hex');
  return hexBytes(body.tx, 'tx');
}

/** Minimum fee in micro-STX per byte. */
const FEE_RATE = 1;

async function broadcast({ node, request }: RpcRequest) {
  const raw = await rawTransaction(request);
  if (raw.length > MAX_TRANSACTION) {
    throw new RpcError(400, `Failed to decode transaction: it is longer than ${MAX_TRANSACTION} bytes`);
  }
  try {
    return bare(await node.submit(raw));
  } catch (error) {
    if (error instanceof DecodeError) throw new RpcError(400, `Failed to decode transaction: ${error.message}`);
    if (!(error instanceof Rejection)) throw error;
    const { reason, data } = error;
    const txid = transactionId(raw).toHex();
    const body = { error: 'transaction rejected', reason, ...(data === undefined ? {} : { reason_data: data }), txid };
    return Response.json(body, { status: 400 });
  }
}

const FeeRequest = Type.Object({
  transaction_payload: Type.String(),
  estimated_len: Type.Optional(Type.Union([Type.Null(), Type.Integer({ minimum: 0 })])),
});

const cost = { read_count: 8, read_length: 6_400, runtime: 450_000, write_count: 2, write_length: 160 };
/** The low, middle and high estimates, as multiples of the minimum fee. */
const multiples = [1, 2, 10] as const;

async function estimate({ request }: RpcRequest) {
  const body = await readJson(request);
  if (!Value.Check(FeeRequest, body)) {
    throw new RpcError(400, 'The body must have transaction_payload, a payload in hex, and may have estimated_len');
  }
  const payload = hexBytes(body.transaction_payload, 'transaction_payload');
  const read = decoded(() => {
    const reader = new BytesReader(payload);
    readPayload(reader);
    return reader.left;
  });
  if (!read.ok) throw new RpcError(400, `Failed to deserialize transaction_payload: ${read.error.message}`);
  if (read.value > 0) throw new RpcError(400, `Failed to deserialize transaction_payload: ${read.value} more bytes`);
  const minimum = Math.max(payload.length, body.estimated_len ?? 0) * FEE_RATE;
  return {
    cost_scalar_change_by_byte: 0.00476837158203125,
    estimated_cost: cost,
    estimated_cost_scalar: minimum,
    estimations: multiples.map((factor) => ({ fee: minimum * factor, fee_rate: factor })),
  };
}

const routes: readonly RpcRoute[] = [
  { method: 'GET', path: '/v2/info', answer: info },
  { method: 'GET', path: '/v2/pox', answer: pox },
  { method: 'GET', path: '/v2/neighbors', answer: () => ({ bootstrap: [], sample: [], inbound: [], outbound: [] }) },
  {
    method: 'GET',
    path: '/v3/health',
    answer: ({ block: { height } }) => ({
      difference_from_max_peer: 0,
      max_stacks_height_of_neighbors: height,
      node_stacks_tip_height: height,
    }),
  },
  { method: 'GET', path: '/v3/tenures/info', answer: tenure },
  { method: 'GET', path: '/v3/tenures/blocks/*', answer: tenureBlocks },
  { method: 'GET', path: '/v3/blocks/*', answer: (request) => blockBytes(storedBlock(request)) },
  { method: 'GET', path: '/v3/blocks/height/*', answer: blockByHeight },
  { method: 'GET', path: '/v3/blocks/replay/*', answer: replay },
  { method: 'GET', path: '/v3/stacker_set/*', answer: stackerSet },
  {
    method: 'GET',
    path: '/v3/sortitions',
    answer: (request) => sortitions(request, request.block.burnView, 'of the tip'),
  },
  {
    method: 'GET',
    path: '/v3/sortitions/burn_height/*',
    answer: (request) => {
      const [height = ''] = request.params;
      const burn = burnBlocksOf(request).find((block) => String(block.height) === height);
      return sortitions(request, burn, `BurnHeight(${height})`);
    },
  },
  {
    method: 'GET',
    path: '/v3/sortitions/consensus/*',
    answer: (request) => {
      const hash = bare(request.params[0] ?? '').toLowerCase();
      return sortitions(request, request.node.chain.burnBlock(hash), `ConsensusHash(${hash})`);
    },
  },
  { method: 'GET', path: '/v3/transaction/*', answer: transaction },
  { method: 'GET', path: '/v2/accounts/*', answer: account },
  {
    method: 'GET',
    path: '/v2/contracts/interface/*/*',
    answer: (request) => requireContract(request, 'interface data').template.abi,
  },
  { method: 'GET', path: '/v2/contracts/source/*/*', answer: source },
  { method: 'POST', path: '/v2/contracts/call-read/*/*/*', answer: callRead },
  { method: 'POST', path: '/v2/map_entry/*/*/*', answer: mapEntry },
  { method: 'GET', path: '/v2/data_var/*/*/*', answer: variable },
  { method: 'GET', path: '/v2/constant_val/*/*/*', answer: constant },
  { method: 'POST', path: '/v2/transactions', answer: broadcast },
  { method: 'GET', path: '/v2/fees/transfer', answer: () => FEE_RATE },
  { method: 'POST', path: '/v2/fees/transaction', answer: estimate },
];
