/**
 * Directories of contracts, tokens and names, lists of a whole token, and single tokens and names in full. Stackside's own routes.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import { dayIn, dayText } from '../../base/utc-time.ts';
import { assetContractOf } from '../../codec/address.ts';
import { clarityValueOf } from '../../codec/clarity.ts';
import { toHex } from '../../codec/hex.ts';
import { requireFound } from '../../http/errors.ts';
import { chainTip, chainTipAndAttachments, chainTipAndTokens } from '../../http/etag.ts';
import {
  cursorList,
  cursorQuery,
  listOf,
  OffsetPage,
  offsetPage,
  offsetQuery,
  PageWithoutTotal,
  UncountedCursorPage,
} from '../../http/pagination.ts';
import { InvalidValue } from '../../http/parameters.ts';
import { type Route, route } from '../../http/route.ts';
import type { ListedContract } from '../../store/model/contract.ts';
import type { ListedName } from '../../store/model/name.ts';
import type { FtListing, FtTransfer, NftListing, NftMint } from '../../store/model/token.ts';
import { SIPS } from '../metadata.ts';
import { example } from '../shared/examples/examples.ts';
import {
  Amount,
  ClarityPair,
  clarity,
  Decimals,
  EventPosition,
  eventPosition,
  exactDecimals,
  fields,
  Hash,
  Height,
  IsoTime,
  isoTime,
  loadUnit,
  named,
  nullable,
  object,
  Principal,
  SignedAmount,
  TokenSymbol,
  type Unit,
  UnixTime,
  words,
} from '../shared/fields.ts';
import {
  AssetParameter,
  inOrder,
  NftAssetParameter,
  OwnNftValueParameter,
  parseWindow,
  textParameter,
  windowQuery,
} from '../shared/parameters.ts';

const tag = 'Stackside';
const count = Type.Integer({ minimum: 0 });

const DayPage = named('DayPage', {
  ...PageWithoutTotal.properties,
  day: Type.String({ description: 'Day of the counts, in UTC: `2026-11-24`' }),
});
const dayPage = <T extends TSchema>(item: T) => listOf(DayPage, item);

const Day = textParameter(
  (text) => {
    const day = dayIn(text);
    if (day === null) throw new InvalidValue('day', 'there is no such date');
    return day;
  },
  dayText,
  {
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
    rule: 'a day, such as 2026-11-24',
    description: 'Day of the counts, in UTC (default: the day of the newest block)',
    examples: ['2026-11-24'],
  },
);

const orderOf = <const W extends readonly string[]>(description: string, ...list: W) =>
  Type.Unsafe<W[number]>({ ...words(...list), default: list[0], description });

const TRAITS = { 'sip-009': 'nft', 'sip-010': 'ft', 'sip-013': 'sft' } as const;
const trait = words('sip-009', 'sip-010', 'sip-013');

/** A contract. The context is whether the index has the whole history. */
const [Contract, contract] = object<ListedContract, [isWhole: boolean]>('ListedContract')({
  contract_id: [Type.String(), ({ contractId }) => contractId],
  deployment: [
    nullable(Type.Object({ block_height: Height, time: IsoTime, tx_id: Hash }), {
      description: 'Null if no transaction in this index deployed the contract',
    }),
    ({ deployment: tx }) =>
      tx === null ? null : { block_height: tx.height, time: isoTime(tx.time), tx_id: toHex(tx.txId) },
  ],
  calls: [
    nullable(count, { description: 'Null if the server does not have the whole chain' }),
    ({ calls }, isWhole) => (isWhole ? calls : null),
  ],
  calls_of_day: [count, ({ callsOfDay }) => callsOfDay],
  trait: [nullable(trait), ({ family }) => (family === null ? null : SIPS[family])],
});

const moved = fields<FtListing | NftListing>()({
  asset_identifier: [Type.String(), ({ asset }) => asset],
  holders: [count, ({ holders }) => holders],
  transfers: [Type.Integer({ minimum: 0, description: 'Transfers, mints and burns' }), ({ events }) => events],
  transfers_of_day: [
    Type.Integer({ minimum: 0, description: 'Transfers, mints and burns of the day' }),
    ({ eventsOfDay }) => eventsOfDay,
  ],
});

const [Ft, ft] = object<FtListing>('ListedFt')({
  ...moved,
  supply: [SignedAmount, ({ supply }) => supply],
  name: [nullable(Type.String()), ({ name }) => name],
  symbol: [nullable(TokenSymbol), ({ symbol }) => symbol],
  decimals: [nullable(Decimals), ({ decimals }) => exactDecimals(decimals)],
});

