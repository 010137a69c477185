/** Which send-many contracts the index is made with, and that they stay the same. */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { SEND_MANY, type SendManySetting } from '../../chain/memo-transfers.ts';
import type { Network } from '../../chain/network.ts';
import { recordedSendMany } from '../queries/send-many.ts';
import { upserter } from '../rows/table.ts';
import { sendManyContractsTable } from '../tables/bookkeeping.ts';

/**
 * Holds the index to the contracts that the operator set. An index without blocks takes them, since no row depends on
 * them yet; one that has blocks ignores the contract of another network.
 * @param wanted a network with null is as the index has it
 * @param kind the network of the chain; null where nothing says it
 * @throws OperatorError where the index was made with another contract
 */
export function requireSendMany(
  db: Database,
  wanted: SendManySetting,
  kind: Network['kind'] | null,
  directory: string,
): void {
  const recorded = recordedSendMany(db);
  const hasBlocks = db.query('SELECT 1 FROM blocks LIMIT 1').get() !== null;
  const set = upserter(db, sendManyContractsTable, { replaced: ['contract_id'] });
  for (const network of ['mainnet', 'testnet'] as const) {
    const [kept, contract] = [recorded[network] ?? SEND_MANY[network], wanted[network]];
    if (contract === null || contract === kept) continue;
    if (!hasBlocks) {
      set({ network, contract_id: contract });
    } else if (kind === null || kind === network) {
      throw new OperatorError(
        `The index in ${directory} was made with the send-many contract ${kept}, but the setting names ${contract}.`,
        `Remove the setting of the send-many contract of ${network}, or run stackside rebuild with the setting.`,
      );
    }
  }
}
