/** A transaction alone, with what its caller asked to include. */
import type { Static } from '@sinclair/typebox';
import { decodeArguments } from '../../../codec/clarity.ts';
import { toHex } from '../../../codec/hex.ts';
import { decodePostConditions } from '../../../codec/post-conditions.ts';
import { decodedTransaction, payloadOf } from '../../../codec/transaction.ts';
import { writtenOnce } from '../../../http/json.ts';
import type {
  FoundTransaction,
  PendingTransactionDetail,
  TransactionDetail,
} from '../../../store/model/transaction.ts';
import { poisonMicroblock } from '../../shared/serialize/poison-microblock.ts';
import { tenureChange } from '../../shared/serialize/tenure-change.ts';
import { clarity, exactNumber } from '../../shared/serialize/values.ts';
import type { FullPending, FullTransaction } from '../schemas/transaction.ts';
import { minedMembers, pendingBody, pendingMembers, summaryBody } from './transaction.ts';

/** The parts too large to be shown unasked. One that doesn't apply to a transaction is ignored. */
export const includable = ['function_args', 'source_code', 'post_conditions', 'result'] as const;
export type Include = readonly (typeof includable)[number][];

/** A transaction with all its members. @param include names of members that are returned only when asked for */
export function fullTransaction(found: FoundTransaction, include: Include) {
  if (!found.mined) return pending(found.transaction, include);
  return include.length === 0 ? minedAlone(found.transaction) : mined(found.transaction, include);
}

/** A mined transaction without the parts that must be asked for. */
const minedAlone = writtenOnce((transaction: TransactionDetail) => mined(transaction, []));

function mined(transaction: TransactionDetail, include: Include): Static<typeof FullTransaction> {
  const { cost, parentBlock } = transaction;
  return {
    ...minedMembers(transaction),
    parent_block: { hash: toHex(parentBlock.hash), index_hash: toHex(parentBlock.indexHash) },
    event_count: transaction.eventCount,
    execution_cost: {
      read_count: exactNumber(cost.readCount),
      read_length: exactNumber(cost.readLength),
      runtime: exactNumber(cost.runtime),
      write_count: exactNumber(cost.writeCount),
      write_length: exactNumber(cost.writeLength),
    },
    vm_error: transaction.vmError,
    ...minedBody(transaction, include),
    ...(include.includes('post_conditions') ? postConditions(transaction.postConditions) : {}),
    ...(include.includes('result') ? { result: clarity(transaction.result) } : {}),
  };
}

function pending(transaction: PendingTransactionDetail, include: Include): Static<typeof FullPending> {
  const { replacedByTxId, raw } = transaction;
  const body = pendingBody(transaction.payload);
  return {
    ...pendingMembers(transaction),
    replaced_by_tx_id: replacedByTxId === null ? null : toHex(replacedByTxId),
    ...(body.type === 'coinbase' || body.type === 'tenure_change' ? body : userBody(body, raw, null, include)),
    ...(include.includes('post_conditions') ? postConditions(decodedTransaction(raw).postConditions) : {}),
  };
}

function minedBody({ payload, raw, functionArgs }: TransactionDetail, include: Include) {
  const body = summaryBody(payload);
  if (body.type === 'coinbase') return { type: body.type, coinbase: coinbase(raw) };
  if (body.type === 'tenure_change') return { type: body.type, tenure_change: tenureChange(raw) };
  return userBody(body, raw, functionArgs, include);
}

type UserBody = Exclude<ReturnType<typeof summaryBody>, { type: 'coinbase' | 'tenure_change' }>;

/**
 * What a user asked for, with what only the raw transaction holds.
 * @param functionArgs null where they stand in the raw transaction
 */
function userBody(body: UserBody, raw: Uint8Array, functionArgs: Uint8Array | null, include: Include) {
  switch (body.type) {
    case 'poison_microblock':
      return { type: body.type, poison_microblock: poisonMicroblock(raw) };
    case 'smart_contract': {
      if (!include.includes('source_code')) return body;
      const source_code = payloadOf(raw, 'smart_contract').source;
      return { type: body.type, smart_contract: { ...body.smart_contract, source_code } };
    }
    case 'contract_call': {
      if (!include.includes('function_args')) return body;
      const args = decodeArguments(functionArgs ?? payloadOf(raw, 'contract_call').functionArgs);
      if (!args.ok) throw args.error;
      return { type: body.type, contract_call: { ...body.contract_call, function_args: args.value.map(clarity) } };
    }
    default:
      return body;
  }
}

function coinbase(raw: Uint8Array) {
  const { data, altRecipient, vrfProof } = payloadOf(raw, 'coinbase');
  return {
    payload: toHex(data),
    alt_recipient: altRecipient,
    vrf_proof: vrfProof === null ? null : toHex(vrfProof),
  };
}

function postConditions(buffer: Uint8Array) {
  const result = decodePostConditions(buffer);
  if (!result.ok) throw result.error;
  return { post_conditions: result.value.postConditions };
}
