/** What a transaction did to balances, from its events and its fee. */
import type { TransactionEvent } from './types.ts';

export interface BalanceChange {
  principal: string;
  /** An asset identifier; null for STX. */
  asset: string | null;
  /** The amount in the smallest unit, or the number of non-fungible tokens. */
  net: bigint;
}

/**
 * The changes of balances, each principal and asset once, without those that come to nothing.
 * @param fee who pays it, and how much in micro-STX
 */
export function balanceChanges(
  events: readonly TransactionEvent[],
  fee: { payer: string; amount: string },
): BalanceChange[] {
  const changes = new Map<string, BalanceChange>();
  const change = (principal: string, asset: string | null, amount: bigint): void => {
    if (principal === '') return;
    const key = `${principal} ${asset ?? ''}`;
    const known = changes.get(key) ?? { principal, asset, net: 0n };
    known.net += amount;
    changes.set(key, known);
  };
  change(fee.payer, null, -BigInt(fee.amount));
  for (const event of events) {
    switch (event.event_type) {
      case 'stx_asset': {
        const { sender, recipient, amount } = event.asset;
        change(sender, null, -BigInt(amount));
        change(recipient, null, BigInt(amount));
        break;
      }
      case 'fungible_token_asset': {
        const { sender, recipient, amount, asset_id: asset } = event.asset;
        change(sender, asset, -BigInt(amount));
        change(recipient, asset, BigInt(amount));
        break;
      }
      case 'non_fungible_token_asset': {
        const { sender, recipient, asset_id: asset } = event.asset;
        change(sender, asset, -1n);
        change(recipient, asset, 1n);
        break;
      }
      case 'stx_lock':
      case 'smart_contract_log':
        break;
    }
  }
  return [...changes.values()].filter(({ net }) => net !== 0n);
}
