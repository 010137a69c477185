import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { ContractLog } from '../../../store/model/contract.ts';
import type { ContractLog as LogSchema } from '../schemas/contract-log.ts';
import { clarity } from './values.ts';

/** What a contract printed, with its value in hex and as text. */
export const contractLog = (contractId: string, log: ContractLog): Static<typeof LogSchema> => ({
  event_index: log.eventIndex,
  event_type: 'smart_contract_log',
  tx_id: toHex(log.txId),
  contract_log: { contract_id: contractId, topic: log.topic, value: clarity(log.value) },
});
