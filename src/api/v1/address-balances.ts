/** What an address has, or had up to a block. */
import { Type } from '@sinclair/typebox';
import { fromHex, toHex } from '../../codec/hex.ts';
import { ApiError, notFound } from '../../http/errors.ts';
import { principalAndMempool } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { Nonces as NonceState } from '../../store/model/account.ts';
import type { BlockId } from '../../store/model/block.ts';
import { Balances, balances, Nonces, nonces, StxBalanceWithTotals, stxBalanceWithTotals } from '../shared/address.ts';
import { example } from '../shared/examples/examples.ts';
import { Principal } from '../shared/legacy-parameters.ts';
import { NO_BLOCK, untilHeight, untilQuery } from './heights.ts';

const tag = 'Addresses';
const params = { principal: Principal };
const v3 = '/extended/v3/principals/{principal}';

/** What a 404 of the nonces means, with the block as it was asked for. */
const noBlock = (asked: { height: number } | { hash: string }) =>
  notFound(`No block found for ${JSON.stringify(asked)}`);

const atBlock = (lastNonce: bigint | null): NonceState => ({
  next: lastNonce === null ? 0n : lastNonce + 1n,
  lastConfirmed: lastNonce,
  lastPending: null,
  pending: [],
  missing: [],
});

export const addressBalances = [
  route({
    path: '/extended/v1/address/{principal}/stx',
    operationId: 'getAccountStxBalance',
    summary: 'STX balance of an address',
    description:
      'Returns the STX an address holds, how much of it is locked, and how much it has sent and received so far.',
    tag,
    params,
    query: untilQuery,
    response: StxBalanceWithTotals,
    notFound: NO_BLOCK,
    deprecated: { replacement: `${v3}/balances/stx` },
    etag: principalAndMempool,
    handle: async ({ params: { principal }, query, read }) => {
      const history = await read.principals.stxHistory(principal, await untilHeight(read, query));
      return stxBalanceWithTotals(history, query.until_block === undefined);
    },
  }),
  route({
    path: '/extended/v1/address/{principal}/balances',
    operationId: 'getAccountBalance',
    summary: 'All balances of an address',
    description:
      'Returns the STX and tokens an address holds, and how much it has sent and received of each. Every token that the address ever moved is listed, zero balances included.',
    tag,
    params,
    query: untilQuery,
    response: Balances,
    notFound: NO_BLOCK,
    deprecated: { replacement: [`${v3}/balances/stx`, `${v3}/balances/ft`, `${v3}/balances/nft`] },
    etag: principalAndMempool,
    handle: async ({ params: { principal }, query, read }) => {
      const height = await untilHeight(read, query);
      const [stx, tokens] = [
        await read.principals.stxHistory(principal, height),
        await read.addresses.tokens(principal, height),
      ];
      return balances(stx, tokens, query.until_block === undefined);
    },
  }),
  route({
    path: '/extended/v1/address/{principal}/nonces',
    operationId: 'getAccountNonces',
    summary: 'Nonces of an address',
    description:
      'Returns the last nonce an address used, the nonces of its pending transactions, and the nonce to use next. With `block_height` or `block_hash` the state after that block is returned.',
    tag,
    params,
    query: {
      block_height: Type.Optional(
        Type.Integer({
          minimum: 1,
          description: 'Height of the last block that counts; give this or `block_hash`, not both',
          examples: example('block_height'),
        }),
      ),
      block_hash: Type.Optional(
        Type.Transform(
          Type.String({
            pattern: '^0x[a-fA-F0-9]{64}$',
            description: 'Hash of the last block that counts; give this or `block_height`, not both',
            examples: example('block_hash'),
          }),
        )
          .Decode(fromHex)
          .Encode(toHex),
      ),
    },
    response: Nonces,
    notFound: 'Block not found',
    deprecated: { replacement: `${v3}/nonces` },
    etag: principalAndMempool,
    handle: async ({ params: { principal }, query: { block_height: height, block_hash: hash }, read }) => {
      if (height !== undefined && hash !== undefined) {
        const message = "Multiple block query parameters specified: use one of 'block_height' and 'block_hash'";
        throw new ApiError(400, message, 'VALIDATION');
      }
      const id: BlockId | null = height !== undefined ? { height } : hash !== undefined ? { hash } : null;
      if (id === null) return nonces(await read.principals.nonces(principal));
      const block = await read.blocks.find(id);
      if (block === undefined)
        throw noBlock(height !== undefined ? { height } : { hash: toHex(hash ?? new Uint8Array(0)) });
      const { lastNonce } = await read.principals.stxHistory(principal, block.height);
      return nonces(atBlock(lastNonce));
    },
  }),
];
