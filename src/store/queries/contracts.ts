/** Contracts that were deployed. */
import type { Database } from 'bun:sqlite';
import type { SmartContract } from '../model.ts';
import { prepared } from '../statement.ts';
import { placeOf } from './transfers.ts';

export const sql = {
  find: `SELECT t.position, t.tx_id, t.tx_index, coalesce(t.genesis_block_time, b.block_time) AS block_time,
                b.block_hash, b.index_block_hash, b.burn_block_height, b.burn_block_time, t.clarity_version,
                d.contract_interface, d.raw
           FROM principals p JOIN contracts c ON c.contract_id = p.id
           JOIN transactions t ON t.position = c.position JOIN transaction_bodies d ON d.position = c.position
           JOIN blocks b ON b.height = c.position >> 20
          WHERE p.address = ?1 AND t.status = 1 ORDER BY c.position DESC LIMIT 1`,
};

interface Row {
  position: number;
  tx_id: Uint8Array;
  tx_index: number;
  block_time: number;
  block_hash: Uint8Array;
  index_block_hash: Uint8Array;
  burn_block_height: number;
  burn_block_time: number;
  clarity_version: number | null;
  contract_interface: string | null;
  raw: Uint8Array;
}

/** The version an unversioned deployment got, as its interface says: `"clarity_version":"Clarity1"`. */
function interfaceVersion(contractInterface: string | null): number | null {
  const version = /"clarity_version":\s*"Clarity(\d+)"/.exec(contractInterface ?? '')?.[1];
  return version === undefined ? null : Number(version);
}

export function contractQueries(db: Database) {
  const find = prepared<Row, [string]>(db, sql.find);
  return {
    async find(contractId: string): Promise<SmartContract | undefined> {
      const row = find.get(contractId);
      if (row === null) return undefined;
      return {
        ...placeOf(row),
        contractId,
        clarityVersion: row.clarity_version ?? interfaceVersion(row.contract_interface),
        burnBlock: { height: row.burn_block_height, time: row.burn_block_time },
        raw: row.raw,
      };
    },
  };
}
