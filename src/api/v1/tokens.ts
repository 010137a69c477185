/** Tokens of v1: holders, and the history of non-fungible tokens. */
import { type Static, type TProperties, Type } from '@sinclair/typebox';
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
import { named } from '../shared/fields.ts';
import { RULES } from '../shared/identifiers.ts';
import { Principal as PrincipalParameter } from '../shared/legacy-parameters.ts';
import { NftAssetParameter } from '../shared/parameters.ts';
import { type Declarations, declarationsFor, Transaction, transaction } from '../shared/transaction.ts';
import { ClarityPair, clarity, Hash, Height, nullable, Principal, SignedAmount, words } from '../shared/values.ts';
import { untilQuery } from './heights.ts';

const Holder = named('HolderV1', { address: Principal, balance: SignedAmount });

const Holders = named('HolderListV1', {
  total_supply: Type.String({ description: 'Sum of all balances, in micro-STX or base units of the token' }),
  ...OffsetPage(Holder).properties,
});

/** Schema of an item with its transaction's id, or, on request, its transaction. */
const ofTransaction = <P extends TProperties>($id: string, item: P) =>
  Type.Union(
    [named(`${$id}WithTxId`, { ...item, tx_id: Hash }), named(`${$id}WithTransaction`, { ...item, tx: Transaction })],
    { $id },
  );

const NftHolding = ofTransaction('NftHolding', {
  asset_identifier: Type.String(),
  value: ClarityPair,
  block_height: Height,
});

const NftHistoryEvent = ofTransaction('NftHistoryEvent', {
  sender: nullable(Principal),
  recipient: Type.Optional(Principal),
  event_index: Type.Integer(),
  asset_event_type: words('transfer', 'mint', 'burn'),
});

const NftMint = ofTransaction('NftMintV1', {
  recipient: Type.Optional(Principal),
  event_index: Type.Integer(),
  value: ClarityPair,
});

/** A page of a token's holders with the supply, in base units. */
const holders = (query: { limit: number; offset: number }, page: HolderPage): Static<typeof Holders> => ({
  total_supply: page.supply,
  ...offsetPage(query, page, ({ principal, balance }) => ({ address: principal, balance })),
});

/** The transaction if it was read, else its id. */
const transactionOf = (
  { txId, transaction: of }: { txId: Uint8Array; transaction: TransactionDetail | null },
  declarations: Declarations,
) => (of === null ? { tx_id: toHex(txId) } : { tx: transaction(of, { declarations }) });

/** Serializes an instance that a principal holds, with the transaction that moved it to the principal, or with its id. */
const nftHolding = (of: StoredNftHolding, declarations: Declarations): Static<typeof NftHolding> => ({
  asset_identifier: of.asset,
  value: clarity(of.value),
  block_height: of.blockHeight,
  ...transactionOf(of, declarations),
});

const recipientOf = ({ recipient }: NftEvent['event']) => (recipient === null ? {} : { recipient });

/** A mint, transfer or burn of an instance, with its transaction or its id. */
const nftHistoryEvent = (of: NftEvent, declarations: Declarations): Static<typeof NftHistoryEvent> => ({
  sender: of.event.sender,
  ...recipientOf(of.event),
  event_index: of.event.index,
  asset_event_type: of.event.action,
  ...transactionOf(of, declarations),
});

