/** How many STX there are, in the forms of v1. */
import { Type } from '@sinclair/typebox';
import { chainTip } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from '../shared/examples/examples.ts';
import { LegacyStxSupply, PlainStx, StxSupply } from './schemas/stx-supply.ts';
import { legacyStxSupply, stxSupply, stxText } from './serialize/stx-supply.ts';

const family = {
  tag: 'Tokens',
  deprecated: { replacement: '/extended/v3/tokens/stx/supply' },
  etag: chainTip,
};

const query = {
  height: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Height of the block after which the supply is computed',
      examples: example('block_height'),
    }),
  ),
  unanchored: Type.Boolean({
    default: false,
    description: 'Whether to compute the supply for the block after the tip; not allowed with `height`',
  }),
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
    summary: 'STX supply (v1)',
    description:
      'Returns the current number of STX, the one projected for the year 2050, and the share that is unlocked. With `height` the supply at that block is returned.',
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
    summary: 'Total STX as plain text',
    description: 'Returns the current number of STX as plain text with six decimals.',
    response: PlainStx,
    plainText: true,
    handle: async ({ read }) => stxText(await read.tokens.stxSupply()),
  }),
  route({
    ...family,
    path: '/extended/v1/stx_supply/circulating/plain',
    operationId: 'getStxSupplyCirculatingPlain',
    summary: 'Circulating STX as plain text',
    description:
      'Returns the number of STX in circulation as plain text with six decimals. All STX are in circulation.',
    response: PlainStx,
    plainText: true,
    handle: async ({ read }) => stxText(await read.tokens.stxSupply()),
  }),
  route({
    ...family,
    path: '/extended/v1/stx_supply/legacy_format',
    operationId: 'getTotalStxSupplyLegacyFormat',
    summary: 'STX supply in the legacy format',
    description: 'Returns the STX supply with the field names that the first supply services used.',
    query,
    response: LegacyStxSupply,
    handle: async ({ query: { height, unanchored }, read }) => {
      const found = await supplyAt(read, height, unanchored);
      return legacyStxSupply(found.supply, found.height);
    },
  }),
];
