/**
 * Transactions made on Bitcoin (SIP-007 stacking operations, STX transfers). For these transactions the node sends only
 * the effects, without Stacks bytes. The API shows each as the Stacks transaction with the same effects.
 */
import { BOOT_ADDRESS } from '../codec/address.ts';
import { parseBitcoinAddress, poxTuple, stacksToBitcoin } from '../codec/bitcoin-address.ts';
import { type ClarityValue, clarityValueOf } from '../codec/clarity.ts';
import { clarity, encodeArguments } from '../codec/clarity-encode.ts';
import { fromHex } from '../codec/hex.ts';
import { UNKNOWN_PAYLOAD } from '../codec/payload.ts';
import type { Payload } from '../codec/transaction.ts';
import type { ChainEvent, TransactionContent } from './block.ts';
import { cycleLength, type Network } from './network.ts';
import { PayloadError } from './payload-reader.ts';
import type { BitcoinOperation } from './payload-schemas.ts';
import { type PoxPrint, poxPrint, tupleOf, uintOf } from './pox/print.ts';

export interface BitcoinOperationInput {
  /** Id of the Bitcoin transaction. */
  txId: Uint8Array;
  result: Uint8Array;
  operation: BitcoinOperation | null;
  /** Events of this transaction, in order. */
  events: readonly ChainEvent[];
  network: Network;
  /** Bitcoin height of the block that contains the transaction. */
  burnBlockHeight: number;
}

const BITCOIN_RAW = new Uint8Array([0]);
/** Post-conditions on the wire: mode allow, no conditions. */
const NO_POST_CONDITIONS = fromHex('0x0100000000');
const ANY_ANCHOR_MODE = 3;

function firstPoxPrint(events: readonly ChainEvent[]): PoxPrint | null {
  for (const event of events) {
    const print = poxPrint(event);
    if (print !== null) return print;
  }
  return null;
}

/** Returns a Bitcoin address as the contracts' tuple `{hashbytes, version}`; null if the address has no such form. */
function poxAddress(address: string): Uint8Array | null {
  const parsed = parseBitcoinAddress(address);
  return parsed === null ? null : poxTuple(parsed);
}

const optional = (value: Uint8Array | null): Uint8Array => (value === null ? clarity.none() : clarity.some(value));

const optionalUint = (value: number | bigint | null | undefined): Uint8Array =>
  value == null ? clarity.none() : clarity.some(clarity.uint(value));

interface SenderAndPayload {
  sender: string;
  payload: Payload;
}

const contractCall = (
  sender: string,
  contractId: string,
  functionName: string,
  args: Uint8Array[],
): SenderAndPayload => ({
  sender,
  payload: { type: 'contract_call', typeId: 2, contractId, functionName, functionArgs: encodeArguments(args) },
});

function transfer(events: readonly ChainEvent[]): SenderAndPayload | null {
  for (const event of events) {
    if (event.kind !== 'stx' || event.action !== 'transfer' || event.sender === null || event.recipient === null)
      continue;
    return {
      sender: event.sender,
      payload: {
        type: 'token_transfer',
        typeId: 0,
        recipient: event.recipient,
        amount: BigInt(event.amount),
        memo: new Uint8Array(0),
      },
    };
  }
  return null;
}

function resultTuple({ result }: BitcoinOperationInput): ReadonlyMap<string, ClarityValue> {
  const value = clarityValueOf(result);
  const tuple = value?.type === 'ok' ? tupleOf(value.value) : null;
  if (tuple === null) throw new PayloadError('Field raw_result: a stack-stx operation gives (ok (tuple …))');
  return tuple;
}

/**
 * Returns the operation's Bitcoin height, which the node passes to the contract. It is often lower than the Bitcoin
 * height of the block that contains the operation.
 */
const startHeight = ({ operation, burnBlockHeight }: BitcoinOperationInput): number =>
  operation?.stack_stx?.burn_block_height ?? burnBlockHeight;

/** Makes `stack-stx` of pox-4 with the signer's key: the eight arguments of SIP-021. */
function stackWithSigner(input: BitcoinOperationInput): SenderAndPayload | null {
  const op = input.operation?.stack_stx;
  if (!op?.signer_key) return null;
  resultTuple(input);
  return contractCall(op.sender.address, `${BOOT_ADDRESS[input.network.kind]}.pox-4`, 'stack-stx', [
    clarity.uint(op.stacked_ustx),
    poxAddress(op.reward_addr) ?? clarity.none(),
    clarity.uint(startHeight(input)),
    clarity.uint(op.num_cycles),
    clarity.none(),
    clarity.buffer(fromHex(op.signer_key)),
    clarity.uint(op.max_amount ?? 0),
    clarity.uint(op.auth_id ?? 0),
  ]);
}

