/** The names from before the chain. */
import type { Database } from 'bun:sqlite';
import type { PriceFunction } from '../../chain/name-system.ts';
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
