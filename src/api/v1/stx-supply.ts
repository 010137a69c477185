/** How many STX there are, in the forms of v1. */
import { Type } from '@sinclair/typebox';
import { chainTip } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { LegacyStxSupply, PlainStx, StxSupply } from './schemas/stx-supply.ts';
import { legacyStxSupply, stxSupply, stxText } from './serialize/stx-supply.ts';

const family = {
  tag: 'Tokens',
  deprecated: { replacement: '/extended/v3/tokens/stx/supply' },
  etag: chainTip,
};

const query = {
  height: Type.Optional(Type.Integer({ minimum: 0, description: 'Of the block after which the supply is asked for' })),
  unanchored: Type.Boolean({ default: false, description: 'Speak of the block after the tip; not with `height`' }),
};

/** The supply after a block, which may be one that is yet to come. */
async function supplyAt(read: Reader, height: number | undefined, unanchored: boolean) {
  if (height !== undefined) return { supply: await read.tokens.stxSupplyAt(height), height };
  const tip = (await read.chain.tip())?.height ?? 0;
  return { supply: await read.tokens.stxSupply(), height: tip + (unanchored ? 1 : 0) };
}

export const stxSupplies = [
  route({
    ...family,
    path: '/extended/v1/stx_supply',
    operationId: 'getStxSupplyV1',
    summary: 'How many STX there are',
    query,
    response: StxSupply,
    handle: async ({ query: { height, unanchored }, read }) => {
      const found = await supplyAt(read, height, unanchored);
      return stxSupply(found.supply, found.height);
    },
  }),
  route({
    ...family,
    path: '/extended/v1/stx_supply/total/plain',
    operationId: 'getStxSupplyTotalSupplyPlain',
    summary: 'How many STX there are, as plain text',
    response: PlainStx,
    plainText: true,
    handle: async ({ read }) => stxText(await read.tokens.stxSupply()),
  }),
  route({
    ...family,
    path: '/extended/v1/stx_supply/circulating/plain',
    operationId: 'getStxSupplyCirculatingPlain',
    summary: 'How many STX are in circulation, which is all, as plain text',
    response: PlainStx,
    plainText: true,
    handle: async ({ read }) => stxText(await read.tokens.stxSupply()),
  }),
  route({
    ...family,
    path: '/extended/v1/stx_supply/legacy_format',
    operationId: 'getTotalStxSupplyLegacyFormat',
    summary: 'How many STX there are, in the words of the first such services',
    query,
    response: LegacyStxSupply,
    handle: async ({ query: { height, unanchored }, read }) => {
      const found = await supplyAt(read, height, unanchored);
      return legacyStxSupply(found.supply, found.height);
    },
  }),
];
