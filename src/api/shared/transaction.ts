/** Transactions as v1 and v2 return them: flat objects, mined or pending, in lists and alone. */

import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { memoizeByObject } from '../../base/cache.ts';
import { ANCHORED_SEQUENCE } from '../../chain/block.ts';
import { type AbiFunction, functionSignature, typedArguments } from '../../codec/abi.ts';
import { toHex } from '../../codec/hex.ts';
import { decodePostConditions } from '../../codec/post-conditions.ts';
import { decodedTransaction, payloadOf } from '../../codec/transaction.ts';
import { MaybeWritten, serializedLazily, type Written, written } from '../../http/json.ts';
import type { ContractFunctions } from '../../store/model/contract.ts';
import type {
  PendingTransactionDetail,
  TransactionEvent as StoredTransactionEvent,
  SummaryPayload,
  TransactionDetail,
} from '../../store/model/transaction.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { TransactionEvent, transactionEvent } from './event.ts';
import {
  executedStatuses,
  PoisonMicroblock,
  PostConditions,
  poisonMicroblock,
  TenureChange,
  tenureChange,
  waitingStatuses,
} from './transaction-parts.ts';
import {
  Amount,
  ClarityPair,
  clarity,
  exactNumber,
  Hash,
  Height,
  Hex,
  IsoTime,
  isoTime,
  nullable,
  OptionalTime,
  Principal,
  timeText,
  Uint64,
  UnixTime,
  words,
} from './values.ts';

export const typeWords = [
  'token_transfer',
  'smart_contract',
  'contract_call',
  'poison_microblock',
  'coinbase',
  'tenure_change',
  'unknown',
] as const;

const common = {
  tx_id: Hash,
  nonce: Uint64,
  fee_rate: Type.String({ pattern: '^[0-9]+$', description: 'Total fee in micro-STX; despite its name not a rate' }),
  sender_address: Principal,
  sponsored: Type.Boolean(),
  sponsor_address: Type.Optional(Principal),
  sponsor_nonce: Type.Optional(Uint64),
  post_condition_mode: words('allow', 'deny', 'originator', 'unknown'),
  post_conditions: PostConditions,
  anchor_mode: words('on_chain_only', 'off_chain_only', 'any', 'unknown'),
};

const mined = {
  ...common,
  is_unanchored: Type.Boolean({
    description: 'Whether the transaction is in a microblock that no block has confirmed yet (Stacks 2.x)',
  }),
  block_hash: Hex,
  parent_block_hash: Hex,
  block_height: Height,
  block_time: UnixTime,
  block_time_iso: OptionalTime,
  burn_block_height: Type.Integer({
    description: 'Height of the Bitcoin block; -1 while no block has confirmed the transaction',
  }),
  burn_block_time: UnixTime,
  burn_block_time_iso: OptionalTime,
  parent_burn_block_time: UnixTime,
  parent_burn_block_time_iso: OptionalTime,
  canonical: Type.Boolean(),
  tx_index: Type.Integer(),
  tx_status: executedStatuses,
  tx_result: ClarityPair,
  microblock_hash: Hex,
  microblock_sequence: Type.Integer(),
  microblock_canonical: Type.Boolean(),
  event_count: Type.Integer({ minimum: 0 }),
  events: Type.Array(MaybeWritten(TransactionEvent), {
    description: 'Events of the transaction; always empty in lists',
  }),
  execution_cost_read_count: Uint64,
  execution_cost_read_length: Uint64,
  execution_cost_runtime: Uint64,
  execution_cost_write_count: Uint64,
  execution_cost_write_length: Uint64,
  vm_error: nullable(Type.String()),
};

const waiting = {
  ...common,
  tx_status: waitingStatuses,
  replaced_by_tx_id: nullable(Hash),
  receipt_time: UnixTime,
  receipt_time_iso: IsoTime,
};

const FunctionArgument = Type.Object(
  {
    hex: Hex,
    repr: Type.String(),
    name: Type.String({ description: 'Name of the argument; empty if the contract does not declare it' }),
    type: Type.String(),
  },
  { $id: 'FunctionArgument' },
);

const coinbasePayload = Type.Object(
  {
    data: Hex,
    alt_recipient: nullable(Principal),
    vrf_proof: Type.Optional(Hex),
  },
  { $id: 'CoinbasePayload' },
);

