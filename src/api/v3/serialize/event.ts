import type { Static } from '@sinclair/typebox';
import type { TransactionEvent } from '../../../store/model/transaction.ts';
import { clarity, memo } from '../../shared/serialize/values.ts';
import type { TransactionEvent as EventSchema } from '../schemas/event.ts';

type SerializedEvent = Static<typeof EventSchema>;

/** An event of a transaction as v3 returns it. */
export function transactionEvent(event: TransactionEvent): SerializedEvent {
  const event_index = event.index;
  switch (event.kind) {
    case 'contract_log': {
      const { contractId, topic } = event;
      return {
        event_index,
        type: 'contract_log',
        contract_log: { contract_id: contractId, topic, value: clarity(event.value) },
      };
    }
    case 'stx_lock': {
      const { amount, unlockHeight, address } = event;
      return { event_index, type: 'stx_lock', stx_lock: { amount, unlock_bitcoin_height: unlockHeight, address } };
    }
    case 'unknown':
      return { event_index, type: 'unknown', unknown: { type: event.type, json: event.json } };
    case 'stx':
      return {
        event_index,
        type: 'stx_asset',
        stx_asset: moved(event, { amount: event.amount }, { memo: memo(event.memo) }),
      };
    case 'ft': {
      const { asset, amount } = event;
      return { event_index, type: 'ft_asset', ft_asset: moved(event, { asset_identifier: asset, amount }, {}) };
    }
    case 'nft': {
      const { asset, value } = event;
      const token = { asset_identifier: asset, value: clarity(value) };
      return { event_index, type: 'nft_asset', nft_asset: moved(event, token, {}) };
    }
  }
}

type Movement = Extract<TransactionEvent, { action: unknown }>;

/** What moved, between the sides that its action has. */
function moved<M, T>({ action, sender, recipient }: Movement, what: M, transferOnly: T) {
  switch (action) {
    case 'transfer':
      return { type: action, sender: side(sender), recipient: side(recipient), ...what, ...transferOnly };
    case 'mint':
      return { type: action, recipient: side(recipient), ...what };
    case 'burn':
      return { type: action, sender: side(sender), ...what };
  }
}

function side(principal: string | null): string {
  if (principal === null) throw new Error('an event without one of the sides of its action');
  return principal;
}
