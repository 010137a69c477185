/** The name system: names, namespaces, zonefiles and subdomains. */

import type { Database } from 'bun:sqlite';
import { LONGEST, NAME_ASSETS, nameOfToken, nameToken, type PriceFunction } from '../../chain/name-system.ts';
import { heightOf, positionsOf } from '../../chain/position.ts';
import { sha256 } from '../../codec/hash.ts';
import { lossyText } from '../../codec/utf8.ts';
import type { NameInfo, SubdomainInfo } from '../model/name.ts';
import { prepared } from '../rows/statement.ts';
import { nameOperationNumber, nameOperationWord } from '../rows/words.ts';

const [IMPORT, REGISTER, RENEWAL] = (['name-import', 'name-register', 'name-renewal'] as const).map(
  nameOperationNumber,
);

/** A subdomain counts while the transaction that declared it is where its attachment says. */
const declared = `subdomains s JOIN attachments a ON a.id = s.attachment_id
  CROSS JOIN transactions t ON t.tx_id = a.tx_id
  CROSS JOIN blocks b ON b.height = t.position >> 20 AND b.index_block_hash = a.index_block_hash`;

/** Of a name from before the chain, on which nothing was done with it since. */
const untouched = 'NOT EXISTS (SELECT 1 FROM names n WHERE n.name = o.name)';

export const sql = {
  names: `SELECT name FROM names WHERE active = 1
          UNION ALL SELECT o.name FROM old_names o WHERE ${untouched} ORDER BY name LIMIT ?1 OFFSET ?2`,
  namesOfNamespace: `SELECT name FROM names WHERE active = 1 AND namespace = ?1
                     UNION ALL SELECT o.name FROM old_names o WHERE o.namespace = ?1 AND ${untouched}
                     ORDER BY name LIMIT ?2 OFFSET ?3`,
  namespaces: 'SELECT namespace FROM namespaces UNION SELECT namespace FROM old_namespaces ORDER BY namespace',
  namespace: `SELECT position, lifetime FROM namespaces WHERE namespace = ?1
               ORDER BY position DESC, event_index DESC LIMIT 1`,
  price: `SELECT base, coefficient, exponents, nonalpha_discount, no_vowel_discount FROM namespace_prices
           WHERE namespace = ?1 ORDER BY position DESC, event_index DESC LIMIT 1`,
  active: `SELECT 1 FROM names WHERE name = ?1 AND active = 1
           UNION ALL SELECT 1 FROM old_names o WHERE o.name = ?1 AND ${untouched} LIMIT 1`,
  oldName: 'SELECT namespace, owner, zonefile_hash FROM old_names WHERE name = ?1',
  oldNamespace: `SELECT lifetime, base, coefficient, exponents, nonalpha_discount, no_vowel_discount
                   FROM old_namespaces WHERE namespace = ?1`,
  oldZonefile: 'SELECT content FROM old_zonefiles WHERE hash = ?1',
  oldSubdomain: 'SELECT owner, resolver, zonefile_hash, zonefile FROM old_subdomains WHERE subdomain = ?1',
  oldNamesOfOwner: `SELECT o.name FROM old_names o WHERE o.owner = ?1 AND ${untouched} ORDER BY o.name`,
  oldSubdomainsOfOwner: 'SELECT subdomain FROM old_subdomains WHERE owner = ?1 ORDER BY subdomain',
  oldResolver: 'SELECT resolver FROM old_subdomains WHERE name = ?1 ORDER BY subdomain DESC LIMIT 1',
  // What began the chain, with all that was there from the start.
  genesis: 'SELECT tx_id FROM transactions WHERE position BETWEEN ?1 AND ?2 AND type = 0 ORDER BY position LIMIT 1',
  last: `SELECT n.namespace, o.operation, t.tx_id, p.address AS sender
           FROM names n JOIN name_operations o USING (name, position, event_index)
           JOIN transactions t ON t.position = n.position JOIN principals p ON p.id = o.sender_id
          WHERE n.name = ?1 AND n.active = 1`,
  leased: `SELECT position, operation FROM name_operations
            WHERE name = ?1 AND operation IN (${IMPORT}, ${REGISTER}, ${RENEWAL})
            ORDER BY position DESC, event_index DESC LIMIT 1`,
  zonefileHash: `SELECT position, zonefile_hash FROM name_operations WHERE name = ?1 AND zonefile_hash IS NOT NULL
                  ORDER BY position DESC, event_index DESC LIMIT 1`,
  zonefileOfHash: `SELECT position, zonefile_hash FROM name_operations WHERE name = ?1 AND zonefile_hash = ?2
                    ORDER BY position DESC, event_index DESC LIMIT 1`,
  attachment: `SELECT a.content FROM transactions t JOIN blocks b ON b.height = t.position >> 20
                 JOIN attachments a ON a.tx_id = t.tx_id AND a.content_hash = ?2
                                   AND a.index_block_hash = b.index_block_hash
                WHERE t.position = ?1 LIMIT 1`,
  version: 'SELECT max(id) AS attachment, EXISTS (SELECT 1 FROM old_names) AS old FROM attachments',
  asset: 'SELECT id FROM assets WHERE identifier = ?1',
  principal: 'SELECT id FROM principals WHERE address = ?1',
  owner: `SELECT p.address FROM nft_instances i JOIN principals p ON p.id = i.owner_id
           WHERE i.asset_id = ?1 AND i.value = ?2`,
  owned: 'SELECT value FROM nft_instances WHERE owner_id = ?1 AND asset_id = ?2 ORDER BY value',
  // The newest declaration; of several in one zonefile the last.
  subdomain: `SELECT s.owner, s.resolver, s.zonefile, t.tx_id FROM ${declared}
               WHERE s.subdomain = ?1 ORDER BY t.position DESC, s.record DESC LIMIT 1`,
  // As many as were ever declared for one subdomain.
  declarations: `SELECT s.zonefile FROM ${declared} WHERE s.subdomain = ?1 ORDER BY t.position DESC, s.record DESC`,
  subdomainsOfName: `SELECT s.subdomain FROM ${declared} WHERE s.name = ?1
                     UNION SELECT subdomain FROM old_subdomains WHERE name = ?1 ORDER BY subdomain`,
  subdomainsOfOwner: `SELECT DISTINCT s.subdomain FROM ${declared} WHERE s.owner = ?1 ORDER BY s.subdomain`,
  // By the updates of the name, newest first: it may have declared any number of subdomains.
  resolver: `SELECT s.resolver
               FROM name_operations o CROSS JOIN transactions t ON t.position = o.position
               CROSS JOIN blocks b ON b.height = o.position >> 20
               CROSS JOIN attachments a ON a.tx_id = t.tx_id AND a.content_hash = o.zonefile_hash
                                       AND a.index_block_hash = b.index_block_hash
               CROSS JOIN subdomains s ON s.attachment_id = a.id AND s.name = o.name
              WHERE o.name = ?1 ORDER BY o.position DESC, o.event_index DESC LIMIT 1`,
};

