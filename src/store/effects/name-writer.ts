/** Writes the operations on names and namespaces of both name systems. */
import type { Database } from 'bun:sqlite';
import type { BnsChange, BnsNameChange } from '../../chain/bns-v2.ts';
import type { EffectOf } from '../../chain/effect.ts';
import type { PriceFunction } from '../../chain/name-system.ts';
import { BNS_BURN, storedBnsOperation, storedNameOperation } from '../rows/enums.ts';
import { query, type Stored } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import {
  bnsNamespacesTable,
  bnsNamesTable,
  bnsPrimaryNamesTable,
  nameOperationsTable,
  namespacesTable,
} from '../rows/tables.ts';
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

type LastPrimary = Stored<'bns_primary_names', 'bns_id'>;

/** The place of a change. */
type Place = Stored<'bns_names', 'contract_id' | 'position' | 'event_index'>;

/** Makes the applier of changes to the second name system. */
export function bnsWriter(db: Database, { principals }: Dictionaries): (effect: EffectOf<'bns'>) => void {
  const names = history(db, bnsNamesTable, { current: `operation <> ${BNS_BURN}` });
  const namespaces = table(db, bnsNamespacesTable);
  const primaries = table(db, bnsPrimaryNamesTable);
  const lastPrimary = query<LastPrimary, [number, number]>`
    SELECT bns_id FROM bns_primary_names WHERE contract_id = ?1 AND principal_id = ?2
     ORDER BY position DESC, event_index DESC LIMIT 1`.prepared(db);

  function operate(sign: 1 | -1, { contract_id, position, event_index: index }: Place, change: BnsNameChange): void {
    const { id: bns_id, name, namespace, renewalHeight: renewal_height } = change;
    const operation = storedBnsOperation.numberOf(change.operation);
    const row = { contract_id, bns_id, operation, name, namespace, renewal_height };
    names.move(sign, row, { position, index }, operation !== BNS_BURN);
  }

  const primaryOf = ({ contract_id }: Place, principal_id: number): number | null =>
    lastPrimary.get(contract_id, principal_id)?.bns_id ?? null;

  function choosePrimary(sign: 1 | -1, place: Place, principal_id: number, bns_id: number | null): void {
    if (sign === 1) primaries.add({ ...place, principal_id, bns_id });
    else primaries.removeIfPresent({ ...place, principal_id });
  }

  function moveToken(sign: 1 | -1, place: Place, { id, from, to }: Extract<BnsChange, { kind: 'token' }>): void {
    if (from === to) return;
    if (from !== null) {
      const sender = principals.id(from);
      if (sign === -1 || primaryOf(place, sender) === id) choosePrimary(sign, place, sender, null);
    }
    if (to === null) return;
    const recipient = principals.id(to);
    if (sign === -1 || primaryOf(place, recipient) === null) choosePrimary(sign, place, recipient, id);
  }

  return ({ sign, position, index, contract, change }) => {
    const place: Place = { contract_id: principals.id(contract), position, event_index: index };
    switch (change.kind) {
      case 'name':
        return operate(sign, place, change);
      case 'token':
        return moveToken(sign, place, change);
      case 'primary':
        return choosePrimary(sign, place, principals.id(change.owner), change.id);
      case 'namespace': {
        const { namespace, lifetime, launchedAt } = change;
        return namespaces.move(sign, { ...place, namespace, lifetime, launched_at: launchedAt });
      }
    }
  };
}
