/** Filters of transactions by their payloads, which mined and pending transactions have in the same columns. */
import type { TransactionType } from '../../../codec/transaction.ts';
import { PAYLOAD, typeNumbers } from '../../rows/enums.ts';

/** The conditions of filters. `types` has a bit for each payload type. @param t alias of the table */
export const payloadFilters = (t: string) => ({
  types: `(:types >> ${t}.type) & 1`,
  sender: `${t}.sender_id = :sender`,
  recipient: `(${t}.type = ${PAYLOAD.token_transfer} AND ${t}.recipient_id = :recipient)`,
  contract: `(${t}.type = ${PAYLOAD.contract_call} AND ${t}.contract_id = :contract)`,
  functionName: `(${t}.type = ${PAYLOAD.contract_call} AND ${t}.function_name = :functionName)`,
  leastAmount: `(${t}.type = ${PAYLOAD.token_transfer} AND CAST(${t}.amount AS INTEGER) >= :leastAmount)`,
  greatestAmount: `(${t}.type = ${PAYLOAD.token_transfer} AND CAST(${t}.amount AS INTEGER) <= :greatestAmount)`,
});

/** A bit for each of some numbers; null for any number. */
export const bitsOf = (numbers: readonly number[] | null): number | null =>
  numbers === null ? null : numbers.reduce((bits, number) => bits | (1 << number), 0);

/** The numbers of types, each once; null for any type. */
export const numbersOf = (types: readonly TransactionType[] | null): number[] | null =>
  types === null ? null : [...new Set(types.flatMap(typeNumbers))];
