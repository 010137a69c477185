import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { Deployment } from '../../../store/model/contract.ts';
import type { ContractStatuses } from '../schemas/smart-contract.ts';

/** What became of a contract's deployment. */
export function contractStatus(
  contractId: string,
  found: Deployment | undefined,
): Static<typeof ContractStatuses>[string] {
  if (found === undefined) return { found: false };
  const { status, txId } = found;
  const result = { status, tx_id: toHex(txId), contract_id: contractId };
  return { found: true, result: found.status === 'pending' ? result : { ...result, block_height: found.height } };
}
