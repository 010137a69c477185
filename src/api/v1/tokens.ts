/** Tokens of v1: holders, the history of non-fungible tokens, and the supply of STX. */

import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox';
import { decodeClarity } from '../../codec/clarity.ts';
import { fromHex, toHex } from '../../codec/hex.ts';
import { chainTip } from '../../http/etag.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage } from '../../http/pagination.ts';
import { InvalidValue } from '../../http/parameters.ts';
import { route } from '../../http/route.ts';
import type { HolderPage, NftEvent, NftHolding as StoredNftHolding } from '../../store/model/token.ts';
import type { TransactionDetail } from '../../store/model/transaction.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from '../shared/examples/examples.ts';
import {
  ClarityPair,
  clarity,
  type Field,
  fields,
  Hash,
  Height,
  named,
  nullable,
  object,
  Principal,
  SignedAmount,
  STX_IN_2050,
  words,
} from '../shared/fields.ts';
import { RULES } from '../shared/identifiers.ts';
import { LegacyPrincipal, NftAssetParameter, textParameter } from '../shared/parameters.ts';
import { type Declarations, declarationsFor, Transaction, transaction } from '../shared/transaction.ts';
import { untilQuery } from './heights.ts';

const Holder = named('HolderV1', { address: Principal, balance: SignedAmount });

const Holders = named('HolderListV1', {
  total_supply: Type.String({ description: 'Sum of all balances, in micro-STX or base units of the token' }),
  ...OffsetPage(Holder).properties,
});

/** An item with the transaction that moved it, if it was read, else with the transaction's id. */
function withTransaction<
  Source extends { txId: Uint8Array; transaction: TransactionDetail | null },
  P extends TProperties,
>($id: string, [schema, serialize]: Field<TObject<P>, Source>) {
  const { properties } = schema;
  const schemas = [
    named(`${$id}WithTxId`, { ...properties, tx_id: Hash }),
    named(`${$id}WithTransaction`, { ...properties, tx: Transaction }),
  ];
  const serializeItem = (row: Source, declarations: Declarations) => ({
    ...serialize(row),
    ...(row.transaction === null ? { tx_id: toHex(row.txId) } : { tx: transaction(row.transaction, { declarations }) }),
  });
  return [Type.Union(schemas, { $id }), serializeItem] as const;
}

const [NftHolding, nftHolding] = withTransaction(
  'NftHolding',
  object<StoredNftHolding>()({
    asset_identifier: [Type.String(), ({ asset }) => asset],
    value: [ClarityPair, ({ value }) => clarity(value)],
    block_height: [Height, ({ blockHeight }) => blockHeight],
  }),
);

const recipientAndIndex = fields<NftEvent>()({
  recipient: [Type.Optional(Principal), ({ event }) => event.recipient ?? undefined],
  event_index: [Type.Integer(), ({ event }) => event.index],
});

const [NftHistoryEvent, nftHistoryEvent] = withTransaction(
  'NftHistoryEvent',
  object<NftEvent>()({
    sender: [nullable(Principal), ({ event }) => event.sender],
    ...recipientAndIndex,
    asset_event_type: [words('transfer', 'mint', 'burn'), ({ event }) => event.action],
  }),
);

const [NftMint, nftMint] = withTransaction(
  'NftMintV1',
  object<NftEvent>()({ ...recipientAndIndex, value: [ClarityPair, ({ event }) => clarity(event.value)] }),
);

/** A page of a token's holders with the supply, in base units. */
const holders = (query: { limit: number; offset: number }, page: HolderPage): Static<typeof Holders> => ({
  total_supply: page.supply,
  ...offsetPage(query, page, ({ principal, balance }) => ({ address: principal, balance })),
});

const tag = 'Tokens';

const holderQuery = legacyOffsetQuery({ maximum: 200, default: 100 });
const nftQuery = {
  ...legacyOffsetQuery({ maximum: 200, default: 50 }),
  tx_metadata: Type.Boolean({
    default: false,
    description: 'Whether to return whole transactions instead of their ids',
  }),
};
const { unanchored } = untilQuery;

const ClarityValue = textParameter(clarityValue, toHex, {
  pattern: '^(0x)?([a-fA-F0-9]{2})+$',
  rule: RULES.clarityValue,
  description: 'Serialized Clarity value of the instance in hex, with or without 0x',
  examples: example('nft_value'),
});

function clarityValue(text: string): Uint8Array {
  const bytes = fromHex(text);
  const read = decodeClarity(bytes);
  if (!read.ok) throw new InvalidValue('Clarity value', read.error.message);
  return bytes;
}