/** Makes `stack-stx` of pox to pox-3, derived from its lock. */
function stackFromLock(input: BitcoinOperationInput, print: PoxPrint | null): SenderAndPayload | null {
  const lock = input.events.find((event) => event.kind === 'stx_lock');
  if (lock?.kind !== 'stx_lock') return null;
  const result = resultTuple(input);
  const amount = uintOf(result.get('lock-amount'));
  const unlockHeight = uintOf(result.get('unlock-burn-height'));
  if (amount === null || unlockHeight === null) {
    throw new PayloadError('Field raw_result: stack-stx gives lock-amount and unlock-burn-height');
  }
  const printedAddress = print?.name === 'stack-stx' ? print.data.get('pox-addr')?.bytes : undefined;
  const bitcoinAddress = stacksToBitcoin(lock.address);
  const start = startHeight(input);
  // Nodes before 2.1 don't send the operation's number of cycles.
  const lockedCycles = (unlockHeight - BigInt(start)) / BigInt(cycleLength(input.network));
  return contractCall(lock.address, `${BOOT_ADDRESS[input.network.kind]}.${lock.contractName}`, 'stack-stx', [
    clarity.uint(amount),
    printedAddress ?? (bitcoinAddress === null ? null : poxAddress(bitcoinAddress)) ?? clarity.none(),
    clarity.uint(start),
    clarity.uint(input.operation?.stack_stx?.num_cycles ?? lockedCycles),
  ]);
}

function delegate(input: BitcoinOperationInput, print: PoxPrint | null): SenderAndPayload | null {
  if (print?.name !== 'delegate-stx') return null;
  const contractId = `${BOOT_ADDRESS[input.network.kind]}.${print.contractName}`;
  const op = input.operation?.delegate_stx;
  if (print.contractName === 'pox-4' && op) {
    return contractCall(op.sender.address, contractId, 'delegate-stx', [
      clarity.uint(op.delegated_ustx),
      clarity.principal(op.delegate_to.address),
      optionalUint(op.until_burn_height),
      optional(op.reward_addr ? poxAddress(op.reward_addr[1]) : null),
    ]);
  }
  const amount = print.data.get('amount-ustx');
  const delegateTo = print.data.get('delegate-to');
  if (print.stacker === null || amount === undefined || delegateTo === undefined) return null;
  return contractCall(print.stacker, contractId, 'delegate-stx', [
    amount.bytes,
    delegateTo.bytes,
    print.data.get('unlock-burn-height')?.bytes ?? clarity.none(),
    print.data.get('pox-addr')?.bytes ?? clarity.none(),
  ]);
}

/**
 * Makes the transaction that represents an operation made on Bitcoin.
 * @returns null for an operation without an effect (it failed, or only the node's consensus uses its kind)
 * @throws PayloadError if a stacking operation's result doesn't have the form of the contract's result
 */
export function bitcoinOperationContent(input: BitcoinOperationInput): TransactionContent | null {
  if (input.events.length === 0) return null;
  const print = firstPoxPrint(input.events);
  const senderAndPayload =
    transfer(input.events) ?? stackWithSigner(input) ?? stackFromLock(input, print) ?? delegate(input, print);
  if (senderAndPayload !== null) return contentOf(input.txId, BITCOIN_RAW, senderAndPayload);
  const unknown = Object.entries(input.operation ?? {}).find(
    ([kind, value]) => value != null && !knownOperations.has(kind),
  );
  if (unknown === undefined) return null;
  return unreadContent(input.txId, BITCOIN_RAW, `an operation of Bitcoin of the kind ${unknown[0]}`, input.network);
}

/** The operations that this program serves, and the operations without a Stacks transaction (SIP-007, SIP-021). */
const knownOperations: ReadonlySet<string> = new Set([
  'transfer_stx',
  'stack_stx',
  'delegate_stx',
  'vote_for_aggregate_key',
  'pre_stx',
]);

const contentOf = (txId: Uint8Array, raw: Uint8Array, { sender, payload }: SenderAndPayload): TransactionContent => ({
  txId,
  raw,
  sender: { address: sender, nonce: 0n },
  sponsor: null,
  fee: 0n,
  chainId: 0,
  anchorMode: ANY_ANCHOR_MODE,
  postConditions: NO_POST_CONDITIONS,
  payload,
  bitcoinOperation: true,
});

/**
 * Returns the content of a transaction of a newer node that this program can't decode. Its events count, and its sender
 * is the boot address. @param reason the decoding error
 */
export const unreadContent = (
  txId: Uint8Array,
  raw: Uint8Array,
  reason: string,
  { kind }: Network,
): TransactionContent =>
  contentOf(txId, raw, { sender: BOOT_ADDRESS[kind], payload: { type: 'unknown', typeId: UNKNOWN_PAYLOAD, reason } });
