/** Names, subdomains and their zonefiles. */
import { Type } from '@sinclair/typebox';
import { NAME_CONTRACTS } from '../../chain/name-system.ts';
import { toHex } from '../../codec/hex.ts';
import { ApiError, bareErrors, notFound } from '../../http/errors.ts';
import { chainTipAndAttachments } from '../../http/etag.ts';
import { Redirect, route } from '../../http/route.ts';
import { type SentText, spelling } from '../../http/spelling.ts';
import type { NameInfo, SubdomainInfo } from '../../store/model/name.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from '../shared/examples/examples.ts';
import { PrincipalParameter } from '../shared/parameters.ts';
import { Name, paged, unanchored, ZonefileHash } from './parameters.ts';
import { NameList, NameOrSubdomain, Zonefile } from './schemas.ts';

/** What all routes of the name system have in common. */
export const family = {
  tag: 'Names',
  deprecated: { replacement: null },
  etag: chainTipAndAttachments,
  errors: bareErrors,
};

/** A page of names. @throws ApiError for one behind the last */
export function pageOf(names: string[], page: number): string[] {
  if (names.length === 0 && page > 0) throw new ApiError(400, 'Invalid page');
  return names;
}

const idOf = (txId: Uint8Array | null): string => (txId === null ? '' : toHex(txId));
const withoutPrefix = (hash: Uint8Array | null): string => hash?.toHex() ?? '';

const nameBody = ({ owner, operation, txId, expireBlock, zonefileHash, zonefile }: NameInfo) => ({
  address: owner,
  blockchain: 'stacks' as const,
  expire_block: expireBlock,
  last_txid: idOf(txId),
  status: operation,
  zonefile,
  zonefile_hash: withoutPrefix(zonefileHash),
});

const subdomainBody = ({ owner, txId, resolver, zonefileHash, zonefile }: SubdomainInfo) => ({
  address: owner,
  blockchain: 'stacks' as const,
  last_txid: idOf(txId),
  resolver,
  status: 'registered_subdomain' as const,
  zonefile,
  zonefile_hash: withoutPrefix(zonefileHash),
});

const LABELS_OF_SUBDOMAIN = 3;

/** Where the resolver that the name's zonefile gives answers the request. @throws ApiError where there is none */
async function resolverOf(subdomain: string, target: string, read: Reader): Promise<Redirect> {
  const resolver = await read.names.resolver(subdomain);
  if (resolver === undefined) throw notFound(`cannot find subdomain ${subdomain}`);
  const url = URL.parse(`${resolver}${target}`);
  // Anybody can write anything into a zonefile.
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
    handle: async ({ query: { page }, read }) => pageOf(await read.names.page(page), page),
  }),
  route({
    ...family,
    path: '/v1/names/{name}',
    operationId: 'getNameInfo',
    summary: 'One name or subdomain',
    description:
      'Returns the owner, the zonefile and the last operation of a name or a subdomain. Expired names are returned like others; revoked ones are not found.',
    params: { name: Name },
    query: unanchored,
    response: NameOrSubdomain,
    notFound: 'Name not found, or it is revoked',
    redirects: 'A subdomain that only the resolver of its name can know',
    handle: async ({ params: { name }, read, target }) => {
      if (name.split('.').length === LABELS_OF_SUBDOMAIN) {
        const subdomain = await read.names.findSubdomain(name);
        return subdomain === undefined ? resolverOf(name, target, read) : subdomainBody(subdomain);
      }
      const found = await read.names.find(name);
      if (found === undefined) throw notFound(`cannot find name ${name}`);
      return nameBody(found);
    },
  }),
  route({
    ...family,
    path: '/v1/names/{name}/subdomains',
    operationId: 'getNameSubdomains',
    summary: 'Subdomains of a name',
    description: 'Returns the subdomains that the zonefiles of a name declared, in alphabetical order.',
    params: { name: Name },
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
    params: { name: Name },
    query: unanchored,
    response: Zonefile,
    notFound: 'Name not found, or it is revoked',
    handle: async ({ params: { name }, read }) => {
      const zonefile = await read.names.zonefile(name, null);
      if (zonefile === undefined) throw notFound('No such name or zonefile does not exist');
      return { zonefile };
    },
  }),
  route({
    ...family,
    path: '/v1/names/{name}/zonefile/{zoneFileHash}',
    operationId: 'getNameZonefileByHash',
    summary: 'Zonefile by hash',
    description: 'Returns a current or former zonefile of a name or a subdomain by its hash.',
    params: { name: Name, zoneFileHash: ZonefileHash },
    query: unanchored,
    response: Zonefile,
    notFound: 'Zonefile not found: the name is unknown, revoked, or never had it',
    handle: async ({ params: { name, zoneFileHash }, read }) => {
      const zonefile = await read.names.zonefile(name, zoneFileHash);
      if (zonefile === undefined) throw notFound('No such name or zonefile');
      return { zonefile };
    },
  }),
];

const spelledPrincipal = spelling(PrincipalParameter);

/** The principal whose names a request asks for; null where it isn't one. */
const ownerIn = (sent: SentText): string | null => spelledPrincipal(sent('address') ?? '');

/** The asset identifier of the names on the network of an owner. */
const namesAsset = (owner: string | null): string | null => {
  const contract = owner === null ? null : NAME_CONTRACTS[/^S[PM]/.test(owner) ? 0 : 1];
  return contract === null ? null : `${contract}::names`;
};

export const namesOfAddress = [
  route({
    path: '/v1/addresses/{blockchain}/{address}',
    operationId: 'getNamesOwnedByAddress',
    summary: 'Names of an address',
    description: 'Returns the names and subdomains that an address owns, in alphabetical order.',
    tag: family.tag,
    deprecated: {
      replacement: '/extended/v3/principals/{principal}/balances/nft?asset_identifier={names}',
      parts: { principal: ownerIn, names: (sent) => namesAsset(ownerIn(sent)) },
    },
    etag: chainTipAndAttachments,
    params: {
      blockchain: Type.String({ description: 'Always `stacks`', examples: ['stacks'] }),
      address: Type.String({ description: 'Standard address or contract identifier', examples: example('principal') }),
    },
    query: unanchored,
    response: Type.Object({ names: NameList }, { $id: 'OwnedNames' }),
    long: true,
    handle: async ({ params: { blockchain, address }, read }) => {
      if (blockchain !== 'stacks') throw new ApiError(400, 'Unsupported blockchain');
      return { names: (await read.names.ofOwner(address)).sort() };
    },
  }),
];
