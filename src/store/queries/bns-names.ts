/** The second name system (chain/bns-v2.ts): names, the names of an address, and primary names. */
import type { Database } from 'bun:sqlite';
import { type BnsNamespace, bnsAsset, bnsRenewalHeight } from '../../chain/bns-v2.ts';
import { clarityValueOf } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import type { BnsName, BnsRenewal } from '../model/name.ts';
import type { Cursor, Page } from '../model/page.ts';
import { BNS_BURN, storedBnsOperation } from '../rows/enums.ts';
import { heightIn } from '../rows/expressions.ts';
import { endOf } from '../rows/name-parts.ts';
import { query, type Stored, statements } from '../rows/statement.ts';
import { orderedList, up } from './list.ts';
import { NOBODY, numbers } from './numbers.ts';
import { emptyPage, MAX_FILTERED_ROWS, readPage } from './page.ts';
import { type InstanceValue, instancesOfOwner } from './tokens/nfts.ts';

/** @param by names the index, since SQLite would choose one with which it reads all names of the contract */
const nameRows = (by = '') =>
  `SELECT b.bns_id, b.operation, b.name, b.namespace, b.renewal_height, t.tx_id, k.block_time, k.burn_block_height
     FROM bns_names b ${by}
     JOIN transactions t ON t.position = b.position
     JOIN blocks k ON k.height = ${heightIn('b.position')}`;
const ofNames = nameRows('INDEXED BY bns_names_current');
const key = [up('b.name', 'text'), up('b.bns_id')];
const current = 'b.contract_id = ?1 AND b.current = 1';

export const sql = {
  all: orderedList<NameRow>({ select: ofNames, where: current }, key, { isBounded: true }),
  ofNamespace: orderedList<NameRow>(
    { select: nameRows('INDEXED BY bns_names_by_namespace'), where: `${current} AND b.namespace = ?2` },
    key,
    { isBounded: true },
  ),
  ofOwner: instancesOfOwner,
  // A name leads to its newest token, as in the contract.
  byName: query<NameRow, [number, string]>`
    ${ofNames} WHERE b.contract_id = ?1 AND b.name = ?2 AND b.current = 1 ORDER BY b.bns_id DESC LIMIT 1`,
  byId: query<NameRow, [number, number]>`
    ${nameRows()} WHERE b.contract_id = ?1 AND b.bns_id = ?2 ORDER BY b.position DESC, b.event_index DESC LIMIT 1`,
  namespace: query<Stored<'bns_namespaces', 'lifetime' | 'launched_at'>, [number, string]>`
    SELECT lifetime, launched_at FROM bns_namespaces WHERE contract_id = ?1 AND namespace = ?2
     ORDER BY position DESC, event_index DESC LIMIT 1`,
  primary: query<Stored<'bns_primary_names', 'bns_id'>, [number, number]>`
    SELECT bns_id FROM bns_primary_names WHERE contract_id = ?1 AND principal_id = ?2
     ORDER BY position DESC, event_index DESC LIMIT 1`,
  owner: query<Stored<'principals', 'id' | 'address'>, [number, Uint8Array]>`
    SELECT p.id, p.address FROM nft_instances i JOIN principals p ON p.id = i.owner_id
     WHERE i.asset_id = ?1 AND i.value = ?2`,
  owned: query<Stored<'nft_holdings', 'instances'>, [number, string]>`
    SELECT instances FROM nft_holdings WHERE owner_id = ?1 AND identifier = ?2`,
  tip: query<TipRow>`SELECT burn_block_height, block_time FROM blocks WHERE height = (SELECT max(height) FROM blocks)`,
};

type NameRow = Stored<'bns_names', 'bns_id' | 'operation' | 'name' | 'namespace' | 'renewal_height'> &
  Stored<'transactions', 'tx_id'> &
  Stored<'blocks', 'block_time' | 'burn_block_height'>;
type TipRow = Stored<'blocks', 'burn_block_height' | 'block_time'>;

export interface BnsFilter {
  /** Null for all namespaces. */
  namespace: string | null;
  /** Beginning of the names; empty for all. */
  prefix: string;
}

interface Contract {
  id: number;
  /** Of the contract's token. */
  assetId: number;
  tip: TipRow;
}

/** Seconds between two Bitcoin blocks. */
const SECONDS_OF_A_BURN_BLOCK = 600;

