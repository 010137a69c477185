/** Zonefiles of names. Zonefiles of subdomains stand with their declarations. */
import type { Database } from 'bun:sqlite';
import { lossyText } from '../../codec/utf8.ts';
import { heightIn } from '../rows/expressions.ts';
import { prepared } from '../rows/statement.ts';

export const sql = {
  oldZonefile: 'SELECT content FROM old_zonefiles WHERE hash = ?1',
  zonefileHash: `SELECT position, zonefile_hash FROM name_operations WHERE name = ?1 AND zonefile_hash IS NOT NULL
                  ORDER BY position DESC, event_index DESC LIMIT 1`,
  zonefileOfHash: `SELECT position, zonefile_hash FROM name_operations WHERE name = ?1 AND zonefile_hash = ?2
                    ORDER BY position DESC, event_index DESC LIMIT 1`,
  attachment: `SELECT a.content FROM transactions t JOIN blocks b ON b.height = ${heightIn('t.position')}
                 JOIN attachments a ON a.tx_id = t.tx_id AND a.content_hash = ?2
                                   AND a.index_block_hash = b.index_block_hash
                WHERE t.position = ?1 LIMIT 1`,
  oldHash: 'SELECT zonefile_hash FROM old_names WHERE name = ?1',
};

interface HashRow {
  position: number;
  zonefile_hash: Uint8Array;
}

export function zonefileQueries(db: Database) {
  const newestHash = prepared<HashRow, [string]>(db, sql.zonefileHash);
  const withHash = prepared<HashRow, [string, Uint8Array]>(db, sql.zonefileOfHash);
  const attachment = prepared<{ content: Uint8Array }, [number, Uint8Array]>(db, sql.attachment);
  const oldZonefile = prepared<{ content: string }, [Uint8Array]>(db, sql.oldZonefile);
  const oldHash = prepared<{ zonefile_hash: Uint8Array }, [string]>(db, sql.oldHash);

  const oldText = (hash: Uint8Array): string => oldZonefile.get(hash)?.content ?? '';

  /** The text of a zonefile that an operation named; empty where it never reached us. */
  function textOf(row: HashRow): string {
    const found = attachment.get(row.position, row.zonefile_hash);
    return found === null ? oldText(row.zonefile_hash) : lossyText(found.content);
  }

  return {
    /** An operation without a zonefile leaves the one before in place. The hash is null where there never was one. */
    newest(name: string): { hash: Uint8Array | null; text: string } {
      const row = newestHash.get(name);
      if (row !== null) return { hash: row.zonefile_hash, text: textOf(row) };
      const hash = oldHash.get(name)?.zonefile_hash ?? null;
      return { hash, text: hash === null ? '' : oldText(hash) };
    },

    /** Undefined where the name never had a zonefile of this hash. */
    withHash(name: string, hash: Uint8Array): string | undefined {
      const row = withHash.get(name, hash);
      if (row !== null) return textOf(row);
      const old = oldHash.get(name)?.zonefile_hash;
      return old !== undefined && Buffer.compare(old, hash) === 0 ? oldText(old) : undefined;
    },
  };
}
