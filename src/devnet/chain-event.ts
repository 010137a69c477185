import { toHex } from '../codec/hex.ts';
import type { StakingMove } from './staking-state.ts';

/**
 * What a transaction did to assets, or printed. The names are the node's own types of event.
 *
 * Amounts are in micro-STX or the token's smallest unit; `value` is a serialized Clarity value; an asset is written
 * `ADDRESS.contract::token`. `staking` is not said to anybody: it is what pox-5 remembers of a print.
 */
export type ChainEvent =
  | { type: 'contract_event'; contract: string; value: Uint8Array; staking?: StakingMove }
  | { type: 'stx_transfer_event'; sender: string; recipient: string; amount: bigint; memo?: Uint8Array }
  | { type: 'stx_mint_event'; recipient: string; amount: bigint }
  | { type: 'stx_burn_event'; sender: string; amount: bigint }
  /** `unlockHeight` counts burn blocks. */
  | { type: 'stx_lock_event'; address: string; amount: bigint; unlockHeight: number; contract: string }
  | { type: 'ft_transfer_event'; asset: string; sender: string; recipient: string; amount: bigint }
  | { type: 'ft_mint_event'; asset: string; recipient: string; amount: bigint }
  | { type: 'ft_burn_event'; asset: string; sender: string; amount: bigint }
  | { type: 'nft_transfer_event'; asset: string; sender: string; recipient: string; value: Uint8Array }
  | { type: 'nft_mint_event'; asset: string; recipient: string; value: Uint8Array }
  | { type: 'nft_burn_event'; asset: string; sender: string; value: Uint8Array };

/** One entry of a block's `events`; `index` counts over the whole block. */
export function eventPayload(event: ChainEvent, txId: string, index: number) {
  return { committed: true, event_index: index, [event.type]: eventBody(event), txid: txId, type: event.type };
}

function eventBody(event: ChainEvent) {
  switch (event.type) {
    case 'contract_event':
      return { contract_identifier: event.contract, raw_value: toHex(event.value), topic: 'print' };
    case 'stx_transfer_event': {
      const { sender, recipient } = event;
      // The only hex in an event without 0x in front; empty when the transfer had no memo.
      return { amount: String(event.amount), memo: event.memo?.toHex() ?? '', recipient, sender };
    }
    case 'stx_mint_event':
      return { amount: String(event.amount), recipient: event.recipient };
    case 'stx_burn_event':
      return { amount: String(event.amount), sender: event.sender };
    case 'stx_lock_event':
      return {
        contract_identifier: event.contract,
        locked_address: event.address,
        locked_amount: String(event.amount),
        unlock_height: String(event.unlockHeight),
      };
    case 'ft_transfer_event':
      return {
        amount: String(event.amount),
        asset_identifier: event.asset,
        recipient: event.recipient,
        sender: event.sender,
      };
    case 'ft_mint_event':
      return { amount: String(event.amount), asset_identifier: event.asset, recipient: event.recipient };
    case 'ft_burn_event':
      return { amount: String(event.amount), asset_identifier: event.asset, sender: event.sender };
    case 'nft_transfer_event': {
      const { asset, recipient, sender } = event;
      return { asset_identifier: asset, raw_value: toHex(event.value), recipient, sender };
    }
    case 'nft_mint_event':
      return { asset_identifier: event.asset, raw_value: toHex(event.value), recipient: event.recipient };
    case 'nft_burn_event':
      return { asset_identifier: event.asset, raw_value: toHex(event.value), sender: event.sender };
  }
}
