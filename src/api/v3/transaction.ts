/** Transactions as v3 returns them: mined and pending, single and in lists; and positions on the chain. */
import { Type } from '@sinclair/typebox';
import { exactNumber } from '../../base/json.ts';
import type { Signer } from '../../chain/block.ts';
import { decodedOrThrow } from '../../codec/bytes-reader.ts';
import { decodeArguments } from '../../codec/clarity.ts';
import { toHex } from '../../codec/hex.ts';
import { decodePostConditions } from '../../codec/post-conditions.ts';
import { decodedTransaction, payloadOf } from '../../codec/transaction.ts';
import { serializedRows } from '../../http/json.ts';
import type { MadeBy } from '../../store/model/staking.ts';
import type {
  PendingTransaction,
  PendingTransactionDetail,
  FoundTransaction as StoredFoundTransaction,
  TransactionSummary as StoredTransactionSummary,
  TransactionDetail,
  TransactionPosition,
} from '../../store/model/transaction.ts';
import {
  Amount,
  ClarityPair,
  CostObject,
  clarity,
  executionCost,
  fields,
  Hash,
  Height,
  Hex,
  Memo,
  memo,
  nullable,
  object,
  Principal,
  Uint64,
  UnixTime,
  variants,
} from '../shared/fields.ts';
import {
  type ByType,
  executedStatuses,
  fromRaw,
  type Of,
  type PayloadOf,
  PostConditions,
  poisonMicroblock,
  tenureChange,
  tenureChangeCause,
  typeField,
  type Whole,
  waitingStatuses,
} from '../shared/transaction-parts.ts';

export const [Block, block] = object<Omit<TransactionPosition, 'txId'>>('BlockPosition')({
  height: [Height, ({ block }) => block.height],
  hash: [Hash, ({ block }) => toHex(block.hash)],
  index_hash: [Hash, ({ block }) => toHex(block.indexHash)],
  time: [UnixTime, ({ block }) => block.time],
  tx_index: [Type.Integer(), ({ txIndex }) => txIndex],
});

const [BitcoinBlock, bitcoinBlock] = object<{ height: number; time: number }>('BitcoinBlock')({
  height: [Height, ({ height }) => height],
  time: [UnixTime, ({ time }) => time],
});

/** The transaction that made something, with its blocks. */
export const origin = fields<MadeBy>()({
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  block: [Block, block],
  bitcoin_block: [BitcoinBlock, ({ burnBlock }) => bitcoinBlock(burnBlock)],
});

const [Account, account] = object<Signer>('Account')({
  address: [Principal, ({ address }) => address],
  nonce: [Uint64, ({ nonce }) => exactNumber(nonce)],
});

const common = fields<StoredTransactionSummary | PendingTransaction>()({
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  sender: [Account, ({ sender }) => account(sender)],
  sponsor: [nullable(Account), ({ sponsor }) => (sponsor === null ? null : account(sponsor))],
  fee_rate: [Amount, ({ fee }) => fee],
});

const mined = fields<StoredTransactionSummary>()({
  ...common,
  block: [Block, block],
  bitcoin_block: [BitcoinBlock, ({ burnBlock }) => bitcoinBlock(burnBlock)],
  status: [executedStatuses, ({ status }) => status],
});

const pending = fields<PendingTransaction>()({
  ...common,
  receipt_time: [UnixTime, ({ receiptTime }) => receiptTime],
  receipt_block_height: [Height, ({ receiptBlockHeight }) => receiptBlockHeight],
  status: [waitingStatuses, ({ status }) => status],
});

const contract = fields<Of<'smart_contract'>>()({
  clarity_version: [nullable(Type.Integer()), ({ payload }) => payload.clarityVersion],
  contract_id: [Type.String(), ({ payload }) => payload.contractId],
});
const call = fields<Of<'contract_call'>>()({
  contract_id: [Type.String(), ({ payload }) => payload.contractId],
  function_name: [Type.String(), ({ payload }) => payload.functionName],
});

const kinds = {
  token_transfer: {
    token_transfer: object<Of<'token_transfer'>>('TokenTransfer')({
      recipient: [Principal, ({ payload }) => payload.recipient],
      amount: [Amount, ({ payload }) => payload.amount],
      memo: [nullable(Memo), ({ payload }) => memo(payload.memo)],
    }),
  },
  smart_contract: { smart_contract: object<Of<'smart_contract'>>('ContractDeploymentSummary')(contract) },
  contract_call: { contract_call: object<Of<'contract_call'>>('ContractCallSummary')(call) },
  poison_microblock: {},
  coinbase: {
    coinbase: object<Of<'coinbase'>>()({ alt_recipient: [nullable(Principal), ({ payload }) => payload.altRecipient] }),
  },
  tenure_change: {
    tenure_change: object<Of<'tenure_change'>>()({ cause: [tenureChangeCause, ({ payload }) => payload.cause] }),
  },
  unknown: {},
};
/** Pending transactions of these types only have the shared fields, since nobody broadcasts them. */
const onlyMined = { coinbase: {}, tenure_change: {} };

