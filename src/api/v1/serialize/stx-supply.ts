/** Amounts of STX as people read them. */

const DECIMALS = 6;
/** micro-STX that there will be in 2050, as it was announced. */
const YEAR_2050 = '2318000000000000';

/** STX with six decimals. @param microStx decimal */
export function stxText(microStx: string): string {
  const [sign, digits] = microStx.startsWith('-') ? ['-', microStx.slice(1)] : ['', microStx];
  const padded = digits.padStart(DECIMALS + 1, '0');
  return `${sign}${padded.slice(0, -DECIMALS)}.${padded.slice(-DECIMALS)}`;
}

const grouped = (stx: string): string => stx.replace(/\B(?=(\d{3})+\.)/g, ',');

/** All STX are unlocked since the grants of genesis have vested. */
const unlockedPercent = (microStx: string): string => (microStx === '0' ? '0.00' : '100.00');

/** @param microStx the supply, decimal. @param height of the block after which it was that */
export function stxSupply(microStx: string, height: number) {
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
export function legacyStxSupply(microStx: string, height: number) {
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
