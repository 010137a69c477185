import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { ContractLog, Deployment } from '../../../store/model/contract.ts';
import type { EventPlace } from '../../../store/model/event.ts';
import { clarity } from '../../shared/serialize/values.ts';
import type { ContractStatuses, ContractLog as LogSchema } from '../schemas/smart-contract.ts';

export function contractStatus(
  contractId: string,
  found: Deployment | undefined,
): Static<typeof ContractStatuses>[string] {
  if (found === undefined) return { found: false };
  const { status, txId } = found;
  const result = { status, tx_id: toHex(txId), contract_id: contractId };
  return { found: true, result: found.status === 'pending' ? result : { ...result, block_height: found.height } };
}

export const contractLog = (contractId: string, log: ContractLog): Static<typeof LogSchema> => ({
  event_index: log.eventIndex,
  event_type: 'smart_contract_log',
  tx_id: toHex(log.txId),
  contract_log: { contract_id: contractId, topic: log.topic, value: clarity(log.value) },
});

/** Clients put these together themselves. */
export const logCursor = ({ height, microblockSequence, txIndex, eventIndex }: EventPlace): string =>
  [height, microblockSequence, txIndex, eventIndex].join(':');
