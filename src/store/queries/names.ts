/** The name system: names, namespaces, zonefiles and subdomains. */
import type { Database, Statement } from 'bun:sqlite';
import { bytesEqual } from '../../base/bytes-equal.ts';
import type { Pause, Turns } from '../../base/turns.ts';
import { MAX_LIFETIME, NAME_ASSETS, nameOfToken, nameToken, type PriceFunction } from '../../chain/name-system.ts';
import { heightOf, positionsOf } from '../../chain/position.ts';
import { sha256 } from '../../codec/hash.ts';
import { lossyText } from '../../codec/utf8.ts';
import { type ListedName, NAMES_OF_PAGE, type NameInfo, type NameLease, type SubdomainInfo } from '../model/name.ts';
import type { Cursor, Page } from '../model/page.ts';
import { PAYLOAD, storedNameOperation } from '../rows/enums.ts';
import { heightIn, isActiveName } from '../rows/expressions.ts';
import { query, type Stored, statements } from '../rows/statement.ts';
import { orderedList, up } from './list.ts';
import { numbers } from './numbers.ts';
import { readPage } from './page.ts';

/** Condition: a name from before the chain that isn't a subdomain, and that no operation on the chain concerns. */
const untouched = 'o.resolver IS NULL AND NOT EXISTS (SELECT 1 FROM name_operations n WHERE n.name = o.name)';

const firstTransfer = `SELECT tx_id FROM transactions WHERE position BETWEEN ?1 AND ?2 AND type = ${PAYLOAD.token_transfer}`;

/** @param condition on a namespace, for each table */
const active = ([condition, oldCondition]: readonly [string, string]) =>
  orderedList<NameRow>(
    [
      { select: 'SELECT o.name FROM name_operations o', where: `${isActiveName}${condition}` },
      { select: 'SELECT o.name FROM old_names o', where: `${untouched}${oldCondition}` },
    ],
    [up('o.name', 'text')],
  );

export const sql = {
  names: query<{ name: string }, [number, number]>`
    SELECT name FROM name_operations WHERE ${isActiveName}
    UNION ALL SELECT o.name FROM old_names o WHERE ${untouched} ORDER BY name LIMIT ?1 OFFSET ?2`,
  namesOfNamespace: query<{ name: string }, [string, number, number]>`
    SELECT name FROM name_operations WHERE ${isActiveName} AND namespace = ?1
    UNION ALL SELECT o.name FROM old_names o WHERE o.parent = ?1 AND ${untouched} ORDER BY name LIMIT ?2 OFFSET ?3`,
  all: active(['', '']),
  ofNamespace: active([' AND o.namespace = ?1', ' AND o.parent = ?1']),
  active: query<unknown, [string]>`
    SELECT 1 FROM name_operations WHERE name = ?1 AND ${isActiveName}
    UNION ALL SELECT 1 FROM old_names o WHERE o.name = ?1 AND ${untouched} LIMIT 1`,
  oldName: query<OldNameRow, [string]>`SELECT parent, owner FROM old_names WHERE name = ?1 AND resolver IS NULL`,
  // Also subdomains, so that the limit bounds the rows that are read.
  oldNamesOfOwner: query<NameRow, [string, string, number]>`
    SELECT name FROM old_names WHERE owner = ?1 AND name > ?2 ORDER BY name LIMIT ?3`,
  isTouched: query<unknown, [string]>`SELECT 1 FROM name_operations WHERE name = ?1 LIMIT 1`,
  // The transaction that began the chain, with all balances and names of its start.
  genesis: query<Stored<'transactions', 'tx_id'>, [number, number]>`
    ${firstTransfer} AND genesis_block_time IS NOT NULL ORDER BY position LIMIT 1`,
  // Old nodes announce in block 1 the transactions that others announce in block 0.
  firstTransfer: query<Stored<'transactions', 'tx_id'>, [number, number]>`${firstTransfer} ORDER BY position LIMIT 1`,
  last: query<OperationRow, [string]>`
    SELECT o.namespace, o.operation, t.tx_id, p.address AS sender
      FROM name_operations o JOIN transactions t ON t.position = o.position JOIN principals p ON p.id = o.sender_id
     WHERE o.name = ?1 AND ${isActiveName}`,
  version: query<{ attachment: number | null; old: number }>`
    SELECT max(id) AS attachment, EXISTS (SELECT 1 FROM old_names) AS old FROM attachments`,
  owner: query<Stored<'principals', 'address'>, [number, Uint8Array]>`
    SELECT p.address FROM nft_instances i JOIN principals p ON p.id = i.owner_id
     WHERE i.asset_id = ?1 AND i.value = ?2`,
  owned: query<Stored<'nft_instances', 'value'>, [number, number, Uint8Array, number]>`
    SELECT value FROM nft_instances WHERE owner_id = ?1 AND asset_id = ?2 AND value > ?3 ORDER BY value LIMIT ?4`,
};

