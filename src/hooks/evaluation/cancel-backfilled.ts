/** What a backfill has still to send of a block, once its hook is notified that the block left the chain. */
import type { Block } from '../../chain/block.ts';
import { toHex } from '../../codec/hex.ts';
import type { HookStore } from '../../store/hooks/store.ts';

/**
 * Cancels it: lanes don't wait for each other, and nothing would take back what arrives after the rollback. What is
 * under way stays cancelled, whatever it is answered. Call it in the transaction that queues the rollback.
 * @returns whether there was any, so that its backfill may have room for more
 */
export function cancelBackfilled({ deliveries, backfills }: HookStore, hookId: number, block: Block): boolean {
  const open = deliveries.openBackfilled(hookId, block.height, toHex(block.indexBlockHash));
  for (const { id, lane, backfillId } of open) {
    deliveries.setState(id, 'cancelled');
    // What is sent again was counted the first time.
    if (lane === 'backfill' && backfillId !== null) backfills.settle(backfillId, { delivered: 0, dead: 1 });
  }
  return open.length > 0;
}
