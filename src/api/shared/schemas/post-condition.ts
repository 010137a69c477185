import { Type } from '@sinclair/typebox';
import { Amount, ClarityPair, Hex, words } from './values.ts';

const principal = Type.Union(
  [
    Type.Object({ type_id: Type.Literal('principal_origin') }, { $id: 'OriginPrincipal' }),
    Type.Object({ type_id: Type.Literal('principal_standard'), address: Type.String() }, { $id: 'StandardPrincipal' }),
    Type.Object(
      {
        type_id: Type.Literal('principal_contract'),
        contract_name: Type.String(),
        address: Type.String(),
      },
      { $id: 'ContractPrincipal' },
    ),
  ],
  { $id: 'PostConditionPrincipal' },
);

const asset = Type.Object(
  {
    contract_name: Type.String(),
    asset_name: Type.String(),
    contract_address: Type.String(),
  },
  { $id: 'PostConditionAsset' },
);

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
          'A condition of a kind that this version does not know, with all that follows it in the transaction',
      },
    ),
  ],
  { $id: 'PostCondition' },
);

export const PostConditions = Type.Array(PostCondition);
