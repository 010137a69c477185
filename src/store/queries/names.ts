/** The name system: names, with what other files say of namespaces, zonefiles and subdomains. */
import type { Database } from 'bun:sqlite';
import type { Turns } from '../../base/turns.ts';
import { NAME_ASSETS, nameOfToken, nameToken, type PriceFunction } from '../../chain/name-system.ts';
import { positionsOf } from '../../chain/position.ts';
import { NAMES_OF_PAGE, type NameInfo, type SubdomainInfo } from '../model/name.ts';
import { prepared } from '../rows/statement.ts';
import { PAYLOAD, storedNameOperation } from '../rows/words.ts';
import { FIRST, namespaceQueries } from './namespaces.ts';
import { allNames, isSubdomain, type NameRow, parentOf, STRETCH, subdomainQueries } from './subdomains.ts';
import { zonefileQueries } from './zonefiles.ts';

/** The condition that nothing was done on the chain with a name from before it. */
const untouched = 'NOT EXISTS (SELECT 1 FROM names n WHERE n.name = o.name)';

const firstTransfer = `SELECT tx_id FROM transactions WHERE position BETWEEN ?1 AND ?2 AND type = ${PAYLOAD.token_transfer}`;

export const sql = {
  names: `SELECT name FROM names WHERE active = 1
          UNION ALL SELECT o.name FROM old_names o WHERE ${untouched} ORDER BY name LIMIT ?1 OFFSET ?2`,
  namesOfNamespace: `SELECT name FROM names WHERE active = 1 AND namespace = ?1
                     UNION ALL SELECT o.name FROM old_names o WHERE o.namespace = ?1 AND ${untouched}
                     ORDER BY name LIMIT ?2 OFFSET ?3`,
  active: `SELECT 1 FROM names WHERE name = ?1 AND active = 1
           UNION ALL SELECT 1 FROM old_names o WHERE o.name = ?1 AND ${untouched} LIMIT 1`,
  oldName: 'SELECT namespace, owner FROM old_names WHERE name = ?1',
  oldNamesOfOwner: `SELECT o.name FROM old_names o WHERE o.owner = ?1 AND o.name > ?2 AND ${untouched}
                     ORDER BY o.name LIMIT ?3`,
  // What began the chain, with all that was there from the start.
  genesis: `${firstTransfer} AND genesis_block_time IS NOT NULL ORDER BY position LIMIT 1`,
  // Old nodes announced in block 1 what others announce in block 0.
  firstTransfer: `${firstTransfer} ORDER BY position LIMIT 1`,
  last: `SELECT n.namespace, o.operation, t.tx_id, p.address AS sender
           FROM names n JOIN name_operations o USING (name, position, event_index)
           JOIN transactions t ON t.position = n.position JOIN principals p ON p.id = o.sender_id
          WHERE n.name = ?1 AND n.active = 1`,
  version: 'SELECT max(id) AS attachment, EXISTS (SELECT 1 FROM old_names) AS old FROM attachments',
  asset: 'SELECT id FROM assets WHERE identifier = ?1',
  principal: 'SELECT id FROM principals WHERE address = ?1',
  owner: `SELECT p.address FROM nft_instances i JOIN principals p ON p.id = i.owner_id
           WHERE i.asset_id = ?1 AND i.value = ?2`,
  owned: `SELECT value FROM nft_instances WHERE owner_id = ?1 AND asset_id = ?2 AND value > ?3
           ORDER BY value LIMIT ?4`,
};

interface OperationRow {
  namespace: string;
  operation: number;
  tx_id: Uint8Array;
  sender: string;
}

interface OldNameRow {
  namespace: string;
  owner: string;
}

/** Whose a name is, by the token that is the name. */
function nameOwners(db: Database) {
  const asset = prepared<{ id: number }, [string]>(db, sql.asset);
  const principal = prepared<{ id: number }, [string]>(db, sql.principal);
  const owner = prepared<{ address: string }, [number, Uint8Array]>(db, sql.owner);
  const owned = prepared<{ value: Uint8Array }, [number, number, Uint8Array, number]>(db, sql.owned);
  const assetIds = (): number[] =>
    NAME_ASSETS.map((identifier) => asset.get(identifier)?.id).filter((id) => id !== undefined);
  return {
    /** Undefined where the chain, as far as it is known, never minted the token. */
    of(name: string): string | undefined {
      const value = nameToken(name);
      if (value === null) return undefined;
      for (const id of assetIds()) {
        const found = owner.get(id, value);
        if (found !== null) return found.address;
      }
      return undefined;
    },
    /** The names whose tokens an address has, by stretches between which others have their turn. */
    *namesOf(address: string): Generator<string[]> {
      const id = principal.get(address)?.id;
      if (id === undefined) return;
      for (const assetId of assetIds()) {
        let last: Uint8Array | undefined = new Uint8Array(0);
        while (last !== undefined) {
          const tokens: { value: Uint8Array }[] = owned.all(id, assetId, last, STRETCH);
          yield tokens.map(({ value }) => nameOfToken(value)).filter((name) => name !== null);
          last = tokens.length < STRETCH ? undefined : tokens.at(-1)?.value;
        }
      }
    },
  };
}

