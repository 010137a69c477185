/** All that is kept of chainhooks. */
import type { Database } from 'bun:sqlite';
import { backfillReads, hookBackfills } from './backfills.ts';
import { hookCandidates } from './candidates.ts';
import { deliveryReads, hookDeliveries } from './delivery-queue.ts';
import { hookLedger } from './ledger.ts';
import { hookRecords, recordReads } from './records.ts';
import { hookSecrets, secretReads } from './secrets.ts';

/** What is read of chainhooks through a connection, as it is committed, or as a snapshot has it. */
export const hookReads = (db: Database) => ({
  records: recordReads(db),
  deliveries: deliveryReads(db),
  secrets: secretReads(db),
  backfills: backfillReads(db),
  candidates: hookCandidates(db),
});
export type HookReads = ReturnType<typeof hookReads>;

/** All of it through the connection that writes. */
export const hookStore = (db: Database) => ({
  records: hookRecords(db),
  deliveries: hookDeliveries(db),
  ledger: hookLedger(db),
  secrets: hookSecrets(db),
  backfills: hookBackfills(db),
  candidates: hookCandidates(db),
});
export type HookStore = ReturnType<typeof hookStore>;
