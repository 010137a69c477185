/** The names from before the chain: taken once, whole or not at all. */
import type { Database } from 'bun:sqlite';
import type { PriceFunction } from '../../chain/name-system.ts';
import { openWriter } from '../files/database.ts';
import { lockWriter } from '../files/lock.ts';
import { priceColumns } from '../rows/price-columns.ts';
import { inserterIfAbsent } from '../rows/table.ts';
import { oldNamespacesTable, oldNamesTable, oldSubdomainsTable, oldZonefilesTable } from '../tables/names.ts';

/** What the name system was before the chain that the index holds, as its export has it. */
export type OldNameRow =
  /** `lifetime` in blocks. */
  | { kind: 'namespace'; namespace: string; lifetime: number; price: PriceFunction }
  | { kind: 'name'; name: string; owner: string; zonefileHash: Uint8Array }
  | { kind: 'zonefile'; hash: Uint8Array; content: string }
  | {
      kind: 'subdomain';
      subdomain: string;
      owner: string;
      resolver: string;
      zonefileHash: Uint8Array;
      zonefile: string;
    };

/** The last labels of a name, as many as asked for. */
const lastLabels = (name: string, count: number): string => name.split('.').slice(-count).join('.');

/** What adds a row through this connection, unless it is there. It returns whether the row was added. */
export function oldNameAdder(db: Database): (row: OldNameRow) => boolean {
  const addNamespace = inserterIfAbsent(db, oldNamespacesTable);
  const addName = inserterIfAbsent(db, oldNamesTable);
  const addZonefile = inserterIfAbsent(db, oldZonefilesTable);
  const addSubdomain = inserterIfAbsent(db, oldSubdomainsTable);

  function add(row: OldNameRow): number | null {
    switch (row.kind) {
      case 'namespace':
        return addNamespace({ namespace: row.namespace, lifetime: row.lifetime, ...priceColumns(row.price) });
      case 'name': {
        const { name, owner, zonefileHash } = row;
        return addName({ name, namespace: lastLabels(name, 1), owner, zonefile_hash: zonefileHash });
      }
      case 'zonefile':
        return addZonefile({ hash: row.hash, content: row.content });
      case 'subdomain': {
        const { subdomain, owner, resolver, zonefileHash, zonefile } = row;
        const name = lastLabels(subdomain, 2);
        return addSubdomain({ subdomain, name, owner, resolver, zonefile_hash: zonefileHash, zonefile });
      }
    }
  }

  return (row) => add(row) !== null;
}

/** Adds all rows or none: where one can't be made or added, the caller's end of the connection takes back the others. */
async function takeInto(db: Database, rows: () => AsyncIterable<OldNameRow>): Promise<number | null> {
  if (db.query('SELECT 1 FROM old_names LIMIT 1').get() !== null) return null;
  const add = oldNameAdder(db);
  let taken = 0;
  db.run('BEGIN IMMEDIATE');
  for await (const row of rows()) {
    add(row);
    taken += 1;
  }
  db.run('COMMIT');
  return taken;
}

/**
 * Takes the rows into the index of a data directory, unless it has such names already.
 * @param rows made only where they are needed
 * @returns how many rows were taken; null where the index had names already
 */
export async function takeOldNames(directory: string, rows: () => AsyncIterable<OldNameRow>): Promise<number | null> {
  const unlock = lockWriter(directory);
  try {
    const db = openWriter(directory);
    try {
      return await takeInto(db, rows);
    } finally {
      db.close();
    }
  } finally {
    unlock();
  }
}
