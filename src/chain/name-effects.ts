/** What a transaction does in the name system. */
import type { ChainTransaction } from './block.ts';
import type { Effect } from './effect.ts';
import { isNameContract, type NameChange, nameChangeOf, unprintedChange } from './name-system.ts';

/** The effects of one change. @param index of the event that says it */
function effectsOfChange(change: NameChange, position: number, index: number): Effect[] {
  switch (change.kind) {
    case 'name':
      return [{ kind: 'name_operation', sign: 1, position, index, operation: change.operation }];
    case 'namespace': {
      const { namespace, lifetime, price } = change;
      return [
        { kind: 'namespace', sign: 1, position, index, namespace, lifetime },
        { kind: 'namespace_price', sign: 1, position, index, namespace, price },
      ];
    }
    case 'price':
      return [{ kind: 'namespace_price', sign: 1, position, index, namespace: change.namespace, price: change.price }];
  }
}

/**
 * The effects of a transaction on namespaces and names, in the order of its events.
 * @param position of the transaction
 */
export function nameEffects(transaction: ChainTransaction, position: number): Effect[] {
  const effects: Effect[] = [];
  const { events, payload } = transaction;
  for (const [index, event] of events.entries()) {
    if (event.kind !== 'contract_log' || !isNameContract(event.contractId)) continue;
    const change = nameChangeOf(event);
    if (change !== null) effects.push(...effectsOfChange(change, position, index));
  }
  if (payload.type !== 'contract_call') return effects;
  const change = unprintedChange(transaction);
  if (change !== null) effects.push(...effectsOfChange(change, position, events.length));
  return effects;
}
