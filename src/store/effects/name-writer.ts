/** Writes the operations on names and namespaces. */
import type { Database } from 'bun:sqlite';
import type { EffectOf } from '../../chain/effect.ts';
import type { PriceFunction } from '../../chain/name-system.ts';
import { storedNameOperation } from '../rows/enums.ts';
import { query, type Stored } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import { nameOperationsTable, namespacesTable } from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';

type LastOperation = Stored<'name_operations', 'position' | 'event_index'>;

/** Appliers of effects on names, by kind of effect. */
export function nameWriters(db: Database, { principals }: Dictionaries) {
  const operations = table(db, nameOperationsTable);
  const namespaces = table(db, namespacesTable);
  const last = query<LastOperation, [string]>`
    SELECT position, event_index FROM name_operations
     WHERE name = ?1 ORDER BY position DESC, event_index DESC LIMIT 1`.prepared(db);
  const mark = query<null, [string, number, number, number]>`
    UPDATE name_operations SET current = ?4 WHERE name = ?1 AND position = ?2 AND event_index = ?3`.prepared(db);

  function moveName({ sign, position, index, operation }: EffectOf<'name_operation'>): void {
    const { name, namespace, operation: word, sender, zonefileHash } = operation;
    const key = { name, position, event_index: index };
    if (sign === -1) operations.remove(key);
    const before = last.get(name);
    if (before !== null) mark.run(name, before.position, before.event_index, sign === 1 ? 0 : 1);
    if (sign === -1) return;
    operations.add({
      ...key,
      namespace,
      operation: storedNameOperation.numberOf(word),
      sender_id: principals.id(sender),
      zonefile_hash: zonefileHash,
      current: 1,
    });
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
