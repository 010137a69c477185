/** Deployed contracts, the functions that their interfaces declare, and deployments of any fork as v1 shows them. */
import type { Database } from 'bun:sqlite';
import { lruCache } from '../../../base/cache.ts';
import { heightOf } from '../../../chain/position.ts';
import { contractFunctions } from '../../../codec/abi.ts';
import { splitPrincipal } from '../../../codec/address.ts';
import type {
  ContractDeployment,
  ContractFunctions,
  DeclaredFunctions,
  Deployment,
  SmartContract,
} from '../../model/contract.ts';
import { DEPLOYMENTS, MEMPOOL_STATE, PAYLOAD, STATUS, storedTransactionStatus } from '../../rows/enums.ts';
import { heightIn } from '../../rows/expressions.ts';
import { query, type Stored, statements, TooMuchWorkError } from '../../rows/statement.ts';
import type { OrphanedTransaction, OrphanQueries } from '../blocks/orphans.ts';
import type { FileCache } from '../file-cache.ts';
import { numbers } from '../numbers.ts';
import { type CreationRow, creationJoin, toCreation } from '../transactions/summary.ts';

const columns = `p.address AS contractId, t.position, t.tx_id AS txId, t.clarity_version AS clarityVersion,
  d.contract_interface AS contractInterface, d.raw`;

export const sql = {
  newest: query<Row, [string]>`
    SELECT ${columns}
      FROM principals p JOIN transactions t ON t.contract_id = p.id AND t.type IN (${DEPLOYMENTS})
      JOIN transaction_bodies d ON d.position = t.position
     WHERE p.address = ?1 ORDER BY t.position DESC LIMIT 1`,
  // The chain rejects a second deployment of a contract, so failed deployments always come before the successful one.
  newestWhole: query<Row, [string]>`
    SELECT ${columns}
      FROM principals p
      JOIN transactions t ON t.position = (SELECT max(position) FROM transactions
                                            WHERE contract_id = p.id AND type IN (${DEPLOYMENTS}))
      JOIN transaction_bodies d ON d.position = t.position
     WHERE p.address = ?1 AND d.contract_interface IS NOT NULL`,
  // A deployment by position: the transaction that makes a contract.
  byPosition: query<Row, [number]>`
    SELECT ${columns}
      FROM transactions t JOIN principals p ON p.id = t.contract_id
      JOIN transaction_bodies d ON d.position = t.position WHERE t.position = ?1`,
  interface: query<Stored<'transaction_bodies', 'contract_interface'>, [number]>`
    SELECT contract_interface FROM transaction_bodies WHERE position = ?1`,
  size: query<{ size: number }, [string, number]>`
    SELECT count(*) AS size FROM (SELECT 1 FROM declared_functions WHERE name = ?1 LIMIT ?2)`,
  declaring: query<Stored<'declared_functions', 'position'>, [string, number]>`
    SELECT position FROM declared_functions WHERE name = ?1 ORDER BY position DESC LIMIT ?2`,
  declares: query<{ found: number }, [string, number]>`
    SELECT 1 AS found FROM declared_functions WHERE name = ?1 AND position = ?2`,
  deployments: query<Stored<'transactions', 'position'>, [number, number]>`
    SELECT position FROM transactions INDEXED BY transactions_by_type WHERE type = ?1 ORDER BY position DESC LIMIT ?2`,
};

type Row = Omit<ContractDeployment, 'canonical' | 'height'> & Stored<'transactions', 'position'>;

