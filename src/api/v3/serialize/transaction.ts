/** Transactions as lists show them. */
import type { Static } from '@sinclair/typebox';
import type { Signer } from '../../../chain/block.ts';
import { toHex } from '../../../codec/hex.ts';
import { writtenOnce } from '../../../http/json.ts';
import type { PendingTransaction, SummaryPayload, TransactionSummary } from '../../../store/model/transaction.ts';
import { exactNumber, memo } from '../../shared/serialize/values.ts';
import type { PendingSummary, TransactionSummary as SummarySchema } from '../schemas/transaction.ts';
import { block } from './place.ts';

/** A transaction of a block as lists return it. */
export function transactionSummary(transaction: TransactionSummary): Static<typeof SummarySchema> {
  return { ...minedMembers(transaction), ...summaryBody(transaction.payload) };
}

/** Makes the same as {@link transactionSummary}, once for each transaction that the store keeps. */
export const listedTransaction = writtenOnce(transactionSummary);

/** A pending transaction as lists return it. The receipt time is in Unix seconds. */
export function pendingSummary(transaction: PendingTransaction): Static<typeof PendingSummary> {
  return { ...pendingMembers(transaction), ...pendingBody(transaction.payload) };
}

/** What precedes the type and body of a mined transaction. */
export function minedMembers(transaction: TransactionSummary) {
  const { burnBlock } = transaction;
  return {
    ...accountMembers(transaction),
    block: block(transaction),
    bitcoin_block: { height: burnBlock.height, time: burnBlock.time },
    status: transaction.status,
  };
}

/** What precedes the type and body of a pending or dropped transaction. */
export function pendingMembers(transaction: PendingTransaction) {
  return {
    ...accountMembers(transaction),
    receipt_time: transaction.receiptTime,
    receipt_block_height: transaction.receiptBlockHeight,
    status: transaction.status,
  };
}

function accountMembers({ txId, sender, sponsor, fee }: PendingTransaction | TransactionSummary) {
  return {
    tx_id: toHex(txId),
    sender: account(sender),
    sponsor: sponsor === null ? null : account(sponsor),
    fee_rate: fee,
  };
}

const account = ({ address, nonce }: Signer) => ({ address, nonce: exactNumber(nonce) });

/** The members that depend on the type of a transaction. */
export function summaryBody(payload: SummaryPayload) {
  switch (payload.type) {
    case 'coinbase':
      return { type: payload.type, coinbase: { alt_recipient: payload.altRecipient } };
    case 'tenure_change':
      return { type: payload.type, tenure_change: { cause: payload.cause } };
    default:
      return userBody(payload);
  }
}

/** What the node makes for itself shows no body while it waits. */
export function pendingBody(payload: SummaryPayload) {
  switch (payload.type) {
    case 'coinbase':
      return { type: payload.type };
    case 'tenure_change':
      return { type: payload.type };
    default:
      return userBody(payload);
  }
}

function userBody(payload: Exclude<SummaryPayload, { type: 'coinbase' | 'tenure_change' }>) {
  switch (payload.type) {
    case 'token_transfer': {
      const { recipient, amount } = payload;
      return { type: payload.type, token_transfer: { recipient, amount, memo: memo(payload.memo) } };
    }
    case 'smart_contract': {
      const { clarityVersion, contractId } = payload;
      return { type: payload.type, smart_contract: { clarity_version: clarityVersion, contract_id: contractId } };
    }
    case 'contract_call': {
      const { contractId, functionName } = payload;
      return { type: payload.type, contract_call: { contract_id: contractId, function_name: functionName } };
    }
    case 'poison_microblock':
      return { type: payload.type };
    case 'unknown':
      return { type: payload.type };
  }
}
