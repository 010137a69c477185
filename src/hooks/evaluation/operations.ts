/**
 * The operations of a transaction in a payload: the transaction's operations first, then the operations of its events. The
 * names of function arguments are from the contract's interface at the time of the call.
 */

import { poisonMicroblockFields, tenureChangeFields } from '../../api/shared/transaction-parts.ts';
import { memoize } from '../../base/cache.ts';
import type { Block, ChainEvent, ChainTransaction } from '../../chain/block.ts';
import { memoBytes } from '../../chain/memo-transfers.ts';
import { type AbiFunction, contractFunctions, typedArguments } from '../../codec/abi.ts';
import { decodeClarity } from '../../codec/clarity.ts';
import { clarityRepr, clarityTypeOf, UNKNOWN_TYPE } from '../../codec/clarity-text.ts';
import { toHex } from '../../codec/hex.ts';
import { lossyText } from '../../codec/utf8.ts';
import type { HookCandidates } from '../../store/hooks/candidates.ts';
import type { Options } from '../definition/definition.ts';

const STX = { symbol: 'STX', decimals: 6 } as const;
/** Returns a token's currency. Its symbol and decimals aren't part of the chain; the metadata service has them. */
const ftCurrency = (asset: string) => ({
  symbol: '',
  decimals: 0,
  metadata: { token_type: 'ft' as const, asset_identifier: asset },
});
const nftCurrency = (asset: string, value: Uint8Array) => ({
  symbol: '',
  decimals: 0,
  metadata: { token_type: 'nft' as const, asset_identifier: asset, value: toHex(value) },
});

/** Finds the declaration of a called function; undefined if unknown. */
export type FindFunction = (contractId: string, functionName: string) => AbiFunction | undefined;

/** Dependencies of operations, in addition to the transaction. */
interface Detail {
  options: Options;
  findFunction: FindFunction;
}

/** An operation before numbering. */
type Operation = { type: string; account?: { address: string }; amount?: object; metadata?: object };

/** Serializes a Clarity value by the options: as hex, or as hex with its readable form and inferred type. */
export function serializedValue(bytes: Uint8Array, { decode_clarity_values: decode }: Options) {
  if (decode !== true) return toHex(bytes);
  const value = decodeClarity(bytes);
  return { hex: toHex(bytes), repr: clarityRepr(bytes), type: value.ok ? clarityTypeOf(value.value) : UNKNOWN_TYPE };
}

/** Serializes a memo by the options: as hex, or as text without padding (null if empty) with the hex, since not all are text. */
function serializedMemo(memo: Uint8Array, { decode_clarity_values: decode }: Options) {
  if (decode !== true) return { memo: toHex(memo) };
  let end = memo.length;
  while (end > 0 && memo[end - 1] === 0) end--;
  return { memo: end === 0 ? null : lossyText(memo.subarray(0, end)), memo_hex: toHex(memo) };
}

const account = (address: string) => ({ account: { address } });

/** @param units micro-STX with a sign; minus for a withdrawal */
const stx = (units: string) => ({ amount: { value: units, currency: STX } });

/** Negates an amount. Zero stays without a sign. */
const negative = (units: string): string => (/^0*$/.test(units) ? '0' : `-${units}`);

function feeOperation({ fee, sender, sponsor }: ChainTransaction): Operation {
  return {
    type: 'fee',
    ...account((sponsor ?? sender).address),
    ...stx(negative(fee.toString())),
    metadata: { sponsored: sponsor !== null },
  };
}

function payloadOperations(transaction: ChainTransaction, { options, findFunction }: Detail): Operation[] {
  const { payload, sender } = transaction;
  const origin = account(sender.address);
  switch (payload.type) {
    case 'token_transfer': {
      const fee = feeOperation(transaction);
      // A skipped transaction moved nothing but its fee.
      if (transaction.status === 'problematic_skipped') return [fee];
      const metadata = serializedMemo(payload.memo, options);
      const amount = payload.amount.toString();
      return [
        fee,
        { type: 'token_transfer', ...origin, ...stx(negative(amount)), metadata },
        { type: 'token_transfer', ...account(payload.recipient), ...stx(amount), metadata },
      ];
    }
    case 'contract_call': {
      const { contractId, functionName, functionArgs } = payload;
      const args =
        options.decode_clarity_values === true
          ? typedArguments(functionArgs, findFunction(contractId, functionName))
          : toHex(functionArgs);
      const metadata = { contract_identifier: contractId, function_name: functionName, args };
      return [feeOperation(transaction), { type: 'contract_call', ...origin, metadata }];
    }
    case 'smart_contract': {
      const abi = transaction.contractInterface;
      const metadata = {
        contract_identifier: `${sender.address}.${payload.contractName}`,
        clarity_version: payload.clarityVersion,
        ...(options.include_contract_source_code === true ? { source_code: payload.source } : {}),
        // The interface of a failed deployment is missing, or the text `null`.
        ...(options.include_contract_abi === true && abi !== null && abi !== 'null' ? { abi } : {}),
      };
      return [feeOperation(transaction), { type: 'contract_deploy', ...origin, metadata }];
    }
    case 'coinbase': {
      const { altRecipient, vrfProof } = payload;
      const metadata = { alt_recipient: altRecipient, vrf_proof: vrfProof === null ? null : toHex(vrfProof) };
      return [{ type: 'coinbase', ...origin, metadata }];
    }
    case 'tenure_change':
      return [{ type: 'tenure_change', metadata: tenureChangeFields(payload) }];
    case 'unknown':
      return [feeOperation(transaction)];
    case 'poison_microblock':
      return [{ type: 'poison_microblock', ...origin, metadata: poisonMicroblockFields(payload) }];
  }
}

