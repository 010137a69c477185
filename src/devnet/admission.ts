/**
 * Admission of transactions into the simulated node's mempool. The rejection reasons, their data, and the order of the
 * checks match a node's `POST /v2/transactions`.
 */
import type { AbiType } from '../codec/abi.ts';
import { DEPLOYED_NAME_PATTERN, isVersionOf, principalBytes } from '../codec/address.ts';
import { decodedOrThrow } from '../codec/bytes-reader.ts';
import { type ClarityValue, decodeArguments, decodeClarity } from '../codec/clarity.ts';
import { toHex } from '../codec/hex.ts';
import type { Transaction } from '../codec/transaction.ts';
import { type ContractCall, executedContract, isOfType, namedArguments, notSimulated } from './contract.ts';
import { areChecked } from './execute.ts';
import type { Network } from './network.ts';
import { checkSignatures, SignatureError } from './signature-check.ts';
import { templates } from './traffic.ts';
import { type Action, type Party, payerOf, type SignedTransaction } from './transaction.ts';
import type { World } from './world.ts';

/** Thrown if a transaction is rejected. */
export class Rejection extends Error {
  override readonly name = 'Rejection';
  constructor(
    readonly reason: string,
    readonly data?: object,
  ) {
    super(reason);
  }
}

/** The state against which a transaction is checked. */
export interface AdmissionView {
  readonly world: World;
  readonly burnHeight: number;
  readonly network: Network;
  /** Whether an engine executes contracts, so that any contract can be deployed and called. */
  readonly executesClarity: boolean;
  /** Maximum consecutive pending transactions of an account. Default: as on a node. */
  readonly maxChaining?: number;
  /**
   * Whether the transaction was admitted before, with an engine. It may need a state that pending transactions make, so
   * its nonce, its funds and its contract aren't checked.
   */
  readonly wasAdmitted?: boolean;
}

/** Maximum consecutive pending transactions of an account on a node. */
const MAX_CHAINING = 25;
const CONTRACT_NAME = new RegExp(`^${DEPLOYED_NAME_PATTERN}$`);

/**
 * Checks signatures and chain id. @param raw the transaction's bytes @param isSigned false if the sender's key hasn't
 * signed it
 */
function requireValid(raw: Uint8Array, transaction: Transaction, network: Network, isSigned: boolean): void {
  if (transaction.version !== network.transactionVersion) throw new Rejection('BadTransactionVersion');
  if (transaction.chainId !== network.chainId) {
    const message = `Invalid tx: invalid chain ID ${transaction.chainId} (expected ${network.chainId})`;
    throw new Rejection('SignatureValidation', { message });
  }
  if (!isSigned) return;
  try {
    checkSignatures(raw, transaction);
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    throw new Rejection('SignatureValidation', { message: error.message });
  }
}

function requireNonce(
  { account, nonce }: Party,
  isOrigin: boolean,
  { world, maxChaining = MAX_CHAINING, wasAdmitted }: AdmissionView,
): void {
  if (wasAdmitted === true) return;
  const principal = account.address;
  const next = world.nonce(principal);
  const data = { actual: Number(nonce), is_origin: isOrigin, principal };
  if (nonce < next) throw new Rejection('BadNonce', { expected: next, ...data });
  const highest = next + 1 + maxChaining;
  if (nonce > highest) {
    const message = 'Nonce would exceed chaining limit in mempool';
    throw new Rejection('TooMuchChaining', { message, expected: highest, ...data });
  }
}

/** Returns an amount as a node writes it: 16 bytes in hex. */
export const wideHex = (amount: bigint): string => `0x${amount.toString(16).padStart(32, '0')}`;

function requireFunds(address: string, due: bigint, { world, burnHeight, wasAdmitted }: AdmissionView): void {
  if (wasAdmitted === true) return;
  const available = world.spendable(address, burnHeight);
  if (available >= due) return;
  throw new Rejection('NotEnoughFunds', { expected: wideHex(due), actual: wideHex(available) });
}

function requireAddress(principal: string, { network }: AdmissionView): void {
  if (!isVersionOf(network.name, principalBytes(principal)?.[0])) throw new Rejection('BadAddressVersionByte');
}

function transferAction(
  { payload, origin, postConditions }: Transaction & { payload: { type: 'token_transfer' } },
  payer: Party,
  fee: bigint,
  view: AdmissionView,
): Action {
  const { recipient, amount, memo } = payload;
  requireAddress(recipient, view);
  if (recipient === origin.address) throw new Rejection('TransferRecipientCannotEqualSender', { recipient });
  if (amount === 0n) throw new Rejection('TransferAmountMustBePositive');
  const isPayer = payer.account.address === origin.address;
  requireFunds(origin.address, amount + (isPayer ? fee : 0n), view);
  if (!isPayer) requireFunds(payer.account.address, fee, view);
  const [, ...count] = postConditions;
  if (count.some((byte) => byte !== 0)) {
    const message = 'Invalid Stacks transaction: TokenTransfer transactions do not support post-conditions';
    throw new Rejection('ServerFailureOther', { message });
  }
  return { kind: 'transfer', recipient, amount, memo };
}