const bodies = {
  token_transfer: Type.Object({ recipient_address: Principal, amount: Amount, memo: Hex }, { $id: 'TokenTransferV1' }),
  smart_contract: Type.Object(
    {
      clarity_version: nullable(Type.Integer()),
      contract_id: Type.String(),
      source_code: Type.String(),
    },
    { $id: 'ContractDeploymentV1' },
  ),
  contract_call: Type.Object(
    {
      contract_id: Type.String(),
      function_name: Type.String(),
      function_signature: Type.String({
        description: 'Signature of the function; empty if the contract does not declare it',
      }),
      function_args: Type.Optional(Type.Array(FunctionArgument)),
    },
    { $id: 'ContractCallV1' },
  ),
};

const kinds = <T extends TProperties>($id: string, shared: T) =>
  Type.Union(
    [
      Type.Object({ ...shared, tx_type: Type.Literal('token_transfer'), token_transfer: bodies.token_transfer }),
      Type.Object({ ...shared, tx_type: Type.Literal('smart_contract'), smart_contract: bodies.smart_contract }),
      Type.Object({ ...shared, tx_type: Type.Literal('contract_call'), contract_call: bodies.contract_call }),
      Type.Object({ ...shared, tx_type: Type.Literal('poison_microblock'), poison_microblock: PoisonMicroblock }),
      Type.Object({ ...shared, tx_type: Type.Literal('coinbase'), coinbase_payload: coinbasePayload }),
      Type.Object({ ...shared, tx_type: Type.Literal('tenure_change'), tenure_change_payload: TenureChange }),
      Type.Object(
        { ...shared, tx_type: Type.Literal('unknown') },
        { description: "A transaction that this version can't read: its node is newer" },
      ),
    ],
    { $id },
  );

export const Transaction = kinds('TransactionV1', mined);
/** A transaction of a list, which is cached as text. */
export const ListedTransaction = MaybeWritten(Transaction);
export const MempoolTransaction = kinds('MempoolTransactionV1', waiting);

/** A single transaction: mined, pending or dropped. */
export const FoundTransaction = Type.Union([Transaction, MempoolTransaction], { $id: 'FoundTransactionV1' });

/**
 * Reads the declared functions of all contracts that the transactions call. The map has no entry for unknown contracts.
 */
export function declarationsFor(read: Reader, transactions: readonly { payload: SummaryPayload }[]): Declarations {
  const found = new Map<string, ContractFunctions>();
  const asked = new Set<string>();
  for (const { payload } of transactions) {
    if (payload.type !== 'contract_call' || asked.has(payload.contractId)) continue;
    asked.add(payload.contractId);
    const functions = read.contracts.functions(payload.contractId);
    if (functions !== undefined) found.set(payload.contractId, functions);
  }
  return found;
}

/** Declared functions of called contracts, by contract identifier. */
export type Declarations = ReadonlyMap<string, ContractFunctions>;

interface TransactionContext {
  declarations: Declarations;
  /** Omits the arguments of calls. */
  withoutArguments?: boolean;
  /** Events of the transaction, in order; undefined in lists. */
  events?: readonly StoredTransactionEvent[];
}

/** Number of forms of a call: with or without the contract's declaration, with or without arguments. */
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
    is_unanchored: false,
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
    events: serializedLazily(context.events ?? [], (event) => transactionEvent(of.txId, event)),
    execution_cost_read_count: exactNumber(cost.readCount),
    execution_cost_read_length: exactNumber(cost.readLength),
    execution_cost_runtime: exactNumber(cost.runtime),
    execution_cost_write_count: exactNumber(cost.writeCount),
    execution_cost_write_length: exactNumber(cost.writeLength),
    vm_error: of.vmError,
    ...body(of.payload, of.raw, of.functionArgs, context),
  };
}

/** A serialized {@link transaction} of a list. */
interface Listed {
  declared: ContractFunctions | undefined;
  withoutArguments: boolean;
  text: Written<Static<typeof Transaction>>;
}

const formsOf = memoizeByObject((_: TransactionDetail): Listed[] => []);

/**
 * Serializes {@link transaction} without events, once for each cached transaction and form: the declaration of the called
 * contract, and whether arguments are included.
 */
export function listedTransaction(
  of: TransactionDetail,
  context: TransactionContext,
): Written<Static<typeof Transaction>> {
  const { payload } = of;
  const declared = payload.type === 'contract_call' ? context.declarations.get(payload.contractId) : undefined;
  const { withoutArguments = false } = context;
  const forms = formsOf(of);
  const known = forms.find((one) => one.declared === declared && one.withoutArguments === withoutArguments);
  if (known !== undefined) return known.text;
  const text = written(transaction(of, context));
  // After a new deployment of the contract, the older forms are not requested again.
  if (forms.length === MOST_FORMS) forms.length = 0;
  forms.push({ declared, withoutArguments, text });
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

/** The members for a time. @param time Unix seconds */

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

/** @param functionArgs of a call, null where they are in the raw transaction */
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
