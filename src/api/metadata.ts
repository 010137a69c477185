/** Token metadata in the form of the service that wallets and explorers use. Unknown members are omitted, never null. */
import { type Static, Type } from '@sinclair/typebox';
import { FT_TOKEN, type TokenFamily } from '../chain/token-contracts.ts';
import { ADDRESS_PATTERN, splitPrincipal } from '../codec/address.ts';
import { MAX_UINT } from '../codec/clarity.ts';
import { toHex } from '../codec/hex.ts';
import { bareErrors, type ErrorShape, Problem, problems, requireFound, ShapedError } from '../http/errors.ts';
import { chainTipAndTokens } from '../http/etag.ts';
import { OffsetPage, offsetPage, offsetQuery } from '../http/pagination.ts';
import { InvalidValue } from '../http/parameters.ts';
import { type Route, route } from '../http/route.ts';
import type { ListedFt, TokenContractDetail, TokenDetail, TokenFacts } from '../store/model/token.ts';
import type { Reader } from '../store/read/index-reader.ts';
import { example } from './shared/examples/examples.ts';
import { Amount, exactDecimals, Hash, Height, named, words } from './shared/fields.ts';
import { ContractText, textParameter } from './shared/parameters.ts';

const text = (description: string) => Type.Optional(Type.String({ description }));
const uri = text('URI of the document, with the number of the token in it');
const decimals = Type.Optional(Type.Unsafe<number>(Type.Integer({ minimum: 0 })));
const supply = Type.Optional(Amount);

const ftFields = {
  name: Type.Optional(Type.String()),
  symbol: Type.Optional(Type.String()),
  decimals,
  total_supply: supply,
  token_uri: uri,
  tx_id: Hash,
  sender_address: Type.String({ description: 'Address that deployed the contract' }),
  asset_identifier: Type.String(),
};
const Ft = named('FtMetadata', ftFields);
const ListedFtMetadata = named('ListedFtMetadata', { ...ftFields, contract_principal: Type.String() });
const Nft = named('NftMetadata', { token_uri: uri });
const Sft = named('SftMetadata', { token_uri: uri, decimals, total_supply: supply });

const count = Type.Optional(Type.Integer({ minimum: 1 }));
const Status = named('TokenMetadataStatus', {
  server_version: Type.String(),
  status: Type.Literal('ready'),
  chain_tip: Type.Object({ block_height: Height }),
  tokens: Type.Optional(Type.Object({ ft: count, nft: count, sft: count })),
  token_contracts: Type.Optional(Type.Object({ 'sip-009': count, 'sip-010': count, 'sip-013': count })),
  job_queue: Type.Optional(Type.Object({ pending: count, done: count, failed: count, invalid: count })),
});

/** The error shape of these routes: the usual one for parameters, and for other errors the one that clients of the service read. */
const errors: ErrorShape = {
  ...problems,
  schema: Type.Union(
    [Problem, named('TokenProblem', { error: Type.String(), message: Type.Optional(Type.String()) })],
    { $id: 'TokenMetadataProblem' },
  ),
  body: (error) => (error.status === 400 ? problems : bareErrors).body(error),
};

const unprocessable = (error: string, message?: string): ShapedError =>
  new ShapedError(422, error, message === undefined ? { error } : { error, message });

const clarityError = (): ShapedError =>
  unprocessable('Token error', 'The token contract produced a Clarity error when trying to fetch metadata');

const inProgress = (): ShapedError => unprocessable('Token metadata fetch in progress');

const withoutNulls = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };

interface TokenMetadata {
  contract: TokenContractDetail;
  token: TokenDetail;
}

/**
 * Finds a token. The order of the checks is part of the API.
 * @param fetches whether this server fetches metadata from the node
 * @throws ApiError 404 or 422
 */
function tokenOf(
  { tokenMetadata }: Reader,
  { family, contractId, number, locale }: { family: TokenFamily; contractId: string; number: bigint; locale: string },
  fetches: boolean,
): TokenMetadata {
  const contract = requireFound(tokenMetadata.contract(contractId), 'Contract not found');
  if (contract.lastTokenId === 'invalid') throw clarityError();
  const token = requireFound(
    contract.family === family ? tokenMetadata.token(contractId, number) : undefined,
    'Token not found',
  );
  if (locale !== '') throw unprocessable('Locale not found');
  // A refresh keeps the stored metadata until it succeeds.
  if (token.writtenAt === null) {
    if (token.facts === 'invalid') throw clarityError();
    if (token.facts === 'pending' && fetches) throw inProgress();
  }
  return { contract, token };
}