function deployAction(
  { payload, origin }: Transaction & { payload: { type: 'smart_contract' } },
  { world, executesClarity, wasAdmitted }: AdmissionView,
): Action {
  const { contractName: name, source, clarityVersion } = payload;
  const id = `${origin.address}.${name}`;
  if (!CONTRACT_NAME.test(name)) throw new Rejection('Deserialization', { message: `${name} isn't a contract's name` });
  if (wasAdmitted !== true && world.contract(id) !== undefined) {
    throw new Rejection('ContractAlreadyExists', { contract_identifier: id });
  }
  const known = executesClarity ? undefined : templates.find((template) => template.source === source);
  const template = known ?? {
    ...executedContract(name, source, clarityVersion ?? undefined),
    isPartial: !executesClarity,
  };
  return { kind: 'deploy', name, template: { ...template, name }, flaw: null, isFromClient: true };
}

/** Decodes the arguments of a call, and checks them against the declared types. */
function readArguments(span: Uint8Array, declared: readonly { type: AbiType }[]): ClarityValue[] {
  const values = decodedOrThrow(decodeArguments(span)).map((bytes) => decodedOrThrow(decodeClarity(bytes)));
  if (values.length !== declared.length) {
    const message = `expecting ${declared.length} arguments, got ${values.length}`;
    throw new Rejection('BadFunctionArgument', { message });
  }
  const wrongIndex = values.findIndex((value, index) => !isOfType(value, declared[index]!.type));
  if (wrongIndex < 0) return values;
  const message = `expecting expression of type '${JSON.stringify(declared[wrongIndex]!.type)}', found '${toHex(values[wrongIndex]!.bytes)}'`;
  throw new Rejection('BadFunctionArgument', { message });
}

const runByEngine = (): never => {
  throw new Error('an engine executes this call');
};

function callAction({ payload }: Transaction & { payload: { type: 'contract_call' } }, view: AdmissionView): Action {
  const { contractId: contract, functionName, functionArgs } = payload;
  requireAddress(contract, view);
  if (view.wasAdmitted === true) {
    const args = decodedOrThrow(decodeArguments(functionArgs));
    return { kind: 'call', contract, call: { functionName, args, run: runByEngine } };
  }
  const { template } = view.world.contract(contract) ?? {};
  if (template === undefined) throw new Rejection('NoSuchContract');
  const declared = template.abi.functions.find(({ name, access }) => name === functionName && access === 'public');
  if (declared === undefined) {
    if (template.isPartial !== true) throw new Rejection('NoSuchPublicFunction');
    throw new Rejection('ServerFailureOther', { message: notSimulated(functionName, contract) });
  }
  const args = readArguments(functionArgs, declared.args);
  if (view.executesClarity) {
    const bytes = args.map((value) => value.bytes);
    return { kind: 'call', contract, call: { functionName, args: bytes, run: runByEngine } };
  }
  const simulated = template.functions?.[functionName];
  if (simulated?.run === undefined || simulated.isForUsers === true)
    throw new Rejection('ServerFailureOther', { message: notSimulated(functionName, contract) });
  const namedArgs = namedArguments(simulated, args);
  const run: ContractCall['run'] = (context) => simulated.run!(context, namedArgs);
  return { kind: 'call', contract, call: { functionName, args: args.map(({ bytes }) => bytes), run } };
}

/** Returns the action of a transaction. @throws Rejection if it isn't possible */
function toAction(transaction: Transaction, payer: Party, fee: bigint, view: AdmissionView): Action {
  const { payload } = transaction;
  if (payload.type === 'token_transfer') return transferAction({ ...transaction, payload }, payer, fee, view);
  requireFunds(payer.account.address, fee, view);
  switch (payload.type) {
    case 'smart_contract':
      return deployAction({ ...transaction, payload }, view);
    case 'contract_call':
      return callAction({ ...transaction, payload }, view);
    case 'coinbase':
      throw new Rejection('NoCoinbaseViaMempool');
    case 'tenure_change':
    case 'unknown':
      throw new Rejection('NoTenureChangeViaMempool');
    case 'poison_microblock':
      throw new Rejection('PoisonMicroblockIsInvalid');
  }
}

const toParty = ({ address, nonce, fee }: Transaction['origin']): Party => ({
  // Account nonces are numbers here; greater nonces are rejected before.
  account: { address },
  nonce: Number(nonce),
  fee,
});

