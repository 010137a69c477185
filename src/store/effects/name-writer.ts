/** Names and namespaces: what was done with each, and what is left of it. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { table } from '../rows/table.ts';
import { nameOperationNumber } from '../rows/words.ts';
import type { Dictionaries } from './dictionary.ts';

type NameEffect = Extract<Effect, { kind: 'name_operation' | 'namespace' | 'namespace_price' }>;
type Of<K extends NameEffect['kind']> = Extract<NameEffect, { kind: K }>;

interface LastOperation {
  position: number;
  event_index: number;
  operation: number;
}

const REVOKED = nameOperationNumber('name-revoke');

/** What applies the effects on names through this connection. */
export function nameEffectsWriter(db: Database, { principals }: Dictionaries) {
  const operations = table(
    db,
    'name_operations',
    ['name', 'position', 'event_index', 'operation', 'sender_id', 'zonefile_hash'],
    3,
  );
  const namespaces = table(db, 'namespaces', ['namespace', 'position', 'event_index', 'lifetime'], 3);
  const prices = table(
    db,
    'namespace_prices',
    [
      'namespace',
      'position',
      'event_index',
      'base',
      'coefficient',
      'exponents',
      'nonalpha_discount',
      'no_vowel_discount',
    ],
    3,
  );
  const last = db.prepare<LastOperation, [string]>(
    `SELECT position, event_index, operation FROM name_operations
      WHERE name = ?1 ORDER BY position DESC, event_index DESC LIMIT 1`,
  );
  const setName = db.prepare(
    `INSERT INTO names VALUES (?1, ?2, ?3, ?4, ?5)
       ON CONFLICT (name) DO UPDATE SET position = ?3, event_index = ?4, active = ?5`,
  );
  const removeName = db.prepare('DELETE FROM names WHERE name = ?1');

  function moveName({ sign, position, index, operation }: Of<'name_operation'>): void {
    const { name, namespace, operation: word, sender, zonefileHash } = operation;
    if (sign === 1) {
      operations.add(name, position, index, nameOperationNumber(word), principals.id(sender), zonefileHash);
    } else operations.remove(name, position, index);
    const now = last.get(name);
    if (now === null) removeName.run(name);
    else setName.run(name, namespace, now.position, now.event_index, now.operation === REVOKED ? 0 : 1);
  }

  function moveNamespace({ sign, position, index, namespace, lifetime }: Of<'namespace'>): void {
    if (sign === 1) namespaces.add(namespace, position, index, lifetime);
    else namespaces.remove(namespace, position, index);
  }

  function movePrice({ sign, position, index, namespace, price }: Of<'namespace_price'>): void {
    if (sign === -1) {
      prices.remove(namespace, position, index);
      return;
    }
    const { base, coefficient, exponents, nonalphaDiscount, noVowelDiscount } = price;
    prices.add(
      namespace,
      position,
      index,
      base.toString(),
      coefficient.toString(),
      exponents.join(' '),
      nonalphaDiscount.toString(),
      noVowelDiscount.toString(),
    );
  }

  return (effect: NameEffect): void => {
    switch (effect.kind) {
      case 'name_operation':
        moveName(effect);
        return;
      case 'namespace':
        moveNamespace(effect);
        return;
      case 'namespace_price':
        movePrice(effect);
    }
  };
}
