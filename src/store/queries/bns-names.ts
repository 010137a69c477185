/** The second name system (chain/bns-v2.ts): names, the names of an address, and primary names. */
import type { Database } from 'bun:sqlite';
import { type BnsNamespace, bnsAsset, bnsRenewalHeight } from '../../chain/bns-v2.ts';
import { decodeClarity } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import type { BnsName, BnsRenewal } from '../model/bns-name.ts';
import type { Cursor, Page } from '../model/page.ts';
import { BNS_BURN, storedBnsOperation } from '../rows/enums.ts';
import { heightIn } from '../rows/expressions.ts';
import { prepared, type Stored } from '../rows/statement.ts';
import { lister, ordered, statementsOf, up } from './list.ts';
import { MAX_FILTERED_ROWS, pageBeyond, readPage } from './page.ts';

const columns = 'b.bns_id, b.position, b.operation, b.name, b.namespace, b.renewal_height';
const key = [up('b.name', 'text'), up('b.bns_id')];
const current = 'b.contract_id = ?1 AND b.current = 1';
const lists = {
  all: ordered({ select: `SELECT ${columns} FROM bns_names b`, where: current }, key, { isEnded: true }),
  ofNamespace: ordered(
    { select: `SELECT ${columns} FROM bns_names b`, where: `${current} AND b.namespace = ?2` },
    key,
    { isEnded: true },
  ),
  ofOwner: ordered({ select: 'SELECT value FROM nft_instances', where: 'owner_id = ?1 AND asset_id = ?2' }, [
    up('value', 'bytes'),
  ]),
};

export const sql = {
  ...statementsOf(lists),
  // A name leads to its newest token, as in the contract.
  byName: `SELECT ${columns} FROM bns_names b WHERE b.contract_id = ?1 AND b.name = ?2 AND b.current = 1
            ORDER BY b.bns_id DESC LIMIT 1`,
  byId: `SELECT ${columns} FROM bns_names b WHERE b.contract_id = ?1 AND b.bns_id = ?2
          ORDER BY b.position DESC, b.event_index DESC LIMIT 1`,
  operated: `SELECT t.tx_id, b.block_time, b.burn_block_height FROM transactions t
               JOIN blocks b ON b.height = ${heightIn('t.position')} WHERE t.position = ?1`,
  namespace: `SELECT lifetime, launched_at FROM bns_namespaces WHERE contract_id = ?1 AND namespace = ?2
               ORDER BY position DESC, event_index DESC LIMIT 1`,
  primary: `SELECT bns_id FROM bns_primary_names WHERE contract_id = ?1 AND principal_id = ?2
             ORDER BY position DESC, event_index DESC LIMIT 1`,
  principal: 'SELECT id FROM principals WHERE address = ?1',
  asset: 'SELECT id FROM assets WHERE identifier = ?1',
  owner: `SELECT p.id, p.address FROM nft_instances i JOIN principals p ON p.id = i.owner_id
           WHERE i.asset_id = ?1 AND i.value = ?2`,
  owned: 'SELECT instances FROM nft_holdings WHERE owner_id = ?1 AND identifier = ?2',
  tip: `SELECT burn_block_height, block_time FROM blocks WHERE height = (SELECT max(height) FROM blocks)`,
};

type NameRow = Stored<'bns_names', 'bns_id' | 'position' | 'operation' | 'name' | 'namespace' | 'renewal_height'>;
type OperatedRow = Stored<'transactions', 'tx_id'> & Stored<'blocks', 'block_time' | 'burn_block_height'>;
type ValueRow = Stored<'nft_instances', 'value'>;

/** The filter of a list of names. */
export interface BnsFilter {
  /** Null for all namespaces. */
  namespace: string | null;
  /** Beginning of the names; empty for all. */
  prefix: string;
}

/** Seconds between two Bitcoin blocks. */
const SECONDS_OF_A_BURN_BLOCK = 600;

/** The end of the range of names with a beginning. */
const endOf = (prefix: string): string => `${prefix}\u{10FFFF}`;