type AssetEvent = Extract<ChainEvent, { action: unknown }>;

function amountOf(event: AssetEvent, sign: '+' | '-') {
  const units = event.kind === 'nft' ? '1' : event.amount;
  const value = sign === '-' ? negative(units) : units;
  if (event.kind === 'stx') return stx(value);
  const currency = event.kind === 'ft' ? ftCurrency(event.asset) : nftCurrency(event.asset, event.value);
  return { amount: { value, currency } };
}

/** @param memo of an STX transfer; null if there is none */
function assetOperations(event: AssetEvent, memo: Uint8Array | null, { options }: Detail): Operation[] {
  const metadata = memo === null ? {} : { metadata: serializedMemo(memo, options) };
  const party = (address: string | null) => account(address ?? '');
  switch (event.action) {
    case 'transfer':
      return [
        { type: 'token_transfer', ...party(event.sender), ...amountOf(event, '-'), ...metadata },
        { type: 'token_transfer', ...party(event.recipient), ...amountOf(event, '+'), ...metadata },
      ];
    case 'mint':
      return [{ type: 'token_mint', ...party(event.recipient), ...amountOf(event, '+') }];
    case 'burn':
      return [{ type: 'token_burn', ...party(event.sender), ...amountOf(event, '-') }];
  }
}

/** @param next the event after this one; null if it is the last event */
function eventOperations(
  transaction: ChainTransaction,
  event: ChainEvent,
  next: ChainEvent | null,
  detail: Detail,
): Operation[] {
  switch (event.kind) {
    case 'contract_log': {
      const value = serializedValue(event.value, detail.options);
      const metadata = { contract_identifier: event.contractId, topic: event.topic, value };
      return [{ type: 'contract_log', metadata }];
    }
    case 'stx_lock': {
      const { address, amount, unlockHeight, contractName } = event;
      const metadata = { unlock_height: unlockHeight, locked_address: address, contract_name: contractName };
      return [{ type: 'stx_lock', ...account(address), ...stx(negative(amount)), metadata }];
    }
    // The types of operations are published, and receivers check them.
    case 'unknown':
      return [];
    case 'stx':
      return assetOperations(event, memoBytes(transaction, event, next), detail);
    default:
      return assetOperations(event, null, detail);
  }
}

/** Returns all operations of a transaction, numbered from 0, including operations that the filters don't match. */
export function operationsOf(transaction: ChainTransaction, detail: Detail) {
  const operations = payloadOperations(transaction, detail);
  const isTransfer = transaction.payload.type === 'token_transfer';
  const events = [...transaction.events];
  for (const [index, event] of events.entries()) {
    // The payload's operations include this transfer.
    if (isTransfer && event.kind === 'stx' && event.action === 'transfer') continue;
    operations.push(...eventOperations(transaction, event, events[index + 1] ?? null, detail));
  }
  return operations.map(({ type, ...rest }, index) => ({
    operation_identifier: { index },
    type,
    status: transaction.status,
    ...rest,
  }));
}

/**
 * Makes the function that finds declarations for the calls of a block.
 * @param height of the block, or of the last canonical block below it
 * @param orphaned the blocks above that height on the block's branch, if the block isn't canonical
 */
export function declarations(
  candidates: HookCandidates,
  height: number,
  orphaned: () => readonly Block[] = () => [],
): FindFunction {
  const interfaceOf = (contractId: string): string =>
    deployedIn(orphaned(), contractId) ?? candidates.contractInterface(contractId, height) ?? '{}';
  const functionsOf = memoize((contractId) => contractFunctions(interfaceOf(contractId)));
  return (contractId, functionName) => functionsOf(contractId).get(functionName);
}

function deployedIn(blocks: readonly Block[], contractId: string): string | null {
  for (const { transactions } of blocks) {
    for (const { payload, sender, status, contractInterface } of transactions) {
      if (payload.type !== 'smart_contract' || status !== 'success') continue;
      if (`${sender.address}.${payload.contractName}` === contractId) return contractInterface;
    }
  }
  return null;
}
