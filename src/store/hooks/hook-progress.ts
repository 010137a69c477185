/** Where live hooks stand, and how many blocks were ever evaluated. */
import type { Database } from 'bun:sqlite';
import type { HookProgress } from './model.ts';

interface Row {
  evaluated: number;
  cursor_height: number;
  cursor_hash: Uint8Array;
  evaluated_at: number | null;
}

/** What reads and sets it through this connection. */
export function hookProgress(db: Database) {
  const find = db.prepare<Row, []>('SELECT evaluated, cursor_height, cursor_hash, evaluated_at FROM hook_progress');
  const set = db.prepare<null, [number, number, Uint8Array, number | null]>(
    'UPDATE hook_progress SET evaluated = ?1, cursor_height = ?2, cursor_hash = ?3, evaluated_at = ?4',
  );
  const epoch = db.prepare<{ epoch: number }, []>('SELECT epoch FROM hook_progress');
  const setEpoch = db.prepare<null, [number]>('UPDATE hook_progress SET epoch = ?1');
  return {
    progress: (): HookProgress => {
      const row = find.get();
      if (row === null) throw new Error('hook_progress has no row');
      const { evaluated, cursor_height, cursor_hash, evaluated_at } = row;
      return { evaluated, cursor: { height: cursor_height, hash: cursor_hash }, evaluatedAt: evaluated_at };
    },
    setProgress: ({ evaluated, cursor, evaluatedAt }: HookProgress): void =>
      void set.run(evaluated, cursor.height, cursor.hash, evaluatedAt),
    /** The greatest epoch of a lease by which deliveries were marked; 0 before the first. */
    epoch: (): number => epoch.get()?.epoch ?? 0,
    setEpoch: (to: number): void => void setEpoch.run(to),
  };
}
