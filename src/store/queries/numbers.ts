/** The numbers that tables have instead of addresses of principals and identifiers of assets. */
import type { Database } from 'bun:sqlite';
import { query, type Stored, statements } from '../rows/statement.ts';

export const sql = {
  principal: query<Stored<'principals', 'id'>, [string]>`SELECT id FROM principals WHERE address = ?1`,
  address: query<Stored<'principals', 'address'>, [number]>`SELECT address FROM principals WHERE id = ?1`,
  asset: query<Stored<'assets', 'id'>, [string]>`SELECT id FROM assets WHERE identifier = ?1`,
  identifier: query<Stored<'assets', 'identifier'>, [number]>`SELECT identifier FROM assets WHERE id = ?1`,
};

/** A number that no principal or asset has, so that queries with it find nothing. */
export const NOBODY = 0;

/** Looks up numbers and their texts. An unknown principal or asset has {@link NOBODY}, and an unknown number an empty text. */
export function numbers(db: Database) {
  const { principal, address, asset, identifier } = statements(db, sql);
  return {
    principalOf: (text: string): number => principal.get(text)?.id ?? NOBODY,
    addressOf: (id: number): string => address.get(id)?.address ?? '',
    assetOf: (name: string): number => asset.get(name)?.id ?? NOBODY,
    identifierOf: (id: number): string => identifier.get(id)?.identifier ?? '',
  };
}
