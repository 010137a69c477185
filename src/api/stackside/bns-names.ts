/** Names of the second name system (BNS-V2). Stackside's own routes. */
import { Type } from '@sinclair/typebox';
import { BNS_CONTRACTS, bnsOperations } from '../../chain/bns-v2.ts';
import { networkOf, TESTNET_CHAIN_ID } from '../../chain/network.ts';
import { toHex } from '../../codec/hex.ts';
import { requireFound } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { CursorPage, cursorList, cursorQuery, listOf, UncountedCursorPage } from '../../http/pagination.ts';
import { type Route, route } from '../../http/route.ts';
import type { BnsName } from '../../store/model/name.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { Hash, named, nullable, object, Principal, UnixTime, words } from '../shared/fields.ts';
import { MAX_SUBJECTS, PrincipalParameter, ResultsAtTip, readPrincipals, texts, tipOf } from '../shared/parameters.ts';

const tag = 'Stackside';

const [Name, name] = object<BnsName>('BnsName')({
  name: [Type.String(), ({ name }) => name],
  token_id: [Type.Integer({ minimum: 0, description: 'Number of the NFT' }), ({ id }) => id],
  owner: [
    nullable(Principal, { description: 'Owner of the NFT; null if the contract did not mint it' }),
    ({ owner }) => owner,
  ],
  is_primary: [
    Type.Boolean({
      description:
        'Whether it is the primary name of its owner. A choice by a call from another contract is not visible in events',
    }),
    ({ isPrimary }) => isPrimary,
  ],
  status: [
    Type.Unsafe<BnsName['operation']>({ ...words(...bnsOperations), description: 'Topic of the last print' }),
    ({ operation }) => operation,
  ],
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  block_time: [UnixTime, ({ time }) => time],
  renewal: [
    nullable(
      Type.Object({
        burn_block_height: Type.Integer({ minimum: 0, description: 'Bitcoin height at which the lease ends' }),
        has_ended: Type.Boolean({
          description: 'The owner can renew for 5,000 more Bitcoin blocks before others can take the name',
        }),
        expected_time: Type.Integer({ description: 'Unix seconds, at ten minutes for each Bitcoin block' }),
      }),
      { description: 'Null for a name that does not expire, or if its namespace is not launched' },
    ),
    ({ renewal: end }) =>
      end === null
        ? null
        : { burn_block_height: end.burnBlockHeight, has_ended: end.hasEnded, expected_time: end.expectedTime },
  ],
});

const PrimaryName = named('PrimaryName', {
  principal: Type.String(),
  name: nullable(Type.String(), { description: 'Null if the principal has no primary name' }),
});

const family = { tag, etag: chainTip, history: 'whole' } as const;

const NO_NAME = 'Name not found';

/** Names have lower case only. */
const lowerCaseText = (description: string, maxLength: number, examples: string[]) =>
  Type.String({ maxLength, description, examples });

/** Returns the contract of the second name system. @param contractOption null for the contract of the network */
export const bnsContractOf = (contractOption: string | null, { chain }: Reader): string =>
  contractOption ?? BNS_CONTRACTS[networkOf(chain.chainId() ?? TESTNET_CHAIN_ID).kind];

/**
 * The routes of the second name system.
 * @param contractOption identifier of the contract; null for the contract of the network
 */
export function bnsNames(contractOption: string | null): readonly Route[] {
  const contractOf = (read: Reader): string => bnsContractOf(contractOption, read);
  return [
    route({
      ...family,
      path: '/stackside/v1/names/bns-v2',
      operationId: 'getBnsNames',
      summary: 'Directory of BNS-V2 names',
      description:
        'Returns the names of BNS-V2 that are not burnt, sorted by name: all names, those of a namespace, or those with a prefix.',
      query: {
        namespace: Type.Optional(lowerCaseText('Namespace, such as `btc`', 20, ['btc'])),
        prefix: Type.Optional(lowerCaseText('Prefix of the names, in lower case', 69, ['ali'])),
        ...cursorQuery,
      },
      response: UncountedCursorPage(Name),
      handle: ({ query, read }) => {
        const { namespace = null, prefix = '' } = query;
        const list = cursorList(`bns ${namespace ?? ''} ${prefix}`, query);
        return list.page(read.bnsNames.list(contractOf(read), { namespace, prefix }, ...list.start), name);
      },
    }),
    route({
      ...family,
      path: '/stackside/v1/names/bns-v2/{name}',
      operationId: 'getBnsName',
      summary: 'Owner and renewal of a BNS-V2 name',
      description: 'Returns the owner of a name of BNS-V2, the number of its NFT, and when it must be renewed.',
      params: { name: Type.String({ description: 'Name with its namespace', examples: ['alice.btc'] }) },
      response: Name,
      notFound: NO_NAME,
      handle: ({ params, read }) => name(requireFound(read.bnsNames.find(contractOf(read), params.name), NO_NAME)),
    }),
    route({
      ...family,
      path: '/stackside/v1/names/bns-v2/owners/{principal}',
      operationId: 'getBnsNamesOfPrincipal',
      summary: 'BNS-V2 names of a principal',
      description: 'Returns the names of BNS-V2 that a principal owns, oldest NFT first.',
      params: { principal: PrincipalParameter },
      query: cursorQuery,
      response: CursorPage(Name),
      handle: ({ params: { principal }, query, read }) => {
        const list = cursorList(`bns owner ${principal}`, query);
        return list.page(read.bnsNames.ofOwner(contractOf(read), principal, ...list.start), name);
      },
    }),
    route({
      method: 'POST',
      path: '/stackside/v1/names/bns-v2/primary',
      operationId: 'getPrimaryNames',
      summary: 'Primary names of several principals',
      description:
        'Returns the primary names of up to 50 principals in BNS-V2, in the order of the request. All are from one state of the chain.',
      tag,
      body: Type.Object(
        { principals: texts('Standard addresses and contract identifiers', { minItems: 1, maxItems: MAX_SUBJECTS }) },
        { additionalProperties: false },
      ),
      response: listOf(ResultsAtTip, PrimaryName),
      etag: null,
      history: 'whole',
      handle: ({ body, read }) => {
        const contract = contractOf(read);
        const primaryName = (principal: string) => ({ principal, name: read.bnsNames.primaryOf(contract, principal) });
        return { ...tipOf(read), results: readPrincipals(body.principals).map(primaryName) };
      },
    }),
  ];
}
