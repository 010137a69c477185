/** What an address has now. */
import { Type } from '@sinclair/typebox';
import { principalAndMempool, principal as principalTag } from '../../http/etag.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import { AddressFtBalance, StxBalance, stxBalance } from '../shared/address.ts';
import { example } from '../shared/examples/examples.ts';
import { Principal } from '../shared/legacy-parameters.ts';
import { SignedAmount } from '../shared/values.ts';

const tag = 'Addresses';
const params = { principal: Principal };
const v3 = '/extended/v3/principals/{principal}/balances';

/** Greater than any height. */
const TIP = Number.MAX_SAFE_INTEGER;

export const addressBalancesV2 = [
  route({
    path: '/extended/v2/addresses/{principal}/balances/stx',
    operationId: 'getAddressStxBalance',
    summary: 'STX balance of an address (v2)',
    description:
      'Returns the STX an address holds and how much of it is locked. With `include_mempool` the effect of pending transactions is added.',
    tag,
    params,
    query: {
      include_mempool: Type.Boolean({
        default: false,
        description: 'Whether to add the effect of pending transactions',
      }),
    },
    response: StxBalance,
    deprecated: { replacement: `${v3}/stx` },
    etag: principalAndMempool,
    handle: async ({ params: { principal }, query: { include_mempool }, read }) =>
      stxBalance(await read.principals.stxHistory(principal, TIP), include_mempool),
  }),
  route({
    path: '/extended/v2/addresses/{principal}/balances/ft',
    operationId: 'getAddressFtBalances',
    summary: 'Fungible token balances of an address',
    description: 'Returns the fungible tokens an address holds, ordered by asset identifier.',
    tag,
    params,
    query: legacyOffsetQuery({ maximum: 200, default: 100 }),
    response: OffsetPage(AddressFtBalance),
    deprecated: { replacement: `${v3}/ft` },
    etag: principalTag,
    handle: async ({ params: { principal }, query, read }) => {
      const page = await read.addresses.ftBalances(principal, query.limit, query.offset);
      return offsetPage(query, page, ({ asset: token, balance }) => ({ token, balance }));
    },
  }),
  route({
    path: '/extended/v2/addresses/{principal}/balances/ft/{token}',
    operationId: 'getAddressFtBalance',
    summary: 'Balance of one fungible token (v2)',
    description:
      "Returns an address's balance of one fungible token, or of STX if the token is `stx`. Unknown tokens have a balance of zero.",
    tag,
    params: { ...params, token: Type.String({ description: 'Asset identifier, or `stx`', examples: example('ft') }) },
    response: Type.Object({ balance: SignedAmount }, { $id: 'AddressFtAmount' }),
    deprecated: { replacement: `${v3}/ft/{token}` },
    etag: principalTag,
    handle: async ({ params: { principal, token }, read }) => {
      if (token !== 'stx') return { balance: await read.principals.ftBalance(principal, token) };
      const { balance } = await read.principals.stxBalance(principal);
      return { balance: String(balance) };
    },
  }),
];
