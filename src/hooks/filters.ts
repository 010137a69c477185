/**
 * The filters of a chainhook: which there are, what each may say, and what it means for matching.
 *
 * The published schemas leave filters open, so that a mistyped parameter there matches everything. Here they are closed.
 */
import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { ChainEvent, ChainTransaction, TransactionStatus } from '../chain/block.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { clarityRepr } from '../codec/clarity-repr.ts';
import { toHex } from '../codec/hex.ts';
import { tenureChangeCauses } from '../codec/payload.ts';
import type { IndexKey } from '../store/hooks/candidates.ts';

const ADDRESS = '[0-9A-HJKMNP-TV-Z]{28,41}';
// The rules of Clarity, which are wider than those of the published schemas: such contracts and assets exist.
const CONTRACT_NAME = '[a-zA-Z][a-zA-Z0-9_-]{0,127}';
const ASSET_NAME = '[a-zA-Z][a-zA-Z0-9_!?+<>=/*-]{0,127}';

const Principal = Type.String({
  pattern: `^${ADDRESS}(\\.${CONTRACT_NAME})?$`,
  description: 'Standard address or contract identifier',
});
const Contract = Type.String({ pattern: `^${ADDRESS}\\.${CONTRACT_NAME}$`, description: 'Contract identifier' });
const Asset = Type.String({
  pattern: `^${ADDRESS}\\.${CONTRACT_NAME}::${ASSET_NAME}$`,
  description: 'Asset identifier: `CONTRACT::asset`',
});
const Amount = Type.String({
  pattern: '^[0-9]{1,39}$',
  description: 'Minimum amount, in micro-STX or base units of the token',
});
const NftValue = Type.Union(
  [Type.Integer(), Type.String({ pattern: '^(u[0-9]{1,39}|-?[0-9]{1,39}|0x([0-9a-fA-F]{2})+)$' })],
  {
    description:
      'An integer, its digits as text, u and digits for an unsigned one, or 0x and a serialized Clarity value',
  },
);
const statusWords = ['success', 'abort_by_response', 'abort_by_post_condition', 'problematic_skipped'] as const;
const Statuses = Type.Array(Type.Union(statusWords.map((word) => Type.Literal(word))), {
  minItems: 1,
  uniqueItems: true,
});

const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const sender = { sender: optional(Principal) };
const receiver = { receiver: optional(Principal), recipient: optional(Principal) };
const amount = { min_amount: optional(Amount) };
const ft = { asset_identifier: optional(Asset) };
const nft = { asset_identifier: optional(Asset), value: optional(NftValue) };

const filter = <const T extends string, P extends TProperties>(type: T, parameters: P) =>
  Type.Object({ type: Type.Literal(type), ...parameters }, { additionalProperties: false });

/** Each filter by its `type`. */
export const filterSchemas = {
  balance_change: filter('balance_change', { principal: Principal }),
  stx_event: filter('stx_event', {}),
  stx_transfer: filter('stx_transfer', { ...sender, ...receiver, ...amount }),
  stx_mint: filter('stx_mint', { ...receiver, ...amount }),
  stx_burn: filter('stx_burn', { ...sender, ...amount }),
  ft_event: filter('ft_event', ft),
  ft_transfer: filter('ft_transfer', { ...ft, ...sender, ...receiver, ...amount }),
  ft_mint: filter('ft_mint', { ...ft, ...receiver, ...amount }),
  ft_burn: filter('ft_burn', { ...ft, ...sender, ...amount }),
  nft_event: filter('nft_event', nft),
  nft_transfer: filter('nft_transfer', { ...nft, ...sender, ...receiver }),
  nft_mint: filter('nft_mint', { ...nft, ...receiver }),
  nft_burn: filter('nft_burn', { ...nft, ...sender }),
  contract_deploy: filter('contract_deploy', {
    contract_identifier: optional(Contract),
    ...sender,
    status: optional(Statuses),
  }),
  contract_call: filter('contract_call', {
    contract_identifier: optional(Contract),
    function_name: optional(Type.String({ minLength: 1, maxLength: 128 })),
    ...sender,
    status: optional(Statuses),
  }),
  contract_log: filter('contract_log', {
    contract_identifier: optional(Contract),
    ...sender,
    topic: optional(Type.String({ minLength: 1, maxLength: 128 })),
    contains: optional(
      Type.String({
        minLength: 1,
        maxLength: 1000,
        description: 'Text that the readable form of the value must contain',
      }),
    ),
  }),
  coinbase: filter('coinbase', {}),
  tenure_change: filter('tenure_change', {
    cause: optional(Type.Union(tenureChangeCauses.map((cause) => Type.Literal(cause)))),
  }),
} as const;

