import type { Static } from '@sinclair/typebox';
import type { StackingPrint } from '../../../chain/pox/stacking.ts';
import { poxAddressRaw } from '../../../codec/bitcoin-address.ts';
import { toHex } from '../../../codec/hex.ts';
import type { StackingEvent } from '../../../store/model/staking.ts';
import { bitcoinAddress, exactNumber } from '../../shared/values.ts';
import type { Delegation, StackingEvent as EventSchema } from '../schemas/stacking.ts';

function text(value: StackingPrint['data'][string]): string | null {
  if (value === null) return null;
  return value instanceof Uint8Array ? toHex(value) : String(value);
}

/** A print of a stacking contract with its fields. */
export function stackingEvent({ print, ...event }: StackingEvent): Static<typeof EventSchema> {
  const data = Object.fromEntries(Object.entries(print.data).map(([name, value]) => [name, text(value)]));
  const serialized = {
    block_height: event.blockHeight,
    tx_id: toHex(event.txId),
    tx_index: event.txIndex,
    event_index: event.eventIndex,
    stacker: print.stacker,
    locked: print.state.locked.toString(),
    balance: print.state.balance.toString(),
    burnchain_unlock_height: print.state.unlockHeight.toString(),
    pox_addr: bitcoinAddress(print),
    pox_addr_raw: print.poxAddress === null ? null : poxAddressRaw(print.poxAddress),
    name: print.name,
    data,
  };
  // The table of the contract's topics names the fields of each.
  return serialized as Static<typeof EventSchema>;
}

/** A delegation to a pool, in micro-STX. */
export function delegation({ print, blockHeight, txId }: StackingEvent): Static<typeof Delegation> {
  const address = bitcoinAddress(print);
  const unlockHeight = print.data.unlock_burn_height;
  return {
    stacker: print.stacker,
    ...(address === null ? {} : { pox_addr: address }),
    amount_ustx: String(print.data.amount_ustx),
    ...(typeof unlockHeight === 'bigint' && unlockHeight > 0n
      ? { burn_block_unlock_height: exactNumber(unlockHeight) }
      : {}),
    block_height: blockHeight,
    tx_id: toHex(txId),
  };
}