/** @param turns shares the thread */
export function nameQueries(db: Database, turns: Turns) {
  const names = prepared<{ name: string }, [number, number]>(db, sql.names);
  const namesOfNamespace = prepared<{ name: string }, [string, number, number]>(db, sql.namesOfNamespace);
  const active = prepared<unknown, [string]>(db, sql.active);
  const last = prepared<OperationRow, [string]>(db, sql.last);
  const oldName = prepared<OldNameRow, [string]>(db, sql.oldName);
  const oldNamesOfOwner = prepared<NameRow, [string, string, number]>(db, sql.oldNamesOfOwner);
  const genesis = prepared<{ tx_id: Uint8Array }, [number, number]>(db, sql.genesis);
  const firstTransferOf = prepared<{ tx_id: Uint8Array }, [number, number]>(db, sql.firstTransfer);
  const version = prepared<{ attachment: number | null; old: number }, []>(db, sql.version);
  const owners = nameOwners(db);
  const namespaces = namespaceQueries(db);
  const zonefiles = zonefileQueries(db);
  const subdomains = subdomainQueries(db, genesisId);

  /** Null where the index doesn't begin with the chain. */
  function genesisId(): Uint8Array | null {
    const { first, last: end } = positionsOf(FIRST);
    return (genesis.get(first, end) ?? firstTransferOf.get(first, end))?.tx_id ?? null;
  }

  const isActive = (name: string): boolean => active.get(name) !== null;

  function find(name: string): NameInfo | undefined {
    if (!isActive(name)) return undefined;
    const [row, old] = [last.get(name), oldName.get(name)];
    const its = row?.namespace ?? old?.namespace;
    const owner = owners.of(name) ?? row?.sender ?? old?.owner;
    if (its === undefined || owner === undefined) return undefined;
    const zonefile = zonefiles.newest(name);
    return {
      owner,
      operation: row === null ? 'name-register' : storedNameOperation.wordOf(row.operation),
      txId: row === null ? genesisId() : row.tx_id,
      expireBlock: namespaces.leaseEnd(name, its, old !== null),
      zonefileHash: zonefile.hash,
      zonefile: zonefile.text,
    };
  }

  const findSubdomain = (name: string): SubdomainInfo | undefined =>
    isActive(parentOf(name)) ? subdomains.find(name) : undefined;

  return {
    /** Names that are not revoked, in order, 100 a page. @param page counted from 0 */
    page: async (page: number): Promise<string[]> =>
      names.all(NAMES_OF_PAGE, page * NAMES_OF_PAGE).map(({ name }) => name),
    /** Names of a namespace; undefined where it is not open. */
    async ofNamespace(its: string, page: number): Promise<string[] | undefined> {
      if (!namespaces.isOpen(its)) return undefined;
      return namesOfNamespace.all(its, NAMES_OF_PAGE, page * NAMES_OF_PAGE).map(({ name }) => name);
    },
    /** Namespaces that are open, in order. */
    namespaces: async (): Promise<string[]> => namespaces.all(),
    /** Undefined where the namespace is not open. */
    price: async (its: string): Promise<PriceFunction | undefined> => namespaces.price(its),
    /** Undefined where it is unknown or revoked. */
    find: async (name: string): Promise<NameInfo | undefined> => find(name),
    /** Undefined where it is unknown, or its name is revoked. */
    findSubdomain: async (name: string): Promise<SubdomainInfo | undefined> => findSubdomain(name),
    /** Who resolves the subdomains of its name that are not declared; undefined where none is. */
    resolver: async (name: string): Promise<string | undefined> => subdomains.resolverOf(parentOf(name)),
    /**
     * The zonefile of a name or subdomain; empty where it never reached us.
     * @param hash of a zonefile it has or had; null for the newest
     * @returns undefined where there is no such name, or it never had that zonefile
     */
    async zonefile(name: string, hash: Uint8Array | null): Promise<string | undefined> {
      if (isSubdomain(name)) return isActive(parentOf(name)) ? subdomains.zonefile(name, hash) : undefined;
      if (!isActive(name)) return undefined;
      return hash === null ? zonefiles.newest(name).text : zonefiles.withHash(name, hash);
    },
    /** Subdomains of a name, in order; none of a name that is unknown or revoked. */
    subdomains: async (name: string): Promise<string[]> =>
      isActive(name) ? subdomains.ofName(name, turns.longWork()) : [],
    /** Names and subdomains of an address, in no order. */
    async ofOwner(address: string): Promise<string[]> {
      const pause = turns.longWork();
      const its: string[] = [];
      const addThose = async (names: Iterable<string>, isIts: (name: string) => boolean): Promise<void> => {
        for (const name of names) {
          if (isIts(name)) its.push(name);
          await pause();
        }
      };
      // Only the newest declaration says whose a subdomain is.
      await addThose(await subdomains.everOf(address, pause), (name) => findSubdomain(name)?.owner === address);
      // The token of a name from before the chain is first seen when it moves.
      await addThose(await allNames(oldNamesOfOwner, address, pause), (name) => owners.of(name) === undefined);
      for (const names of owners.namesOf(address)) await addThose(names, isActive);
      return its;
    },
    /** Changes with every attachment that comes, and with the names from before the chain. */
    version: async (): Promise<string> => {
      const row = version.get();
      return `${row?.attachment ?? 0}-${row?.old ?? 0}`;
    },
  };
}
