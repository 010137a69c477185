/** Transactions as v1 and v2 return them: flat objects, mined or pending, in lists and as single transactions. */

import { type Static, Type } from '@sinclair/typebox';
import { exactNumber } from '../../base/json.ts';
import { ANCHORED_SEQUENCE } from '../../chain/block.ts';
import { functionSignature, typedArguments } from '../../codec/abi.ts';
import { decodedOrThrow } from '../../codec/bytes-reader.ts';
import { toHex } from '../../codec/hex.ts';
import { type DecodedConditions, decodePostConditions } from '../../codec/post-conditions.ts';
import { decodedTransaction, payloadOf } from '../../codec/transaction.ts';
import { jsonText, MaybeSerialized, type Serialized, serializedLazily, serializedRow } from '../../http/json.ts';
import type { DeclaredFunctions } from '../../store/model/contract.ts';
import type {
  FoundInForks,
  PendingTransactionDetail,
  TransactionEvent as StoredTransactionEvent,
  SummaryPayload,
  TransactionDetail,
} from '../../store/model/transaction.ts';
import type { ItemsOf } from '../../store/queries/row-texts.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { TransactionEvent, transactionEvent } from './event.ts';
import {
  Amount,
  ClarityPair,
  clarity,
  costFields,
  fields,
  Hash,
  Height,
  Hex,
  IsoTime,
  isoTime,
  named,
  nullable,
  OptionalTime,
  object,
  Principal,
  timeText,
  Uint64,
  UnixTime,
  variants,
  words,
} from './fields.ts';
import {
  type ByType,
  executedStatuses,
  fromRaw,
  type Of,
  type PayloadOf,
  PostConditions,
  poisonMicroblock,
  tenureChange,
  typeField,
  type Whole,
  waitingStatuses,
} from './transaction-parts.ts';

interface TransactionContext {
  declarations: Declarations;
  withoutArguments?: boolean;
  /** Events of the transaction, in order; undefined in lists. */
  events?: readonly StoredTransactionEvent[];
}

/** A context with the parts of the transaction that several fields need. */
interface ParsedContext extends TransactionContext {
  conditions: DecodedConditions;
  anchorMode: number;
}

const common = fields<TransactionDetail | PendingTransactionDetail, [ParsedContext]>()({
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  nonce: [Uint64, ({ sender }) => exactNumber(sender.nonce)],
  fee_rate: [
    Type.String({ pattern: '^[0-9]+$', description: 'Total fee in micro-STX, not a rate despite the name' }),
    ({ fee }) => fee,
  ],
  sender_address: [Principal, ({ sender }) => sender.address],
  sponsored: [Type.Boolean(), ({ sponsor }) => sponsor !== null],
  sponsor_address: [Type.Optional(Principal), ({ sponsor }) => sponsor?.address],
  sponsor_nonce: [Type.Optional(Uint64), ({ sponsor }) => (sponsor === null ? undefined : exactNumber(sponsor.nonce))],
  post_condition_mode: [words('allow', 'deny', 'originator', 'unknown'), (_, { conditions }) => conditions.mode],
  post_conditions: [PostConditions, (_, { conditions }) => conditions.postConditions],
  anchor_mode: [
    words('on_chain_only', 'off_chain_only', 'any', 'unknown'),
    (_, { anchorMode }) => anchorModes[anchorMode] ?? 'unknown',
  ],
});

const anchorModes: Readonly<Record<number, 'on_chain_only' | 'off_chain_only' | 'any'>> = {
  1: 'on_chain_only',
  2: 'off_chain_only',
  3: 'any',
};

/** Returns the time of the block in Unix seconds. Blocks of Stacks 2 have the time of their Bitcoin block. */
const timeOf = ({ block, burnBlock }: TransactionDetail): number => (block.time === 0 ? burnBlock.time : block.time);

