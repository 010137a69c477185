/** Events of a node's block payload: what each says, and which transaction it belongs to. */
import { fromHex } from '../codec/hex.ts';
import type { ChainEvent } from './block.ts';
import { eventBody, PayloadError } from './payload-reader.ts';
import type { EventPayload, TransactionPayload } from './payload-schemas.ts';

/** @throws PayloadError for an event of an unknown type */
export function chainEvent(event: EventPayload): ChainEvent {
  const type = event.type;
  switch (type) {
    case 'contract_event': {
      const { contract_identifier, topic, raw_value } = eventBody(event, type);
      return { kind: 'contract_log', contractId: contract_identifier, topic, value: fromHex(raw_value) };
    }
    case 'stx_transfer_event': {
      const { sender, recipient, amount, memo } = eventBody(event, type);
      const hasMemo = memo !== undefined && memo !== '' && memo !== '0x';
      return { kind: 'stx', action: 'transfer', sender, recipient, amount, memo: hasMemo ? fromHex(memo) : null };
    }
    case 'stx_mint_event': {
      const { recipient, amount } = eventBody(event, type);
      return { kind: 'stx', action: 'mint', sender: null, recipient, amount, memo: null };
    }
    case 'stx_burn_event': {
      const { sender, amount } = eventBody(event, type);
      return { kind: 'stx', action: 'burn', sender, recipient: null, amount, memo: null };
    }
    case 'stx_lock_event': {
      const { locked_amount, unlock_height, locked_address, contract_identifier } = eventBody(event, type);
      return {
        kind: 'stx_lock',
        address: locked_address,
        amount: locked_amount,
        unlockHeight: Number(unlock_height),
        // Nodes before 2.1 name no contract: there was only one.
        contractName: contract_identifier?.split('.')[1] ?? 'pox',
      };
    }
    case 'ft_transfer_event': {
      const { asset_identifier, sender, recipient, amount } = eventBody(event, type);
      return { kind: 'ft', action: 'transfer', asset: asset_identifier, sender, recipient, amount };
    }
    case 'ft_mint_event': {
      const { asset_identifier, recipient, amount } = eventBody(event, type);
      return { kind: 'ft', action: 'mint', asset: asset_identifier, sender: null, recipient, amount };
    }
    case 'ft_burn_event': {
      const { asset_identifier, sender, amount } = eventBody(event, type);
      return { kind: 'ft', action: 'burn', asset: asset_identifier, sender, recipient: null, amount };
    }
    case 'nft_transfer_event': {
      const { asset_identifier, sender, recipient, raw_value } = eventBody(event, type);
      return { kind: 'nft', action: 'transfer', asset: asset_identifier, sender, recipient, value: fromHex(raw_value) };
    }
    case 'nft_mint_event': {
      const { asset_identifier, recipient, raw_value } = eventBody(event, type);
      return {
        kind: 'nft',
        action: 'mint',
        asset: asset_identifier,
        sender: null,
        recipient,
        value: fromHex(raw_value),
      };
    }
    case 'nft_burn_event': {
      const { asset_identifier, sender, raw_value } = eventBody(event, type);
      return {
        kind: 'nft',
        action: 'burn',
        asset: asset_identifier,
        sender,
        recipient: null,
        value: fromHex(raw_value),
      };
    }
    default:
      throw new PayloadError(`Unknown event type ${type}`);
  }
}

/** A transaction id as payloads are compared by it. */
export const withoutPrefix = (hex: string): string => (hex.startsWith('0x') ? hex.slice(2) : hex).toLowerCase();

/**
 * The events of each transaction by its id (hex without prefix), in the node's order.
 *
 * A node sends them unordered, and older ones also those of transactions that failed: what an aborted transaction
 * printed or moved did not happen.
 */
export function eventsByTransaction(
  events: readonly EventPayload[],
  transactions: readonly TransactionPayload[],
): Map<string, EventPayload[]> {
  const byTransaction = new Map<string, EventPayload[]>();
  for (const transaction of transactions) byTransaction.set(withoutPrefix(transaction.txid), []);
  for (const event of events) {
    if (!event.committed) continue;
    const list = byTransaction.get(withoutPrefix(event.txid));
    if (list === undefined) throw new PayloadError(`Unexpected missing tx during event parsing by tx_id ${event.txid}`);
    list.push(event);
  }
  for (const transaction of transactions) {
    const list = byTransaction.get(withoutPrefix(transaction.txid));
    if (list === undefined) continue;
    if (transaction.status !== 'success') list.length = 0;
    else list.sort((a, b) => a.event_index - b.event_index);
  }
  return byTransaction;
}