const declarations = (read: Reader, items: readonly { transaction: TransactionDetail | null }[]) =>
  declarationsFor(
    read,
    items.flatMap(({ transaction }) => transaction ?? []),
  );

const family = { tag, etag: chainTip, history: 'whole' } as const;

export const tokensV1 = [
  route({
    ...family,
    path: '/extended/v1/tokens/ft/stx/holders',
    operationId: 'getStxTokenHolders',
    summary: 'STX holders (v1)',
    description: 'Returns every principal that ever held STX, largest balance first. Locked STX are included.',
    query: holderQuery,
    response: Holders,
    deprecated: { replacement: '/extended/v3/tokens/stx/holders' },
    handle: ({ query, read }) => holders(query, read.tokenLists.stxHolders(query.limit, query.offset)),
  }),
  route({
    ...family,
    path: '/extended/v1/tokens/ft/{token}/holders',
    operationId: 'getFtTokenHolders',
    summary: 'Holders of a fungible token (v1)',
    description:
      'Returns every principal that ever held a fungible token, largest balance first. Unknown tokens return an empty list.',
    params: { token: Type.String({ description: 'Asset identifier', examples: example('ft') }) },
    query: holderQuery,
    response: Holders,
    deprecated: { replacement: '/extended/v3/tokens/ft/{token}/holders' },
    handle: ({ params: { token }, query, read }) =>
      holders(query, read.tokenLists.ftHolders(token, query.limit, query.offset)),
  }),
  route({
    ...family,
    path: '/extended/v1/tokens/nft/holdings',
    operationId: 'getNonFungibleTokenHoldings',
    summary: 'Non-fungible tokens of a principal (v1)',
    description:
      'Returns the instances of non-fungible tokens that a principal owns, starting with the one received last.',
    query: {
      principal: LegacyPrincipal,
      asset_identifiers: Type.Optional(
        Type.Array(NftAssetParameter, {
          description: 'Asset identifiers to return, separated by commas or as repeated keys',
        }),
      ),
      ...nftQuery,
    },
    response: OffsetPage(NftHolding),
    deprecated: { replacement: '/extended/v3/principals/{principal}/balances/nft' },
    handle: ({ query, read }) => {
      const { principal, asset_identifiers: assets = null, limit, offset, tx_metadata } = query;
      const page = read.tokenLists.nftHoldings(principal, assets, limit, offset, tx_metadata);
      const functions = declarations(read, page.items);
      return offsetPage(query, page, (item) => nftHolding(item, functions));
    },
  }),
  route({
    ...family,
    path: '/extended/v1/tokens/nft/history',
    operationId: 'getNonFungibleTokenHistory',
    summary: 'History of a non-fungible token (v1)',
    description: 'Returns the mint, the transfers and the burn of one instance of a non-fungible token, newest first.',
    query: { asset_identifier: NftAssetParameter, value: ClarityValue, ...nftQuery, unanchored },
    response: OffsetPage(NftHistoryEvent),
    deprecated: { replacement: '/extended/v3/tokens/nft/{asset_identifier}/{value}/history' },
    history: 'since',
    handle: ({ query, read }) => {
      const { asset_identifier: asset, value, limit, offset, tx_metadata } = query;
      const page = read.tokenLists.nftHistory(asset, value, limit, offset, tx_metadata);
      const functions = declarations(read, page.items);
      return offsetPage(query, page, (item) => nftHistoryEvent(item, functions));
    },
  }),
  route({
    ...family,
    path: '/extended/v1/tokens/nft/mints',
    operationId: 'getNonFungibleTokenMints',
    summary: 'Mints of a non-fungible token',
    description: 'Returns the mints of a non-fungible token, newest first.',
    query: { asset_identifier: NftAssetParameter, ...nftQuery, unanchored },
    response: OffsetPage(NftMint),
    deprecated: { replacement: null },
    history: 'since',
    handle: ({ query, read }) => {
      const { asset_identifier: asset, limit, offset, tx_metadata } = query;
      const page = read.tokenLists.nftMints(asset, limit, offset, tx_metadata);
      const functions = declarations(read, page.items);
      return offsetPage(query, page, (item) => nftMint(item, functions));
    },
  }),
];

const Stx = Type.String({
  $id: 'StxText',
  pattern: '^-?[0-9]+\\.[0-9]{6}$',
  description: 'Amount in STX with six decimals',
});
const GroupedStx = Type.String({
  $id: 'GroupedStxText',
  pattern: '^-?[0-9,]+\\.[0-9]{6}$',
  description: 'Amount in STX with six decimals and commas between thousands',
});
const Percent = Type.String({
  pattern: '^[0-9]+\\.[0-9]{2}$',
  description: 'Always `100.00`, or `0.00` before there are any STX',
});

