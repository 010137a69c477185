/** What commands made of an index, which is nobody else's business than that of the operator and the consumers. */
import { openWriter } from '../files/database.ts';

/** The tables that commands make, which a journal without its commands doesn't. */
const tablesOfCommands = [
  'hooks',
  'hook_secrets',
  'hook_deliveries',
  'hook_bodies',
  'hook_attempts',
  'hook_ledger',
  'hook_backfills',
  'faucet_requests',
  'old_namespaces',
  'old_names',
  'old_zonefiles',
  'old_subdomains',
];

/**
 * Removes all that commands made from an index, which may be published then: the chainhooks with their secrets, who asked the
 * faucets, and the names from before the chain.
 */
export function forgetPrivateData(directory: string): void {
  const db = openWriter(directory);
  try {
    // The bytes of what is deleted are overwritten.
    db.run('PRAGMA secure_delete = ON');
    db.transaction(() => {
      for (const table of tablesOfCommands) db.run(`DELETE FROM ${table}`);
      db.run('UPDATE hook_progress SET epoch = 0');
    })();
  } finally {
    db.close();
  }
}