interface OperationRow extends Stored<'name_operations', 'namespace' | 'operation'>, Stored<'transactions', 'tx_id'> {
  sender: string;
}

type OldNameRow = Stored<'old_names', 'parent' | 'owner'>;

/** Owners of names, by the tokens of the names. */
function nameOwners(db: Database) {
  const { owner, owned } = statements(db, sql);
  const { principalOf, assetOf } = numbers(db);
  return {
    /** The owner of a name's token; undefined if no indexed block minted it. */
    ownerOf(name: string): string | undefined {
      const value = nameToken(name);
      if (value === null) return undefined;
      for (const asset of NAME_ASSETS) {
        const row = owner.get(assetOf(asset), value);
        if (row !== null) return row.address;
      }
      return undefined;
    },
    /** The names of the tokens that an address has, in batches. The caller may yield to other work between batches. */
    *namesOf(address: string): Generator<string[]> {
      const id = principalOf(address);
      for (const asset of NAME_ASSETS) {
        const assetId = assetOf(asset);
        let last: Uint8Array | undefined = new Uint8Array(0);
        while (last !== undefined) {
          const tokens: { value: Uint8Array }[] = owned.all(id, assetId, last, BATCH);
          yield tokens.map(({ value }) => nameOfToken(value)).filter((name) => name !== null);
          last = tokens.length < BATCH ? undefined : tokens.at(-1)?.value;
        }
      }
    },
  };
}

