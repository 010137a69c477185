/** Tokens of v1: holders, and the history of non-fungible tokens. */
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
