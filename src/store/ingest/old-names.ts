/** Adds names from before the chain, which an import provides. */
import type { Database } from 'bun:sqlite';
import type { PriceFunction } from '../../chain/name-system.ts';
import { priceColumns } from '../effects/name-writer.ts';
import { table } from '../rows/table.ts';
import { oldNamespacesTable, oldNamesTable, oldZonefilesTable } from '../rows/tables.ts';

/** A row of an export of names from before the chain. */
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

/** Returns the last labels of a name. @param count number of labels */
const lastLabels = (name: string, count: number): string => name.split('.').slice(-count).join('.');

/** Makes a function that adds a row unless the table has it, and returns whether it did. */
function oldNameAdder(db: Database): (row: OldNameRow) => boolean {
  const { addIfAbsent: addNamespace } = table(db, oldNamespacesTable);
  const { addIfAbsent: addName } = table(db, oldNamesTable);
  const { addIfAbsent: addZonefile } = table(db, oldZonefilesTable);

  function add(row: OldNameRow): number | null {
    switch (row.kind) {
      case 'namespace':
        return addNamespace({ namespace: row.namespace, lifetime: row.lifetime, ...priceColumns(row.price) });
      case 'name': {
        const { name, owner, zonefileHash } = row;
        const parent = lastLabels(name, 1);
        return addName({ name, parent, owner, zonefile_hash: zonefileHash, resolver: null, zonefile: null });
      }
      case 'zonefile':
        return addZonefile({ hash: row.hash, content: row.content });
      case 'subdomain': {
        const { subdomain, owner, resolver, zonefileHash, zonefile } = row;
        const parent = lastLabels(subdomain, 2);
        return addName({ name: subdomain, parent, owner, zonefile_hash: zonefileHash, resolver, zonefile });
      }
    }
  }

  return (row) => add(row) !== null;
}

/** A row in JSON: `toJson` writes bytes as `{ bytes }` and large integers as `{ integer }`. */
type JsonRow = Record<string, unknown>;

const toJson = (_: string, value: unknown): unknown => {
  if (value instanceof Uint8Array) return { bytes: value.toHex() };
  return typeof value === 'bigint' ? { integer: String(value) } : value;
};

function fromJson(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('bytes' in value && typeof value.bytes === 'string') return Uint8Array.fromHex(value.bytes);
  return 'integer' in value && typeof value.integer === 'string' ? BigInt(value.integer) : value;
}

/** Bytes of rows after which a command is complete. */
const MAX_BYTES = 500_000;

/** Splits rows into the arguments of commands of bounded size. */
export async function* oldNameParts(rows: AsyncIterable<OldNameRow>): AsyncGenerator<{ rows: JsonRow[] }> {
  let part: JsonRow[] = [];
  let bytes = 0;
  for await (const row of rows) {
    const text = JSON.stringify(row, toJson);
    part.push(JSON.parse(text) as JsonRow);
    bytes += text.length;
    if (bytes < MAX_BYTES) continue;
    yield { rows: part };
    [part, bytes] = [[], 0];
  }
  if (part.length > 0) yield { rows: part };
}

/** The commands of names from before the chain. */
export function oldNameCommands(db: Database) {
  const add = oldNameAdder(db);
  return {
    /** Adds the missing rows. @returns their number */
    'names.add': ({ rows }: { rows: readonly JsonRow[] }): number => {
      const nameRows = JSON.parse(JSON.stringify(rows), fromJson) as OldNameRow[];
      return nameRows.filter((row) => add(row)).length;
    },
  };
}
export type OldNameCommands = ReturnType<typeof oldNameCommands>;