/**
 * Checks a transaction against a state.
 * @param raw the transaction's bytes
 * @param isSigned false if the operator sends it without the sender's key
 * @returns the transaction in the form that can be mined
 * @throws Rejection
 */
export function admit(
  raw: Uint8Array,
  transaction: Transaction,
  view: AdmissionView,
  isSigned = true,
): SignedTransaction {
  requireValid(raw, transaction, view.network, isSigned);
  const origin = toParty(transaction.origin);
  const sponsor = transaction.sponsor === null ? undefined : toParty(transaction.sponsor);
  const payer = sponsor ?? origin;
  if (payer.fee < BigInt(raw.length)) {
    throw new Rejection('FeeTooLow', { expected: raw.length, actual: Number(payer.fee) });
  }
  requireNonce(origin, true, view);
  if (sponsor !== undefined) requireNonce(sponsor, false, view);
  const action = toAction(transaction, payer, payer.fee, view);
  const { postConditions } = transaction;
  if (!areChecked(postConditions)) {
    throw new Rejection('ServerFailureOther', {
      message: "The simulated node can't check post-conditions on stacking",
    });
  }
  return { id: toHex(transaction.txId), raw, origin, sponsor, action, fate: 'success', postConditions };
}

/** Maximum bytes of stored transactions. */
const MAX_BYTES = 64 * 1024 * 1024;

interface PoolEntry {
  readonly transaction: SignedTransaction;
  /** Height of the block after which the nonce was used; null if the transaction is pending. */
  usedAt: number | null;
}

const partiesOf = ({ origin, sponsor }: SignedTransaction): Party[] =>
  sponsor === undefined ? [origin] : [origin, sponsor];

const conflicts = (a: SignedTransaction, b: SignedTransaction): boolean =>
  partiesOf(a).some((party) =>
    partiesOf(b).some((other) => party.account.address === other.account.address && party.nonce === other.nonce),
  );

const nonceKeys = (transaction: SignedTransaction): string[] =>
  partiesOf(transaction).map(({ account, nonce }) => `${account.address} ${nonce}`);

const isWaiting = ({ origin }: SignedTransaction, world: World): boolean =>
  Number(origin.nonce) >= world.nonce(origin.account.address);

/** The mempool of clients: their admitted transactions. */
export class Pool {
  readonly #byId = new Map<string, PoolEntry>();
  #bytes = 0;

  /** Returns the transactions that are pending on a state, in order of arrival. */
  waiting(world: World): SignedTransaction[] {
    return [...this.#byId.values()].flatMap(({ transaction }) => (isWaiting(transaction, world) ? [transaction] : []));
  }

  /**
   * Adds a transaction.
   * @returns the transactions that it replaces, which offered a lower fee for the same nonce
   * @throws Rejection if another transaction offers the same fee or more, or the pool is full
   */
  add(transaction: SignedTransaction, world: World): SignedTransaction[] {
    const replaced = this.waiting(world).filter((other) => conflicts(other, transaction));
    if (replaced.some((other) => payerOf(other).fee >= payerOf(transaction).fee)) {
      throw new Rejection('ConflictingNonceInMempool');
    }
    if (this.#bytes + transaction.raw.length > MAX_BYTES) {
      throw new Rejection('ServerFailureOther', { message: 'The mempool is full' });
    }
    for (const { id } of replaced) this.drop(id);
    this.#insert(transaction);
    return replaced;
  }

  /**
   * Adds transactions of blocks that left the chain, without a limit. Leaves out those that are in the pool, and those
   * whose nonce a pending transaction uses.
   */
  restore(orphaned: readonly SignedTransaction[], world: World): void {
    const used = new Set(this.waiting(world).flatMap(nonceKeys));
    for (const transaction of orphaned) {
      if (!nonceKeys(transaction).some((key) => used.has(key))) this.#insert(transaction);
    }
  }

  #insert(transaction: SignedTransaction): void {
    this.#byId.set(transaction.id, { transaction, usedAt: null });
    this.#bytes += transaction.raw.length;
  }

  /**
   * Marks the transactions that a block of the winning chain has mined or invalidated, and removes old ones.
   * @param maxDepth maximum number of blocks that a fork can revert
   */
  removeMined(world: World, height: number, maxDepth: number): void {
    for (const [id, entry] of this.#byId) {
      if (isWaiting(entry.transaction, world)) entry.usedAt = null;
      else entry.usedAt ??= height;
      if (entry.usedAt !== null && entry.usedAt + maxDepth < height) this.drop(id);
    }
  }

  /** Removes a transaction. */
  drop(id: string): void {
    this.#bytes -= this.#byId.get(id)?.transaction.raw.length ?? 0;
    this.#byId.delete(id);
  }
}