/** A transaction of a block as lists return it. */
export const [TransactionSummary, transactionSummary] = variants<
  StoredTransactionSummary,
  ByType<StoredTransactionSummary>
>('TransactionSummary')(typeField('type'), mined, kinds);

export const summaryRows = serializedRows('summary', transactionSummary);

/** A pending transaction as lists return it. The receipt time is in Unix seconds. */
export const [PendingSummary, pendingSummary] = variants<PendingTransaction, ByType<PendingTransaction>>(
  'MempoolTransactionSummary',
)(typeField('type'), pending, { ...kinds, ...onlyMined });

export const pendingRows = serializedRows('pending', pendingSummary);

/** Large parts that are returned only on request. A part that a transaction doesn't have is ignored. */
export const includable = ['function_args', 'source_code', 'post_conditions', 'result'] as const;
type Include = readonly (typeof includable)[number][];

const wholeKinds = {
  ...kinds,
  smart_contract: {
    smart_contract: object<Whole<'smart_contract'>, [Include]>('ContractDeployment')({
      ...contract,
      source_code: [
        Type.Optional(Type.String()),
        ({ raw, payload }, include) =>
          include.includes('source_code') ? payloadOf(raw, payload.type).source : undefined,
      ],
    }),
  },
  contract_call: {
    contract_call: object<Whole<'contract_call'>, [Include]>('ContractCall')({
      ...call,
      function_args: [
        Type.Optional(Type.Array(ClarityPair)),
        (detail, include) => (include.includes('function_args') ? argumentsOf(detail) : undefined),
      ],
    }),
  },
  poison_microblock: { poison_microblock: poisonMicroblock },
  coinbase: {
    coinbase: fromRaw(
      'coinbase',
      object<PayloadOf<'coinbase'>>('Coinbase')({
        payload: [Hex, ({ data }) => toHex(data)],
        alt_recipient: [nullable(Principal), ({ altRecipient }) => altRecipient],
        vrf_proof: [nullable(Hex), ({ vrfProof }) => (vrfProof === null ? null : toHex(vrfProof))],
      }),
    ),
  },
  tenure_change: { tenure_change: tenureChange },
};

const [ParentBlock, parentBlock] = object<TransactionDetail['parentBlock']>()({
  hash: [Hash, ({ hash }) => toHex(hash)],
  index_hash: [Hash, ({ indexHash }) => toHex(indexHash)],
});

const [FullTransaction, fullMined] = variants<TransactionDetail, ByType<TransactionDetail>, [Include]>('Transaction')(
  typeField('type'),
  {
    ...mined,
    parent_block: [ParentBlock, ({ parentBlock: parent }) => parentBlock(parent)],
    event_count: [Type.Integer(), ({ eventCount }) => eventCount],
    execution_cost: [CostObject, ({ cost }) => executionCost(cost)],
    vm_error: [nullable(Type.String()), ({ vmError }) => vmError],
  },
  wholeKinds,
  {
    post_conditions: [
      Type.Optional(PostConditions),
      ({ postConditions }, include) => includedConditions(include, () => postConditions),
    ],
    result: [
      Type.Optional(ClarityPair),
      ({ result }, include) => (include.includes('result') ? clarity(result) : undefined),
    ],
  },
);

/** A transaction that is pending or was dropped, with all its members. */
export const [FullPending, fullPending] = variants<
  PendingTransactionDetail,
  ByType<PendingTransactionDetail>,
  [Include]
>('MempoolTransaction')(
  typeField('type'),
  {
    ...pending,
    replaced_by_tx_id: [
      nullable(Hash),
      ({ replacedByTxId }) => (replacedByTxId === null ? null : toHex(replacedByTxId)),
    ],
  },
  { ...wholeKinds, ...onlyMined },
  {
    post_conditions: [
      Type.Optional(PostConditions),
      ({ raw }, include) => includedConditions(include, () => decodedTransaction(raw).postConditions),
    ],
  },
);

export const FoundTransaction = Type.Union([FullTransaction, FullPending], { $id: 'FoundTransaction' });

/** A transaction with all its members. @param include names of large members to return */
export function fullTransaction(transaction: StoredFoundTransaction, include: Include) {
  return transaction.mined
    ? fullMined(transaction.transaction, include)
    : fullPending(transaction.transaction, include);
}

/** Serializes canonical transactions without large members, with a cache of their texts. */
export const fullRows = serializedRows('full', (detail: TransactionDetail) => fullMined(detail, []));

function argumentsOf({ raw, functionArgs }: Whole<'contract_call'>) {
  const args = decodeArguments(functionArgs ?? payloadOf(raw, 'contract_call').functionArgs);
  return decodedOrThrow(args).map(clarity);
}

/** The post-conditions if they are to be included. @param conditions returns their bytes */
function includedConditions(include: Include, conditions: () => Uint8Array) {
  if (!include.includes('post_conditions')) return undefined;
  return decodedOrThrow(decodePostConditions(conditions())).postConditions;
}
