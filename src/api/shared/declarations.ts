/** How the contracts that transactions call declare their functions. */
import type { ContractFunctions } from '../../store/model/contract.ts';
import type { SummaryPayload } from '../../store/model/transaction.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import type { Declarations } from './serialize/transaction.ts';

/**
 * Reads the functions of every contract that one of the transactions calls. A contract that the index doesn't know is not in
 * the map.
 */
export async function declarationsFor(
  read: Reader,
  transactions: readonly { payload: SummaryPayload }[],
): Promise<Declarations> {
  const found = new Map<string, ContractFunctions>();
  const asked = new Set<string>();
  for (const { payload } of transactions) {
    if (payload.type !== 'contract_call' || asked.has(payload.contractId)) continue;
    asked.add(payload.contractId);
    const functions = await read.contracts.functions(payload.contractId);
    if (functions !== undefined) found.set(payload.contractId, functions);
  }
  return found;
}
