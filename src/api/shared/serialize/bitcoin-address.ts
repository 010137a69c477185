import type { StackingPrint } from '../../../chain/pox/stacking.ts';
import { poxAddressText } from '../../../codec/bitcoin-address.ts';

/** Null where there is none, or one of a form that Bitcoin doesn't know. */
export const bitcoinAddress = ({ poxAddress, network }: StackingPrint): string | null =>
  poxAddress === null ? null : poxAddressText(poxAddress, network);
