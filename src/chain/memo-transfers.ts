/** STX transfers with a memo that contracts make. */
import type { ChainEvent, ChainTransaction } from './block.ts';

/** The send-many contracts of mainnet and testnet: each print of one is the memo of the transfer before it. */
export const SEND_MANY: ReadonlySet<string> = new Set([
  'SP3FBR2AGK5H9QBDH3EEN6DF8EK8JY7RX8QJ5SVTE.send-many-memo',
  'ST3F1X4QGV2SM8XD96X45M6RTQXKA1PZJZZCQAB4B.send-many-memo',
]);

export interface MemoTransfer {
  recipient: string;
  eventIndex: number;
  /** Whether the send-many contract printed the memo after the transfer; otherwise it is the event's own. */
  printed: boolean;
}

type Transfer = Extract<ChainEvent, { kind: 'stx' }>;

/** Whether an event prints the memo of the transfer before it. */
const isMemo = (event: ChainEvent | null): boolean => event?.kind === 'contract_log' && SEND_MANY.has(event.contractId);

/**
 * The memo of a transfer, if it has one.
 * @param next the event after it; null if it is the last
 */
function memoOf(transfer: Transfer, eventIndex: number, next: ChainEvent | null): MemoTransfer[] {
  const { recipient, memo } = transfer;
  const printed = isMemo(next);
  if (recipient === null || (!printed && (memo === null || memo.length === 0))) return [];
  return [{ recipient, eventIndex, printed }];
}

/**
 * The transfers with a memo in a transaction. Token transfer transactions have none here: their memo is in the payload.
 */
export function memoTransfers({ payload, events }: ChainTransaction): MemoTransfer[] {
  if (payload.type === 'token_transfer') return [];
  const found: MemoTransfer[] = [];
  let transfer: Transfer | null = null;
  for (const [index, event] of events.entries()) {
    if (transfer !== null) found.push(...memoOf(transfer, index - 1, event));
    transfer = event.kind === 'stx' && event.action === 'transfer' ? event : null;
  }
  if (transfer !== null) found.push(...memoOf(transfer, events.length - 1, null));
  return found;
}
