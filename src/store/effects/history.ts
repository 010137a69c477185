/** Writes histories: tables with one row per event that changed something, whose newest row is marked `current`. */
import type { Database, SQLQueryBindings } from 'bun:sqlite';
import type { Sign } from '../../chain/effect.ts';
import { query } from '../rows/statement.ts';
import { type KeyOf, type NewRow, type StoredRow, type TableShape, table } from '../rows/table.ts';

export interface EventPlace {
  position: number;
  index: number;
}

type PlaceColumn = 'position' | 'event_index';
type HistoryShape = TableShape<{ position: 'integer'; event_index: 'integer'; current: 'integer' }>;

/** The key columns that identify whose history it is. */
type OwnerOf<S extends TableShape> = Omit<KeyOf<S>, PlaceColumn>;
type StateOf<S extends TableShape> = Omit<NewRow<S>, PlaceColumn | 'current'>;

/**
 * Makes functions that write a history in the order of the chain, and revert it in the opposite order.
 * @param rules.where SQL condition of the rows that belong to the history; all if omitted
 * @param rules.current SQL condition of a newest row that is current; always if omitted
 */
export function history<S extends HistoryShape>(
  db: Database,
  shape: S,
  { where = 'TRUE', current = 'TRUE' }: { where?: string; current?: string } = {},
) {
  const rows = table(db, shape);
  const ownerColumns = shape.key.filter((column) => column !== 'position' && column !== 'event_index');
  const ownerCondition = ownerColumns.map((column, index) => `${column} = ?${index + 1}`).join(' AND ');
  const key = shape.key.join(', ');
  const find = query<StoredRow<S>, SQLQueryBindings[]>`
    SELECT ${Object.keys(shape.columns).join(', ')} FROM ${shape.name} WHERE ${ownerCondition} AND current = 1`.prepared(
    db,
  );
  const mark = (value: string) =>
    query<null, SQLQueryBindings[]>`
    UPDATE ${shape.name} SET current = ${value} WHERE (${key}) =
      (SELECT ${key} FROM ${shape.name} WHERE ${ownerCondition} AND ${where}
        ORDER BY position DESC, event_index DESC LIMIT 1)`.prepared(db);
  const [unmarkNewest, markNewest] = [mark('FALSE'), mark(current)];
  const valuesOf = (owner: OwnerOf<S>): SQLQueryBindings[] =>
    ownerColumns.map((column) => owner[column as keyof OwnerOf<S>] as SQLQueryBindings);

  /** Adds the state after an event. @param isCurrent whether it becomes the current one */
  function add(state: StateOf<S>, { position, index }: EventPlace, isCurrent = true): void {
    const columns = { ...state, position, event_index: index, current: Number(isCurrent) };
    const row = columns as unknown as NewRow<S> & OwnerOf<S>;
    unmarkNewest.run(...valuesOf(row));
    rows.add(row);
  }

  /** Removes the state after an event; the state before becomes the current one. @throws Error if there is no such row */
  function remove(owner: OwnerOf<S>, { position, index }: EventPlace): void {
    rows.remove({ ...owner, position, event_index: index } as unknown as KeyOf<S>);
    markNewest.run(...valuesOf(owner));
  }

  return {
    /** Returns the current state; null if there is none. */
    current: (owner: OwnerOf<S>): StoredRow<S> | null => find.get(...valuesOf(owner)),
    add,
    remove,
    /** Adds the state after an event if the sign is 1; otherwise removes it. */
    move: (sign: Sign, state: StateOf<S> & OwnerOf<S>, place: EventPlace, isCurrent = true): void =>
      sign === 1 ? add(state, place, isCurrent) : remove(state, place),
  };
}
