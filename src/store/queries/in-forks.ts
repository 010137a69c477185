/** A transaction by its id, wherever it is: canonical, streamed, waiting, dropped or orphaned. */

import type { TransactionEvent } from '../model/event.ts';
import type { FoundInForks } from '../model/transaction.ts';
import type { DetailQueries } from './details.ts';
import type { EventQueries } from './events.ts';
import type { MempoolQueries } from './mempool.ts';
import type { OrphanQueries } from './orphans.ts';
import { detailInBlock, indexedEvents } from './payload-details.ts';
import type { StreamedQueries } from './streamed.ts';

interface Sources {
  details: DetailQueries;
  events: EventQueries;
  mempool: MempoolQueries;
  orphans: OrphanQueries;
  streamed: StreamedQueries;
}

export const inForks =
  ({ details, events, mempool, orphans, streamed }: Sources) =>
  async (
    txId: Uint8Array,
    { limit, offset }: { limit: number; offset: number },
    withStreamed: boolean,
  ): Promise<FoundInForks | undefined> => {
    const part = (of: TransactionEvent[]) => of.slice(offset, offset + limit);
    const canonical = details.find(txId);
    if (canonical !== undefined) {
      return { mined: true, transaction: canonical, events: events.slice(txId, limit, offset) };
    }
    const waiting = withStreamed ? streamed.find(txId) : undefined;
    if (waiting !== undefined) {
      return { mined: true, transaction: waiting.detail, events: part(indexedEvents(waiting.transaction)) };
    }
    const pending = mempool.find(txId);
    if (pending !== undefined) return { mined: false, transaction: pending };
    const orphan = orphans.transaction(txId);
    if (orphan === undefined) return undefined;
    const { block, transaction } = orphan;
    return {
      mined: true,
      transaction: detailInBlock(transaction, block, false),
      events: part(indexedEvents(transaction)),
    };
  };
