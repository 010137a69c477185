/** A transaction as v1 and v2 show it. */
import type { Static } from '@sinclair/typebox';
import { ANCHORED_SEQUENCE } from '../../../chain/block.ts';
import { type AbiFunction, functionSignature, typedArguments } from '../../../codec/abi.ts';
import { toHex } from '../../../codec/hex.ts';
import { decodePostConditions } from '../../../codec/post-conditions.ts';
import { decodedTransaction, payloadOf } from '../../../codec/transaction.ts';
import { serializedLate, type Written, written } from '../../../http/json.ts';
import type { ContractFunctions } from '../../../store/model/contract.ts';
import type {
  PendingTransactionDetail,
  SummaryPayload,
  TransactionDetail,
  TransactionEvent,
} from '../../../store/model/transaction.ts';
import type { MempoolTransaction, Transaction } from '../schemas/transaction.ts';
import { transactionEvent } from './event.ts';
import { poisonMicroblock } from './poison-microblock.ts';
import { tenureChange } from './tenure-change.ts';
import { clarity, exactNumber, isoTime, timeText } from './values.ts';

/** What the called contracts declare, by contract identifier. */
export type Declarations = ReadonlyMap<string, ContractFunctions>;

export interface TransactionContext {
  declarations: Declarations;
  /** Leaves out the arguments of calls. */
  withoutArguments?: boolean;
  /** Events of the transaction, in order. Lists have none. */
  events?: readonly TransactionEvent[];
}

/** A call has so many forms: with what its contract declares or without, and with arguments or without. */
const MOST_FORMS = 4;

const anchorModes: Readonly<Record<number, Static<typeof Transaction>['anchor_mode']>> = {
  1: 'on_chain_only',
  2: 'off_chain_only',
  3: 'any',
};

/** A transaction of a block as v1 and v2 return it. */
export function transaction(of: TransactionDetail, context: TransactionContext): Static<typeof Transaction> {
  const { block, burnBlock, cost, microblock } = of;
  const time = block.time === 0 ? burnBlock.time : block.time;
  return {
    ...accountMembers(of, of.postConditions, of.anchorMode),
    is_unanchored: block.hash.length === 0,
    block_hash: toHex(block.hash),
    parent_block_hash: toHex(of.parentBlock.hash),
    block_height: block.height,
    block_time: time,
    block_time_iso: timeText(time),
    burn_block_height: burnBlock.height,
    burn_block_time: burnBlock.time,
    burn_block_time_iso: timeText(burnBlock.time),
    parent_burn_block_time: of.parentBurnBlockTime ?? 0,
    parent_burn_block_time_iso: timeText(of.parentBurnBlockTime ?? 0),
    canonical: of.canonical,
    tx_index: of.txIndex,
    tx_status: of.status,
    tx_result: clarity(of.result),
    microblock_hash: microblock === null ? '0x' : toHex(microblock.hash),
    microblock_sequence: microblock?.sequence ?? ANCHORED_SEQUENCE,
    microblock_canonical: true,
    event_count: of.eventCount,
    events: serializedLate(context.events ?? [], (event) => transactionEvent(of.txId, event)),
    execution_cost_read_count: exactNumber(cost.readCount),
    execution_cost_read_length: exactNumber(cost.readLength),
    execution_cost_runtime: exactNumber(cost.runtime),
    execution_cost_write_count: exactNumber(cost.writeCount),
    execution_cost_write_length: exactNumber(cost.writeLength),
    vm_error: of.vmError,
    ...body(of.payload, of.raw, of.functionArgs, context),
  };
}

/** A {@link transaction} of a list, written. */
interface Listed {
  declared: ContractFunctions | undefined;
  withoutArguments: boolean;
  text: Written<Static<typeof Transaction>>;
}

const listed = new WeakMap<TransactionDetail, Listed[]>();

/**
 * Makes the same as {@link transaction} without events, once for each transaction that the store keeps and for each form:
 * what the called contract declares, and whether arguments are shown.
 */
