/** Writes entries of the indexes of decoded values. */
import type { Database } from 'bun:sqlite';
import type { EffectOf, Sign } from '../../chain/effect.ts';
import { type ClarityFields, fieldsOf, fieldsOfCall, isWithin } from '../../codec/clarity-fields.ts';
import { compared, type EventPosition, type ValueIndex, type ValueSubject } from '../model/contract.ts';
import { valueIndexes } from '../queries/contracts/value-search.ts';
import { table } from '../rows/table.ts';
import { valueIndexEntriesTable } from '../rows/tables.ts';
import { pathKey, valueKey } from '../rows/value-keys.ts';

/** The entries of a log or call in an index: values by path, both as keys. */
export function entriesOf({ scope }: Pick<ValueIndex, 'scope'>, fields: ClarityFields): Map<string, string> {
  const entries = new Map<string, string>();
  for (const [path, field] of fields) if (isWithin(path, scope)) entries.set(pathKey(path), valueKey(field));
  return entries;
}

/** Makes a function that adds the entries of a log or call to an index, or removes them. */
export function entryWriter(db: Database) {
  const entries = table(db, valueIndexEntriesTable);
  return (
    sign: Sign,
    index: Pick<ValueIndex, 'id' | 'scope'>,
    position: EventPosition,
    fields: ClarityFields,
  ): void => {
    for (const [path, value] of entriesOf(index, fields)) {
      const entry = { index_id: index.id, path, value, position: position.position, event_index: position.eventIndex };
      entries.move(sign, entry);
    }
  };
}

/** Writes the entries of blocks that are applied and reverted. */
export function valueIndexWriter(db: Database) {
  const all = valueIndexes(db);
  const write = entryWriter(db);
  let bySubject: Readonly<Record<ValueSubject, ReadonlyMap<string, ValueIndex[]>>>;

  /** @param fieldsAt decodes the value; called only if an index needs it */
  function change(
    subject: ValueSubject,
    contract: string,
    sign: Sign,
    position: EventPosition,
    fieldsAt: () => ClarityFields,
  ): void {
    const indexes = bySubject[subject].get(contract);
    if (indexes === undefined) return;
    // An index has no entries before `from` yet. Batches will add them.
    const within = indexes.filter(({ from }) => compared(position, from) >= 0);
    if (within.length === 0) return;
    const fields = fieldsAt();
    for (const index of within) write(sign, index, position, fields);
  }

  return {
    /** Reads the list of indexes. Called before the effects of each block, since batches between blocks change it. */
    begin(): void {
      const wantedIndexes = all().filter((index) => index.wanted);
      const byContract = (subject: ValueSubject) =>
        Map.groupBy(
          wantedIndexes.filter((index) => index.subject === subject),
          ({ contract }) => contract,
        );
      bySubject = { logs: byContract('logs'), calls: byContract('calls') };
    },

    log({ sign, position, index, event }: EffectOf<'event'>): void {
      if (event.kind !== 'contract_log') return;
      change('logs', event.contractId, sign, { position, eventIndex: index }, () => fieldsOf(event.value));
    },

    call({ sign, position, transaction: { payload } }: EffectOf<'transaction'>): void {
      if (payload.type !== 'contract_call') return;
      const { contractId, functionName, functionArgs } = payload;
      change('calls', contractId, sign, { position, eventIndex: 0 }, () => fieldsOfCall(functionName, functionArgs));
    },
  };
}