/** @param turns yields to other work between batches */
export function nameQueries(db: Database, turns: Turns) {
  const read = statements(db, sql);
  const owners = nameOwners(db);
  const namespaces = namespaceQueries(db);
  const zonefiles = zonefileQueries(db);
  const subdomains = subdomainQueries(db, genesisId);

  /** The transaction that began the chain; null if the index doesn't have the chain's beginning. */
  function genesisId(): Uint8Array | null {
    const { first, last: end } = positionsOf(FIRST);
    return (read.genesis.get(first, end) ?? read.firstTransfer.get(first, end))?.tx_id ?? null;
  }

  const isActive = (name: string): boolean => read.active.get(name) !== null;

  /** Finds a name that is not revoked, with its namespace, and whether it existed before the chain. */
  function findActive(name: string) {
    if (!isActive(name)) return undefined;
    const [row, old] = [read.last.get(name), read.oldName.get(name)];
    const namespace = row?.namespace ?? old?.parent;
    const owner = owners.ownerOf(name) ?? row?.sender ?? old?.owner;
    if (namespace === undefined || owner === undefined) return undefined;
    const operation = row === null ? 'name-register' : storedNameOperation.nameOf(row.operation);
    return { namespace, isOld: old !== null, owner, operation, txId: row === null ? genesisId() : row.tx_id } as const;
  }

  function listed(name: string): ListedName | undefined {
    const active = findActive(name);
    if (active === undefined) return undefined;
    const { namespace, isOld, ...facts } = active;
    return { name, ...facts, lease: namespaces.lease(name, namespace, isOld) };
  }

  function find(name: string): NameInfo | undefined {
    const active = findActive(name);
    if (active === undefined) return undefined;
    const { namespace, isOld, ...facts } = active;
    const zonefile = zonefiles.newest(name);
    return {
      ...facts,
      expireBlock: namespaces.leaseEnd(name, namespace, isOld),
      zonefileHash: zonefile.hash,
      zonefile: zonefile.text,
    };
  }

  const findSubdomain = (name: string): SubdomainInfo | undefined =>
    isActive(parentOf(name)) ? subdomains.find(name) : undefined;

  return {
    /** Names that are not revoked, in order, 100 a page. @param page counted from 0 */
    page: (page: number): string[] => read.names.all(NAMES_OF_PAGE, page * NAMES_OF_PAGE).map(({ name }) => name),
    /** Names of a namespace; undefined if it is not open. */
    ofNamespace(namespace: string, page: number): string[] | undefined {
      if (!namespaces.isOpen(namespace)) return undefined;
      return read.namesOfNamespace.all(namespace, NAMES_OF_PAGE, page * NAMES_OF_PAGE).map(({ name }) => name);
    },
    /** Names that are not revoked, in order. @param namespace null for all */
    list(namespace: string | null, limit: number, cursor: Cursor | null): Page<ListedName, null> {
      return readPage<NameRow, ListedName, null>({
        limit,
        cursor,
        total: null,
        ...(namespace === null ? read.all([]) : read.ofNamespace([namespace])),
        itemOf({ name }) {
          const listedName = listed(name);
          if (listedName === undefined) throw new Error(`${name} is listed and has no owner`);
          return listedName;
        },
      });
    },
    /** A name with its lease; undefined if it is unknown or revoked. */
    listed,
    /** Open namespaces, in order. */
    namespaces: namespaces.all,
    /** Undefined if the namespace is not open. */
    price: namespaces.price,
    /** Undefined if the name is unknown or revoked. */
    find,
    /** Undefined if the subdomain is unknown, or its name is revoked. */
    findSubdomain,
    /** URL of the resolver of a name's undeclared subdomains; undefined if there is none. */
    resolver: (name: string): string | undefined => subdomains.resolverOf(parentOf(name)),
    /**
     * The zonefile of a name or subdomain; empty if it was never received.
     * @param hash of one of its present or former zonefiles; null for the newest
     * @returns undefined if the name doesn't exist, or never had that zonefile
     */
    zonefile(name: string, hash: Uint8Array | null): string | undefined {
      if (isSubdomain(name)) return isActive(parentOf(name)) ? subdomains.zonefile(name, hash) : undefined;
      if (!isActive(name)) return undefined;
      return hash === null ? zonefiles.newest(name).text : zonefiles.withHash(name, hash);
    },
    /** Subdomains of a name, in order; none if the name is unknown or revoked. */
    subdomains: async (name: string): Promise<string[]> =>
      isActive(name) ? subdomains.ofName(name, turns.longWork()) : [],
    /** Names and subdomains of an address, in no order. */
    async ofOwner(address: string): Promise<string[]> {
      const pause = turns.longWork();
      const owned: string[] = [];
      const addOwned = async (names: Iterable<string>, isOwned: (name: string) => boolean): Promise<void> => {
        for (const name of names) {
          if (isOwned(name)) owned.push(name);
          await pause();
        }
      };
      const old = await allNames(read.oldNamesOfOwner, address, pause);
      const candidates = new Set([...(await subdomains.declaredFor(address, pause)), ...old.filter(isSubdomain)]);
      // The newest declaration of a subdomain names its owner.
      await addOwned(candidates, (name) => findSubdomain(name)?.owner === address);
      const isUntouched = (name: string): boolean => !isSubdomain(name) && read.isTouched.get(name) === null;
      // A name from before the chain gets a token at its first transfer.
      await addOwned(old, (name) => isUntouched(name) && owners.ownerOf(name) === undefined);
      for (const names of owners.namesOf(address)) await addOwned(names, isActive);
      return owned;
    },
    /** Changes with every new attachment, and with the import of names from before the chain. */
    version: (): string => {
      const row = read.version.get();
      return `${row?.attachment ?? 0}-${row?.old ?? 0}`;
    },
  };
}

/** Seconds of a tenure, which begins with a Bitcoin block. */
const SECONDS_OF_A_TENURE = 600;

const [IMPORT, REGISTER, RENEWAL] = (['name-import', 'name-register', 'name-renewal'] as const).map(
  storedNameOperation.numberOf,
);

/** Start height of the leases of names from before the chain. */
const FIRST = 1;

