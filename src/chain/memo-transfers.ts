/** STX transfers with a memo that contracts make. */
import { clarityValueOf } from '../codec/clarity.ts';
import type { ChainEvent, ChainTransaction } from './block.ts';

/** The send-many contracts of mainnet and testnet: each of their prints is the memo of the transfer before it. */
export const SEND_MANY: ReadonlySet<string> = new Set([
  'SP3FBR2AGK5H9QBDH3EEN6DF8EK8JY7RX8QJ5SVTE.send-many-memo',
  'ST3F1X4QGV2SM8XD96X45M6RTQXKA1PZJZZCQAB4B.send-many-memo',
]);

export interface MemoTransfer {
  recipient: string;
  eventIndex: number;
  /** Whether the send-many contract printed the memo after the transfer; otherwise the transfer event contains it. */
  printed: boolean;
}

type Transfer = Extract<ChainEvent, { kind: 'stx' }>;

/** Reports whether an event prints the memo of the transfer before it. */
const isMemo = (event: ChainEvent | null): boolean => event?.kind === 'contract_log' && SEND_MANY.has(event.contractId);

/**
 * Returns the memo of a transfer: a list of one, or an empty list.
 * @param next the event after the transfer; null if it is the last event
 */
function memoOf(transfer: Transfer, eventIndex: number, next: ChainEvent | null): MemoTransfer[] {
  const { recipient, memo } = transfer;
  const printed = isMemo(next);
  if (recipient === null || (!printed && (memo === null || memo.length === 0))) return [];
  return [{ recipient, eventIndex, printed }];
}

/** Returns the memo that the send-many contract printed; null if the print isn't a buffer. */
export function printedMemo(print: Uint8Array): Uint8Array | null {
  const value = clarityValueOf(print);
  return value?.type === 'buffer' ? value.value : null;
}

/**
 * Returns the memo of a transfer as bytes: from its transaction, from the send-many contract's print after it, or from the
 * event; null if there is none.
 * @param next the event after the transfer; null if it is the last event
 */
export function memoBytes(
  { payload }: ChainTransaction,
  transfer: Transfer,
  next: ChainEvent | null,
): Uint8Array | null {
  if (payload.type === 'token_transfer') return payload.memo;
  if (next?.kind !== 'contract_log' || !isMemo(next)) return transfer.memo;
  return printedMemo(next.value);
}

/**
 * Returns the transfers with a memo in a transaction; none for a token transfer transaction, which has the memo in its
 * payload.
 */
export function memoTransfers({ payload, events }: ChainTransaction): MemoTransfer[] {
  if (payload.type === 'token_transfer') return [];
  const transfers: MemoTransfer[] = [];
  let transfer: Transfer | null = null;
  for (const [index, event] of events.entries()) {
    if (transfer !== null) transfers.push(...memoOf(transfer, index - 1, event));
    transfer = event.kind === 'stx' && event.action === 'transfer' ? event : null;
  }
  if (transfer !== null) transfers.push(...memoOf(transfer, events.length - 1, null));
  return transfers;
}
