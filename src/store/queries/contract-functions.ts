/** How contracts declare their functions, from the interfaces that nodes send with deployments. */
import type { Database } from 'bun:sqlite';
import { contractFunctions } from '../../codec/abi.ts';
import type { ContractFunctions } from '../model/contract.ts';
import { prepared } from '../rows/statement.ts';
import type { KeptTransactions } from './kept-transactions.ts';

export const sql = {
  newest: `SELECT t.tx_id, c.position FROM principals p JOIN contracts c ON c.contract_id = p.id
             JOIN transaction_bodies d ON d.position = c.position JOIN transactions t ON t.position = c.position
            WHERE p.address = ?1 AND d.contract_interface IS NOT NULL ORDER BY c.position DESC LIMIT 1`,
  interface: 'SELECT contract_interface FROM transaction_bodies WHERE position = ?1',
};

/** Interfaces kept in memory, parsed; most calls go to few contracts. */
const CACHED = 500;

export function contractFunctionQueries(db: Database, kept: KeptTransactions) {
  const newest = prepared<{ tx_id: Uint8Array; position: number }, [string]>(db, sql.newest);
  const interfaceAt = prepared<{ contract_interface: string | null }, [number]>(db, sql.interface);
  /** Functions by the deployment's transaction id: a deployment declares the same in every fork. */
  const known = new Map<string, ContractFunctions>();

  const functionsOf = kept.onceEach(CACHED, (contractId): ContractFunctions | undefined => {
    const deployment = newest.get(contractId);
    if (deployment === null) return undefined;
    const key = deployment.tx_id.toHex();
    const cached = known.get(key);
    if (cached !== undefined) return cached;
    const functions = contractFunctions(interfaceAt.get(deployment.position)?.contract_interface ?? '{}');
    if (known.size >= CACHED) known.clear();
    known.set(key, functions);
    return functions;
  });
  return async (contractId: string): Promise<ContractFunctions | undefined> => functionsOf(contractId);
}
