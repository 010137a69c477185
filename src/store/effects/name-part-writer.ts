/** Writes the parts of names that searches use to find contracts and tokens. */
import type { Database } from 'bun:sqlite';
import { assetNameOf, contractNameOf } from '../../codec/address.ts';
import type { NamePartKind } from '../rows/enums.ts';
import { nameParts } from '../rows/name-parts.ts';
import { table } from '../rows/table.ts';
import { namePartsTable } from '../rows/tables.ts';

/** Adds and removes the parts of names, in the open transaction. */
export function namePartWriter(db: Database) {
  const parts = table(db, namePartsTable);

  function move(sign: 1 | -1, kind: NamePartKind, id: number, name: string, identifier: string | null): void {
    for (const row of nameParts(kind, id, name, identifier)) parts.move(sign, row);
  }

  return {
    /** @param sign 1 if the contract was deployed, -1 if its only deployment is reverted */
    contract: (sign: 1 | -1, id: number, contract: string): void =>
      move(sign, 'contract', id, contractNameOf(contract), contract),

    /** @param sign 1 if the asset has its first row, -1 if it loses its last */
    asset: (sign: 1 | -1, kind: 'ft' | 'nft', id: number, asset: string): void =>
      move(sign, kind, id, assetNameOf(asset), asset),

    /** Replaces the name or symbol of a fungible token. @param before @param now null if unknown */
    token(kind: 'token_name' | 'token_symbol', contractId: number, before: string | null, now: string | null): void {
      if (before === now) return;
      if (before !== null) move(-1, kind, contractId, before, null);
      if (now !== null) move(1, kind, contractId, now, null);
    },
  };
}
