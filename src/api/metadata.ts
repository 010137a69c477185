/**
 * Metadata of tokens, in the form of the separate service that wallets and explorers ask for it. What isn't known is left out,
 * never null.
 */
import { type Static, Type } from '@sinclair/typebox';
import { FT_TOKEN, type TokenFamily } from '../chain/token-contracts.ts';
import { ADDRESS_PATTERN, splitPrincipal } from '../codec/address.ts';
import { toHex } from '../codec/hex.ts';
import { bareErrors, type ErrorShape, notFound, Problem, problems, ShapedError } from '../http/errors.ts';
import { chainTipAndTokens } from '../http/etag.ts';
import { jsonText, MaybeWritten } from '../http/json.ts';
import { OffsetPage, offsetPage, offsetQuery } from '../http/pagination.ts';
import { InvalidValue } from '../http/parameters.ts';
import { type Route, route } from '../http/route.ts';
import type { ListedFt, TokenContractDetail, TokenDetail, TokenDocument, TokenFacts } from '../store/model/token.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { TokenError } from '../store/rows/enums.ts';
import { example } from './shared/examples/examples.ts';
import { PATTERNS } from './shared/parameters.ts';
import { exactDecimals } from './shared/unit.ts';
import { Amount, Hash, Height, words } from './shared/values.ts';

/** What this server asks for metadata: nobody, the contracts through the node, or also the servers that their URIs name. */
export type MetadataSource = 'off' | 'chain' | 'web';

/** Small copies of images that this host keeps. */
interface ImageCopies {
  /** The name of the copy of an image, if there is one. @param uri as a document has it */
  nameOf(uri: string): string | null;
  /** The copy as PNG; null if there is none. @param name 64 hex digits */
  read(name: string): Promise<Uint8Array<ArrayBuffer> | null>;
}

/** The token metadata of this server. */
export interface TokenMetadata {
  source: MetadataSource;
  /** The images that this host keeps; null if it keeps none. */
  copies: ImageCopies | null;
}

const text = (description: string) => Type.Optional(Type.String({ description }));
const image = text('URL of the small copy that this server keeps (`--token-images`)');

const Attribute = Type.Object(
  {
    trait_type: Type.String(),
    display_type: Type.Optional(Type.String()),
    value: Type.Unknown({ description: 'Any JSON value' }),
  },
  { $id: 'TokenAttribute' },
);

export const Metadata = Type.Object(
  {
    sip: Type.Literal(16),
    name: Type.String(),
    description: Type.Optional(Type.String()),
    image: text('URI, as the document has it'),
    cached_image: image,
    cached_thumbnail_image: image,
    attributes: Type.Optional(MaybeWritten(Type.Array(Attribute))),
    properties: Type.Optional(MaybeWritten(Type.Record(Type.String(), Type.Unknown()))),
  },
  { $id: 'TokenMetadata', description: 'The document at the URI of the token (SIP-016)' },
);

const uri = text('URI of the document, with the number of the token in it');
const decimals = Type.Optional(Type.Unsafe<number>(Type.Integer({ minimum: 0 })));
const supply = Type.Optional(Amount);

const ftFields = {
  name: Type.Optional(Type.String()),
  symbol: Type.Optional(Type.String()),
  decimals,
  total_supply: supply,
  token_uri: uri,
  description: text('Of the document'),
  image_uri: image,
  image_thumbnail_uri: image,
  image_canonical_uri: text('Image of the document, as the document has it'),
  tx_id: Hash,
  sender_address: Type.String({ description: 'Address that deployed the contract' }),
  asset_identifier: Type.String(),
};
const Ft = Type.Object({ ...ftFields, metadata: Type.Optional(Metadata) }, { $id: 'FtMetadata' });
const ListedFtMetadata = Type.Object({ ...ftFields, contract_principal: Type.String() }, { $id: 'ListedFtMetadata' });
const Nft = Type.Object({ token_uri: uri, metadata: Type.Optional(Metadata) }, { $id: 'NftMetadata' });
const Sft = Type.Object(
  { token_uri: uri, decimals, total_supply: supply, metadata: Type.Optional(Metadata) },
  { $id: 'SftMetadata' },
);

const count = Type.Optional(Type.Integer({ minimum: 1 }));
const Status = Type.Object(
  {
    server_version: Type.String(),
    status: Type.Literal('ready'),
    chain_tip: Type.Object({ block_height: Height }),
    tokens: Type.Optional(Type.Object({ ft: count, nft: count, sft: count })),
    token_contracts: Type.Optional(Type.Object({ 'sip-009': count, 'sip-010': count, 'sip-013': count })),
    job_queue: Type.Optional(Type.Object({ pending: count, done: count, failed: count, invalid: count })),
  },
  { $id: 'TokenMetadataStatus' },
);

