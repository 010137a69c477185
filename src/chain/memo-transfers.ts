/** STX transfers with a memo that contracts make. */
import type { ChainEvent, ChainTransaction } from './block.ts';
import type { Network } from './network.ts';

/** Send-many contracts by network: each print of one is the memo of the transfer before it. */
export const SEND_MANY: Readonly<Record<Network['kind'], string>> = {
  mainnet: 'SP3FBR2AGK5H9QBDH3EEN6DF8EK8JY7RX8QJ5SVTE.send-many-memo',
  testnet: 'ST3F1X4QGV2SM8XD96X45M6RTQXKA1PZJZZCQAB4B.send-many-memo',
};

/** Contracts in place of {@link SEND_MANY}, by network; null for the default. */
export type SendManySetting = Readonly<Record<Network['kind'], string | null>>;

/** The send-many contracts of all networks: a chain has only contracts of its own network. */
export type SendMany = ReadonlySet<string>;

export interface MemoTransfer {
  recipient: string;
  eventIndex: number;
  /** Whether the send-many contract printed the memo after the transfer; otherwise it is the event's own. */
  printed: boolean;
}

type Transfer = Extract<ChainEvent, { kind: 'stx' }>;

/** Whether an event prints the memo of the transfer before it. */
const isMemo = (event: ChainEvent | null, sendMany: SendMany): boolean =>
  event?.kind === 'contract_log' && sendMany.has(event.contractId);

/**
 * The memo of a transfer, if it has one.
 * @param next the event after it; null if it is the last
 */
function memoOf(transfer: Transfer, eventIndex: number, next: ChainEvent | null, sendMany: SendMany): MemoTransfer[] {
  const { recipient, memo } = transfer;
  const printed = isMemo(next, sendMany);
  if (recipient === null || (!printed && (memo === null || memo.length === 0))) return [];
  return [{ recipient, eventIndex, printed }];
}

/**
 * The transfers with a memo in a transaction. Token transfer transactions have none here: their memo is in the payload.
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