const canonicalOf = ({ position, ...row }: Row): ContractDeployment => ({
  ...row,
  canonical: true,
  height: heightOf(position),
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

/** If fewer deployments have a function's name, the name is rare enough to search by. */
const RARE = 1_000;

/** Maximum number of interfaces that a request reads; this takes a twentieth of a second. */
const MAX_LOOKED_AT = 4_000;

/** @param maxLookedAt maximum number of deployments that are read; tests use another than the default */
export function deploymentQueries(db: Database, orphans: OrphanQueries, maxLookedAt = MAX_LOOKED_AT) {
  const read = statements(db, sql);

  /** The function that the fewest deployments declare; undefined without names. */
  function rarestOf(names: readonly string[]): string | undefined {
    let rarest: { name: string; size: number } | undefined;
    for (const name of names) {
      const size = read.size.get(name, RARE)?.size ?? 0;
      if (rarest === undefined || size < rarest.size) rarest = { name, size };
    }
    return rarest?.name;
  }

  /** Positions of deployments that may declare all of the functions, newest first: one more than a request may read. */
  function candidates(names: readonly string[]): number[] {
    const rarest = rarestOf(names);
    if (rarest !== undefined) return read.declaring.all(rarest, maxLookedAt + 1).map(({ position }) => position);
    // Both payload types, merged by position.
    const kinds = [PAYLOAD.versioned_smart_contract, PAYLOAD.smart_contract].map((type) =>
      read.deployments.all(type, maxLookedAt + 1),
    );
    return kinds
      .flat()
      .map(({ position }) => position)
      .sort((a, b) => b - a)
      .slice(0, maxLookedAt + 1);
  }

  /** Positions of deployments that declare all of the functions, with an interface that passes a test, newest first. */
  function* matches(names: readonly string[], passes: (contractInterface: unknown) => boolean): Generator<number> {
    for (const [index, position] of candidates(names).entries()) {
      if (index === maxLookedAt) throw tooManyDeclare(maxLookedAt);
      if (!names.every((name) => read.declares.get(name, position) !== null)) continue;
      const text = read.interface.get(position)?.contract_interface ?? null;
      if (text !== null && passes(JSON.parse(text))) yield position;
    }
  }

  return {
    /**
     * The newest deployment that has an interface, canonical before orphaned, else the newest; undefined if there is
     * none.
     */
    anyDeployment(contractId: string): ContractDeployment | undefined {
      const whole = read.newestWhole.get(contractId);
      if (whole !== null) return canonicalOf(whole);
      const orphaned = orphans.deployments(contractId).map((orphan) => orphanOf(contractId, orphan));
      const deployment = orphaned.find((orphan) => orphan.contractInterface !== null);
      if (deployment !== undefined) return deployment;
      const row = read.newest.get(contractId);
      return row === null ? orphaned[0] : canonicalOf(row);
    },

    /**
     * Canonical deployments with an interface that passes a test, newest first.
     * @param names functions that the interface must declare; the search starts with them
     * @throws TooMuchWorkError if the page needs more deployments than a request may read
     */
    withInterface(
      names: readonly string[],
      passes: (contractInterface: unknown) => boolean,
      limit: number,
      offset: number,
    ): ContractDeployment[] {
      return matches(names, passes)
        .drop(offset)
        .take(limit)
        .map((position) => canonicalOf(read.byPosition.get(position)!))
        .toArray();
    },
  };
}

const tooManyDeclare = (limit: number): TooMuchWorkError =>
  new TooMuchWorkError(
    `The page is not among the ${limit} newest contracts that declare the rarest of these functions; give a lower ` +
      'offset, or a trait with a function that fewer contracts declare',
  );

export const contractsSql = {
  find: query<ContractRow, [string]>`
    SELECT ${creationJoin.columns}, t.clarity_version, d.raw
      FROM principals p JOIN transactions t ON t.contract_id = p.id AND t.type IN (${DEPLOYMENTS})
      JOIN transaction_bodies d ON d.position = t.position JOIN blocks b ON b.height = ${heightIn('t.position')}
     WHERE p.address = ?1 AND t.status = ${STATUS.success} ORDER BY t.position DESC LIMIT 1`,
  mined: query<Stored<'transactions', 'position' | 'tx_id' | 'status'>, [string]>`
    SELECT t.position, t.tx_id, t.status
      FROM principals p JOIN transactions t ON t.contract_id = p.id AND t.type IN (${DEPLOYMENTS})
     WHERE p.address = ?1 ORDER BY t.position DESC LIMIT 1`,
  // A contract's address is its deployer's address.
  waiting: query<Stored<'mempool_transactions', 'tx_id'>, [number, number]>`
    SELECT tx_id FROM mempool_transactions
     WHERE state = ${MEMPOOL_STATE.pending} AND sender_id = ?1 AND contract_id = ?2 AND type IN (${DEPLOYMENTS})
     ORDER BY nonce LIMIT 1`,
};

type ContractRow = CreationRow & Stored<'transactions', 'clarity_version'> & Stored<'transaction_bodies', 'raw'>;

export function contractQueries(db: Database) {
  const { find, mined, waiting } = statements(db, contractsSql);
  const { principalOf } = numbers(db);
  return {
    /** The newest successful deployment of a contract; undefined if there is none. */
    find(contractId: string): SmartContract | undefined {
      const row = find.get(contractId);
      if (row === null) return undefined;
      return { ...toCreation(row), contractId, clarityVersion: row.clarity_version, raw: row.raw };
    },

    /**
     * The newest mined deployment of a contract with any status, else the first pending one; undefined if there is
     * none.
     */
    deployment(contractId: string): Deployment | undefined {
      const row = mined.get(contractId);
      if (row !== null)
        return { status: storedTransactionStatus.nameOf(row.status), txId: row.tx_id, height: heightOf(row.position) };
      const pending = waiting.get(principalOf(splitPrincipal(contractId).address), principalOf(contractId));
      return pending === null ? undefined : { status: 'pending', txId: pending.tx_id };
    },
  };
}

export const contractFunctionsSql = {
  newest: query<DeploymentRow, [string]>`
    SELECT t.tx_id, t.position
      FROM principals p JOIN transactions t ON t.contract_id = p.id AND t.type IN (${DEPLOYMENTS})
      JOIN transaction_bodies d ON d.position = t.position
     WHERE p.address = ?1 AND d.contract_interface IS NOT NULL ORDER BY t.position DESC LIMIT 1`,
  interface: sql.interface,
};

type DeploymentRow = Stored<'transactions', 'tx_id' | 'position'>;

/** Number of cached interfaces, parsed; most calls go to few contracts. */
const CACHED = 500;

export function contractFunctionQueries(db: Database, orphans: Pick<OrphanQueries, 'deployments'>, cache: FileCache) {
  const { newest, interface: interfaceAt } = statements(db, contractFunctionsSql);
  /** Functions by the deployment's transaction id: a deployment declares the same functions in every fork. */
  const functionsCache = lruCache<string, ContractFunctions>(CACHED);

  function functionsOf(txId: Uint8Array, interfaceOf: () => string | null | undefined): ContractFunctions {
    const key = txId.toHex();
    const cached = functionsCache.get(key);
    if (cached !== undefined) return cached;
    const functions = contractFunctions(interfaceOf() ?? '{}');
    functionsCache.set(key, functions, 1);
    return functions;
  }

  const functions = cache.memoize((contractId): DeclaredFunctions | undefined => {
    const deployment = newest.get(contractId);
    if (deployment === null) return undefined;
    const { tx_id: txId, position } = deployment;
    const declared = functionsOf(txId, () => interfaceAt.get(position)?.contract_interface);
    return { functions: declared, height: heightOf(position) };
  }, CACHED);

  const orphanedFunctions = cache.memoize((contractId): DeclaredFunctions | undefined => {
    const orphan = orphans
      .deployments(contractId)
      .find(({ transaction: { contractInterface } }) => contractInterface !== null);
    if (orphan === undefined) return undefined;
    const { txId, contractInterface } = orphan.transaction;
    return { functions: functionsOf(txId, () => contractInterface), height: null };
  }, CACHED);

  return {
    /** Functions that a contract's newest canonical deployment with an interface declares; undefined if there is none. */
    functions,
    /** As `functions`; if there is none, those that its highest orphaned deployment with an interface declares. */
    functionsInForks: (contractId: string): DeclaredFunctions | undefined =>
      functions(contractId) ?? orphanedFunctions(contractId),
  };
}