const mined = fields<TransactionDetail, [ParsedContext]>()({
  ...common,
  is_unanchored: [
    Type.Boolean({
      description: 'Whether the transaction is in a microblock that no block has confirmed yet (Stacks 2.x)',
    }),
    () => false,
  ],
  block_hash: [Hex, ({ block }) => toHex(block.hash)],
  parent_block_hash: [Hex, ({ parentBlock }) => toHex(parentBlock.hash)],
  block_height: [Height, ({ block }) => block.height],
  block_time: [UnixTime, timeOf],
  block_time_iso: [OptionalTime, (detail) => timeText(timeOf(detail))],
  burn_block_height: [
    Type.Integer({ description: 'Height of the Bitcoin block; -1 while no block has confirmed the transaction' }),
    ({ burnBlock }) => burnBlock.height,
  ],
  burn_block_time: [UnixTime, ({ burnBlock }) => burnBlock.time],
  burn_block_time_iso: [OptionalTime, ({ burnBlock }) => timeText(burnBlock.time)],
  parent_burn_block_time: [UnixTime, ({ parentBurnBlockTime }) => parentBurnBlockTime ?? 0],
  parent_burn_block_time_iso: [OptionalTime, ({ parentBurnBlockTime }) => timeText(parentBurnBlockTime ?? 0)],
  canonical: [Type.Boolean(), ({ canonical }) => canonical],
  tx_index: [Type.Integer(), ({ txIndex }) => txIndex],
  tx_status: [executedStatuses, ({ status }) => status],
  tx_result: [ClarityPair, ({ result }) => clarity(result)],
  microblock_hash: [Hex, ({ microblock }) => (microblock === null ? '0x' : toHex(microblock.hash))],
  microblock_sequence: [Type.Integer(), ({ microblock }) => microblock?.sequence ?? ANCHORED_SEQUENCE],
  microblock_canonical: [Type.Boolean(), () => true],
  event_count: [Type.Integer({ minimum: 0 }), ({ eventCount }) => eventCount],
  events: [
    Type.Array(MaybeSerialized(TransactionEvent), { description: 'Events of the transaction; always empty in lists' }),
    ({ txId }, { events = [] }) => serializedLazily(events, (event) => transactionEvent(event, txId)),
  ],
  ...costFields,
  vm_error: [nullable(Type.String()), ({ vmError }) => vmError],
});

const waiting = fields<PendingTransactionDetail, [ParsedContext]>()({
  ...common,
  tx_status: [waitingStatuses, ({ status }) => status],
  replaced_by_tx_id: [nullable(Hash), ({ replacedByTxId }) => (replacedByTxId === null ? null : toHex(replacedByTxId))],
  receipt_time: [UnixTime, ({ receiptTime }) => receiptTime],
  receipt_time_iso: [IsoTime, ({ receiptTime }) => isoTime(receiptTime)],
});

const FunctionArgument = named('FunctionArgument', {
  hex: Hex,
  repr: Type.String(),
  name: Type.String({ description: 'Name of the argument; empty if the contract does not declare it' }),
  type: Type.String(),
});

const declaredFunction = ({ payload }: Of<'contract_call'>, { declarations }: TransactionContext) =>
  declarations.get(payload.contractId)?.functions.get(payload.functionName);

const kinds = {
  token_transfer: {
    token_transfer: object<Of<'token_transfer'>>('TokenTransferV1')({
      recipient_address: [Principal, ({ payload }) => payload.recipient],
      amount: [Amount, ({ payload }) => payload.amount],
      memo: [Hex, ({ payload }) => (payload.memo === null ? '0x' : toHex(payload.memo))],
    }),
  },
  smart_contract: {
    smart_contract: object<Whole<'smart_contract'>>('ContractDeploymentV1')({
      clarity_version: [nullable(Type.Integer()), ({ payload }) => payload.clarityVersion],
      contract_id: [Type.String(), ({ payload }) => payload.contractId],
      source_code: [Type.String(), ({ raw, payload }) => payloadOf(raw, payload.type).source],
    }),
  },
  contract_call: {
    contract_call: object<Whole<'contract_call'>, [TransactionContext]>('ContractCallV1')({
      contract_id: [Type.String(), ({ payload }) => payload.contractId],
      function_name: [Type.String(), ({ payload }) => payload.functionName],
      function_signature: [
        Type.String({ description: 'Signature of the function; empty if the contract does not declare it' }),
        (call, context) => {
          const declaration = declaredFunction(call, context);
          return declaration === undefined ? '' : functionSignature(declaration);
        },
      ],
      function_args: [
        Type.Optional(Type.Array(FunctionArgument)),
        (call, context) => {
          if (context.withoutArguments) return undefined;
          const args = call.functionArgs ?? payloadOf(call.raw, call.payload.type).functionArgs;
          return typedArguments(args, declaredFunction(call, context));
        },
      ],
    }),
  },
  poison_microblock: { poison_microblock: poisonMicroblock },
  coinbase: {
    coinbase_payload: fromRaw(
      'coinbase',
      object<PayloadOf<'coinbase'>>('CoinbasePayload')({
        data: [Hex, ({ data }) => toHex(data)],
        alt_recipient: [nullable(Principal), ({ altRecipient }) => altRecipient],
        vrf_proof: [Type.Optional(Hex), ({ vrfProof }) => (vrfProof === null ? undefined : toHex(vrfProof))],
      }),
    ),
  },
  tenure_change: { tenure_change_payload: tenureChange },
  unknown: {},
};
const description = "The type is `unknown` if this version can't read the transaction, because its node is newer";

