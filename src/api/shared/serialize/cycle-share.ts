/** A signer's share of its reward cycle, in percent. */
import type { CycleShare } from '../../../store/model/stacking.ts';

/** In this order of operations; clients compare the doubles. */
export const weightPercent = ({ signer, cycle }: CycleShare): number =>
  cycle.weight === 0 ? 0 : (signer.weight / cycle.weight) * 100;

/** Of quotients as they are shown: decimals. */
const PLACES = 20n;

/** The quotient as decimal with 20 places, rounded half up, times 100, as the nearest double. */
export function stackedPercent({ signer, cycle }: CycleShare): number {
  if (cycle.stacked === 0n) return 0;
  const scaled = (2n * signer.stacked * 10n ** PLACES + cycle.stacked) / (2n * cycle.stacked);
  return Number(`${scaled}e-${PLACES - 2n}`);
}