/** The errors of these routes: what a parameter breaks has the usual form, all else what clients of the family read. */
const errors: ErrorShape = {
  ...problems,
  schema: Type.Union(
    [Problem, Type.Object({ error: Type.String(), message: Type.Optional(Type.String()) }, { $id: 'TokenProblem' })],
    { $id: 'TokenMetadataProblem' },
  ),
  body: (error) => (error.status === 400 ? problems : bareErrors).body(error),
};

const unprocessable = (error: string, message?: string): ShapedError =>
  new ShapedError(422, error, message === undefined ? { error } : { error, message });

/** Why a token has no metadata, by what went wrong. */
const WRONG: Readonly<Record<TokenError, string>> = {
  document_too_large: 'Metadata size is too large to process',
  document_timeout: 'Metadata could not be processed because it took too long to respond',
  document_unreadable: 'Metadata could not be parsed or it does not conform to SIP-016',
  document_refused: 'Metadata could not be processed because the server responded with an error',
  clarity_error: 'The token contract produced a Clarity error when trying to fetch metadata',
};

const tokenError = (error: TokenError | null): ShapedError =>
  unprocessable('Token error', error === null ? 'Unknown error' : WRONG[error]);

const inProgress = (): ShapedError => unprocessable('Token metadata fetch in progress');

/** The members that are known. */
const known = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };

/** A token that has an answer, with its document in the locale that was asked for. */
interface Found {
  contract: TokenContractDetail;
  token: TokenDetail;
  document: TokenDocument | null;
}

/** Whether the chain says anything of a fungible token, which is worth an answer without a document. */
const hasFacts = ({ name, symbol, decimals, supply }: TokenFacts): boolean =>
  [name, symbol, decimals, supply].some((fact) => fact !== null);

/**
 * Finds a token. The order of the checks is part of the API.
 * @throws ApiError 404 or 422
 */
async function found(
  { tokenMetadata }: Reader,
  { family, contractId, number, locale }: { family: TokenFamily; contractId: string; number: bigint; locale: string },
  source: MetadataSource,
): Promise<Found> {
  const contract = await tokenMetadata.contract(contractId);
  if (contract === undefined) throw notFound('Contract not found');
  if (contract.lastTokenId?.state === 'invalid') throw tokenError(contract.lastTokenId.error);
  const token = contract.family === family ? await tokenMetadata.token(contractId, number) : undefined;
  if (token === undefined) throw notFound('Token not found');
  const document = await tokenMetadata.document(contractId, number, locale === '' ? null : locale);
  if (document === null && locale !== '') throw unprocessable('Locale not found');
  const { facts } = token;
  // What was read stays while it is read again, also if that fails.
  if (token.writtenAt === null) {
    if (facts.state === 'invalid') throw tokenError(facts.error);
    if (facts.state === 'pending' && source !== 'off') throw inProgress();
  }
  // Nobody waits for what this server doesn't ask for.
  if (document === null && token.document?.state === 'pending' && source === 'web') throw inProgress();
  if (document === null && token.document?.state === 'invalid' && !(family === 'ft' && hasFacts(token))) {
    throw tokenError(token.document.error);
  }
  return { contract, token, document };
}

/**
 * The tag of a token: its last change, and what else an answer depends on. Null for a token that was never written.
 */
async function tokenTag({ tokenMetadata }: Reader, contractId: string, number: bigint): Promise<string | null> {
  const contract = await tokenMetadata.contract(contractId);
  const token = contract && (await tokenMetadata.token(contractId, number));
  if (contract === undefined || token === undefined || token.writtenAt === null) return null;
  const { writtenAt, supply, facts, document } = token;
  const state = JSON.stringify([contract.txId.toHex(), contract.lastTokenId, supply, facts, document]);
  return `${writtenAt}-${Bun.hash.xxHash64(state).toString(16)}`;
}

const principalParameter = Type.String({
  pattern: PATTERNS.contract,
  description: 'Contract identifier',
  examples: example('contract_id'),
});

const MOST_TOKEN = 2n ** 128n - 1n;
const tokenParameter = Type.Transform(
  Type.String({ pattern: '^[0-9]+$', maxLength: 100, description: 'Number of the token', examples: ['1'] }),
)
  .Decode((digits) => {
    const number = BigInt(digits);
    if (number > MOST_TOKEN) throw new InvalidValue('token number', 'it must be below 2^128');
    return number;
  })
  .Encode(String);

const localeQuery = {
  locale: Type.String({ default: '', description: 'Locale of the document; the default one if it is empty' }),
};

