/** Transfers of STX that a contract makes with a memo for who receives them. */
import type { ChainEvent, ChainTransaction } from './block.ts';
import type { Network } from './network.ts';

/** Send-many contracts by network: each print of one is the memo of the transfer before it. */
export const SEND_MANY: Readonly<Record<Network['kind'], string>> = {
  mainnet: 'SP3FBR2AGK5H9QBDH3EEN6DF8EK8JY7RX8QJ5SVTE.send-many-memo',
  testnet: 'ST3F1X4QGV2SM8XD96X45M6RTQXKA1PZJZZCQAB4B.send-many-memo',
};

/** Other contracts than {@link SEND_MANY}, by network; null for none. */
export type SendManySetting = Readonly<Record<Network['kind'], string | null>>;

/** The send-many contracts of all networks: a chain has contracts of its own network alone. */
export type SendMany = ReadonlySet<string>;

export interface MemoTransfer {
  recipient: string;
  eventIndex: number;
  /** Whether the memo is what the send-many contract printed after it, not the event's own. */
  printed: boolean;
}

type Transfer = Extract<ChainEvent, { kind: 'stx' }>;

/** Whether an event prints the memo of the transfer before it. */
const isMemo = (event: ChainEvent | null, sendMany: SendMany): boolean =>
  event?.kind === 'contract_log' && sendMany.has(event.contractId);

/**
 * The memo of a transfer, if it has one.
 * @param next the event that follows it; null where it is the last
 */
function memoOf(transfer: Transfer, eventIndex: number, next: ChainEvent | null, sendMany: SendMany): MemoTransfer[] {
  const { recipient, memo } = transfer;
  const printed = isMemo(next, sendMany);
  if (recipient === null || (!printed && (memo === null || memo.length === 0))) return [];
  return [{ recipient, eventIndex, printed }];
}

/**
 * The transfers of a transaction that carry a memo. A token transfer has none here, since its payload holds the memo.
 */
export function memoTransfers({ payload, events }: ChainTransaction, sendMany: SendMany): MemoTransfer[] {
  if (payload.type === 'token_transfer') return [];
  const found: MemoTransfer[] = [];
  let transfer: Transfer | null = null;
  for (const [index, event] of events.entries()) {
    if (transfer !== null) found.push(...memoOf(transfer, index - 1, event, sendMany));
    transfer = event.kind === 'stx' && event.action === 'transfer' ? event : null;
  }
  if (transfer !== null) found.push(...memoOf(transfer, events.length - 1, null, sendMany));
  return found;
}
