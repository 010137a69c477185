/** Transactions as v1 and v2 show them: one flat object, mined or waiting, in lists and alone. */
import { type TProperties, Type } from '@sinclair/typebox';
import { MaybeWritten } from '../../../http/json.ts';
import { TransactionEvent } from './event.ts';
import { poisonMicroblock } from './poison-microblock.ts';
import { PostConditions } from './post-condition.ts';
import { executedStatuses, waitingStatuses } from './status.ts';
import { tenureChange } from './tenure-change.ts';
import {
  Amount,
  ClarityPair,
  Hash,
  Height,
  Hex,
  IsoTime,
  nullable,
  OptionalTime,
  Principal,
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

export const FunctionArgument = Type.Object(
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
      Type.Object({ ...shared, tx_type: Type.Literal('poison_microblock'), poison_microblock: poisonMicroblock }),
      Type.Object({ ...shared, tx_type: Type.Literal('coinbase'), coinbase_payload: coinbasePayload }),
      Type.Object({ ...shared, tx_type: Type.Literal('tenure_change'), tenure_change_payload: tenureChange }),
      Type.Object(
        { ...shared, tx_type: Type.Literal('unknown') },
        { description: 'A transaction that this version can not read: its node is newer' },
      ),
    ],
    { $id },
  );

export const Transaction = kinds('TransactionV1', mined);
/** A transaction of a list, which is kept as text. */
export const ListedTransaction = MaybeWritten(Transaction);
export const MempoolTransaction = kinds('MempoolTransactionV1', waiting);

/** A transaction alone, wherever it is. */
export const FoundTransaction = Type.Union([Transaction, MempoolTransaction], { $id: 'FoundTransactionV1' });