const [Nft, nft] = object<NftListing>('ListedCollection')({
  ...moved,
  minted: [count, ({ mints }) => mints],
  supply: [Type.Integer({ minimum: 0, description: 'Tokens that are not burnt' }), ({ instances }) => instances],
});

const Instance = named('OwnedNft', {
  value: ClarityPair,
  owner: nullable(Principal, { description: 'Null for a token that was burnt' }),
  token_uri: nullable(Type.String()),
});

const [Name, name] = object<ListedName>('ListedName')({
  name: [Type.String(), ({ name }) => name],
  owner: [Principal, ({ owner }) => owner],
  status: [Type.String({ description: 'The last operation, such as `name-register`' }), ({ operation }) => operation],
  tx_id: [nullable(Hash, { description: 'Of the last operation' }), ({ txId }) => (txId === null ? null : toHex(txId))],
  lease: [
    nullable(
      Type.Object({
        tenure_height: Type.Integer({ minimum: 0, description: 'Last tenure of the lease' }),
        has_ended: Type.Boolean(),
        expected_time: UnixTime,
      }),
      {
        description:
          'Null for a name that does not expire, or if its namespace is not open. The contract counts tenures; the time assumes ten minutes for each',
      },
    ),
    ({ lease: end }) =>
      end && { tenure_height: end.tenureHeight, has_ended: end.hasEnded, expected_time: end.expectedTime },
  ],
});

const [Mint, mint] = object<NftMint>('NftMint')({
  value: [ClarityPair, ({ event }) => clarity(event.value)],
  recipient: [nullable(Type.String(), { description: 'Recipient of the mint' }), ({ event }) => event.recipient],
  owner: [
    nullable(Type.String(), { description: 'Present owner; null for a token that was burnt' }),
    ({ owner }) => owner,
  ],
  transaction: [EventPosition, ({ txId, event }) => eventPosition({ txId, eventIndex: event.index })],
});

const end = (description: string) => nullable(Type.String(), { description });

const [Transfer, transfer] = object<FtTransfer, [Unit]>('FoundFtTransfer')({
  block_height: [Height, ({ block }) => block.height],
  time: [IsoTime, ({ block }) => isoTime(block.time)],
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  event_index: [Type.Integer({ minimum: 0 }), ({ eventIndex }) => eventIndex],
  sender: [end('Null for a mint'), ({ sender }) => sender],
  recipient: [end('Null for a burn'), ({ recipient }) => recipient],
  amount: [Amount, ({ amount }) => amount],
  symbol: [nullable(TokenSymbol), (_, { symbol }) => symbol],
  decimals: [nullable(Decimals), (_, { decimals }) => decimals],
});

const NEVER_MINTED = 'Token not found: it was never minted';
const NO_NAME = 'Name not found';

const tokenQuery = {
  order: orderOf('Most holders first, or most transfers, mints and burns of the day', 'holders', 'transfers'),
  day: Type.Optional(Day),
  ...cursorQuery,
};

/** Returns the number of a token by its value; null if the value isn't an unsigned integer. */
function numberOf(value: Uint8Array): bigint | null {
  const number = clarityValueOf(value);
  return number?.type === 'uint' ? number.value : null;
}

const tokenFamily = { tag, query: tokenQuery, history: 'whole' } as const;
const nameFamily = { tag, etag: chainTipAndAttachments, history: 'whole' } as const;