interface OperationRow {
  namespace: string;
  operation: number;
  tx_id: Uint8Array;
  sender: string;
}

interface HashRow {
  position: number;
  zonefile_hash: Uint8Array;
}

interface PriceRow {
  base: string;
  coefficient: string;
  exponents: string;
  nonalpha_discount: string;
  no_vowel_discount: string;
}

interface SubdomainRow {
  owner: string;
  resolver: string;
  zonefile: Uint8Array;
  tx_id: Uint8Array;
}

interface OldNameRow {
  namespace: string;
  owner: string;
  zonefile_hash: Uint8Array;
}

interface OldSubdomainRow {
  owner: string;
  resolver: string;
  zonefile_hash: Uint8Array;
  zonefile: string;
}

/** Height from which on what was before the chain counts. */
const FIRST = 1;

/** Names on a page of a list. */
const PAGE = 100;

/** Of a subdomain's zonefile: shorter than that of a name's. */
const subdomainHash = (zonefile: Uint8Array): Uint8Array => sha256(zonefile).subarray(16);

/** The name that a subdomain is part of: its last two labels. */
const parentOf = (subdomain: string): string => subdomain.split('.').slice(-2).join('.');

const isSubdomain = (name: string): boolean => name.split('.').length > 2;

export function nameQueries(db: Database) {
  const names = prepared<{ name: string }, [number, number]>(db, sql.names);
  const namesOfNamespace = prepared<{ name: string }, [string, number, number]>(db, sql.namesOfNamespace);
  const namespaces = prepared<{ namespace: string }, []>(db, sql.namespaces);
  const namespace = prepared<{ position: number; lifetime: number }, [string]>(db, sql.namespace);
  const price = prepared<PriceRow, [string]>(db, sql.price);
  const active = prepared<unknown, [string]>(db, sql.active);
  const last = prepared<OperationRow, [string]>(db, sql.last);
  const leased = prepared<{ position: number; operation: number }, [string]>(db, sql.leased);
  const zonefileHash = prepared<HashRow, [string]>(db, sql.zonefileHash);
  const zonefileOfHash = prepared<HashRow, [string, Uint8Array]>(db, sql.zonefileOfHash);
  const attachment = prepared<{ content: Uint8Array }, [number, Uint8Array]>(db, sql.attachment);
  const version = prepared<{ attachment: number | null; old: number }, []>(db, sql.version);
  const asset = prepared<{ id: number }, [string]>(db, sql.asset);
  const principal = prepared<{ id: number }, [string]>(db, sql.principal);
  const owner = prepared<{ address: string }, [number, Uint8Array]>(db, sql.owner);
  const owned = prepared<{ value: Uint8Array }, [number, number]>(db, sql.owned);
  const subdomain = prepared<SubdomainRow, [string]>(db, sql.subdomain);
  const declarations = prepared<{ zonefile: Uint8Array }, [string]>(db, sql.declarations);
  const subdomainsOfName = prepared<{ subdomain: string }, [string]>(db, sql.subdomainsOfName);
  const subdomainsOfOwner = prepared<{ subdomain: string }, [string]>(db, sql.subdomainsOfOwner);
  const resolver = prepared<{ resolver: string }, [string]>(db, sql.resolver);

  const oldName = prepared<OldNameRow, [string]>(db, sql.oldName);
  const oldNamespace = prepared<PriceRow & { lifetime: number }, [string]>(db, sql.oldNamespace);
  const oldZonefile = prepared<{ content: string }, [Uint8Array]>(db, sql.oldZonefile);
  const oldSubdomain = prepared<OldSubdomainRow, [string]>(db, sql.oldSubdomain);
  const oldNamesOfOwner = prepared<{ name: string }, [string]>(db, sql.oldNamesOfOwner);
  const oldSubdomainsOfOwner = prepared<{ subdomain: string }, [string]>(db, sql.oldSubdomainsOfOwner);
  const oldResolver = prepared<{ resolver: string }, [string]>(db, sql.oldResolver);
  const genesis = prepared<{ tx_id: Uint8Array }, [number, number]>(db, sql.genesis);

  /** Null where the index doesn't begin with the chain. */
  function genesisId(): Uint8Array | null {
    const { first, last } = positionsOf(FIRST);
    return genesis.get(first, last)?.tx_id ?? null;
  }

  const isActive = (name: string): boolean => active.get(name) !== null;

  const assetIds = (): number[] =>
    NAME_ASSETS.map((identifier) => asset.get(identifier)?.id).filter((id) => id !== undefined);

  /** Who has the token that is the name; undefined where the chain, as far as it is known, never minted it. */
  function ownerOf(name: string): string | undefined {
    const value = nameToken(name);
    if (value === null) return undefined;
    for (const id of assetIds()) {
      const found = owner.get(id, value);
      if (found !== null) return found.address;
    }
    return undefined;
  }

  /** The contract leases a name from its registration or renewal on, an imported one from its namespace's launch. */
  function leaseEnd(name: string, its: string): number {
    const opened = namespace.get(its);
    const lifetime = opened?.lifetime ?? oldNamespace.get(its)?.lifetime;
    const start = leaseStart(name, opened?.position ?? null);
    return lifetime === undefined || start === null ? 0 : Math.min(start + lifetime, LONGEST);
  }

  /** @param opened where its namespace was launched; null where it was before the chain, or isn't yet */
  function leaseStart(name: string, opened: number | null): number | null {
    const lease = leased.get(name);
    if (lease === null) return oldName.get(name) === null ? null : FIRST;
    if (lease.operation !== IMPORT) return heightOf(lease.position);
    return opened === null ? null : heightOf(opened);
  }

  /** The text of a zonefile that an operation named; empty where it never reached us. */
  function textOf(row: HashRow): string {
    const found = attachment.get(row.position, row.zonefile_hash);
    return found === null ? oldText(row.zonefile_hash) : lossyText(found.content);
  }

  const oldText = (hash: Uint8Array): string => oldZonefile.get(hash)?.content ?? '';

  /** An operation without a zonefile leaves the one before in place. */
  function newestZonefile(name: string): { hash: Uint8Array | null; text: string } {
    const row = zonefileHash.get(name);
    if (row !== null) return { hash: row.zonefile_hash, text: textOf(row) };
    const hash = oldName.get(name)?.zonefile_hash ?? null;
    return { hash, text: hash === null ? '' : oldText(hash) };
  }

  function findName(name: string): NameInfo | undefined {
    if (!isActive(name)) return undefined;
    const [row, old] = [last.get(name), oldName.get(name)];
    const its = row?.namespace ?? old?.namespace;
    const owner = ownerOf(name) ?? row?.sender ?? old?.owner;
    if (its === undefined || owner === undefined) return undefined;
    const zonefile = newestZonefile(name);
    return {
      owner,
      operation: row === null ? 'name-register' : nameOperationWord(row.operation),
      txId: row === null ? genesisId() : row.tx_id,
      expireBlock: leaseEnd(name, its),
      zonefileHash: zonefile.hash,
      zonefile: zonefile.text,
    };
  }

  function findSubdomain(name: string): SubdomainInfo | undefined {
    if (!isActive(parentOf(name))) return undefined;
    const row = subdomain.get(name);
    if (row === null) return findOldSubdomain(name);
    const { owner: address, resolver: url, zonefile, tx_id } = row;
    const text = lossyText(zonefile);
    return { owner: address, txId: tx_id, resolver: url, zonefileHash: subdomainHash(zonefile), zonefile: text };
  }

  function findOldSubdomain(name: string): SubdomainInfo | undefined {
    const row = oldSubdomain.get(name);
    if (row === null) return undefined;
    const { owner: address, resolver: url, zonefile_hash, zonefile } = row;
    return { owner: address, txId: genesisId(), resolver: url, zonefileHash: zonefile_hash, zonefile };
  }

  function zonefileOfSubdomain(name: string, hash: Uint8Array | null): string | undefined {
    if (!isActive(parentOf(name))) return undefined;
    const found = declarations
      .all(name)
      .find(({ zonefile }) => hash === null || Buffer.compare(subdomainHash(zonefile), hash) === 0);
    if (found !== undefined) return lossyText(found.zonefile);
    const old = oldSubdomain.get(name);
    if (old === null) return undefined;
    return hash === null || Buffer.compare(old.zonefile_hash, hash) === 0 ? old.zonefile : undefined;
  }

  return {
    /** Names that are not revoked, in order, 100 a page. @param page counted from 0 */
    page: async (page: number): Promise<string[]> => names.all(PAGE, page * PAGE).map(({ name }) => name),
    /** Those of a namespace; undefined where it is not open. */
    async ofNamespace(its: string, page: number): Promise<string[] | undefined> {
      if (namespace.get(its) === null && oldNamespace.get(its) === null) return undefined;
      return namesOfNamespace.all(its, PAGE, page * PAGE).map(({ name }) => name);
    },
    /** Those that are open, in order. */
    namespaces: async (): Promise<string[]> => namespaces.all().map((row) => row.namespace),
    /** Undefined where the namespace is not open. */
    async price(its: string): Promise<PriceFunction | undefined> {
      const row = price.get(its) ?? oldNamespace.get(its);
      if (row === null) return undefined;
      return {
        base: BigInt(row.base),
        coefficient: BigInt(row.coefficient),
        exponents: row.exponents.split(' ').map(BigInt),
        nonalphaDiscount: BigInt(row.nonalpha_discount),
        noVowelDiscount: BigInt(row.no_vowel_discount),
      };
    },
    /** Undefined where it is unknown or revoked. */
    find: async (name: string): Promise<NameInfo | undefined> => findName(name),
    /** Undefined where it is unknown, or its name is revoked. */
    findSubdomain: async (name: string): Promise<SubdomainInfo | undefined> => findSubdomain(name),
    /** Who resolves the subdomains of its name that are not declared; undefined where none is. */
    async resolver(name: string): Promise<string | undefined> {
      const its = parentOf(name);
      return (resolver.get(its) ?? oldResolver.get(its))?.resolver;
    },
    /**
     * Of a name or subdomain; empty where it never reached us.
     * @param hash of a zonefile it has or had; null for the newest
     * @returns undefined where there is no such name, or it never had that zonefile
     */
    async zonefile(name: string, hash: Uint8Array | null): Promise<string | undefined> {
      if (isSubdomain(name)) return zonefileOfSubdomain(name, hash);
      if (!isActive(name)) return undefined;
      if (hash === null) return newestZonefile(name).text;
      const row = zonefileOfHash.get(name, hash);
      if (row !== null) return textOf(row);
      const old = oldName.get(name)?.zonefile_hash;
      return old !== undefined && Buffer.compare(old, hash) === 0 ? oldText(old) : undefined;
    },
    /** Of a name, in order; none of one that is unknown or revoked. */
    async subdomains(name: string): Promise<string[]> {
      return isActive(name) ? subdomainsOfName.all(name).map((row) => row.subdomain) : [];
    },
    /** Names and subdomains of an address, in no order. */
    async ofOwner(address: string): Promise<string[]> {
      const found: string[] = [];
      // Only the newest declaration says whose a subdomain is.
      const ever = [...subdomainsOfOwner.all(address), ...oldSubdomainsOfOwner.all(address)];
      for (const name of new Set(ever.map((row) => row.subdomain))) {
        if (findSubdomain(name)?.owner === address) found.push(name);
      }
      // The token of a name from before the chain is first seen when it moves.
      for (const { name } of oldNamesOfOwner.all(address)) if (ownerOf(name) === undefined) found.push(name);
      const id = principal.get(address)?.id;
      for (const assetId of id === undefined ? [] : assetIds()) {
        for (const { value } of owned.all(id!, assetId)) {
          const name = nameOfToken(value);
          if (name !== null && isActive(name)) found.push(name);
        }
      }
      return found;
    },
    /** Changes with every attachment that comes, and with the names from before the chain. */
    version: async (): Promise<string> => {
      const row = version.get();
      return `${row?.attachment ?? 0}-${row?.old ?? 0}`;
    },
  };
}
