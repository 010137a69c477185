import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import { payloadOf } from '../../../codec/transaction.ts';
import type { SmartContract } from '../../../store/model/contract.ts';
import type { SmartContract as ContractSchema } from '../schemas/smart-contract.ts';
import { block } from './place.ts';

/**
 * A contract with the transaction that deployed it.
 * @param include names of members that are returned only when asked for
 */
export const smartContract = (
  contract: SmartContract,
  include: readonly 'source_code'[],
): Static<typeof ContractSchema> => ({
  contract_id: contract.contractId,
  clarity_version: contract.clarityVersion,
  tx_id: toHex(contract.txId),
  block: block(contract),
  bitcoin_block: { height: contract.burnBlock.height, time: contract.burnBlock.time },
  ...(include.includes('source_code') ? { source_code: payloadOf(contract.raw, 'smart_contract').source } : {}),
});