const DECIMALS = 6;

/** STX with six decimals. @param microStx decimal */
export function stxText(microStx: string): string {
  const [sign, digits] = microStx.startsWith('-') ? ['-', microStx.slice(1)] : ['', microStx];
  const padded = digits.padStart(DECIMALS + 1, '0');
  return `${sign}${padded.slice(0, -DECIMALS)}.${padded.slice(-DECIMALS)}`;
}

const IN_2050 = stxText(STX_IN_2050);

const groupDigits = (stx: string): string => stx.replace(/\B(?=(\d{3})+\.)/g, ',');

/** Unlocked share in percent: all STX, since the genesis grants have vested. */
const unlockedPercent = ({ microStx }: Supply): string => (microStx === '0' ? '0.00' : '100.00');

/** The supply after the block at a height. */
interface Supply {
  microStx: string;
  stx: string;
  height: number;
}

const [StxSupply, stxSupply] = object<Supply>('StxSupplyV1')({
  unlocked_percent: [Percent, unlockedPercent],
  total_stx: [Stx, ({ stx }) => stx],
  total_stx_year_2050: [Stx, () => IN_2050],
  unlocked_stx: [Stx, ({ stx }) => stx],
  block_height: [Height, ({ height }) => height],
});

/** The supply with the field names of the first supply services. */
const [LegacyStxSupply, legacyStxSupply] = object<Supply>('LegacyStxSupply')({
  unlockedPercent: [Percent, unlockedPercent],
  totalStacks: [Stx, ({ stx }) => stx],
  totalStacksFormatted: [GroupedStx, ({ stx }) => groupDigits(stx)],
  totalStacksYear2050: [Stx, () => IN_2050],
  totalStacksYear2050Formatted: [GroupedStx, () => groupDigits(IN_2050)],
  unlockedSupply: [Stx, ({ stx }) => stx],
  unlockedSupplyFormatted: [GroupedStx, ({ stx }) => groupDigits(stx)],
  blockHeight: [Type.String({ pattern: '^[0-9]+$' }), ({ height }) => String(height)],
});

const supplyFamily = {
  tag,
  deprecated: { replacement: '/extended/v3/tokens/stx/supply' },
  etag: chainTip,
  history: 'whole',
} as const;

const supplyQuery = {
  height: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Height of the block after which the supply is computed',
      examples: example('block_height'),
    }),
  ),
  unanchored: Type.Boolean({
    default: false,
    description: 'Whether to return the height of the block after the tip; has no effect with `height`',
  }),
};

/** Returns the supply after a block, or after the block that follows the tip. */
function supplyOf(read: Reader, { height, unanchored }: { height?: number; unanchored: boolean }): Supply {
  const microStx = height === undefined ? read.tokens.stxSupply() : read.tokens.stxSupplyAt(height);
  const next = (read.chain.tip()?.height ?? 0) + (unanchored ? 1 : 0);
  return { microStx, stx: stxText(microStx), height: height ?? next };
}

export const stxSupplies = [
  route({
    ...supplyFamily,
    path: '/extended/v1/stx_supply',
    operationId: 'getStxSupplyV1',
    summary: 'STX supply (v1)',
    description:
      'Returns the current number of STX, the one projected for the year 2050, and the share that is unlocked. With `height` the supply at that block is returned.',
    query: supplyQuery,
    response: StxSupply,
    handle: ({ query, read }) => stxSupply(supplyOf(read, query)),
  }),
  route({
    ...supplyFamily,
    path: '/extended/v1/stx_supply/total/plain',
    operationId: 'getStxSupplyTotalSupplyPlain',
    summary: 'Total STX as plain text',
    description: 'Returns the current number of STX as plain text with six decimals.',
    response: Stx,
    plainText: true,
    handle: ({ read }) => stxText(read.tokens.stxSupply()),
  }),
  route({
    ...supplyFamily,
    path: '/extended/v1/stx_supply/circulating/plain',
    operationId: 'getStxSupplyCirculatingPlain',
    summary: 'Circulating STX as plain text',
    description:
      'Returns the number of STX in circulation as plain text with six decimals. All STX are in circulation.',
    response: Stx,
    plainText: true,
    handle: ({ read }) => stxText(read.tokens.stxSupply()),
  }),
  route({
    ...supplyFamily,
    path: '/extended/v1/stx_supply/legacy_format',
    operationId: 'getTotalStxSupplyLegacyFormat',
    summary: 'STX supply in the legacy format',
    description: 'Returns the STX supply with the field names that the first supply services used.',
    query: supplyQuery,
    response: LegacyStxSupply,
    handle: ({ query, read }) => legacyStxSupply(supplyOf(read, query)),
  }),
];
