import type { TransactionConditions } from '../../../src/store/model/transaction.ts';

/** Matches every transaction. */
export const NO_CONDITIONS: TransactionConditions = {
  types: null,
  statuses: null,
  principal: null,
  sender: null,
  recipient: null,
  contract: null,
  functionName: null,
  leastAmount: null,
  greatestAmount: null,
  since: null,
  until: null,
  from: null,
  to: null,
};
