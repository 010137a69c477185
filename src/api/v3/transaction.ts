/** Transactions as v3 returns them: mined and pending, in lists and alone; and positions on the chain. */
import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { memoizeByObject } from '../../base/cache.ts';
import type { Signer } from '../../chain/block.ts';
import { decodeArguments } from '../../codec/clarity.ts';
import { toHex } from '../../codec/hex.ts';
import { decodePostConditions } from '../../codec/post-conditions.ts';
import { decodedTransaction, payloadOf } from '../../codec/transaction.ts';
import { MaybeWritten, written } from '../../http/json.ts';
import type {
  PendingTransaction,
  PendingTransactionDetail,
  FoundTransaction as StoredFoundTransaction,
  TransactionSummary as StoredTransactionSummary,
  SummaryPayload,
  TransactionDetail,
  TransactionPosition,
} from '../../store/model/transaction.ts';
import {
  executedStatuses,
  PoisonMicroblock,
  PostConditions,
  poisonMicroblock,
  TenureChange,
  tenureChange,
  tenureChangeCause,
  waitingStatuses,
} from '../shared/transaction-parts.ts';
import {
  Amount,
  ClarityPair,
  clarity,
  exactNumber,
  Hash,
  Height,
  Hex,
  Memo,
  memo,
  nullable,
  Principal,
  Uint64,
  UnixTime,
} from '../shared/values.ts';

export const Block = Type.Object(
  {
    height: Height,
    hash: Hash,
    index_hash: Hash,
    time: UnixTime,
    tx_index: Type.Integer(),
  },
  { $id: 'BlockPosition' },
);

export const BitcoinBlock = Type.Object({ height: Height, time: UnixTime }, { $id: 'BitcoinBlock' });

/** The block of a transaction and the transaction's index in it. */
export const block = ({ txIndex, block }: Omit<TransactionPosition, 'txId'>): Static<typeof Block> => ({
  height: block.height,
  hash: toHex(block.hash),
  index_hash: toHex(block.indexHash),
  time: block.time,
  tx_index: txIndex,
});

const Account = Type.Object({ address: Principal, nonce: Uint64 }, { $id: 'Account' });

const common = {
  tx_id: Hash,
  sender: Account,
  sponsor: nullable(Account),
  fee_rate: Amount,
};

const place = {
  block: Block,
  bitcoin_block: BitcoinBlock,
  status: executedStatuses,
};

const waiting = {
  receipt_time: UnixTime,
  receipt_block_height: Height,
  status: waitingStatuses,
};

const transfer = Type.Object({ recipient: Principal, amount: Amount, memo: nullable(Memo) }, { $id: 'TokenTransfer' });
const contract = { clarity_version: nullable(Type.Integer()), contract_id: Type.String() };
const call = { contract_id: Type.String(), function_name: Type.String() };

const deployment = Type.Object(contract, { $id: 'ContractDeploymentSummary' });
const calledFunction = Type.Object(call, { $id: 'ContractCallSummary' });

const contractWithSource = Type.Object(
  { ...contract, source_code: Type.Optional(Type.String()) },
  { $id: 'ContractDeployment' },
);
const callWithArguments = Type.Object(
  { ...call, function_args: Type.Optional(Type.Array(ClarityPair)) },
  { $id: 'ContractCall' },
);

const Coinbase = Type.Object(
  {
    payload: Hex,
    alt_recipient: nullable(Principal),
    vrf_proof: nullable(Hex),
  },
  { $id: 'Coinbase' },
);

/** Schema of a token transfer. @param shared members that all types of transactions have */
const transferOf = <T extends TProperties>(shared: T) =>
  Type.Object({ ...shared, type: Type.Literal('token_transfer'), token_transfer: transfer });
const bare = <T extends TProperties, const W extends string>(shared: T, type: W) =>
  Type.Object({ ...shared, type: Type.Literal(type) });

