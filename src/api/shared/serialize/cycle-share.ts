/** A signer's share of its reward cycle, in percent. */
import type { CycleShare } from '../../../store/model/staking.ts';

/** A signer's share of the cycle's weight in percent. The order of the operations is fixed, since clients compare the doubles. */
export const weightPercent = ({ signer, cycle }: CycleShare): number =>
  cycle.weight === 0 ? 0 : (signer.weight / cycle.weight) * 100;

/** Decimal places of a quotient. */
const PLACES = 20n;

/** The quotient as decimal with 20 places, rounded half up, times 100, as the nearest double. */
export function stackedPercent({ signer, cycle }: CycleShare): number {
  if (cycle.stacked === 0n) return 0;
  const scaled = (2n * signer.stacked * 10n ** PLACES + cycle.stacked) / (2n * cycle.stacked);
  return Number(`${scaled}e-${PLACES - 2n}`);
}
