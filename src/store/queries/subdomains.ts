/** Subdomains: what zonefiles declared, and what there was before the chain. */
import type { Database, Statement } from 'bun:sqlite';
import type { Pause } from '../../base/turns.ts';
import { sha256 } from '../../codec/hash.ts';
import { lossyText } from '../../codec/utf8.ts';
import type { SubdomainInfo } from '../model/name.ts';
import { heightIn } from '../rows/expressions.ts';
import { prepared } from '../rows/statement.ts';

/** A subdomain counts while the transaction that declared it is where its attachment says. */
const declared = `subdomains s JOIN attachments a ON a.id = s.attachment_id
  CROSS JOIN transactions t ON t.tx_id = a.tx_id
  CROSS JOIN blocks b ON b.height = ${heightIn('t.position')} AND b.index_block_hash = a.index_block_hash`;

export const sql = {
  oldSubdomain: 'SELECT owner, resolver, zonefile_hash, zonefile FROM old_subdomains WHERE subdomain = ?1',
  oldSubdomainsOfOwner:
    'SELECT subdomain AS name FROM old_subdomains WHERE owner = ?1 AND subdomain > ?2 ORDER BY subdomain LIMIT ?3',
  oldResolver: 'SELECT resolver FROM old_subdomains WHERE name = ?1 ORDER BY subdomain DESC LIMIT 1',
  // The newest declaration; of several in one zonefile the last.
  subdomain: `SELECT s.owner, s.resolver, s.zonefile, t.tx_id FROM ${declared}
               WHERE s.subdomain = ?1 ORDER BY t.position DESC, s.record DESC LIMIT 1`,
  // The query returns as many rows as were ever declared for one subdomain.
  declarations: `SELECT s.zonefile FROM ${declared} WHERE s.subdomain = ?1 ORDER BY t.position DESC, s.record DESC`,
  subdomainsOfName: `SELECT s.subdomain AS name FROM ${declared} WHERE s.name = ?1 AND s.subdomain > ?2
                     UNION SELECT subdomain FROM old_subdomains WHERE name = ?1 AND subdomain > ?2
                     ORDER BY name LIMIT ?3`,
  subdomainsOfOwner: `SELECT DISTINCT s.subdomain AS name FROM ${declared} WHERE s.owner = ?1 AND s.subdomain > ?2
                       ORDER BY s.subdomain LIMIT ?3`,
  // By the updates of the name, newest first: it may have declared any number of subdomains.
  resolver: `SELECT s.resolver
               FROM name_operations o CROSS JOIN transactions t ON t.position = o.position
               CROSS JOIN blocks b ON b.height = ${heightIn('o.position')}
               CROSS JOIN attachments a ON a.tx_id = t.tx_id AND a.content_hash = o.zonefile_hash
                                       AND a.index_block_hash = b.index_block_hash
               CROSS JOIN subdomains s ON s.attachment_id = a.id AND s.name = o.name
              WHERE o.name = ?1 ORDER BY o.position DESC, o.event_index DESC LIMIT 1`,
};

interface SubdomainRow {
  owner: string;
  resolver: string;
  zonefile: Uint8Array;
  tx_id: Uint8Array;
}

interface OldSubdomainRow {
  owner: string;
  resolver: string;
  zonefile_hash: Uint8Array;
  zonefile: string;
}

export interface NameRow {
  name: string;
}

/** Names that are read at once. */
export const STRETCH = 200;

/**
 * The names that a statement finds of a subject, in order, by stretches between which others have their turn.
 * @param stretch is given the subject, the name before the first one, and their number
 */
export async function allNames(
  stretch: Statement<NameRow, [string, string, number]>,
  subject: string,
  pause: Pause,
): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const rows = stretch.all(subject, names.at(-1) ?? '', STRETCH);
    names.push(...rows.map(({ name }) => name));
    if (rows.length < STRETCH) return names;
    await pause();
  }
}

/** Hash of a subdomain's zonefile, which is shorter than that of a name's. */
const subdomainHash = (zonefile: Uint8Array): Uint8Array => sha256(zonefile).subarray(16);

/** The name that a subdomain is part of: its last two labels. */
export const parentOf = (subdomain: string): string => subdomain.split('.').slice(-2).join('.');

export const isSubdomain = (name: string): boolean => name.split('.').length > 2;

/**
 * Queries on subdomains of names that are not revoked. @param genesisId the transaction that stands for what was
 * before the chain
 */
export function subdomainQueries(db: Database, genesisId: () => Uint8Array | null) {
  const subdomain = prepared<SubdomainRow, [string]>(db, sql.subdomain);
  const declarations = prepared<{ zonefile: Uint8Array }, [string]>(db, sql.declarations);
  const ofName = prepared<NameRow, [string, string, number]>(db, sql.subdomainsOfName);
  const ofOwner = prepared<NameRow, [string, string, number]>(db, sql.subdomainsOfOwner);
  const resolver = prepared<{ resolver: string }, [string]>(db, sql.resolver);
  const oldSubdomain = prepared<OldSubdomainRow, [string]>(db, sql.oldSubdomain);
  const oldOfOwner = prepared<NameRow, [string, string, number]>(db, sql.oldSubdomainsOfOwner);
  const oldResolver = prepared<{ resolver: string }, [string]>(db, sql.oldResolver);

  function findOld(name: string): SubdomainInfo | undefined {
    const row = oldSubdomain.get(name);
    if (row === null) return undefined;
    const { owner, resolver: url, zonefile_hash, zonefile } = row;
    return { owner, txId: genesisId(), resolver: url, zonefileHash: zonefile_hash, zonefile };
  }

  return {
    find(name: string): SubdomainInfo | undefined {
      const row = subdomain.get(name);
      if (row === null) return findOld(name);
      const { owner, resolver: url, zonefile, tx_id } = row;
      const text = lossyText(zonefile);
      return { owner, txId: tx_id, resolver: url, zonefileHash: subdomainHash(zonefile), zonefile: text };
    },

    /** Undefined where there is no such subdomain, or none with that zonefile. @param hash null for the newest */
    zonefile(name: string, hash: Uint8Array | null): string | undefined {
      const isAsked = (found: Uint8Array): boolean => hash === null || Buffer.compare(found, hash) === 0;
      const found = declarations.all(name).find(({ zonefile }) => isAsked(subdomainHash(zonefile)));
      if (found !== undefined) return lossyText(found.zonefile);
      const old = oldSubdomain.get(name);
      return old !== null && isAsked(old.zonefile_hash) ? old.zonefile : undefined;
    },

    /** Who resolves the subdomains of a name that are not declared; undefined where none is. */
    resolverOf: (name: string): string | undefined => (resolver.get(name) ?? oldResolver.get(name))?.resolver,

    /** Subdomains of a name, in order. */
    ofName: (name: string, pause: Pause): Promise<string[]> => allNames(ofName, name, pause),

    /** Subdomains that were ever declared for an address, each once. */
    everOf: async (address: string, pause: Pause): Promise<Set<string>> =>
      new Set([...(await allNames(ofOwner, address, pause)), ...(await allNames(oldOfOwner, address, pause))]),
  };
}