export const namespacesSql = {
  namespaces: query<{ namespace: string }>`
    SELECT namespace FROM namespaces WHERE lifetime IS NOT NULL
    UNION SELECT namespace FROM old_namespaces ORDER BY namespace`,
  namespace: query<Stored<'namespaces', 'position'> & { lifetime: number }, [string]>`
    SELECT position, lifetime FROM namespaces WHERE namespace = ?1 AND lifetime IS NOT NULL
     ORDER BY position DESC, event_index DESC LIMIT 1`,
  price: query<PriceRow, [string]>`
    SELECT base, coefficient, exponents, nonalpha_discount, no_vowel_discount FROM namespaces
     WHERE namespace = ?1 ORDER BY position DESC, event_index DESC LIMIT 1`,
  oldNamespace: query<PriceRow & { lifetime: number }, [string]>`
    SELECT lifetime, base, coefficient, exponents, nonalpha_discount, no_vowel_discount
      FROM old_namespaces WHERE namespace = ?1`,
  leased: query<Stored<'name_operations', 'position' | 'operation'>, [string]>`
    SELECT position, operation FROM name_operations
     WHERE name = ?1 AND operation IN (${IMPORT}, ${REGISTER}, ${RENEWAL})
     ORDER BY position DESC, event_index DESC LIMIT 1`,
  // Before Nakamoto, each block is a tenure.
  tenure: query<{ tenure: number }, [number]>`
    SELECT coalesce(tenure_height, height) AS tenure FROM blocks WHERE height = ?1`,
  tip: query<Stored<'blocks', 'block_time'> & { tenure: number }>`
    SELECT coalesce(tenure_height, height) AS tenure, block_time FROM blocks WHERE height = (SELECT max(height) FROM blocks)`,
};

type PriceRow = Stored<'namespaces', 'base' | 'coefficient' | 'exponents' | 'nonalpha_discount' | 'no_vowel_discount'>;

function namespaceQueries(db: Database) {
  const { namespaces, namespace: launches, price, oldNamespace, tenure, tip, leased } = statements(db, namespacesSql);

  /** @param launch position of its namespace's launch; null before the chain or before the launch */
  function leaseStart(name: string, launch: number | null, isOld: boolean): number | null {
    const lease = leased.get(name);
    if (lease === null) return isOld ? FIRST : null;
    if (lease.operation !== IMPORT) return heightOf(lease.position);
    return launch === null ? null : heightOf(launch);
  }

  /** Height at which a lease starts, and its length in blocks; null while its namespace is not open. */
  function termOf(name: string, namespace: string, isOld: boolean): { start: number; lifetime: number } | null {
    const launch = launches.get(namespace);
    const lifetime = launch?.lifetime ?? oldNamespace.get(namespace)?.lifetime;
    const start = leaseStart(name, launch?.position ?? null, isOld);
    return lifetime === undefined || start === null ? null : { start, lifetime };
  }

  return {
    /** Open namespaces, in order. */
    all: (): string[] => namespaces.all().map((row) => row.namespace),

    isOpen: (namespace: string): boolean => launches.get(namespace) !== null || oldNamespace.get(namespace) !== null,

    /** Undefined if the namespace is not open. */
    price(namespace: string): PriceFunction | undefined {
      const row = price.get(namespace) ?? oldNamespace.get(namespace);
      if (row === null) return undefined;
      return {
        base: BigInt(row.base),
        coefficient: BigInt(row.coefficient),
        exponents: row.exponents.split(' ').map(BigInt),
        nonalphaDiscount: BigInt(row.nonalpha_discount),
        noVowelDiscount: BigInt(row.no_vowel_discount),
      };
    },

    /**
     * The lease of a name as its contract counts it, by tenures; null if it doesn't end, or the namespace is not open.
     * @param isOld whether the name existed before the chain
     */
    lease(name: string, namespace: string, isOld: boolean): NameLease | null {
      const term = termOf(name, namespace, isOld);
      const now = tip.get();
      if (term === null || term.lifetime === 0 || now === null) return null;
      const { start, lifetime } = term;
      const tenureHeight = Math.min((tenure.get(start)?.tenure ?? start) + lifetime, MAX_LIFETIME);
      const tenuresLeft = tenureHeight - now.tenure;
      return {
        tenureHeight,
        hasEnded: tenuresLeft < 0,
        expectedTime: now.block_time + tenuresLeft * SECONDS_OF_A_TENURE,
      };
    },

    /**
     * End height of a name's lease; 0 while its namespace is not open. The contract leases a name from its
     * registration or renewal on, and an imported name from the launch of its namespace.
     * @param isOld whether the name existed before the chain
     */
    leaseEnd(name: string, namespace: string, isOld: boolean): number {
      const term = termOf(name, namespace, isOld);
      return term === null ? 0 : Math.min(term.start + term.lifetime, MAX_LIFETIME);
    },
  };
}

