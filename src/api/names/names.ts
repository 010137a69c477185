/** The Bitcoin name system (BNS): names, subdomains, namespaces, zonefiles and prices. */
import { Type } from '@sinclair/typebox';
import { namePrice, namespacePrice } from '../../chain/name-system.ts';
import { toHex } from '../../codec/hex.ts';
import { ApiError, bareErrors, notFound, requireFound } from '../../http/errors.ts';
import { chainTipAndAttachments } from '../../http/etag.ts';
import { normalizer } from '../../http/parameters.ts';
import { Redirect, route } from '../../http/route.ts';
import { NAMES_OF_PAGE, type NameInfo, type SubdomainInfo } from '../../store/model/name.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { MAX_ENTRIES } from '../../store/rows/statement.ts';
import { example } from '../shared/examples/examples.ts';
import { fields, literal, named, object, words } from '../shared/fields.ts';
import { hexParameter, PrincipalParameter, unanchored as unanchoredParameter } from '../shared/parameters.ts';

const NameList = Type.Array(Type.String(), { $id: 'NameList' });

type Owned = Pick<NameInfo, 'owner' | 'txId' | 'zonefileHash' | 'zonefile'>;
const owner = fields<Owned>()({
  address: [Type.String({ description: 'Address of the owner' }), ({ owner }) => owner],
  blockchain: literal('stacks'),
});
const lastOperation = fields<Owned>()({
  last_txid: [
    Type.String({
      pattern: '^(0x[0-9a-f]{64})?$',
      description: 'Transaction of the last operation; empty for names imported at genesis',
    }),
    ({ txId }) => (txId === null ? '' : toHex(txId)),
  ],
});
const zone = fields<Owned>()({
  zonefile: [
    Type.String({ description: 'Text of the zonefile; empty if this server never received it' }),
    ({ zonefile }) => zonefile,
  ],
  zonefile_hash: [
    Type.String({ pattern: '^[0-9a-f]*$', description: 'Hash of the zonefile in hex, without 0x' }),
    ({ zonefileHash }) => zonefileHash?.toHex() ?? '',
  ],
});

const [NameState, nameBody] = object<NameInfo>('Name')({
  ...owner,
  expire_block: [
    Type.Integer({
      minimum: 0,
      description: 'Stacks block that ends the lease of the name; 0 while its namespace is not open',
    }),
    ({ expireBlock }) => expireBlock,
  ],
  ...lastOperation,
  status: [
    words('name-import', 'name-register', 'name-update', 'name-transfer', 'name-renewal', 'name-revoke'),
    ({ operation }) => operation,
  ],
  ...zone,
});

const [Subdomain, subdomainBody] = object<SubdomainInfo>('Subdomain')({
  ...owner,
  ...lastOperation,
  resolver: [
    Type.String({ description: 'URL of the resolver for subdomains; may be empty' }),
    ({ resolver }) => resolver,
  ],
  status: literal('registered_subdomain'),
  ...zone,
});

const NameOrSubdomain = Type.Union([NameState, Subdomain], { $id: 'NameOrSubdomain' });

const Zonefile = named('Zonefile', { zonefile: Type.String() });

const [Price, inMicroStx] = object<bigint>('NamePrice')({
  units: literal('STX'),
  amount: [Type.String({ pattern: '^[0-9]+$', description: 'Price in micro-STX' }), String],
});

/** Any text: an invalid name is answered like an unknown one. */
const NameParameter = Type.String({
  description: 'Name with its namespace, such as `alice.btc`, or subdomain, such as `joe.alice.btc`',
  examples: example('name'),
});

const Namespace = Type.String({ description: 'Namespace, such as `btc`', examples: example('namespace') });

const ZonefileHash = hexParameter({
  pattern: '^(0x)?([a-fA-F0-9]{2})+$',
  rule: 'a hash in hexadecimal digits, with or without 0x before them',
  description: 'Hash of the zonefile in hex, with or without 0x',
  examples: example('zonefile_hash'),
});

/** Accepted for old clients. */
const unanchored = { unanchored: unanchoredParameter };

const paged = {
  page: Type.Integer({
    minimum: 0,
    maximum: MAX_ENTRIES / NAMES_OF_PAGE,
    default: 0,
    description: `Number of the page, from 0; a page has ${NAMES_OF_PAGE} names`,
  }),
};

const family = {
  tag: 'Names',
  deprecated: { replacement: null },
  etag: chainTipAndAttachments,
  history: 'whole',
  errors: bareErrors,
} as const;

/** A page of names. @throws ApiError for a page after the last */
function requirePage(names: string[], page: number): string[] {
  if (names.length === 0 && page > 0) throw new ApiError(400, 'Invalid page');
  return names;
}

const LABELS_OF_SUBDOMAIN = 3;

/** A redirect to the resolver in the name's zonefile. @throws ApiError if there is none */
function toResolver(subdomain: string, target: string, read: Reader): Redirect {
  const resolver = requireFound(read.names.resolver(subdomain), `cannot find subdomain ${subdomain}`);
  const url = URL.parse(`${resolver}${target}`);
  // Zonefiles are hostile: anybody can write one.
  if (url === null || !/^https?:$/.test(url.protocol)) throw notFound('missing resolver from a malformed zonefile');
  return new Redirect(url.href);
}

