import { clarity } from '../codec/clarity-encode.ts';
import { toHex } from '../codec/hex.ts';
import type { ChainEvent } from './chain-event.ts';
import type { Attachment, ContractInterface } from './contract.ts';
import { brokenPostCondition } from './post-condition-check.ts';
import { payerOf, type SignedTransaction } from './transaction.ts';
import type { World } from './world.ts';

/** Execution cost in the five dimensions of the block limit. */
export interface Cost {
  read_count: number;
  read_length: number;
  runtime: number;
  write_count: number;
  write_length: number;
}

/** What the node reports of a transaction in a block. */
export interface Receipt {
  readonly txId: string;
  /** The transaction's bytes in hex with 0x; `0x00` for an operation made on Bitcoin. */
  readonly rawTx: string;
  readonly status: 'success' | 'abort_by_response' | 'abort_by_post_condition' | 'problematic_skipped';
  readonly result: Uint8Array;
  /** The events that took effect: none unless the status is success. */
  readonly events: readonly ChainEvent[];
  readonly abi: ContractInterface | null;
  /** Content that a call names by its hash, which peers pass on beside the chain. */
  readonly attachments?: readonly Attachment[];
  readonly cost: Cost;
  readonly vmError: string | null;
  readonly burnchainOp: object | null;
  /** Why a transaction was passed over; only with status `problematic_skipped`. */
  readonly problematic?: number;
}

export const noCost: Readonly<Cost> = { read_count: 0, read_length: 0, runtime: 0, write_count: 0, write_length: 0 };

const done = clarity.ok(clarity.bool(true));
const failed = clarity.err(clarity.none());

/** Whether a miner could put the transaction into a block on top of `world`. */
export function isMinable(transaction: SignedTransaction, world: World, burnHeight: number): boolean {
  const { origin, sponsor, action } = transaction;
  const signers = sponsor === undefined ? [origin] : [origin, sponsor];
  if (signers.some(({ account, nonce }) => world.nonce(account.address) !== nonce)) return false;
  if (action.kind === 'deploy' && world.contract(`${origin.account.address}.${action.name}`) !== undefined)
    return false;

  const payer = payerOf(transaction);
  const sent = action.kind === 'transfer' ? action.amount : 0n;
  if (payer !== origin && world.spendable(origin.account.address, burnHeight) < sent) return false;
  const due = payer === origin ? payer.fee + sent : payer.fee;
  return world.spendable(payer.account.address, burnHeight) >= due;
}

/** Heights of the block that a transaction is executed in, and of its Bitcoin block. */
export interface ExecutionPlace {
  readonly height: number;
  readonly burnHeight: number;
}

/** Executes a minable transaction: takes the fee, uses up the nonces, and moves what its events say. */
export function execute(transaction: SignedTransaction, world: World, { height, burnHeight }: ExecutionPlace): Receipt {
  const { origin, sponsor } = transaction;
  const payer = payerOf(transaction);
  world.debit(payer.account.address, payer.fee);
  world.useNonce(origin.account.address);
  if (sponsor !== undefined) world.useNonce(sponsor.account.address);

  const outcome = outcomeOf(transaction, world, { height, burnHeight });
  for (const event of outcome.events ?? []) world.apply(event);
  return {
    txId: transaction.id,
    rawTx: toHex(transaction.raw),
    status: 'success',
    events: [],
    abi: null,
    cost: noCost,
    vmError: null,
    burnchainOp: null,
    ...outcome,
  };
}

type Result = Pick<Receipt, 'result'> & Partial<Receipt>;

function outcomeOf(transaction: SignedTransaction, world: World, { height, burnHeight }: ExecutionPlace): Result {
  const { origin, action, fate, id, postConditions } = transaction;
  const sender = origin.account.address;
  if (fate === 'problematic_skipped') return { status: fate, result: failed, problematic: 1 };

  switch (action.kind) {
    case 'system':
      return { result: done };
    case 'transfer': {
      const { recipient, amount, memo } = action;
      return { result: done, events: [{ type: 'stx_transfer_event', sender, recipient, amount, memo }] };
    }
    case 'deploy': {
      const { name, template, flaw, isOfUser } = action;
      const cost = costOf(id, 12);
      if (flaw !== null) return { status: 'abort_by_response', result: failed, cost, vmError: flaw };
      const broken = brokenPostCondition(postConditions, [], sender);
      if (broken !== null) return { status: 'abort_by_post_condition', result: done, cost, vmError: broken };
      const contract = { id: `${sender}.${name}`, template, height };
      if (isOfUser) world.install(contract);
      else world.deploy(contract);
      return { result: done, abi: template.abi, cost };
    }
    case 'call': {
      const { contract, call } = action;
      const cost = costOf(id, 5);
      if (world.contract(contract) === undefined) {
        // Deployed on another branch only.
        return { status: 'abort_by_response', result: failed, cost: noCost, vmError: `NoSuchContract("${contract}")` };
      }
      const outcome = call.run({ world, contract, sender, burnHeight });
      const { ok, result, events, writes = [], attachments = [], vmError = null } = outcome;
      if (!ok) return { status: 'abort_by_response', result, cost, vmError };
      if (fate === 'abort_by_post_condition') {
        return { status: fate, result, cost, vmError: `Post-condition check failure on STX owned by ${sender}` };
      }
      const broken = brokenPostCondition(postConditions, events, sender);
      if (broken !== null) return { status: 'abort_by_post_condition', result, cost, vmError: broken };
      for (const [key, value] of writes) world.store(contract, key, value);
      return { result, events, attachments, cost };
    }
  }
}

/** Some cost that depends on the transaction alone, so that it is the same on every branch. */
function costOf(txId: string, reads: number): Cost {
  const spread = Number.parseInt(txId.slice(-4), 16);
  const count = reads + (spread % 7);
  return {
    read_count: count,
    read_length: 900 + count * 731 + (spread % 977),
    runtime: 11_000 + spread * 13,
    write_count: 1 + (spread % 3),
    write_length: 40 + (spread % 211),
  };
}