/** The mint of an instance, with its transaction or its id. */
const nftMint = (of: NftEvent, declarations: Declarations): Static<typeof NftMint> => ({
  ...recipientOf(of.event),
  event_index: of.event.index,
  value: clarity(of.event.value),
  ...transactionOf(of, declarations),
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

const ClarityValue = Type.Transform(
  Type.String({
    pattern: '^(0x)?([a-fA-F0-9]{2})+$',
    rule: RULES.clarityValue,
    description: 'Serialized Clarity value of the instance in hex, with or without 0x',
    examples: example('nft_value'),
  }),
)
  .Decode(clarityValue)
  .Encode(toHex);

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

export const tokensV1 = [
  route({
    path: '/extended/v1/tokens/ft/stx/holders',
    operationId: 'getStxTokenHolders',
    summary: 'STX holders (v1)',
    description: 'Returns every principal that ever held STX, largest balance first. Locked STX are included.',
    tag,
    query: holderQuery,
    response: Holders,
    deprecated: { replacement: '/extended/v3/tokens/stx/holders' },
    etag: chainTip,
    history: 'whole',
    handle: ({ query, read }) => holders(query, read.tokenLists.stxHolders(query.limit, query.offset)),
  }),
  route({
    path: '/extended/v1/tokens/ft/{token}/holders',
    operationId: 'getFtTokenHolders',
    summary: 'Holders of a fungible token (v1)',
    description:
      'Returns every principal that ever held a fungible token, largest balance first. Unknown tokens return an empty list.',
    tag,
    params: { token: Type.String({ description: 'Asset identifier', examples: example('ft') }) },
    query: holderQuery,
    response: Holders,
    deprecated: { replacement: '/extended/v3/tokens/ft/{token}/holders' },
    etag: chainTip,
    history: 'whole',
    handle: ({ params: { token }, query, read }) =>
      holders(query, read.tokenLists.ftHolders(token, query.limit, query.offset)),
  }),
  route({
    path: '/extended/v1/tokens/nft/holdings',
    operationId: 'getNonFungibleTokenHoldings',
    summary: 'Non-fungible tokens of a principal (v1)',
    description:
      'Returns the instances of non-fungible tokens that a principal owns, starting with the one received last.',
    tag,
    query: {
      principal: PrincipalParameter,
      asset_identifiers: Type.Optional(
        Type.Array(NftAssetParameter, {
          description: 'Asset identifiers to return, separated by commas or as repeated keys',
        }),
      ),
      ...nftQuery,
    },
    response: OffsetPage(NftHolding),
    deprecated: {
      replacement: '/extended/v3/principals/{principal}/balances/nft?asset_identifier={asset_identifiers}',
    },
    etag: chainTip,
    history: 'whole',
    handle: ({ query, read }) => {
      const { principal, asset_identifiers: assets = null, limit, offset, tx_metadata } = query;
      const page = read.tokenLists.nftHoldings(principal, assets, limit, offset, tx_metadata);
      const declared = declarations(read, page.items);
      return offsetPage(query, page, (of) => nftHolding(of, declared));
    },
  }),
  route({
    path: '/extended/v1/tokens/nft/history',
    operationId: 'getNonFungibleTokenHistory',
    summary: 'History of a non-fungible token (v1)',
    description: 'Returns the mint, the transfers and the burn of one instance of a non-fungible token, newest first.',
    tag,
    query: { asset_identifier: NftAssetParameter, value: ClarityValue, ...nftQuery, unanchored },
    response: OffsetPage(NftHistoryEvent),
    deprecated: { replacement: '/extended/v3/tokens/nft/{asset_identifier}/{value}/history' },
    etag: chainTip,
    history: 'since',
    handle: ({ query, read }) => {
      const { asset_identifier: asset, value, limit, offset, tx_metadata } = query;
      const page = read.tokenLists.nftHistory(asset, value, limit, offset, tx_metadata);
      const declared = declarations(read, page.items);
      return offsetPage(query, page, (of) => nftHistoryEvent(of, declared));
    },
  }),
  route({
    path: '/extended/v1/tokens/nft/mints',
    operationId: 'getNonFungibleTokenMints',
    summary: 'Mints of a non-fungible token',
    description: 'Returns the mints of a non-fungible token, newest first.',
    tag,
    query: { asset_identifier: NftAssetParameter, ...nftQuery, unanchored },
    response: OffsetPage(NftMint),
    deprecated: { replacement: null },
    etag: chainTip,
    history: 'since',
    handle: ({ query, read }) => {
      const { asset_identifier: asset, limit, offset, tx_metadata } = query;
      const page = read.tokenLists.nftMints(asset, limit, offset, tx_metadata);
      const declared = declarations(read, page.items);
      return offsetPage(query, page, (of) => nftMint(of, declared));
    },
  }),
];
