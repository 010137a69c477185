/** Transfers of STX to a principal, one a transfer, with the memo that is meant for who receives it. */
import type { ChainEvent, ChainTransaction } from './block.ts';

/** Contracts whose prints are the memos of the transfers before them, on mainnet and testnet. */
const SEND_MANY = new Set([
  'SP3FBR2AGK5H9QBDH3EEN6DF8EK8JY7RX8QJ5SVTE.send-many-memo',
  'ST3F1X4QGV2SM8XD96X45M6RTQXKA1PZJZZCQAB4B.send-many-memo',
]);

export const isSendMany = (contractId: string): boolean => SEND_MANY.has(contractId);

export interface InboundTransfer {
  recipient: string;
  /** Of the transfer's event; 0 for a transaction that is a transfer, which may have failed and have none. */
  eventIndex: number;
  /** Where its memo is: in the transaction, in the event, or in what the send-many contract printed after it. */
  memo: 'transaction' | 'event' | 'print';
}

const isMemo = (event: ChainEvent | undefined): boolean =>
  event?.kind === 'contract_log' && isSendMany(event.contractId);

/** A transaction that is a transfer is one; of others, the transfers among their events that have a memo. */
export function inboundTransfers({ payload, events }: ChainTransaction): InboundTransfer[] {
  if (payload.type === 'token_transfer') {
    return [{ recipient: payload.recipient, eventIndex: 0, memo: 'transaction' }];
  }
  const found: InboundTransfer[] = [];
  for (const [eventIndex, event] of events.entries()) {
    if (event.kind !== 'stx' || event.action !== 'transfer' || event.recipient === null) continue;
    const { recipient } = event;
    if (isMemo(events[eventIndex + 1])) found.push({ recipient, eventIndex, memo: 'print' });
    else if (event.memo !== null && event.memo.length > 0) found.push({ recipient, eventIndex, memo: 'event' });
  }
  return found;
}
