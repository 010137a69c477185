/** Transactions as v3 shows them: mined and pending, in lists and alone. */
import { type TProperties, Type } from '@sinclair/typebox';
import { MaybeWritten } from '../../../http/json.ts';
import { poisonMicroblock } from '../../shared/schemas/poison-microblock.ts';
import { PostConditions } from '../../shared/schemas/post-condition.ts';
import { executedStatuses, waitingStatuses } from '../../shared/schemas/status.ts';
import { tenureChange, tenureChangeCause } from '../../shared/schemas/tenure-change.ts';
import {
  Amount,
  ClarityPair,
  Hash,
  Height,
  Hex,
  Memo,
  nullable,
  Principal,
  Uint64,
  UnixTime,
} from '../../shared/schemas/values.ts';
import { BitcoinBlock, Block } from './place.ts';

const account = Type.Object({ address: Principal, nonce: Uint64 }, { $id: 'Account' });

const common = {
  tx_id: Hash,
  sender: account,
  sponsor: nullable(account),
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

const coinbase = Type.Object(
  {
    payload: Hex,
    alt_recipient: nullable(Principal),
    vrf_proof: nullable(Hex),
  },
  { $id: 'Coinbase' },
);

/** Whatever a transaction's body is shown as, the members it shares with others are the same. */
const transferOf = <T extends TProperties>(shared: T) =>
  Type.Object({ ...shared, type: Type.Literal('token_transfer'), token_transfer: transfer });
const bare = <T extends TProperties, const W extends string>(shared: T, type: W) =>
  Type.Object({ ...shared, type: Type.Literal(type) });

const summary = { ...common, ...place };
export const TransactionSummary = Type.Union(
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

/** A transaction of a list, which is kept as text. */
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
export const FullTransaction = Type.Union(
  [
    transferOf(full),
    Type.Object({ ...full, type: Type.Literal('smart_contract'), smart_contract: contractWithSource }),
    Type.Object({ ...full, type: Type.Literal('contract_call'), contract_call: callWithArguments }),
    Type.Object({ ...full, type: Type.Literal('poison_microblock'), poison_microblock: poisonMicroblock }),
    Type.Object({ ...full, type: Type.Literal('coinbase'), coinbase }),
    Type.Object({ ...full, type: Type.Literal('tenure_change'), tenure_change: tenureChange }),
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
export const FullPending = Type.Union(
  [
    transferOf(fullPending),
    Type.Object({ ...fullPending, type: Type.Literal('smart_contract'), smart_contract: contractWithSource }),
    Type.Object({ ...fullPending, type: Type.Literal('contract_call'), contract_call: callWithArguments }),
    Type.Object({ ...fullPending, type: Type.Literal('poison_microblock'), poison_microblock: poisonMicroblock }),
    bare(fullPending, 'coinbase'),
    bare(fullPending, 'tenure_change'),
    bare(fullPending, 'unknown'),
  ],
  { $id: 'MempoolTransaction' },
);

/** A transaction alone. A mined one without the parts that must be asked for is kept as text. */
export const FoundTransaction = Type.Union([MaybeWritten(FullTransaction), FullPending], { $id: 'FoundTransaction' });
