/** The supply of STX in the forms of v1. */
import { Type } from '@sinclair/typebox';
import { chainTip } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from '../shared/examples/examples.ts';
import { named } from '../shared/fields.ts';
import { Height } from '../shared/values.ts';

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

const StxSupply = named('StxSupplyV1', {
  unlocked_percent: Percent,
  total_stx: Stx,
  total_stx_year_2050: Stx,
  unlocked_stx: Stx,
  block_height: Height,
});

const PlainStx = Stx;

const LegacyStxSupply = named('LegacyStxSupply', {
  unlockedPercent: Percent,
  totalStacks: Stx,
  totalStacksFormatted: GroupedStx,
  totalStacksYear2050: Stx,
  totalStacksYear2050Formatted: GroupedStx,
  unlockedSupply: Stx,
  unlockedSupplyFormatted: GroupedStx,
  blockHeight: Type.String({ pattern: '^[0-9]+$' }),
});

/** Amounts of STX as text. */

const DECIMALS = 6;
/** Announced supply in the year 2050, in micro-STX. */
const YEAR_2050 = '2318000000000000';

/** STX with six decimals. @param microStx decimal */
export function stxText(microStx: string): string {
  const [sign, digits] = microStx.startsWith('-') ? ['-', microStx.slice(1)] : ['', microStx];
  const padded = digits.padStart(DECIMALS + 1, '0');
  return `${sign}${padded.slice(0, -DECIMALS)}.${padded.slice(-DECIMALS)}`;
}

const grouped = (stx: string): string => stx.replace(/\B(?=(\d{3})+\.)/g, ',');

/** Unlocked share in percent: all STX, since the genesis grants have vested. */
const unlockedPercent = (microStx: string): string => (microStx === '0' ? '0.00' : '100.00');

/** The supply in v1's form. @param microStx the supply, decimal @param height of the block after which it is the supply */
function stxSupply(microStx: string, height: number) {
  const stx = stxText(microStx);
  return {
    unlocked_percent: unlockedPercent(microStx),
    total_stx: stx,
    total_stx_year_2050: stxText(YEAR_2050),
    unlocked_stx: stx,
    block_height: height,
  };
}

/** The supply with the field names of the first supply services. @param microStx the supply after the block at `height` */
function legacyStxSupply(microStx: string, height: number) {
  const [stx, later] = [stxText(microStx), stxText(YEAR_2050)];
  return {
    unlockedPercent: unlockedPercent(microStx),
    totalStacks: stx,
    totalStacksFormatted: grouped(stx),
    totalStacksYear2050: later,
    totalStacksYear2050Formatted: grouped(later),
    unlockedSupply: stx,
    unlockedSupplyFormatted: grouped(stx),
    blockHeight: String(height),
  };
}

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
    description: 'Whether to compute the supply for the block after the tip; not allowed with `height`',
  }),
};

/** The supply after a block, also after the block that follows the tip. */
function supplyAt(read: Reader, height: number | undefined, unanchored: boolean) {
  if (height !== undefined) return { supply: read.tokens.stxSupplyAt(height), height };
  const tip = read.chain.tip()?.height ?? 0;
  return { supply: read.tokens.stxSupply(), height: tip + (unanchored ? 1 : 0) };
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
    handle: ({ query: { height, unanchored }, read }) => {
      const supply = supplyAt(read, height, unanchored);
      return stxSupply(supply.supply, supply.height);
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
    handle: ({ read }) => stxText(read.tokens.stxSupply()),
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
    handle: ({ query: { height, unanchored }, read }) => {
      const supply = supplyAt(read, height, unanchored);
      return legacyStxSupply(supply.supply, supply.height);
    },
  }),
];
