/** Parts of transactions in all versions of the API: statuses, post-conditions, tenure changes, poison microblocks. */

import { type TSchema, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { type Payload, tenureChangeCauses } from '../../codec/payload.ts';
import { payloadOf } from '../../codec/transaction.ts';
import type { SummaryPayload } from '../../store/model/transaction.ts';
import { Amount, ClarityPair, type Field, Hash, Hex, named, object, words } from './fields.ts';

/** Statuses of a mined transaction; `unknown` is a status of a newer node. */
export const Status = words(
  'success',
  'abort_by_response',
  'abort_by_post_condition',
  'problematic_skipped',
  'unknown',
);
export const executedStatuses = { ...Status, $id: 'TransactionStatus' };
/** Statuses of a pending or dropped transaction. */
export const waitingStatuses = {
  ...words(
    'pending',
    'dropped_replace_by_fee',
    'dropped_replace_across_fork',
    'dropped_too_expensive',
    'dropped_stale_garbage_collect',
    'dropped_problematic',
  ),
  $id: 'MempoolTransactionStatus',
};

export const tenureChangeCause = { ...words(...tenureChangeCauses), $id: 'TenureChangeCause' };

export interface Of<Type> {
  payload: Extract<SummaryPayload, { type: Type }>;
}

/** A transaction of one type with its bytes. Only a call made on Bitcoin has arguments outside of `raw`. */
export interface Whole<Type> extends Of<Type> {
  raw: Uint8Array;
  functionArgs?: Uint8Array | null;
}
/** A transaction of each type, as the fields of the type read it. */
export type ByType<Source extends { payload: SummaryPayload }> = {
  [T in SummaryPayload['type']]: Source & Of<T>;
};
/** The field with the type of a transaction, for {@link variants}. */
export const typeField = <const Tag extends string>(tag: Tag) =>
  [tag, ({ payload }: { payload: SummaryPayload }) => payload.type] as const;

export type PayloadOf<T> = Extract<Payload, { type: T }>;

/** A field that is in the payload of a raw transaction. */
export const fromRaw = <T extends Payload['type'], S extends TSchema>(
  type: T,
  [schema, value]: Field<S, PayloadOf<T>>,
): Field<S, { raw: Uint8Array }> => [schema, ({ raw }) => value(payloadOf(raw, type))];

const tenureChangePayload = object<PayloadOf<'tenure_change'>>('TenureChange')({
  tenure_consensus_hash: [Hex, ({ tenureConsensusHash }) => toHex(tenureConsensusHash)],
  prev_tenure_consensus_hash: [Hex, ({ prevTenureConsensusHash }) => toHex(prevTenureConsensusHash)],
  burn_view_consensus_hash: [Hex, ({ burnViewConsensusHash }) => toHex(burnViewConsensusHash)],
  previous_tenure_end: [Hash, ({ previousTenureEnd }) => toHex(previousTenureEnd)],
  previous_tenure_blocks: [Type.Integer(), ({ previousTenureBlocks }) => previousTenureBlocks],
  cause: [tenureChangeCause, ({ cause }) => cause],
  pubkey_hash: [Hex, ({ pubkeyHash }) => toHex(pubkeyHash)],
});
/** The fields of a tenure change, as every version of the API and chainhooks return them. */
export const tenureChangeFields = tenureChangePayload[1];
export const tenureChange = fromRaw('tenure_change', tenureChangePayload);

const poisonMicroblockPayload = object<PayloadOf<'poison_microblock'>>('PoisonMicroblock')({
  microblock_header_1: [Hex, ({ header1 }) => toHex(header1)],
  microblock_header_2: [Hex, ({ header2 }) => toHex(header2)],
});
/** The two microblock headers that conflict, as every version of the API and chainhooks return them. */
export const poisonMicroblockFields = poisonMicroblockPayload[1];
export const poisonMicroblock = fromRaw('poison_microblock', poisonMicroblockPayload);

const principal = Type.Union(
  [
    named('OriginPrincipal', { type_id: Type.Literal('principal_origin') }),
    named('StandardPrincipal', { type_id: Type.Literal('principal_standard'), address: Type.String() }),
    named('ContractPrincipal', {
      type_id: Type.Literal('principal_contract'),
      contract_name: Type.String(),
      address: Type.String(),
    }),
  ],
  { $id: 'PostConditionPrincipal' },
);

const asset = named('PostConditionAsset', {
  contract_name: Type.String(),
  asset_name: Type.String(),
  contract_address: Type.String(),
});

const amountCode = {
  ...words(
    'sent_equal_to',
    'sent_greater_than',
    'sent_greater_than_or_equal_to',
    'sent_less_than',
    'sent_less_than_or_equal_to',
  ),
  $id: 'SentCondition',
};

const PostCondition = Type.Union(
  [
    Type.Object({ type: words('stx', 'staking'), condition_code: amountCode, amount: Amount, principal }),
    Type.Object({ type: Type.Literal('fungible'), condition_code: amountCode, amount: Amount, principal, asset }),
    Type.Object({
      type: Type.Literal('non_fungible'),
      condition_code: words('sent', 'not_sent', 'maybe_sent'),
      principal,
      asset,
      asset_value: ClarityPair,
    }),
    Type.Object({
      type: Type.Literal('pox'),
      condition_code: words('not_performed', 'maybe_performed', 'performed'),
      principal,
    }),
    Type.Object(
      { type: Type.Literal('unknown'), hex: Hex },
      {
        description:
          'A condition of a kind that this version does not support, with everything after it in the transaction',
      },
    ),
  ],
  { $id: 'PostCondition' },
);

export const PostConditions = Type.Array(PostCondition);