const filters = {
  name: Type.String({ default: '', description: 'A part of the name, in upper or lower case' }),
  symbol: Type.String({ default: '', description: 'The symbol, in upper or lower case' }),
  address: Type.Optional(
    Type.String({
      pattern: `^${ADDRESS_PATTERN}`,
      description: 'Address that deployed the contract, or the beginning of the contract identifier',
      examples: example('contract_id'),
    }),
  ),
  valid_metadata_only: Type.Boolean({ default: false, description: 'Only tokens with a document' }),
  order_by: Type.Unsafe<'name' | 'symbol'>({
    ...words('name', 'symbol'),
    default: 'name',
    description: 'What the list is ordered by; what is unknown comes last, and first in descending order',
  }),
  order: Type.Unsafe<'asc' | 'desc'>({
    ...words('asc', 'desc'),
    default: 'asc',
    description: 'Direction of the order',
  }),
};

const emptyAsNull = (given: string): string | null => (given === '' ? null : given);

export const SIPS = { ft: 'sip-010', nft: 'sip-009', sft: 'sip-013' } as const;

/** An object of the counts; undefined without any. */
const counts = <K extends string>(list: readonly (readonly [K, number])[]): { [N in K]?: number } | null => {
  const sums: { [N in K]?: number } = {};
  for (const [name, number] of list) if (number > 0) sums[name] = (sums[name] ?? 0) + number;
  return Object.keys(sums).length === 0 ? null : sums;
};

/** Makes a function that returns the path of the copy of an image; null without one. */
export const imageCopies =
  (copies: TokenMetadata['copies']) =>
  (uri: string | null): string | null => {
    const name = uri === null ? null : (copies?.nameOf(uri) ?? null);
    return name === null ? null : `${IMAGES}/${name}.png`;
  };

/** Makes the serializer of documents. */
export function metadataOf(copies: TokenMetadata['copies']) {
  const copyOf = imageCopies(copies);
  return (document: TokenDocument | null): Static<typeof Metadata> | null => {
    if (document === null) return null;
    const { name, description, image, attributes, properties } = document;
    const copy = copyOf(image);
    return {
      sip: 16,
      name,
      ...known({
        description,
        image,
        cached_image: copy,
        cached_thumbnail_image: copy,
        attributes: attributes === null ? null : jsonText<Static<typeof Attribute>[]>(attributes),
        properties: properties === null ? null : jsonText<Record<string, unknown>>(properties),
      }),
    };
  };
}

/**
 * The routes of tokens' metadata, each with its alias without `v1`.
 * @param version as `versionText` makes it
 */
