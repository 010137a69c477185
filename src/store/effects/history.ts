/** Tables whose rows are the states of something after each of its events; the last is marked `current`. */
import type { Database } from 'bun:sqlite';
import { table } from '../rows/table.ts';
import type { KeyOf, NewRow, Stored, TableShape } from '../rows/table-shape.ts';

/** Where an event stands in the chain. */
export interface At {
  position: number;
  index: number;
}

type Place = 'position' | 'event_index';
type HistoryShape = TableShape<{ position: 'integer'; event_index: 'integer'; current: 'integer' }>;

/** The columns that say whose states the rows are. */
type OwnerOf<S extends TableShape> = Omit<KeyOf<S>, Place>;

/** What keeps the states in such a table, through this connection. */
export function history<S extends HistoryShape>(db: Database, shape: S) {
  const owner = shape.key.filter((column) => column !== 'position' && column !== 'event_index');
  const ofOwner = owner.map((column, i) => `${column} = ?${i + 1}`).join(' AND ');
  const before = `(position, event_index) < (?${owner.length + 1}, ?${owner.length + 2})`;
  const rows = table(db, shape);
  const current = db.prepare<Stored<S, keyof S['columns']>, number[]>(
    `SELECT ${Object.keys(shape.columns).join(', ')} FROM ${shape.name} WHERE ${ofOwner} AND current = 1`,
  );
  const forget = db.prepare<null, number[]>(`UPDATE ${shape.name} SET current = 0 WHERE ${ofOwner} AND current = 1`);
  const recall = db.prepare<null, number[]>(
    `UPDATE ${shape.name} SET current = 1 WHERE (${owner.join(', ')}, position, event_index) =
       (SELECT ${owner.join(', ')}, position, event_index FROM ${shape.name}
         WHERE ${ofOwner} AND ${before} ORDER BY position DESC, event_index DESC LIMIT 1)`,
  );
  const idsOf = (of: OwnerOf<S>): number[] => owner.map((column) => Number(of[column as keyof OwnerOf<S>]));

  return {
    /** The last state; null where there is none. */
    current: (of: OwnerOf<S>): Stored<S, keyof S['columns']> | null => current.get(...idsOf(of)),
    /** Adds the state after an event, which is the current one from now on. */
    add(state: Omit<NewRow<S>, Place | 'current'>, { position, index }: At): void {
      const row = { ...state, position, event_index: index, current: 1 } as unknown as NewRow<S> & OwnerOf<S>;
      forget.run(...idsOf(row));
      rows.add(row);
    },
    /** Takes the state after an event away; the one before is current again. */
    remove(of: OwnerOf<S>, { position, index }: At): void {
      rows.remove({ ...of, position, event_index: index } as unknown as KeyOf<S>);
      recall.run(...idsOf(of), position, index);
    },
  };
}