const summary = { ...common, ...place };
const TransactionSummary = Type.Union(
  [
    transferOf(summary),
    Type.Object({ ...summary, type: Type.Literal('smart_contract'), smart_contract: deployment }),
    Type.Object({ ...summary, type: Type.Literal('contract_call'), contract_call: calledFunction }),
    bare(summary, 'poison_microblock'),
    Type.Object({
      ...summary,
      type: Type.Literal('coinbase'),
      coinbase: Type.Object({ alt_recipient: nullable(Principal) }),
    }),
    Type.Object({
      ...summary,
      type: Type.Literal('tenure_change'),
      tenure_change: Type.Object({ cause: tenureChangeCause }),
    }),
    bare(summary, 'unknown'),
  ],
  { $id: 'TransactionSummary' },
);

/** A transaction of a list, which is cached as text. */
export const ListedTransaction = MaybeWritten(TransactionSummary);

const full = {
  ...summary,
  parent_block: Type.Object({ hash: Hash, index_hash: Hash }),
  event_count: Type.Integer(),
  execution_cost: Type.Object({
    read_count: Uint64,
    read_length: Uint64,
    runtime: Uint64,
    write_count: Uint64,
    write_length: Uint64,
  }),
  vm_error: nullable(Type.String()),
  post_conditions: Type.Optional(PostConditions),
  result: Type.Optional(ClarityPair),
};
const FullTransaction = Type.Union(
  [
    transferOf(full),
    Type.Object({ ...full, type: Type.Literal('smart_contract'), smart_contract: contractWithSource }),
    Type.Object({ ...full, type: Type.Literal('contract_call'), contract_call: callWithArguments }),
    Type.Object({ ...full, type: Type.Literal('poison_microblock'), poison_microblock: PoisonMicroblock }),
    Type.Object({ ...full, type: Type.Literal('coinbase'), coinbase: Coinbase }),
    Type.Object({ ...full, type: Type.Literal('tenure_change'), tenure_change: TenureChange }),
    bare(full, 'unknown'),
  ],
  { $id: 'Transaction' },
);

const pending = { ...common, ...waiting };
export const PendingSummary = Type.Union(
  [
    transferOf(pending),
    Type.Object({ ...pending, type: Type.Literal('smart_contract'), smart_contract: deployment }),
    Type.Object({ ...pending, type: Type.Literal('contract_call'), contract_call: calledFunction }),
    bare(pending, 'poison_microblock'),
    bare(pending, 'coinbase'),
    bare(pending, 'tenure_change'),
    bare(pending, 'unknown'),
  ],
  { $id: 'MempoolTransactionSummary' },
);

const fullPending = {
  ...pending,
  replaced_by_tx_id: nullable(Hash),
  post_conditions: Type.Optional(PostConditions),
};
const FullPending = Type.Union(
  [
    transferOf(fullPending),
    Type.Object({ ...fullPending, type: Type.Literal('smart_contract'), smart_contract: contractWithSource }),
    Type.Object({ ...fullPending, type: Type.Literal('contract_call'), contract_call: callWithArguments }),
    Type.Object({ ...fullPending, type: Type.Literal('poison_microblock'), poison_microblock: PoisonMicroblock }),
    bare(fullPending, 'coinbase'),
    bare(fullPending, 'tenure_change'),
    bare(fullPending, 'unknown'),
  ],
  { $id: 'MempoolTransaction' },
);

/** A single transaction. Mined ones are cached as text, without the parts that are returned only on request. */
export const FoundTransaction = Type.Union([MaybeWritten(FullTransaction), FullPending], { $id: 'FoundTransaction' });

/** A transaction of a block as lists return it. */
export function transactionSummary(transaction: StoredTransactionSummary): Static<typeof TransactionSummary> {
  return { ...minedMembers(transaction), ...summaryBody(transaction.payload) };
}

/** Serializes {@link transactionSummary}, once for each cached transaction. */
export const listedTransaction = memoizeByObject((of: Parameters<typeof transactionSummary>[0]) =>
  written(transactionSummary(of)),
);