export function metadataRoutes(version: string, { source, copies }: TokenMetadata): Route[] {
  const copyOf = imageCopies(copies);
  const metadata = metadataOf(copies);

  function ft({ name, symbol, decimals, supply, uri }: TokenFacts, document: TokenDocument | null) {
    const copy = copyOf(document?.image ?? null);
    return known({
      name,
      symbol,
      decimals: exactDecimals(decimals),
      total_supply: supply,
      token_uri: uri,
      description: document?.description ?? null,
      image_uri: copy,
      image_thumbnail_uri: copy,
      image_canonical_uri: document?.image ?? null,
    });
  }

  const contractFields = (contractId: string, txId: Uint8Array, asset: string) => ({
    tx_id: toHex(txId),
    sender_address: splitPrincipal(contractId).address,
    asset_identifier: asset,
  });

  const listed = ({ contractId, asset, txId, document, ...facts }: ListedFt): Static<typeof ListedFtMetadata> => ({
    ...ft(facts, document),
    ...contractFields(contractId, txId, asset),
    contract_principal: contractId,
  });

  const shared = { tag: 'Token metadata', errors } as const;
  const single = {
    ...shared,
    notFound: 'Contract or token not found',
    refusals: {
      422: 'The token has no metadata in the locale, its metadata is still being read, or is wrong: `message` says why',
    },
    history: 'thing',
  } as const;

  const routesAt = (base: string, hidden: boolean): Route[] => [
    route({
      ...shared,
      hidden,
      path: base,
      operationId: 'getTokenMetadataStatus',
      summary: 'Counts of tokens',
      description:
        'Returns the numbers of tokens, of their contracts, and of requests for metadata by state. What there is none of is left out.',
      response: Status,
      etag: chainTipAndTokens,
      history: 'whole',
      handle: async ({ read }) => {
        const [tip, { families, jobs }] = [read.chain.tip(), await read.tokenMetadata.counts()];
        return {
          server_version: version,
          status: 'ready' as const,
          chain_tip: { block_height: tip?.height ?? 1 },
          ...known({
            tokens: counts(families.map(({ family, tokens }) => [family, tokens])),
            token_contracts: counts(families.map(({ family, contracts }) => [SIPS[family], contracts])),
            job_queue: counts(jobs.map(({ state, jobs: number }) => [state, number])),
          }),
        };
      },
    }),
    route({
      ...shared,
      hidden,
      path: `${base}/ft`,
      operationId: 'getFtMetadataList',
      summary: 'Fungible tokens',
      description:
        'Returns fungible tokens (SIP-010) by name or symbol, also those whose metadata is unknown. Tokens alike are ordered by contract identifier.',
      query: { ...filters, ...offsetQuery({ minimum: 1, maximum: 60, default: 20 }) },
      response: OffsetPage(ListedFtMetadata),
      etag: chainTipAndTokens,
      history: 'since',
      handle: async ({ query, read }) => {
        const { name, symbol, address = '', valid_metadata_only: withDocument, order_by: by, order: direction } = query;
        const filter = {
          name: emptyAsNull(name),
          symbol: emptyAsNull(symbol),
          address: emptyAsNull(address),
          withDocument,
        };
        const page = await read.tokenMetadata.fts(filter, { by, direction }, query.limit, query.offset);
        return offsetPage(query, page, listed);
      },
    }),
    route({
      ...single,
      hidden,
      path: `${base}/ft/{principal}`,
      operationId: 'getFtMetadata',
      summary: 'Metadata of a fungible token',
      description:
        'Returns what the contract of a fungible token (SIP-010) says of it, with the document that its URI leads to.',
      params: { principal: principalParameter },
      query: localeQuery,
      response: Ft,
      etag: (read, { principal }) => tokenTag(read, principal, FT_TOKEN),
      handle: async ({ params: { principal }, query: { locale }, read }) => {
        const { contract, token, document } = await found(
          read,
          { family: 'ft', contractId: principal, number: FT_TOKEN, locale },
          source,
        );
        return {
          ...ft(token, document),
          ...contractFields(principal, contract.txId, contract.asset ?? ''),
          ...known({ metadata: metadata(document) }),
        };
      },
    }),
    route({
      ...single,
      hidden,
      path: `${base}/nft/{principal}/{token_id}`,
      operationId: 'getNftMetadata',
      summary: 'Metadata of a non-fungible token',
      description: 'Returns the URI of a non-fungible token (SIP-009), with the document that it leads to.',
      params: { principal: principalParameter, token_id: tokenParameter },
      query: localeQuery,
      response: Nft,
      etag: (read, { principal, token_id }) => tokenTag(read, principal, token_id),
      handle: async ({ params: { principal, token_id }, query: { locale }, read }) => {
        const { token, document } = await found(
          read,
          { family: 'nft', contractId: principal, number: token_id, locale },
          source,
        );
        return known({ token_uri: token.uri, metadata: metadata(document) });
      },
    }),
    route({
      ...single,
      hidden,
      path: `${base}/sft/{principal}/{token_id}`,
      operationId: 'getSftMetadata',
      summary: 'Metadata of a semi-fungible token',
      description:
        'Returns what the contract of a semi-fungible token (SIP-013) says of it, with the document that its URI leads to.',
      params: { principal: principalParameter, token_id: tokenParameter },
      query: localeQuery,
      response: Sft,
      etag: (read, { principal, token_id }) => tokenTag(read, principal, token_id),
      handle: async ({ params: { principal, token_id }, query: { locale }, read }) => {
        const { token, document } = await found(
          read,
          { family: 'sft', contractId: principal, number: token_id, locale },
          source,
        );
        return known({
          token_uri: token.uri,
          decimals: exactDecimals(token.decimals),
          total_supply: token.supply,
          metadata: metadata(document),
        });
      },
    }),
  ];
  return [...routesAt('/metadata/v1', false), ...routesAt('/metadata', true)];
}

const IMAGES = '/stackside/v1/token-images';

/** The route of the images that this host keeps. */
export const tokenImageRoutes = ({ copies }: TokenMetadata): Route[] => [
  route({
    hidden: true,
    path: `${IMAGES}/{file}`,
    operationId: 'getTokenImage',
    summary: 'Image of a token',
    description:
      'Returns the small copy of an image of a token, as PNG of up to 300 pixels in width and height. Metadata of tokens has the URL, where the server keeps images (`--token-images`).',
    tag: 'Stackside',
    params: { file: Type.String({ pattern: '^[0-9a-f]{64}\\.png$', description: 'Name of the file' }) },
    response: Type.Unknown({ description: 'PNG' }),
    otherTypes: { 'image/png': 'The image' },
    notFound: 'Image not found: this server keeps none of that name',
    etag: null,
    history: 'none',
    snapshot: false,
    handle: async ({ params: { file } }) => {
      const bytes = await copies?.read(file.slice(0, -'.png'.length));
      if (!bytes) throw notFound('Image not found');
      return new Response(bytes, {
        headers: {
          'content-type': 'image/png',
          'content-security-policy': "default-src 'none'; sandbox",
          'x-content-type-options': 'nosniff',
          'cache-control': 'public, max-age=3600',
        },
      });
    },
  }),
];
