/** All that is kept of chainhooks, through the connection that writes. */
import type { Database } from 'bun:sqlite';
import { hookBackfills } from './backfills.ts';
import { hookCandidates } from './candidates.ts';
import { hookDeliveries } from './deliveries.ts';
import { hookLedger } from './ledger.ts';
import { hookRecords } from './records.ts';
import { hookSecrets } from './secrets.ts';

export const hookStore = (db: Database) => ({
  records: hookRecords(db),
  deliveries: hookDeliveries(db),
  ledger: hookLedger(db),
  secrets: hookSecrets(db),
  backfills: hookBackfills(db),
  candidates: hookCandidates(db),
});
export type HookStore = ReturnType<typeof hookStore>;