/** Names of contracts named BNS-V2. Each function takes the identifier of the contract. */
export function bnsNameQueries(db: Database) {
  const read = statements(db, sql);
  const { principalOf, assetOf } = numbers(db);

  function renewalOf({ id, tip: now }: Contract, row: NameRow): BnsRenewal | null {
    const namespaceRow = read.namespace.get(id, row.namespace);
    const namespace: BnsNamespace | null =
      namespaceRow === null ? null : { lifetime: namespaceRow.lifetime, launchedAt: namespaceRow.launched_at };
    const operation = storedBnsOperation.nameOf(row.operation);
    const change = { operation, renewalHeight: row.renewal_height };
    const height = bnsRenewalHeight(change, row.burn_block_height, namespace);
    if (height === null) return null;
    const blocksLeft = height - now.burn_block_height;
    return {
      burnBlockHeight: height,
      hasEnded: blocksLeft <= 0,
      expectedTime: now.block_time + blocksLeft * SECONDS_OF_A_BURN_BLOCK,
    };
  }

  function nameOf(contract: Contract, row: NameRow): BnsName {
    const { bns_id: id, name } = row;
    const owner = read.owner.get(contract.assetId, clarity.uint(id));
    return {
      name,
      id,
      owner: owner?.address ?? null,
      isPrimary: owner !== null && read.primary.get(contract.id, owner.id)?.bns_id === id,
      operation: storedBnsOperation.nameOf(row.operation),
      txId: row.tx_id,
      time: row.block_time,
      renewal: renewalOf(contract, row),
    };
  }

  /** Null if the chain has no such contract. */
  function contractOf(identifier: string): Contract | null {
    const id = principalOf(identifier);
    const now = read.tip.get();
    return id === NOBODY || now === null ? null : { id, assetId: assetOf(bnsAsset(identifier)), tip: now };
  }

  /** The row of a token's name; null if it is burnt or unknown. */
  function livingRow(contractId: number, id: number): NameRow | null {
    const row = read.byId.get(contractId, id);
    return row === null || row.operation === BNS_BURN ? null : row;
  }

  /** The row of the name of a serialized token; null if there is none. */
  function rowOfToken(contractId: number, value: Uint8Array): NameRow | null {
    const id = clarityValueOf(value);
    if (id?.type !== 'uint' || id.value > Number.MAX_SAFE_INTEGER) return null;
    return livingRow(contractId, Number(id.value));
  }

  return {
    /** Names in their order. */
    list(identifier: string, filter: BnsFilter, limit: number, cursor: Cursor | null): Page<BnsName, null> {
      const { namespace, prefix } = filter;
      const contract = contractOf(identifier);
      if (contract === null) return emptyPage(null);
      const range = { first: prefix, last: endOf(prefix) };
      return readPage<NameRow, BnsName, null>({
        limit,
        cursor,
        total: null,
        ...(namespace === null ? read.all([contract.id], range) : read.ofNamespace([contract.id, namespace], range)),
        itemOf: (row) => nameOf(contract, row),
      });
    },

    /** Undefined if the name is unknown or burnt. */
    find(identifier: string, name: string): BnsName | undefined {
      const contract = contractOf(identifier);
      const row = contract === null ? null : read.byName.get(contract.id, name);
      return contract === null || row === null ? undefined : nameOf(contract, row);
    },

    /** Names whose tokens a principal owns, oldest token first. */
    ofOwner(identifier: string, owner: string, limit: number, cursor: Cursor | null): Page<BnsName> {
      const contract = contractOf(identifier);
      if (contract === null) return emptyPage(0);
      const ownerId = principalOf(owner);
      return readPage<InstanceValue, BnsName>({
        limit,
        cursor,
        total: read.owned.get(ownerId, bnsAsset(identifier))?.instances ?? 0,
        maxRows: MAX_FILTERED_ROWS,
        ...read.ofOwner([ownerId, contract.assetId]),
        meets: ({ value }) => rowOfToken(contract.id, value) !== null,
        itemOf: ({ value }) => nameOf(contract, rowOfToken(contract.id, value)!),
      });
    },

    /** The primary name of a principal; null if it has none. */
    primaryOf(contract: string, owner: string): string | null {
      const contractId = principalOf(contract);
      const id = read.primary.get(contractId, principalOf(owner))?.bns_id ?? null;
      return id === null ? null : (livingRow(contractId, id)?.name ?? null);
    },
  };
}
