/** What a principal has. */
import { Type } from '@sinclair/typebox';
import { principalAndMempool, principal as principalTag } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import { AssetParameter, NftAssetParameter, PrincipalParameter } from '../shared/parameters.ts';
import { StxBalance } from './schemas/principal.ts';
import { FtBalance, NftInstance } from './schemas/token.ts';
import { stxBalance } from './serialize/principal.ts';
import { ftBalance, nftInstance } from './serialize/token.ts';

const tag = 'Principals';

export const balances = [
  route({
    path: '/extended/v3/principals/{principal}/balances/stx',
    operationId: 'getPrincipalStxBalance',
    summary: 'STX balance of a principal',
    description:
      'Returns the STX a principal holds, how much of it is locked, and how pending transactions will change it. Unknown principals have a balance of zero.',
    tag,
    params: { principal: PrincipalParameter },
    response: StxBalance,
    etag: principalAndMempool,
    handle: async ({ params: { principal }, read }) => stxBalance(await read.principals.stxBalance(principal)),
  }),
  route({
    path: '/extended/v3/principals/{principal}/balances/ft',
    operationId: 'getPrincipalFtBalances',
    summary: 'Fungible token balances of a principal',
    description: 'Returns the fungible tokens a principal holds, largest balance first.',
    tag,
    params: { principal: PrincipalParameter },
    query: cursorQuery,
    response: CursorPage(FtBalance),
    etag: principalTag,
    handle: async ({ params: { principal }, query: { limit, cursor }, read }) => {
      const list = `principal-ft-balances ${principal}`;
      const page = await read.principals.ftBalances(principal, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, ftBalance);
    },
  }),
  route({
    path: '/extended/v3/principals/{principal}/balances/ft/{asset_identifier}',
    operationId: 'getPrincipalFtBalance',
    summary: 'Balance of one fungible token',
    description: "Returns a principal's balance of one fungible token. Unknown tokens have a balance of zero.",
    tag,
    params: { principal: PrincipalParameter, asset_identifier: AssetParameter },
    response: FtBalance,
    etag: principalTag,
    handle: async ({ params: { principal, asset_identifier: asset }, read }) =>
      ftBalance({ asset, balance: await read.principals.ftBalance(principal, asset) }),
  }),
  route({
    path: '/extended/v3/principals/{principal}/balances/nft',
    operationId: 'getPrincipalNftBalances',
    summary: 'Non-fungible tokens of a principal',
    description:
      'Returns the instances of non-fungible tokens that a principal owns, ordered by asset identifier, then by value.',
    tag,
    params: { principal: PrincipalParameter },
    query: { asset_identifier: Type.Optional(NftAssetParameter), ...cursorQuery },
    response: CursorPage(NftInstance),
    etag: principalTag,
    handle: async ({ params: { principal }, query: { asset_identifier: asset = null, limit, cursor }, read }) => {
      const list = `principal-nft-balances ${principal} ${asset ?? ''}`;
      const page = await read.principals.nftBalances(principal, asset, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, nftInstance);
    },
  }),
];
