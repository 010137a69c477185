/** Writes the operations on names and namespaces, and the present state of each name. */
import type { Database } from 'bun:sqlite';
import type { EffectOf } from '../../chain/effect.ts';
import type { PriceFunction } from '../../chain/name-system.ts';
import { storedNameOperation } from '../rows/enums.ts';
import { prepared, type Stored } from '../rows/statement.ts';
import { table, upserter } from '../rows/table.ts';
import { nameOperationsTable, namespacePricesTable, namespacesTable, namesTable } from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';

type LastOperation = Stored<'name_operations', 'position' | 'event_index' | 'operation'>;

const REVOKED = storedNameOperation.numberOf('name-revoke');

/** Appliers of effects on names, by kind of effect. */
export function nameWriters(db: Database, { principals }: Dictionaries) {
  const operations = table(db, nameOperationsTable);
  const namespaces = table(db, namespacesTable);
  const prices = table(db, namespacePricesTable);
  const last = prepared<LastOperation, [string]>(
    db,
    `SELECT position, event_index, operation FROM name_operations
      WHERE name = ?1 ORDER BY position DESC, event_index DESC LIMIT 1`,
  );
  const setName = upserter(db, namesTable, { replaced: ['position', 'event_index', 'active'] });
  const removeName = db.prepare('DELETE FROM names WHERE name = ?1');

  function moveName({ sign, position, index, operation }: EffectOf<'name_operation'>): void {
    const { name, namespace, operation: word, sender, zonefileHash } = operation;
    const key = { name, position, event_index: index };
    if (sign === 1) {
      operations.add({
        ...key,
        operation: storedNameOperation.numberOf(word),
        sender_id: principals.id(sender),
        zonefile_hash: zonefileHash,
      });
    } else operations.remove(key);
    const now = last.get(name);
    if (now === null) {
      removeName.run(name);
      return;
    }
    const { position: lastPosition, event_index } = now;
    setName({ name, namespace, position: lastPosition, event_index, active: now.operation === REVOKED ? 0 : 1 });
  }

  function moveNamespace({ sign, position, index, namespace, lifetime }: EffectOf<'namespace'>): void {
    const key = { namespace, position, event_index: index };
    if (sign === 1) namespaces.add({ ...key, lifetime });
    else namespaces.remove(key);
  }

  function movePrice({ sign, position, index, namespace, price }: EffectOf<'namespace_price'>): void {
    const key = { namespace, position, event_index: index };
    if (sign === 1) prices.add({ ...key, ...priceColumns(price) });
    else prices.remove(key);
  }

  return { name_operation: moveName, namespace: moveNamespace, namespace_price: movePrice };
}

/** The columns of a price: decimal u128 numbers, and the exponents separated by spaces. */
export const priceColumns = ({ base, coefficient, exponents, nonalphaDiscount, noVowelDiscount }: PriceFunction) => ({
  base: String(base),
  coefficient: String(coefficient),
  exponents: exponents.join(' '),
  nonalpha_discount: String(nonalphaDiscount),
  no_vowel_discount: String(noVowelDiscount),
});