/** Returns the ETag of a token from its last change and all that a response depends on; null if no change was ever written. */
function tokenTag({ tokenMetadata }: Reader, contractId: string, number: bigint): string | null {
  const contract = tokenMetadata.contract(contractId);
  const token = contract && tokenMetadata.token(contractId, number);
  if (contract === undefined || token === undefined || token.writtenAt === null) return null;
  const { writtenAt, supply, facts } = token;
  const state = JSON.stringify([contract.txId.toHex(), contract.lastTokenId, supply, facts]);
  return `${writtenAt}-${Bun.hash.xxHash64(state).toString(16)}`;
}

const tokenParameter = textParameter(
  (digits) => {
    const number = BigInt(digits);
    if (number > MAX_UINT) throw new InvalidValue('token number', 'it must be below 2^128');
    return number;
  },
  String,
  { pattern: '^[0-9]+$', rule: 'a whole number', maxLength: 100, description: 'Number of the token', examples: ['1'] },
);

const localeQuery = {
  locale: Type.String({
    default: '',
    description: "Any locale returns 422, because this server doesn't fetch documents",
  }),
};

const filters = {
  name: Type.String({ default: '', description: 'A part of the name, in upper or lower case' }),
  symbol: Type.String({ default: '', description: 'The symbol, in upper or lower case' }),
  address: Type.Optional(
    Type.String({
      pattern: `^${ADDRESS_PATTERN}`,
      rule: 'a Stacks address, or the beginning of a contract identifier with its address',
      description: 'Address that deployed the contract, or the beginning of the contract identifier',
      examples: example('contract_id'),
    }),
  ),
  valid_metadata_only: Type.Boolean({
    default: false,
    description: "If true, the list is empty, because this server doesn't fetch documents",
  }),
  order_by: Type.Unsafe<'name' | 'symbol'>({
    ...words('name', 'symbol'),
    default: 'name',
    description: 'Order of the list; tokens without the value come last, and first in descending order',
  }),
  order: Type.Unsafe<'asc' | 'desc'>({
    ...words('asc', 'desc'),
    default: 'asc',
    description: 'Direction of the order',
  }),
};

const emptyAsNull = (text: string): string | null => (text === '' ? null : text);

export const SIPS = { ft: 'sip-010', nft: 'sip-009', sft: 'sip-013' } as const;

/** An object of the counts; undefined without any. */
const counts = <K extends string>(list: readonly (readonly [K, number])[]): { [N in K]?: number } | null => {
  const sums: { [N in K]?: number } = {};
  for (const [name, number] of list) if (number > 0) sums[name] = (sums[name] ?? 0) + number;
  return Object.keys(sums).length === 0 ? null : sums;
};

const ft = ({ name, symbol, decimals, supply, uri }: TokenFacts) =>
  withoutNulls({ name, symbol, decimals: exactDecimals(decimals), total_supply: supply, token_uri: uri });

const contractFields = (contractId: string, txId: Uint8Array, asset: string) => ({
  tx_id: toHex(txId),
  sender_address: splitPrincipal(contractId).address,
  asset_identifier: asset,
});

const listedFt = ({ contractId, asset, txId, ...facts }: ListedFt): Static<typeof ListedFtMetadata> => ({
  ...ft(facts),
  ...contractFields(contractId, txId, asset),
  contract_principal: contractId,
});

const family = { tag: 'Token metadata', errors } as const;
const single = {
  ...family,
  notFound: 'Contract or token not found',
  refusals: {
    422: 'A locale was given, the metadata of the token is still being read, or the contract failed: `message` has the reason',
  },
  history: 'thing',
} as const;

/**
 * The routes of tokens' metadata, each with its alias without `v1`.
 * @param version as `versionText` makes it @param fetches whether this server fetches metadata from the node
 */