/** A declaration of a subdomain counts while its transaction is in the block that its attachment names. */
const declared = `subdomains s JOIN attachments a ON a.id = s.attachment_id
  CROSS JOIN transactions t ON t.tx_id = a.tx_id
  CROSS JOIN blocks b ON b.height = ${heightIn('t.position')} AND b.index_block_hash = a.index_block_hash`;

export const subdomainsSql = {
  oldSubdomain: query<OldSubdomainRow, [string]>`
    SELECT owner, resolver, zonefile_hash, zonefile FROM old_names WHERE name = ?1 AND resolver IS NOT NULL`,
  oldResolver: query<{ resolver: string }, [string]>`
    SELECT resolver FROM old_names WHERE parent = ?1 ORDER BY name DESC LIMIT 1`,
  // The newest declaration; of several in one zonefile the last one.
  subdomain: query<SubdomainRow, [string, string]>`
    SELECT s.owner, s.resolver, s.zonefile, t.tx_id FROM ${declared}
     WHERE s.name = ?1 AND s.subdomain = ?2 ORDER BY t.position DESC, s.record DESC LIMIT 1`,
  // As many rows as a subdomain has declarations.
  declarations: query<Stored<'subdomains', 'zonefile'>, [string, string]>`
    SELECT s.zonefile FROM ${declared} WHERE s.name = ?1 AND s.subdomain = ?2 ORDER BY t.position DESC, s.record DESC`,
  subdomainsOfName: query<NameRow, [string, string, number]>`
    SELECT s.subdomain AS name FROM ${declared} WHERE s.name = ?1 AND s.subdomain > ?2
    UNION SELECT name FROM old_names WHERE parent = ?1 AND name > ?2 ORDER BY name LIMIT ?3`,
  subdomainsOfOwner: query<NameRow, [string, string, number]>`
    SELECT DISTINCT s.subdomain AS name FROM ${declared} WHERE s.owner = ?1 AND s.subdomain > ?2
     ORDER BY s.subdomain LIMIT ?3`,
  // Walks the updates of the name, newest first, since a name may have declared any number of subdomains.
  resolver: query<Stored<'subdomains', 'resolver'>, [string]>`
    SELECT s.resolver FROM name_operations o CROSS JOIN transactions t ON t.position = o.position
      CROSS JOIN blocks b ON b.height = ${heightIn('o.position')}
      CROSS JOIN attachments a ON a.tx_id = t.tx_id AND a.content_hash = o.zonefile_hash
                              AND a.index_block_hash = b.index_block_hash
      CROSS JOIN subdomains s ON s.attachment_id = a.id AND s.name = o.name
     WHERE o.name = ?1 ORDER BY o.position DESC, o.event_index DESC LIMIT 1`,
};

type SubdomainRow = Stored<'subdomains', 'owner' | 'resolver' | 'zonefile'> & Stored<'transactions', 'tx_id'>;

interface OldSubdomainRow extends Stored<'old_names', 'owner' | 'zonefile_hash'> {
  resolver: string;
  zonefile: string;
}

interface NameRow {
  name: string;
}

/** Number of names in a batch. */
const BATCH = 200;

/**
 * All names that a statement finds for a subject, in order, in batches between which it yields to other work.
 * @param batch its parameters are the subject, the name before the batch's first, and the batch's size
 */
async function allNames(
  batch: Statement<NameRow, [string, string, number]>,
  subject: string,
  pause: Pause,
): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const rows = batch.all(subject, names.at(-1) ?? '', BATCH);
    names.push(...rows.map(({ name }) => name));
    if (rows.length < BATCH) return names;
    await pause();
  }
}

/** Hash of a subdomain's zonefile, which is shorter than the hash of a name's zonefile. */
const subdomainHash = (zonefile: Uint8Array): Uint8Array => sha256(zonefile).subarray(16);

/** The name that a subdomain is part of: its last two labels. */
const parentOf = (subdomain: string): string => subdomain.split('.').slice(-2).join('.');

const isSubdomain = (name: string): boolean => name.split('.').length > 2;

/**
 * Queries for subdomains of names that aren't revoked.
 * @param genesisId returns the transaction that began the chain, for subdomains from before it
 */
