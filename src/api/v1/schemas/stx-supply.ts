import { Type } from '@sinclair/typebox';
import { Height } from '../../shared/values.ts';

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

export const StxSupply = Type.Object(
  {
    unlocked_percent: Percent,
    total_stx: Stx,
    total_stx_year_2050: Stx,
    unlocked_stx: Stx,
    block_height: Height,
  },
  { $id: 'StxSupplyV1' },
);

export const PlainStx = Stx;

export const LegacyStxSupply = Type.Object(
  {
    unlockedPercent: Percent,
    totalStacks: Stx,
    totalStacksFormatted: GroupedStx,
    totalStacksYear2050: Stx,
    totalStacksYear2050Formatted: GroupedStx,
    unlockedSupply: Stx,
    unlockedSupplyFormatted: GroupedStx,
    blockHeight: Type.String({ pattern: '^[0-9]+$' }),
  },
  { $id: 'LegacyStxSupply' },
);
