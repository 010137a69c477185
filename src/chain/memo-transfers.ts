/** Transfers of STX that a contract makes with a memo for who receives them. */
import type { ChainEvent, ChainTransaction } from './block.ts';

/** Contracts whose prints are the memos of the transfers before them, on mainnet and testnet. */
const SEND_MANY = new Set([
  'SP3FBR2AGK5H9QBDH3EEN6DF8EK8JY7RX8QJ5SVTE.send-many-memo',
  'ST3F1X4QGV2SM8XD96X45M6RTQXKA1PZJZZCQAB4B.send-many-memo',
]);

/** Whether a contract is the send-many contract of mainnet or testnet. */
export const isSendMany = (contractId: string): boolean => SEND_MANY.has(contractId);

export interface MemoTransfer {
  recipient: string;
  eventIndex: number;
  /** Whether the memo is what the send-many contract printed after it, not the event's own. */
  printed: boolean;
}

const isMemo = (event: ChainEvent | undefined): boolean =>
  event?.kind === 'contract_log' && isSendMany(event.contractId);

/**
 * The transfers of a transaction that carry a memo. A token transfer has none here, since its payload holds the memo.
 */
export function memoTransfers({ payload, events }: ChainTransaction): MemoTransfer[] {
  if (payload.type === 'token_transfer') return [];
  const found: MemoTransfer[] = [];
  for (const [eventIndex, event] of events.entries()) {
    if (event.kind !== 'stx' || event.action !== 'transfer' || event.recipient === null) continue;
    const printed = isMemo(events[eventIndex + 1]);
    if (!printed && (event.memo === null || event.memo.length === 0)) continue;
    found.push({ recipient: event.recipient, eventIndex, printed });
  }
  return found;
}