/** Names of contracts named BNS-V2. Each function takes the identifier of the contract. */
export function bnsNameQueries(db: Database) {
  const all = lister<NameRow>(db, lists.all);
  const ofNamespace = lister<NameRow>(db, lists.ofNamespace);
  const valuesOf = lister<ValueRow>(db, lists.ofOwner);
  const byName = prepared<NameRow, [number, string]>(db, sql.byName);
  const byId = prepared<NameRow, [number, number]>(db, sql.byId);
  const operated = prepared<OperatedRow, [number]>(db, sql.operated);
  const namespaces = prepared<Stored<'bns_namespaces', 'lifetime' | 'launched_at'>, [number, string]>(
    db,
    sql.namespace,
  );
  const primary = prepared<Stored<'bns_primary_names', 'bns_id'>, [number, number]>(db, sql.primary);
  const principal = prepared<Stored<'principals', 'id'>, [string]>(db, sql.principal);
  const assets = prepared<Stored<'assets', 'id'>, [string]>(db, sql.asset);
  const owners = prepared<Stored<'principals', 'id' | 'address'>, [number, Uint8Array]>(db, sql.owner);
  const owned = prepared<Stored<'nft_holdings', 'instances'>, [number, string]>(db, sql.owned);
  const tip = prepared<Stored<'blocks', 'burn_block_height' | 'block_time'>, []>(db, sql.tip);

  function renewalOf(contractId: number, row: NameRow, burnHeight: number): BnsRenewal | null {
    const found = namespaces.get(contractId, row.namespace);
    const namespace: BnsNamespace | null =
      found === null ? null : { lifetime: found.lifetime, launchedAt: found.launched_at };
    const operation = storedBnsOperation.nameOf(row.operation);
    const height = bnsRenewalHeight({ operation, renewalHeight: row.renewal_height }, burnHeight, namespace);
    const now = tip.get();
    if (height === null || now === null) return null;
    const left = height - now.burn_block_height;
    return {
      burnBlockHeight: height,
      hasEnded: left <= 0,
      expectedTime: now.block_time + left * SECONDS_OF_A_BURN_BLOCK,
    };
  }

  /** The name of a row. @param assetId of the contract's token; undefined if no token was minted */
  function nameOf(contractId: number, assetId: number | undefined, row: NameRow): BnsName {
    const { bns_id: id, name } = row;
    const owner = assetId === undefined ? null : owners.get(assetId, clarity.uint(id));
    const at = operated.get(row.position);
    if (at === null) throw new Error(`${name} has an operation without a transaction`);
    return {
      name,
      id,
      owner: owner?.address ?? null,
      isPrimary: owner !== null && primary.get(contractId, owner.id)?.bns_id === id,
      operation: storedBnsOperation.nameOf(row.operation),
      txId: at.tx_id,
      time: at.block_time,
      renewal: renewalOf(contractId, row, at.burn_block_height),
    };
  }

  /** The numbers of a contract and its token; undefined if the chain has no such contract. */
  function idsOf(contract: string): { contractId: number; assetId: number | undefined } | undefined {
    const contractId = principal.get(contract)?.id;
    return contractId === undefined ? undefined : { contractId, assetId: assets.get(bnsAsset(contract))?.id };
  }

  /** The row of a token's name; null if it is burnt or unknown. */
  function livingRow(contractId: number, id: number): NameRow | null {
    const row = byId.get(contractId, id);
    return row === null || row.operation === BNS_BURN ? null : row;
  }

  /** The row of the name of a serialized token; null if there is none. */
  function rowOfToken(contractId: number, value: Uint8Array): NameRow | null {
    const decoded = decodeClarity(value);
    if (!decoded.ok || decoded.value.type !== 'uint' || decoded.value.value > Number.MAX_SAFE_INTEGER) return null;
    return livingRow(contractId, Number(decoded.value.value));
  }

  return {
    /** Names in their order. */
    list(contract: string, { namespace, prefix }: BnsFilter, limit: number, at: Cursor | null): Page<BnsName, null> {
      const ids = idsOf(contract);
      if (ids === undefined) return { ...pageBeyond(0), total: null };
      const { contractId, assetId } = ids;
      const range = { first: prefix, last: endOf(prefix) };
      return readPage<NameRow, BnsName, null>({
        limit,
        at,
        total: null,
        ...(namespace === null ? all([contractId], range) : ofNamespace([contractId, namespace], range)),
        itemOf: (row) => nameOf(contractId, assetId, row),
      });
    },

    /** Undefined if the name is unknown or burnt. */
    find(contract: string, name: string): BnsName | undefined {
      const ids = idsOf(contract);
      const row = ids === undefined ? null : byName.get(ids.contractId, name);
      return ids === undefined || row === null ? undefined : nameOf(ids.contractId, ids.assetId, row);
    },

    /** Names whose tokens a principal owns, oldest token first. */
    ofOwner(contract: string, owner: string, limit: number, at: Cursor | null): Page<BnsName> {
      const ids = idsOf(contract);
      const ownerId = principal.get(owner)?.id;
      if (ids?.assetId === undefined || ownerId === undefined) return pageBeyond(0);
      const { contractId, assetId } = ids;
      return readPage<ValueRow, BnsName>({
        limit,
        at,
        total: owned.get(ownerId, bnsAsset(contract))?.instances ?? 0,
        mostRows: MAX_FILTERED_ROWS,
        ...valuesOf([ownerId, assetId]),
        meets: ({ value }) => rowOfToken(contractId, value) !== null,
        itemOf: ({ value }) => nameOf(contractId, assetId, rowOfToken(contractId, value)!),
      });
    },

    /** The primary name of a principal; null if it has none. */
    primaryOf(contract: string, owner: string): string | null {
      const [contractId, ownerId] = [principal.get(contract)?.id, principal.get(owner)?.id];
      if (contractId === undefined || ownerId === undefined) return null;
      const id = primary.get(contractId, ownerId)?.bns_id ?? null;
      return id === null ? null : (livingRow(contractId, id)?.name ?? null);
    },
  };
}
