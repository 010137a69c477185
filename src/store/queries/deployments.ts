/** Deployments of contracts as v1 shows them: of any fork, and by what their interfaces declare. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../chain/position.ts';
import type { ContractDeployment } from '../model.ts';
import { prepared } from '../statement.ts';
import type { OrphanedTransaction, OrphanQueries } from './orphans.ts';

const columns = 'p.address, t.position, t.tx_id, t.clarity_version, d.contract_interface, d.raw';

export const sql = {
  canonical: `SELECT ${columns}
                FROM principals p JOIN contracts c ON c.contract_id = p.id
                JOIN transactions t ON t.position = c.position JOIN transaction_bodies d ON d.position = c.position
               WHERE p.address = ?1 ORDER BY c.position DESC`,
  // Deployments by position: the transactions that make a contract.
  at: `SELECT ${columns}
         FROM transactions t JOIN principals p ON p.id = t.contract_id
         JOIN transaction_bodies d ON d.position = t.position WHERE t.position = ?1`,
  size: 'SELECT count(*) AS size FROM (SELECT 1 FROM declared_functions WHERE name = ?1 LIMIT ?2)',
  declaring: 'SELECT position FROM declared_functions WHERE name = ?1 ORDER BY position DESC',
  deployments: `SELECT position FROM transactions INDEXED BY transactions_by_type WHERE type = ?1
                 ORDER BY position DESC`,
};

interface Row {
  address: string;
  position: number;
  tx_id: Uint8Array;
  clarity_version: number | null;
  contract_interface: string | null;
  raw: Uint8Array;
}

const canonicalOf = (row: Row): ContractDeployment => ({
  contractId: row.address,
  txId: row.tx_id,
  canonical: true,
  height: heightOf(row.position),
  clarityVersion: row.clarity_version,
  raw: row.raw,
  contractInterface: row.contract_interface,
});

const orphanOf = (contractId: string, { block, transaction }: OrphanedTransaction): ContractDeployment => ({
  contractId,
  txId: transaction.txId,
  canonical: false,
  height: block.height,
  clarityVersion: transaction.payload.type === 'smart_contract' ? transaction.payload.clarityVersion : null,
  raw: transaction.raw,
  contractInterface: transaction.contractInterface,
});

/** Among the functions of an interface, one that this many declare is rare enough. */
const RARE = 1_000;

/** The payload types of deployments. */
const VERSIONED = 6;
const UNVERSIONED = 1;

export function deploymentQueries(db: Database, orphans: OrphanQueries) {
  const canonical = prepared<Row, [string]>(db, sql.canonical);
  const at = prepared<Row, [number]>(db, sql.at);
  const size = prepared<{ size: number }, [string, number]>(db, sql.size);
  const declaring = prepared<{ position: number }, [string]>(db, sql.declaring);
  const deployments = prepared<{ position: number }, [number]>(db, sql.deployments);

  /** Positions of deployments that may declare all of the functions, the newest first. */
  function* candidates(names: readonly string[]): Generator<number> {
    let rarest: { name: string; size: number } | undefined;
    for (const name of names) {
      const found = size.get(name, RARE)?.size ?? 0;
      if (rarest === undefined || found < rarest.size) rarest = { name, size: found };
    }
    if (rarest !== undefined) {
      for (const { position } of declaring.iterate(rarest.name)) yield position;
      return;
    }
    // Both kinds, in one order.
    const kinds = [VERSIONED, UNVERSIONED].map((type) => deployments.all(type).map(({ position }) => position));
    yield* kinds.flat().sort((a, b) => b - a);
  }

  return {
    async anyDeployment(contractId: string): Promise<ContractDeployment | undefined> {
      const found = canonical.all(contractId).map(canonicalOf);
      const whole = found.find((of) => of.contractInterface !== null);
      if (whole !== undefined) return whole;
      const orphaned = orphans.deployments(contractId).map((of) => orphanOf(contractId, of));
      return orphaned.find((of) => of.contractInterface !== null) ?? found[0] ?? orphaned[0];
    },

    async withInterface(
      names: readonly string[],
      passes: (contractInterface: unknown) => boolean,
      limit: number,
      offset: number,
    ): Promise<ContractDeployment[]> {
      const found: ContractDeployment[] = [];
      let left = offset;
      for (const position of candidates(names)) {
        if (found.length >= limit) break;
        const row = at.get(position);
        if (row === null || row.contract_interface === null || !passes(JSON.parse(row.contract_interface))) continue;
        if (left > 0) left -= 1;
        else found.push(canonicalOf(row));
      }
      return found;
    },
  };
}