export const directories: readonly Route[] = [
  route({
    path: '/stackside/v1/tokens/ft/{asset_identifier}/transfers',
    operationId: 'getTokenTransfers',
    summary: 'Transfers of a fungible token',
    description: 'Returns the transfers, mints and burns of a fungible token by all principals.',
    tag,
    params: { asset_identifier: AssetParameter },
    query: { ...cursorQuery, ...windowQuery },
    response: UncountedCursorPage(Transfer),
    etag: chainTipAndTokens,
    history: 'since',
    handle: ({ params: { asset_identifier: asset }, query, read }) => {
      const { order = 'desc' } = query;
      const heights = read.chain.heightsOf(parseWindow(query));
      const list = cursorList(inOrder(`token-transfers ${asset}`, order), query);
      const page = read.transfers.ftOfAsset(asset, order, heights, ...list.start);
      const unit = loadUnit(read, asset);
      return list.page(page, (item) => transfer(item, unit));
    },
  }),
  route({
    path: '/stackside/v1/tokens/nft/{asset_identifier}/mints',
    operationId: 'getCollectionMints',
    summary: 'Tokens of a collection',
    description:
      'Returns the mints of a non-fungible token, newest first: the tokens of a collection, including tokens that were burnt later.',
    tag,
    params: { asset_identifier: NftAssetParameter },
    query: offsetQuery({ maximum: 200, default: 50 }),
    response: OffsetPage(Mint),
    etag: chainTip,
    history: 'since',
    handle: ({ params: { asset_identifier }, query, read }) => {
      const page = read.tokenLists.nftMints(asset_identifier, query.limit, query.offset, false);
      return offsetPage(query, page, mint);
    },
  }),
  route({
    path: '/stackside/v1/contracts',
    operationId: 'getContracts',
    summary: 'Directory of contracts',
    description:
      'Returns the contracts that were deployed, newest first, or those that were called on a day, most calls first.',
    tag,
    query: {
      order: orderOf('Newest deployment first, or most calls of the day', 'newest', 'calls'),
      trait: Type.Optional(
        Type.Unsafe<keyof typeof TRAITS>({ ...trait, description: 'Token standard that the contract implements' }),
      ),
      day: Type.Optional(Day),
      ...cursorQuery,
    },
    response: dayPage(Contract),
    etag: chainTip,
    history: 'since',
    handle: ({ query, read }) => {
      const { order, trait: sip, day } = query;
      const list = cursorList(`contracts ${order} ${sip ?? ''} ${day ?? ''}`, query);
      const filter = { order, family: sip === undefined ? null : TRAITS[sip] };
      const page = read.directories.contracts(filter, day ?? null, ...list.start);
      const isWhole = read.chain.historyFrom() === null;
      return { ...list.page(page, (item) => contract(item, isWhole)), day: dayText(page.day) };
    },
  }),
  route({
    ...tokenFamily,
    path: '/stackside/v1/tokens/ft',
    operationId: 'getFungibleTokens',
    summary: 'Directory of fungible tokens',
    description:
      'Returns fungible tokens, those with the most holders first, or those that were moved on a day, most transfers, mints and burns first.',
    response: dayPage(Ft),
    etag: chainTipAndTokens,
    handle: ({ query, read }) => {
      const { order, day } = query;
      const list = cursorList(`fts ${order} ${day ?? ''}`, query);
      const page = read.directories.fts(order, day ?? null, ...list.start);
      return { ...list.page(page, ft), day: dayText(page.day) };
    },
  }),
  route({
    ...tokenFamily,
    path: '/stackside/v1/tokens/nft',
    operationId: 'getCollections',
    summary: 'Directory of collections',
    description:
      'Returns non-fungible tokens, those with the most holders first, or those that were moved on a day, most transfers, mints and burns first.',
    response: dayPage(Nft),
    etag: chainTip,
    handle: ({ query, read }) => {
      const { order, day } = query;
      const list = cursorList(`collections ${order} ${day ?? ''}`, query);
      const page = read.directories.nfts(order, day ?? null, ...list.start);
      return { ...list.page(page, nft), day: dayText(page.day) };
    },
  }),
  route({
    path: '/stackside/v1/tokens/nft/{asset_identifier}/{value}',
    operationId: 'getCollectionToken',
    summary: 'Token of a collection',
    description: 'Returns the present owner of a non-fungible token and its URI.',
    tag,
    params: { asset_identifier: NftAssetParameter, value: OwnNftValueParameter },
    response: Instance,
    notFound: NEVER_MINTED,
    etag: chainTipAndTokens,
    history: 'thing',
    handle: ({ params: { asset_identifier: asset, value }, read }) => {
      const owner = requireFound(read.tokenLists.nftOwner(asset, value), NEVER_MINTED);
      const number = numberOf(value);
      const token = number === null ? undefined : read.tokenMetadata.token(assetContractOf(asset), number);
      return { value: clarity(value), owner, token_uri: token?.uri ?? null };
    },
  }),
  route({
    ...nameFamily,
    path: '/stackside/v1/names',
    operationId: 'getListedNames',
    summary: 'Directory of names',
    description:
      'Returns names (BNS) that are not revoked, sorted by name, with their owners and the end of their leases.',
    query: {
      namespace: Type.Optional(
        Type.String({ maxLength: 20, description: 'Namespace, such as `btc`', examples: example('namespace') }),
      ),
      ...cursorQuery,
    },
    response: UncountedCursorPage(Name),
    handle: ({ query, read }) => {
      const list = cursorList(`names ${query.namespace ?? ''}`, query);
      return list.page(read.names.list(query.namespace ?? null, ...list.start), name);
    },
  }),
  route({
    ...nameFamily,
    path: '/stackside/v1/names/{name}',
    operationId: 'getListedName',
    summary: 'Owner and lease of a name',
    description: 'Returns the owner of a name (BNS) and the end of its lease.',
    params: { name: Type.String({ description: 'Name with its namespace', examples: example('name') }) },
    response: Name,
    notFound: NO_NAME,
    handle: ({ params, read }) => name(requireFound(read.names.listed(params.name), NO_NAME)),
  }),
];