export function metadataRoutes(version: string, fetches: boolean): Route[] {
  const routesAt = (base: string, hidden: boolean): Route[] => [
    route({
      ...family,
      hidden,
      path: base,
      operationId: 'getTokenMetadataStatus',
      summary: 'Counts of tokens',
      description:
        'Returns the numbers of tokens, of their contracts, and of requests for metadata by state. Zeros are left out.',
      response: Status,
      etag: chainTipAndTokens,
      history: 'whole',
      handle: ({ read }) => {
        const [tip, { families, jobs }] = [read.chain.tip(), read.tokenMetadata.counts()];
        return {
          server_version: version,
          status: 'ready' as const,
          chain_tip: { block_height: tip?.height ?? 1 },
          ...withoutNulls({
            tokens: counts(families.map(({ family, tokens }) => [family, tokens])),
            token_contracts: counts(families.map(({ family, contracts }) => [SIPS[family], contracts])),
            job_queue: counts(jobs.map(({ state, jobs: number }) => [state, number])),
          }),
        };
      },
    }),
    route({
      ...family,
      hidden,
      path: `${base}/ft`,
      operationId: 'getFtMetadataList',
      summary: 'Fungible tokens',
      description:
        'Returns fungible tokens (SIP-010) by name or symbol, including tokens without metadata. Equal tokens are ordered by contract identifier.',
      query: { ...filters, ...offsetQuery({ minimum: 1, maximum: 60, default: 20 }) },
      response: OffsetPage(ListedFtMetadata),
      etag: chainTipAndTokens,
      history: 'since',
      handle: ({ query, read }) => {
        const { name, symbol, address = '', order_by: by, order: direction } = query;
        if (query.valid_metadata_only) return offsetPage(query, { items: [], total: 0 }, listedFt);
        const filter = { name: emptyAsNull(name), symbol: emptyAsNull(symbol), address: emptyAsNull(address) };
        const page = read.tokenMetadata.fts(filter, { by, direction }, query.limit, query.offset);
        return offsetPage(query, page, listedFt);
      },
    }),
    route({
      ...single,
      hidden,
      path: `${base}/ft/{principal}`,
      operationId: 'getFtMetadata',
      summary: 'Metadata of a fungible token',
      description:
        'Returns the name, symbol, decimals, supply and URI that the contract of a fungible token (SIP-010) states.',
      params: { principal: ContractText },
      query: localeQuery,
      response: Ft,
      etag: (read, { principal }) => tokenTag(read, principal, FT_TOKEN),
      handle: ({ params: { principal }, query: { locale }, read }) => {
        const choice = { family: 'ft', contractId: principal, number: FT_TOKEN, locale } as const;
        const { contract, token } = tokenOf(read, choice, fetches);
        return { ...ft(token), ...contractFields(principal, contract.txId, contract.asset ?? '') };
      },
    }),
    route({
      ...single,
      hidden,
      path: `${base}/nft/{principal}/{token_id}`,
      operationId: 'getNftMetadata',
      summary: 'Metadata of a non-fungible token',
      description: 'Returns the URI of a non-fungible token (SIP-009).',
      params: { principal: ContractText, token_id: tokenParameter },
      query: localeQuery,
      response: Nft,
      etag: (read, { principal, token_id }) => tokenTag(read, principal, token_id),
      handle: ({ params: { principal, token_id }, query: { locale }, read }) => {
        const { token } = tokenOf(read, { family: 'nft', contractId: principal, number: token_id, locale }, fetches);
        return withoutNulls({ token_uri: token.uri });
      },
    }),
    route({
      ...single,
      hidden,
      path: `${base}/sft/{principal}/{token_id}`,
      operationId: 'getSftMetadata',
      summary: 'Metadata of a semi-fungible token',
      description: 'Returns the URI, decimals and supply that the contract of a semi-fungible token (SIP-013) states.',
      params: { principal: ContractText, token_id: tokenParameter },
      query: localeQuery,
      response: Sft,
      etag: (read, { principal, token_id }) => tokenTag(read, principal, token_id),
      handle: ({ params: { principal, token_id }, query: { locale }, read }) => {
        const { token } = tokenOf(read, { family: 'sft', contractId: principal, number: token_id, locale }, fetches);
        return withoutNulls({
          token_uri: token.uri,
          decimals: exactDecimals(token.decimals),
          total_supply: token.supply,
        });
      },
    }),
  ];
  return [...routesAt('/metadata/v1', false), ...routesAt('/metadata', true)];
}
