import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { TransactionEvent } from '../../../store/model/transaction.ts';
import type { TransactionEvent as EventSchema } from '../schemas/event.ts';
import { clarity } from './values.ts';

type SerializedEvent = Static<typeof EventSchema>;
type Movement = Extract<TransactionEvent, { action: unknown }>;

const sides = ({ action, sender, recipient }: Movement) => ({
  asset_event_type: action,
  sender: sender ?? '',
  recipient: recipient ?? '',
});

/** An event of a transaction as v1 and v2 return it. @param txId id of the transaction, 32 bytes */
export function transactionEvent(txId: Uint8Array, event: TransactionEvent): SerializedEvent {
  const common = { event_index: event.index, tx_id: toHex(txId) };
  switch (event.kind) {
    case 'contract_log': {
      const { contractId, topic, value } = event;
      return {
        ...common,
        event_type: 'smart_contract_log',
        contract_log: { contract_id: contractId, topic, value: clarity(value) },
      };
    }
    case 'stx_lock': {
      const { amount, unlockHeight, address } = event;
      return {
        ...common,
        event_type: 'stx_lock',
        stx_lock_event: { locked_amount: amount, unlock_height: unlockHeight, locked_address: address },
      };
    }
    case 'unknown':
      return { ...common, event_type: 'unknown', unknown_event: { type: event.type, json: event.json } };
    case 'stx': {
      const memo = event.memo === null ? {} : { memo: toHex(event.memo) };
      return { ...common, event_type: 'stx_asset', asset: { ...sides(event), amount: event.amount, ...memo } };
    }
    case 'ft': {
      const { asset: asset_id, amount } = event;
      return { ...common, event_type: 'fungible_token_asset', asset: { ...sides(event), asset_id, amount } };
    }
    case 'nft': {
      const asset = { ...sides(event), asset_id: event.asset, value: clarity(event.value) };
      return { ...common, event_type: 'non_fungible_token_asset', asset };
    }
  }
}