export const typeWords = Object.keys(kinds) as (keyof typeof kinds)[];

const [Transaction, serializedMined] = variants<TransactionDetail, ByType<TransactionDetail>, [ParsedContext]>({
  $id: 'TransactionV1',
  description,
})(typeField('tx_type'), mined, kinds);
const [MempoolTransaction, serializedPending] = variants<
  PendingTransactionDetail,
  ByType<PendingTransactionDetail>,
  [ParsedContext]
>({ $id: 'MempoolTransactionV1', description })(typeField('tx_type'), waiting, kinds);

export { MempoolTransaction, Transaction };

export const FoundTransaction = Type.Union([Transaction, MempoolTransaction], { $id: 'FoundTransactionV1' });

/**
 * Reads the declared functions of all contracts that the transactions call, in any fork. The map has no entry for unknown
 * contracts.
 */
export function declarationsFor(read: Reader, transactions: readonly { payload: SummaryPayload }[]): Declarations {
  const functionsOfContract = new Map<string, DeclaredFunctions>();
  const contracts = new Set<string>();
  for (const { payload } of transactions) {
    if (payload.type !== 'contract_call' || contracts.has(payload.contractId)) continue;
    contracts.add(payload.contractId);
    const functions = read.contracts.functionsInForks(payload.contractId);
    if (functions !== undefined) functionsOfContract.set(payload.contractId, functions);
  }
  return functionsOfContract;
}

/** Declared functions of called contracts, by contract identifier. */
export type Declarations = ReadonlyMap<string, DeclaredFunctions>;

const parseContext = (postConditions: Uint8Array, anchorMode: number, context: TransactionContext): ParsedContext => ({
  ...context,
  conditions: decodedOrThrow(decodePostConditions(postConditions)),
  anchorMode,
});

/** A transaction of a block as v1 and v2 return it. */
export const transaction = (detail: TransactionDetail, context: TransactionContext): Static<typeof Transaction> =>
  serializedMined(detail, parseContext(detail.postConditions, detail.anchorMode, context));

/**
 * Serializes canonical transactions, with a cache of their texts.
 * @param withoutArguments whether arguments of calls are left out
 * @param eventLimit how many of the first events to include; lists have no events
 */
export const transactionRows =
  (
    read: Reader,
    withoutArguments = false,
    eventLimit?: number,
  ): ItemsOf<TransactionDetail, Serialized<Static<typeof Transaction>>> =>
  (rows) => {
    const listed = rows.listed(`transaction ${withoutArguments} ${eventLimit}`);
    const models = listed.flatMap((row) => (typeof row === 'string' ? [] : [row.model]));
    const declarations = declarationsFor(read, models);

    /** Whether only a fork changes the text. A contract may be deployed after a call that failed because of its absence. */
    function isFinal({ payload, block }: TransactionDetail): boolean {
      if (payload.type !== 'contract_call') return true;
      const height = declarations.get(payload.contractId)?.height ?? null;
      return height !== null && height <= block.height;
    }
    return listed.map((row) => {
      if (typeof row === 'string') return jsonText(row);
      // Rows are serialized when the snapshot has ended, so everything is read now.
      const events = eventLimit === undefined ? {} : { events: read.events.page(row.model.txId, eventLimit, 0) };
      return serializedRow(isFinal(row.model) ? row : { ...row, cache: () => {} }, (detail) =>
        transaction(detail, { declarations, withoutArguments, ...events }),
      );
    });
  };

/** A transaction that is pending, or was dropped from the mempool, as v1 and v2 return it. */
export function mempoolTransaction(
  detail: PendingTransactionDetail,
  context: TransactionContext,
): Static<typeof MempoolTransaction> {
  const { postConditions, anchorMode } = decodedTransaction(detail.raw);
  return serializedPending(detail, parseContext(postConditions, anchorMode, context));
}

/** A transaction of any fork, or one that is pending or was dropped, as v1 and v2 return it. */
export function foundTransaction(
  read: Reader,
  inForks: FoundInForks,
  more: Omit<TransactionContext, 'declarations'> = {},
): Static<typeof FoundTransaction> {
  const context = { ...more, declarations: declarationsFor(read, [inForks.transaction]) };
  return inForks.mined ? transaction(inForks.transaction, context) : mempoolTransaction(inForks.transaction, context);
}