export function listedTransaction(
  of: TransactionDetail,
  context: TransactionContext,
): Written<Static<typeof Transaction>> {
  const { payload } = of;
  const declared = payload.type === 'contract_call' ? context.declarations.get(payload.contractId) : undefined;
  const { withoutArguments = false } = context;
  const forms = listed.get(of) ?? [];
  const known = forms.find((one) => one.declared === declared && one.withoutArguments === withoutArguments);
  if (known !== undefined) return known.text;
  const text = written(transaction(of, context));
  // Once a contract is deployed anew, nobody asks for the forms that it had before.
  if (forms.length === MOST_FORMS) forms.length = 0;
  forms.push({ declared, withoutArguments, text });
  listed.set(of, forms);
  return text;
}

/** A transaction that is pending, or was dropped from the mempool, as v1 and v2 return it. */
export function mempoolTransaction(
  of: PendingTransactionDetail,
  context: TransactionContext,
): Static<typeof MempoolTransaction> {
  const { postConditions, anchorMode } = decodedTransaction(of.raw);
  return {
    ...accountMembers(of, postConditions, anchorMode),
    tx_status: of.status,
    replaced_by_tx_id: of.replacedByTxId === null ? null : toHex(of.replacedByTxId),
    receipt_time: of.receiptTime,
    receipt_time_iso: isoTime(of.receiptTime),
    ...body(of.payload, of.raw, null, context),
  };
}

/** @param time Unix seconds */

function accountMembers(
  { txId, sender, sponsor, fee }: TransactionDetail | PendingTransactionDetail,
  postConditions: Uint8Array,
  anchorMode: number,
) {
  const conditions = decodePostConditions(postConditions);
  if (!conditions.ok) throw conditions.error;
  const anchored = anchorModes[anchorMode] ?? 'unknown';
  return {
    tx_id: toHex(txId),
    nonce: exactNumber(sender.nonce),
    fee_rate: fee,
    sender_address: sender.address,
    sponsored: sponsor !== null,
    ...(sponsor === null ? {} : { sponsor_address: sponsor.address, sponsor_nonce: exactNumber(sponsor.nonce) }),
    post_condition_mode: conditions.value.mode,
    post_conditions: conditions.value.postConditions,
    anchor_mode: anchored,
  };
}

/** @param functionArgs of a call, null where they stand in the raw transaction */
function body(payload: SummaryPayload, raw: Uint8Array, functionArgs: Uint8Array | null, context: TransactionContext) {
  switch (payload.type) {
    case 'token_transfer': {
      const { recipient, amount, memo } = payload;
      const token_transfer = { recipient_address: recipient, amount, memo: memo === null ? '0x' : toHex(memo) };
      return { tx_type: payload.type, token_transfer };
    }
    case 'smart_contract': {
      const { contractId, clarityVersion } = payload;
      const source_code = payloadOf(raw, payload.type).source;
      const smart_contract = { clarity_version: clarityVersion, contract_id: contractId, source_code };
      return { tx_type: payload.type, smart_contract };
    }
    case 'contract_call':
      return { tx_type: payload.type, contract_call: call(payload, raw, functionArgs, context) };
    case 'poison_microblock':
      return { tx_type: payload.type, poison_microblock: poisonMicroblock(raw) };
    case 'coinbase': {
      const { data, altRecipient, vrfProof } = payloadOf(raw, payload.type);
      const proof = vrfProof === null ? {} : { vrf_proof: toHex(vrfProof) };
      return { tx_type: payload.type, coinbase_payload: { data: toHex(data), alt_recipient: altRecipient, ...proof } };
    }
    case 'tenure_change':
      return { tx_type: payload.type, tenure_change_payload: tenureChange(raw) };
    case 'unknown':
      return { tx_type: payload.type };
  }
}

function call(
  { contractId, functionName }: Extract<SummaryPayload, { type: 'contract_call' }>,
  raw: Uint8Array,
  functionArgs: Uint8Array | null,
  { declarations, withoutArguments = false }: TransactionContext,
) {
  const declared: AbiFunction | undefined = declarations.get(contractId)?.get(functionName);
  const named = {
    contract_id: contractId,
    function_name: functionName,
    function_signature: declared === undefined ? '' : functionSignature(declared),
  };
  if (withoutArguments) return named;
  const span = functionArgs ?? payloadOf(raw, 'contract_call').functionArgs;
  return { ...named, function_args: typedArguments(span, declared) };
}