export const names = [
  route({
    ...family,
    path: '/v1/names',
    operationId: 'getAllNames',
    summary: 'Names',
    description:
      'Returns the names that are registered and not revoked, in alphabetical order, 100 on a page. A page after the last one is an error.',
    query: { ...unanchored, ...paged },
    response: NameList,
    handle: ({ query: { page }, read }) => requirePage(read.names.page(page), page),
  }),
  route({
    ...family,
    path: '/v1/names/{name}',
    operationId: 'getNameInfo',
    summary: 'One name or subdomain',
    description:
      'Returns the owner, the zonefile and the last operation of a name or a subdomain. Expired names are returned like others; revoked ones are not found.',
    params: { name: NameParameter },
    query: unanchored,
    response: NameOrSubdomain,
    notFound: 'Name not found, or it is revoked',
    redirects: 'A subdomain that only the resolver of its name may have',
    handle: ({ params: { name }, read, target }) => {
      if (name.split('.').length === LABELS_OF_SUBDOMAIN) {
        const subdomain = read.names.findSubdomain(name);
        return subdomain === undefined ? toResolver(name, target, read) : subdomainBody(subdomain);
      }
      return nameBody(requireFound(read.names.find(name), `cannot find name ${name}`));
    },
  }),
  route({
    ...family,
    path: '/v1/names/{name}/subdomains',
    operationId: 'getNameSubdomains',
    summary: 'Subdomains of a name',
    description: 'Returns the subdomains that the zonefiles of a name declared, in alphabetical order.',
    params: { name: NameParameter },
    query: unanchored,
    response: NameList,
    long: true,
    handle: ({ params: { name }, read }) => read.names.subdomains(name),
  }),
  route({
    ...family,
    path: '/v1/names/{name}/zonefile',
    operationId: 'getNameZonefile',
    summary: 'Zonefile of a name',
    description: 'Returns the newest zonefile of a name or a subdomain.',
    params: { name: NameParameter },
    query: unanchored,
    response: Zonefile,
    notFound: 'Name not found, or it is revoked',
    handle: ({ params: { name }, read }) => ({
      zonefile: requireFound(read.names.zonefile(name, null), 'No such name or zonefile does not exist'),
    }),
  }),
  route({
    ...family,
    path: '/v1/names/{name}/zonefile/{zoneFileHash}',
    operationId: 'getNameZonefileByHash',
    summary: 'Zonefile by hash',
    description: 'Returns a current or former zonefile of a name or a subdomain by its hash.',
    params: { name: NameParameter, zoneFileHash: ZonefileHash },
    query: unanchored,
    response: Zonefile,
    notFound: 'Zonefile not found: the name is unknown, revoked, or never had it',
    handle: ({ params: { name, zoneFileHash }, read }) => ({
      zonefile: requireFound(read.names.zonefile(name, zoneFileHash), 'No such name or zonefile'),
    }),
  }),
];

const normalizePrincipal = normalizer(PrincipalParameter);

export const namesOfAddress = [
  route({
    path: '/v1/addresses/{blockchain}/{address}',
    operationId: 'getNamesOwnedByAddress',
    summary: 'Names of an address',
    description: 'Returns the names and subdomains that an address owns, in alphabetical order.',
    tag: family.tag,
    deprecated: {
      replacement: '/extended/v3/principals/{principal}/balances/nft',
      parts: { principal: (textOf) => normalizePrincipal(textOf('address')) },
    },
    etag: chainTipAndAttachments,
    history: 'whole',
    params: {
      blockchain: Type.String({ description: 'Always `stacks`', examples: ['stacks'] }),
      address: Type.String({ description: 'Standard address or contract identifier', examples: example('principal') }),
    },
    query: unanchored,
    response: named('OwnedNames', { names: NameList }),
    long: true,
    handle: async ({ params: { blockchain, address }, read }) => {
      if (blockchain !== 'stacks') throw new ApiError(400, 'Unsupported blockchain');
      return { names: (await read.names.ofOwner(address)).sort() };
    },
  }),
];

export const namespaces = [
  route({
    ...family,
    path: '/v1/namespaces',
    operationId: 'getAllNamespaces',
    summary: 'Namespaces',
    description: 'Returns the namespaces that are open for registration, in alphabetical order.',
    query: unanchored,
    response: named('Namespaces', { namespaces: NameList }),
    handle: ({ read }) => ({ namespaces: read.names.namespaces() }),
  }),
  route({
    ...family,
    path: '/v1/namespaces/{tld}/names',
    operationId: 'getNamespaceNames',
    summary: 'Names of a namespace',
    description:
      'Returns the names of a namespace that are not revoked, in alphabetical order, 100 on a page. A page after the last one is an error.',
    params: { tld: Namespace },
    query: { ...unanchored, ...paged },
    response: NameList,
    handle: ({ params: { tld }, query: { page }, read }) => {
      const names = read.names.ofNamespace(tld, page);
      if (names === undefined) throw new ApiError(400, 'No such namespace');
      return requirePage(names, page);
    },
  }),
  route({
    ...family,
    path: '/v2/prices/namespaces/{tld}',
    operationId: 'getNamespacePrice',
    history: 'none',
    summary: 'Price of a namespace',
    description: 'Returns the price of a namespace in micro-STX, which depends on the length of its name.',
    params: { tld: Namespace },
    response: Price,
    handle: ({ params: { tld } }) => {
      const price = namespacePrice(tld);
      if (price === undefined) throw new ApiError(400, 'Invalid namespace');
      return inMicroStx(price);
    },
  }),
  route({
    ...family,
    path: '/v2/prices/names/{name}',
    operationId: 'getNamePrice',
    summary: 'Price of a name',
    description: 'Returns the price of a name in micro-STX, computed from the price function of its namespace.',
    params: { name: NameParameter },
    response: Price,
    handle: ({ params: { name }, read }) => {
      const [label = '', namespace = '', ...more] = name.split('.');
      const set = more.length > 0 ? undefined : read.names.price(namespace);
      const price = set === undefined ? undefined : namePrice(label, set);
      if (price === undefined) throw new ApiError(400, 'Invalid name');
      return inMicroStx(price);
    },
  }),
];
