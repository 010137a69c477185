/** Writes the operations on names and namespaces. */
import type { Database } from 'bun:sqlite';
import type { EffectOf } from '../../chain/effect.ts';
import type { PriceFunction } from '../../chain/name-system.ts';
import { storedNameOperation } from '../rows/enums.ts';
import { table } from '../rows/table.ts';
import { nameOperationsTable, namespacesTable } from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';
import { history } from './history.ts';

/** Appliers of effects on names, by kind of effect. */
export function nameWriters(db: Database, { principals }: Dictionaries) {
  const operations = history(db, nameOperationsTable);
  const namespaces = table(db, namespacesTable);

  function moveName({ sign, operation: { operation, ...change }, ...place }: EffectOf<'name_operation'>): void {
    const { name, namespace, sender, zonefileHash } = change;
    const sender_id = principals.id(sender);
    const row = { name, namespace, operation: storedNameOperation.numberOf(operation), sender_id };
    operations.move(sign, { ...row, zonefile_hash: zonefileHash }, place);
  }

  function moveNamespace({ sign, position, index, change }: EffectOf<'namespace'>): void {
    const key = { namespace: change.namespace, position, event_index: index };
    namespaces.move(sign, { ...key, lifetime: change.lifetime, ...priceColumns(change.price) });
  }

  return { name_operation: moveName, namespace: moveNamespace };
}

/** The columns of a price: decimal u128 numbers, and the exponents separated by spaces. */
export const priceColumns = ({ base, coefficient, exponents, nonalphaDiscount, noVowelDiscount }: PriceFunction) => ({
  base: String(base),
  coefficient: String(coefficient),
  exponents: exponents.join(' '),
  nonalpha_discount: String(nonalphaDiscount),
  no_vowel_discount: String(noVowelDiscount),
});
