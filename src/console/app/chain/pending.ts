/** Where a pending transaction stands, in words. */
import { count } from './format.ts';
import type { Transaction } from './types.ts';

/** Places by fee, from 1; null where more than {@link MOST_COUNTED} transactions offer a higher fee. */
interface FeePlaces {
  all: number | null;
  type: number | null;
}

/** The most transactions with a higher fee that the API counts. */
const MOST_COUNTED = 10_000;

const PLURALS: Readonly<Record<Transaction['tx_type'], string>> = {
  token_transfer: 'transfers',
  contract_call: 'contract calls',
  smart_contract: 'deployments',
  coinbase: 'coinbases',
  tenure_change: 'tenure changes',
  poison_microblock: 'reports of forks',
  unknown: 'transactions of unknown kinds',
};

const atLeast = `More than ${count(MOST_COUNTED)}`;

/** Says where a fee stands: `By fee, this is number 18 of all pending transactions and number 4 of …`. */
export function feePlace({ all, type }: FeePlaces, kind: Transaction['tx_type']): string {
  const ofKind = `pending ${PLURALS[kind]}`;
  if (type === null) return `${atLeast} ${ofKind} offer a higher fee.`;
  const numberOfKind = `number ${count(type)} of ${ofKind}; number 1 offers the most.`;
  if (all === null) return `${atLeast} pending transactions offer a higher fee. By fee, this is ${numberOfKind}`;
  return `By fee, this is number ${count(all)} of all pending transactions and ${numberOfKind}`;
}
