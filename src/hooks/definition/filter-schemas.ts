/**
 * The schemas of filters: their types and parameters. The console's editor makes its form from them.
 *
 * Unlike the published schemas, these refuse unknown parameters: a filter with a mistyped parameter would match everything.
 */
import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { PATTERNS, RULES } from '../../api/shared/identifiers.ts';
import { tenureChangeCauses } from '../../codec/payload.ts';

const Principal = Type.String({
  $id: 'PrincipalFilter',
  pattern: PATTERNS.principal,
  rule: RULES.principal,
  description: 'Standard address or contract identifier',
});
const Contract = Type.String({
  $id: 'ContractFilter',
  pattern: PATTERNS.contract,
  rule: RULES.contract,
  description: 'Contract identifier',
});
const Asset = Type.String({
  $id: 'AssetFilter',
  pattern: PATTERNS.asset,
  rule: RULES.asset,
  description: 'Asset identifier: `CONTRACT::asset`',
});
const Amount = Type.String({
  $id: 'MinimumAmount',
  pattern: '^[0-9]{1,39}$',
  rule: 'a whole number of at most 39 digits, as text',
  description: 'Minimum amount, in micro-STX or base units of the token',
});
const NftValue = Type.Union(
  [Type.Integer(), Type.String({ pattern: '^(u[0-9]{1,39}|-?[0-9]{1,39}|0x([0-9a-fA-F]{2})+)$' })],
  {
    $id: 'NftValueFilter',
    rule: 'an integer, its digits as text, u and digits, or 0x and the hexadecimal digits of a serialized Clarity value',
    description:
      'An integer, its digits as text, u and digits for an unsigned one, or 0x and a serialized Clarity value',
  },
);
const memo = {
  memo: Type.Optional(
    Type.Object(
      {
        equals: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 70,
            description: 'The whole memo: its readable text, or 0x and its hexadecimal digits',
          }),
        ),
        contains: Type.Optional(
          Type.String({ minLength: 1, maxLength: 34, description: 'Text that the readable memo must contain' }),
        ),
      },
      { $id: 'MemoFilter', additionalProperties: false, minProperties: 1, rule: 'an object with equals or contains' },
    ),
  ),
};
const argument = {
  argument: Type.Optional(
    Type.Object(
      {
        index: Type.Integer({ minimum: 0, maximum: 255, description: 'Position of the argument, from 0' }),
        equals: Type.String({
          minLength: 1,
          maxLength: 1000,
          description: 'Its value: the `repr`, a plain integer or text, or 0x and the serialized Clarity value',
        }),
      },
      { $id: 'ArgumentFilter', additionalProperties: false },
    ),
  ),
};
const statusWords = ['success', 'abort_by_response', 'abort_by_post_condition', 'problematic_skipped'] as const;
const Statuses = Type.Array(Type.Union(statusWords.map((word) => Type.Literal(word))), {
  $id: 'StatusFilter',
  minItems: 1,
  uniqueItems: true,
});

const sender = { sender: Type.Optional(Principal) };
const receiver = { receiver: Type.Optional(Principal), recipient: Type.Optional(Principal) };
const amount = { min_amount: Type.Optional(Amount) };
const ft = { asset_identifier: Type.Optional(Asset) };
const nft = { asset_identifier: Type.Optional(Asset), value: Type.Optional(NftValue) };

/** @param matches describes the matches of the filter, if its name isn't clear */
const filter = <const T extends string, P extends TProperties>(type: T, parameters: P, matches?: string) =>
  Type.Object(
    { type: Type.Literal(type), ...parameters },
    { additionalProperties: false, ...(matches === undefined ? {} : { description: matches }) },
  );

export const filterSchemas = {
  balance_change: filter(
    'balance_change',
    { principal: Principal },
    'The principal is a party of an asset event, or pays a fee',
  ),
  stx_event: filter('stx_event', {}, 'Any transfer, mint or burn of STX'),
  stx_transfer: filter('stx_transfer', { ...sender, ...receiver, ...amount, ...memo }),
  stx_mint: filter('stx_mint', { ...receiver, ...amount }),
  stx_burn: filter('stx_burn', { ...sender, ...amount }),
  ft_event: filter('ft_event', ft, 'Any transfer, mint or burn of a fungible token'),
  ft_transfer: filter('ft_transfer', { ...ft, ...sender, ...receiver, ...amount }),
  ft_mint: filter('ft_mint', { ...ft, ...receiver, ...amount }),
  ft_burn: filter('ft_burn', { ...ft, ...sender, ...amount }),
  nft_event: filter('nft_event', nft, 'Any transfer, mint or burn of a non-fungible token'),
  nft_transfer: filter('nft_transfer', { ...nft, ...sender, ...receiver }),
  nft_mint: filter('nft_mint', { ...nft, ...receiver }),
  nft_burn: filter('nft_burn', { ...nft, ...sender }),
  contract_deploy: filter(
    'contract_deploy',
    { contract_identifier: Type.Optional(Contract), ...sender, status: Type.Optional(Statuses) },
    'Deployments, failed ones included',
  ),
  contract_call: filter(
    'contract_call',
    {
      contract_identifier: Type.Optional(Contract),
      function_name: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
      ...argument,
      ...sender,
      status: Type.Optional(Statuses),
    },
    'Calls by transactions, failed ones included; not calls between contracts',
  ),
  contract_log: filter(
    'contract_log',
    {
      contract_identifier: Type.Optional(Contract),
      ...sender,
      topic: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
      contains: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1000,
          description:
            'Text that the `repr` of the value must contain; characters of strings may be written as they are, without escapes',
        }),
      ),
    },
    'Prints, including those of contracts that another contract calls',
  ),
  coinbase: filter('coinbase', {}),
  tenure_change: filter(
    'tenure_change',
    { cause: Type.Optional(Type.Union(tenureChangeCauses.map((cause) => Type.Literal(cause)))) },
    '`extended` matches any extension, `extended_runtime` and the like one kind',
  ),
} as const;

/** The name of a filter, such as `ft_transfer`. */
export type FilterType = keyof typeof filterSchemas;
export type FilterOf<T extends FilterType> = Static<(typeof filterSchemas)[T]>;
export type Filter = { [T in FilterType]: FilterOf<T> }[FilterType];

/** Whether a word is the name of a filter. */
export const isFilterType = (word: string): word is FilterType => Object.hasOwn(filterSchemas, word);

/** Filters of the earlier version of chainhooks, and their names now. */
export const formerFilters: ReadonlyMap<unknown, FilterType> = new Map([
  ['print_event', 'contract_log'],
  ['contract_deployment', 'contract_deploy'],
]);
