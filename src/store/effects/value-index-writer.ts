/** Writes entries of the indexes of decoded values. */
import type { Database } from 'bun:sqlite';
import type { EffectOf, Sign } from '../../chain/effect.ts';
import { type ClarityFields, fieldsOf, fieldsOfCall, isWithin } from '../../codec/clarity-fields.ts';
import { compared, type EventPosition, type ValueIndex, type ValueSubject } from '../model/contract.ts';
import { valueIndexes } from '../queries/contracts/value-search.ts';
import { numbers } from '../queries/numbers.ts';
import { EVENT_KIND, PAYLOAD } from '../rows/enums.ts';
import { query, type Stored } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import { valueIndexEntriesTable } from '../rows/tables.ts';
import { type CallColumns, callArguments, pathKey, valueKey } from '../rows/value-keys.ts';

/** The entries of a log or call in an index: values by path, both as keys. */
export function entriesOf({ scope }: Pick<ValueIndex, 'scope'>, fields: ClarityFields): Map<string, string> {
  const entries = new Map<string, string>();
  for (const [path, field] of fields) if (isWithin(path, scope)) entries.set(pathKey(path), valueKey(field));
  return entries;
}

export interface LogOrCall {
  position: EventPosition;
  bytes: number;
  fields: () => ClarityFields;
}

type LogRow = Stored<'events', 'position' | 'event_index' | 'value'>;

type CallRow = CallColumns & Stored<'transactions', 'position' | 'function_name'>;

/**
 * Makes a function that reads the logs or calls of an index's contract, newest first.
 * @param side `>=` reads those from the index's start on, `<` those below it
 */
export function indexedItems(db: Database, side: '>=' | '<', limit = Number.MAX_SAFE_INTEGER) {
  const { principalOf } = numbers(db);
  const logs = query<LogRow, [number, number, number, number]>`
    SELECT position, event_index, value FROM events
     WHERE contract_id = ?1 AND kind = ${EVENT_KIND.log} AND (position, event_index) ${side} (?2, ?3)
     ORDER BY position DESC, event_index DESC LIMIT ?4`.prepared(db);
  const calls = query<CallRow, [number, number, number]>`
    SELECT t.position, t.function_name, b.function_args, b.raw FROM transactions t
      JOIN transaction_bodies b ON b.position = t.position
     WHERE t.contract_id = ?1 AND t.type = ${PAYLOAD.contract_call} AND t.position ${side} ?2
     ORDER BY t.position DESC LIMIT ?3`.prepared(db);

  return function* ({ subject, contract, from }: ValueIndex): Generator<LogOrCall> {
    const id = principalOf(contract);
    if (subject === 'logs') {
      for (const { position, event_index, value } of logs.iterate(id, from.position, from.eventIndex, limit)) {
        const bytes = value ?? new Uint8Array(0);
        yield { position: { position, eventIndex: event_index }, bytes: bytes.length, fields: () => fieldsOf(bytes) };
      }
      return;
    }
    for (const row of calls.iterate(id, from.position, limit)) {
      const fields = () => fieldsOfCall(row.function_name ?? '', callArguments(row));
      yield { position: { position: row.position, eventIndex: 0 }, bytes: row.raw.length, fields };
    }
  };
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