/** A pending transaction as lists return it. The receipt time is in Unix seconds. */
export function pendingSummary(transaction: PendingTransaction): Static<typeof PendingSummary> {
  return { ...pendingMembers(transaction), ...pendingBody(transaction.payload) };
}

/** Serializes {@link pendingSummary}, once for each cached transaction. */
export const listedPending = memoizeByObject((of: PendingTransaction) => written(pendingSummary(of)));

/** The members of a mined transaction before its type and body. */
function minedMembers(transaction: StoredTransactionSummary) {
  const { burnBlock } = transaction;
  return {
    ...accountMembers(transaction),
    block: block(transaction),
    bitcoin_block: { height: burnBlock.height, time: burnBlock.time },
    status: transaction.status,
  };
}

/** The members of a pending or dropped transaction before its type and body. */
function pendingMembers(transaction: PendingTransaction) {
  return {
    ...accountMembers(transaction),
    receipt_time: transaction.receiptTime,
    receipt_block_height: transaction.receiptBlockHeight,
    status: transaction.status,
  };
}

function accountMembers({ txId, sender, sponsor, fee }: PendingTransaction | StoredTransactionSummary) {
  return {
    tx_id: toHex(txId),
    sender: account(sender),
    sponsor: sponsor === null ? null : account(sponsor),
    fee_rate: fee,
  };
}

const account = ({ address, nonce }: Signer) => ({ address, nonce: exactNumber(nonce) });

/** The members that depend on the type of a transaction. */
function summaryBody(payload: SummaryPayload) {
  switch (payload.type) {
    case 'coinbase':
      return { type: payload.type, coinbase: { alt_recipient: payload.altRecipient } };
    case 'tenure_change':
      return { type: payload.type, tenure_change: { cause: payload.cause } };
    default:
      return userBody(payload);
  }
}

/** The body of a pending transaction; types that only the node makes have none. */
function pendingBody(payload: SummaryPayload) {
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

/** Large parts that are returned only on request. A part that a transaction doesn't have is ignored. */
export const includable = ['function_args', 'source_code', 'post_conditions', 'result'] as const;
type Include = readonly (typeof includable)[number][];

/** A transaction with all its members. @param include names of large members to return */
export function fullTransaction(found: StoredFoundTransaction, include: Include) {
  if (!found.mined) return pendingPart(found.transaction, include);
  return include.length === 0 ? minedAlone(found.transaction) : mined(found.transaction, include);
}

/** A mined transaction without the large parts. */
const minedAlone = memoizeByObject((transaction: TransactionDetail) => written(mined(transaction, [])));

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

function pendingPart(transaction: PendingTransactionDetail, include: Include): Static<typeof FullPending> {
  const { replacedByTxId, raw } = transaction;
  const body = pendingBody(transaction.payload);
  return {
    ...pendingMembers(transaction),
    replaced_by_tx_id: replacedByTxId === null ? null : toHex(replacedByTxId),
    ...(body.type === 'coinbase' || body.type === 'tenure_change' ? body : userBodyWithParts(body, raw, null, include)),
    ...(include.includes('post_conditions') ? postConditions(decodedTransaction(raw).postConditions) : {}),
  };
}

function minedBody({ payload, raw, functionArgs }: TransactionDetail, include: Include) {
  const body = summaryBody(payload);
  if (body.type === 'coinbase') return { type: body.type, coinbase: coinbase(raw) };
  if (body.type === 'tenure_change') return { type: body.type, tenure_change: tenureChange(raw) };
  return userBodyWithParts(body, raw, functionArgs, include);
}

type UserBody = Exclude<ReturnType<typeof summaryBody>, { type: 'coinbase' | 'tenure_change' }>;

/**
 * The body of a user's transaction, with the parts that only the raw transaction has.
 * @param functionArgs null if they must be read from the raw transaction
 */
function userBodyWithParts(body: UserBody, raw: Uint8Array, functionArgs: Uint8Array | null, include: Include) {
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