function subdomainQueries(db: Database, genesisId: () => Uint8Array | null) {
  const read = statements(db, subdomainsSql);

  function findOld(name: string): SubdomainInfo | undefined {
    const row = read.oldSubdomain.get(name);
    if (row === null) return undefined;
    const { owner, resolver: url, zonefile_hash, zonefile } = row;
    return { owner, txId: genesisId(), resolver: url, zonefileHash: zonefile_hash, zonefile };
  }

  return {
    find(name: string): SubdomainInfo | undefined {
      const row = read.subdomain.get(parentOf(name), name);
      if (row === null) return findOld(name);
      const { owner, resolver: url, zonefile, tx_id } = row;
      const text = lossyText(zonefile);
      return { owner, txId: tx_id, resolver: url, zonefileHash: subdomainHash(zonefile), zonefile: text };
    },

    /** Undefined if there is no such subdomain, or none with that zonefile. @param hash null for the newest */
    zonefile(name: string, hash: Uint8Array | null): string | undefined {
      const matches = (candidate: Uint8Array): boolean => hash === null || bytesEqual(candidate, hash);
      const row = read.declarations.all(parentOf(name), name).find(({ zonefile }) => matches(subdomainHash(zonefile)));
      if (row !== undefined) return lossyText(row.zonefile);
      const old = read.oldSubdomain.get(name);
      return old !== null && matches(old.zonefile_hash) ? old.zonefile : undefined;
    },

    /** URL of the resolver of a name's undeclared subdomains; undefined if there is none. */
    resolverOf: (name: string): string | undefined => (read.resolver.get(name) ?? read.oldResolver.get(name))?.resolver,

    /** Subdomains of a name, in order. */
    ofName: (name: string, pause: Pause): Promise<string[]> => allNames(read.subdomainsOfName, name, pause),

    /** Subdomains with a present or former declaration for an address on the chain. */
    declaredFor: (address: string, pause: Pause): Promise<string[]> => allNames(read.subdomainsOfOwner, address, pause),
  };
}

export const zonefilesSql = {
  oldZonefile: query<Stored<'old_zonefiles', 'content'>, [Uint8Array]>`
    SELECT content FROM old_zonefiles WHERE hash = ?1`,
  zonefileHash: query<HashRow, [string]>`
    SELECT position, zonefile_hash FROM name_operations WHERE name = ?1 AND zonefile_hash IS NOT NULL
     ORDER BY position DESC, event_index DESC LIMIT 1`,
  zonefileOfHash: query<HashRow, [string, Uint8Array]>`
    SELECT position, zonefile_hash FROM name_operations WHERE name = ?1 AND zonefile_hash = ?2
     ORDER BY position DESC, event_index DESC LIMIT 1`,
  attachment: query<Stored<'attachments', 'content'>, [number, Uint8Array]>`
    SELECT a.content FROM transactions t JOIN blocks b ON b.height = ${heightIn('t.position')}
      JOIN attachments a ON a.tx_id = t.tx_id AND a.content_hash = ?2 AND a.index_block_hash = b.index_block_hash
     WHERE t.position = ?1 LIMIT 1`,
  oldHash: query<Stored<'old_names', 'zonefile_hash'>, [string]>`SELECT zonefile_hash FROM old_names WHERE name = ?1`,
};

interface HashRow extends Stored<'name_operations', 'position'> {
  zonefile_hash: Uint8Array;
}

function zonefileQueries(db: Database) {
  const read = statements(db, zonefilesSql);

  const oldText = (hash: Uint8Array): string => read.oldZonefile.get(hash)?.content ?? '';

  /** The text of a zonefile that an operation named; empty if it was never received. */
  function textOf(row: HashRow): string {
    const attachmentRow = read.attachment.get(row.position, row.zonefile_hash);
    return attachmentRow === null ? oldText(row.zonefile_hash) : lossyText(attachmentRow.content);
  }

  return {
    /** The newest zonefile of a name: an operation without one leaves it. The hash is null if the name never had one. */
    newest(name: string): { hash: Uint8Array | null; text: string } {
      const row = read.zonefileHash.get(name);
      if (row !== null) return { hash: row.zonefile_hash, text: textOf(row) };
      const hash = read.oldHash.get(name)?.zonefile_hash ?? null;
      return { hash, text: hash === null ? '' : oldText(hash) };
    },

    /** Undefined if the name never had a zonefile of this hash. */
    withHash(name: string, hash: Uint8Array): string | undefined {
      const row = read.zonefileOfHash.get(name, hash);
      if (row !== null) return textOf(row);
      const old = read.oldHash.get(name)?.zonefile_hash;
      return old !== undefined && bytesEqual(old, hash) ? oldText(old) : undefined;
    },
  };
}
