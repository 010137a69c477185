/** Events of transactions as queries answer them. */
import type { ChainEvent } from '../../chain/block.ts';
import type { PlaceInBlock } from './block.ts';

export type TransactionEvent = ChainEvent & { index: number };

/** One that moved an asset. */
export type AssetEvent = Extract<TransactionEvent, { kind: 'stx' | 'ft' | 'nft' }>;

/** Where an event stands in the chain. */
export interface EventPlace extends PlaceInBlock {
  height: number;
  eventIndex: number;
}

export interface PlacedEvent<Event = TransactionEvent> {
  txId: Uint8Array;
  event: Event;
}
