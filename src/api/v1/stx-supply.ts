/** The supply of STX in the forms of v1. */
import { Type } from '@sinclair/typebox';
import { chainTip } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from '../shared/examples/examples.ts';
import { Height, object, STX_IN_2050 } from '../shared/fields.ts';

const Stx = Type.String({
  $id: 'StxText',
  pattern: '^-?[0-9]+\\.[0-9]{6}$',
  description: 'Amount in STX with six decimals',
});
const GroupedStx = Type.String({
  $id: 'GroupedStxText',
  pattern: '^-?[0-9,]+\\.[0-9]{6}$',
  description: 'Amount in STX with six decimals and commas between thousands',
});
const Percent = Type.String({
  pattern: '^[0-9]+\\.[0-9]{2}$',
  description: 'Always `100.00`, or `0.00` before there are any STX',
});

const DECIMALS = 6;

/** STX with six decimals. @param microStx decimal */
export function stxText(microStx: string): string {
  const [sign, digits] = microStx.startsWith('-') ? ['-', microStx.slice(1)] : ['', microStx];
  const padded = digits.padStart(DECIMALS + 1, '0');
  return `${sign}${padded.slice(0, -DECIMALS)}.${padded.slice(-DECIMALS)}`;
}

const IN_2050 = stxText(STX_IN_2050);

const groupDigits = (stx: string): string => stx.replace(/\B(?=(\d{3})+\.)/g, ',');

/** Unlocked share in percent: all STX, since the genesis grants have vested. */
const unlockedPercent = ({ microStx }: Supply): string => (microStx === '0' ? '0.00' : '100.00');

/** The supply after the block at a height. */
interface Supply {
  microStx: string;
  stx: string;
  height: number;
}

const [StxSupply, stxSupply] = object<Supply>('StxSupplyV1')({
  unlocked_percent: [Percent, unlockedPercent],
  total_stx: [Stx, ({ stx }) => stx],
  total_stx_year_2050: [Stx, () => IN_2050],
  unlocked_stx: [Stx, ({ stx }) => stx],
  block_height: [Height, ({ height }) => height],
});

/** The supply with the field names of the first supply services. */
const [LegacyStxSupply, legacyStxSupply] = object<Supply>('LegacyStxSupply')({
  unlockedPercent: [Percent, unlockedPercent],
  totalStacks: [Stx, ({ stx }) => stx],
  totalStacksFormatted: [GroupedStx, ({ stx }) => groupDigits(stx)],
  totalStacksYear2050: [Stx, () => IN_2050],
  totalStacksYear2050Formatted: [GroupedStx, () => groupDigits(IN_2050)],
  unlockedSupply: [Stx, ({ stx }) => stx],
  unlockedSupplyFormatted: [GroupedStx, ({ stx }) => groupDigits(stx)],
  blockHeight: [Type.String({ pattern: '^[0-9]+$' }), ({ height }) => String(height)],
});

const family = {
  tag: 'Tokens',
  deprecated: { replacement: '/extended/v3/tokens/stx/supply' },
  etag: chainTip,
  history: 'whole',
} as const;

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
    description: 'Whether to return the height of the block after the tip; has no effect with `height`',
  }),
};

/** Returns the supply after a block, or after the block that follows the tip. */
function supplyOf(read: Reader, { height, unanchored }: { height?: number; unanchored: boolean }): Supply {
  const microStx = height === undefined ? read.tokens.stxSupply() : read.tokens.stxSupplyAt(height);
  const next = (read.chain.tip()?.height ?? 0) + (unanchored ? 1 : 0);
  return { microStx, stx: stxText(microStx), height: height ?? next };
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
    handle: ({ query, read }) => stxSupply(supplyOf(read, query)),
  }),
  route({
    ...family,
    path: '/extended/v1/stx_supply/total/plain',
    operationId: 'getStxSupplyTotalSupplyPlain',
    summary: 'Total STX as plain text',
    description: 'Returns the current number of STX as plain text with six decimals.',
    response: Stx,
    plainText: true,
    handle: ({ read }) => stxText(read.tokens.stxSupply()),
  }),
  route({
    ...family,
    path: '/extended/v1/stx_supply/circulating/plain',
    operationId: 'getStxSupplyCirculatingPlain',
    summary: 'Circulating STX as plain text',
    description:
      'Returns the number of STX in circulation as plain text with six decimals. All STX are in circulation.',
    response: Stx,
    plainText: true,
    handle: ({ read }) => stxText(read.tokens.stxSupply()),
  }),
  route({
    ...family,
    path: '/extended/v1/stx_supply/legacy_format',
    operationId: 'getTotalStxSupplyLegacyFormat',
    summary: 'STX supply in the legacy format',
    description: 'Returns the STX supply with the field names that the first supply services used.',
    query,
    response: LegacyStxSupply,
    handle: ({ query, read }) => legacyStxSupply(supplyOf(read, query)),
  }),
];