/** The name of a filter, such as `ft_transfer`. */
export type FilterType = keyof typeof filterSchemas;
export type Filter = { [T in FilterType]: Static<(typeof filterSchemas)[T]> }[FilterType];

/** Whether a word names a filter. */
export const isFilterType = (word: string): word is FilterType => Object.hasOwn(filterSchemas, word);

/** Filters of the generation before, and what says the same now. */
export const formerFilters: Readonly<Record<string, FilterType>> = {
  print_event: 'contract_log',
  contract_deployment: 'contract_deploy',
};

/** What can't be decided by the indexed values of an event or transaction. */
export type Residual = (transaction: ChainTransaction, event: ChainEvent | null) => boolean;

/**
 * A filter as it is matched: all of `exact` must hold of one event or transaction, and the residual. A filter may stand
 * for several, of which one must match.
 */
export interface Condition {
  type: FilterType;
  /** Parameter and the value it must have, in the order of {@link filterSchemas}. */
  exact: readonly (readonly [parameter: string, value: string])[];
  residual: Residual | null;
}

/** The serialized values that an NFT `value` stands for, in hex. An integer is signed or not, `u1` is not. */
function nftValues(value: number | string): string[] {
  const text = String(value);
  if (text.startsWith('0x')) return [text.toLowerCase()];
  const unsigned = text.startsWith('u');
  const id = BigInt(unsigned ? text.slice(1) : text);
  const values: Uint8Array[] = [];
  if (id >= 0n && id < 2n ** 128n) values.push(clarity.uint(id));
  if (!unsigned && id < 2n ** 127n && id >= -(2n ** 127n)) values.push(clarity.int(id));
  return values.map(toHex);
}

/** `extended` stands for every kind of extension: the others have no word in the published schema. */
const causesOf = (cause: string): readonly string[] => (cause === 'extended' ? tenureChangeCauses.slice(1) : [cause]);

const amountOf = (event: ChainEvent | null): bigint =>
  event !== null && 'amount' in event ? BigInt(event.amount) : 0n;

function residualOf(filter: Filter): Residual | null {
  if ('min_amount' in filter && filter.min_amount !== undefined) {
    const least = BigInt(filter.min_amount);
    return (_transaction, event) => amountOf(event) >= least;
  }
  if ('status' in filter && filter.status !== undefined) {
    const statuses = new Set<TransactionStatus>(filter.status);
    return ({ status }) => statuses.has(status);
  }
  if (filter.type === 'contract_log' && filter.contains !== undefined) {
    const { contains } = filter;
    return (_transaction, event) => event?.kind === 'contract_log' && clarityRepr(event.value).includes(contains);
  }
  return null;
}

/** Parameters that an index can hold. */
const indexed = ['principal', 'contract_identifier', 'function_name', 'asset_identifier', 'topic', 'sender'] as const;

/** What a filter means; more than one condition where a parameter stands for several values, none where for none. */
export function conditionsOf(filter: Filter): Condition[] {
  const given: Readonly<Record<string, unknown>> = filter;
  const exact: [string, string][] = [];
  for (const name of indexed) {
    const value = given[name];
    if (typeof value === 'string') exact.push([name, value]);
  }
  const to = given.receiver ?? given.recipient;
  if (typeof to === 'string') exact.push(['receiver', to]);
  const residual = residualOf(filter);
  const condition = (...more: [string, string][]): Condition => ({
    type: filter.type,
    exact: [...exact, ...more],
    residual,
  });
  if ('value' in filter && filter.value !== undefined)
    return nftValues(filter.value).map((value) => condition(['value', value]));
  if (filter.type === 'tenure_change' && filter.cause !== undefined)
    return causesOf(filter.cause).map((cause) => condition(['cause', cause]));
  return [condition()];
}

/**
 * The index key by which the blocks that may match are found: a principal that every match of the condition involves, null
 * where any block may match. Events that a contract logs involve it only as their emitter.
 */
export function indexKeyOf({ type, exact }: Condition): IndexKey | null {
  const values = new Map(exact);
  const contract = values.get('contract_identifier');
  if (type === 'contract_log' && contract !== undefined) return { kind: 'logs', principal: contract };
  const principal = values.get('principal') ?? contract ?? values.get('sender') ?? values.get('receiver');
  return principal === undefined ? null : { kind: 'principal', principal };
}
