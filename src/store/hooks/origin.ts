/** Where the rows of chainhooks and faucets come from, and the newest lease by which deliveries were marked. */
import type { Database } from 'bun:sqlite';
import { type HookOrigin, storedOrigin } from '../rows/hook-words.ts';
import { hookTables, otherCommandTables } from './carry-over.ts';
import type { Cursor } from './model.ts';

/** What reads and sets it through this connection. */
export function hookOrigin(db: Database) {
  const find = db.prepare<{ origin: number; epoch: number }, []>('SELECT origin, epoch FROM hook_origin');
  const set = db.prepare<null, [number, number]>('UPDATE hook_origin SET origin = ?1, epoch = ?2');
  const setEpoch = db.prepare<null, [number]>('UPDATE hook_origin SET epoch = ?1');
  const restart = db.prepare<null, [number, Uint8Array]>(
    'UPDATE hook_progress SET evaluated = 0, cursor_height = ?1, cursor_hash = ?2, evaluated_at = NULL',
  );
  const cleared = [...hookTables.filter((table) => table !== 'hook_progress'), ...otherCommandTables];

  function row(): { origin: number; epoch: number } {
    const found = find.get();
    if (found === null) throw new Error('hook_origin has no row');
    return found;
  }

  const ownHooks = db.prepare<{ uuid: string }, []>('SELECT uuid FROM hooks WHERE deleted_at IS NULL');
  const ownSecrets = db.prepare<{ consumer: string }, []>('SELECT consumer FROM hook_secrets');

  return {
    origin: (): HookOrigin => storedOrigin.wordOf(row().origin, 1),
    /** The greatest epoch of a lease by which deliveries were marked; 0 before the first. */
    epoch: (): number => row().epoch,
    setEpoch: (epoch: number): void => void setEpoch.run(epoch),
    /** The uuids of the hooks that were not deleted. */
    ownHooks: (): string[] => ownHooks.all().map(({ uuid }) => uuid),
    /** The consumers that have a signing secret. */
    ownSecrets: (): string[] => ownSecrets.all().map(({ consumer }) => consumer),
    /** Empties the tables, whose rows come from the journal's entries from now on. @param tip where live hooks begin */
    beginEntries(tip: Cursor): void {
      for (const table of cleared) db.run(`DELETE FROM ${table}`);
      restart.run(tip.height, tip.hash);
      set.run(storedOrigin.numberOf('entries'), 0);
    },
    /** The tables are this host's own from now on: it takes commands that are no entries. */
    leaveEntries: (): void => void set.run(storedOrigin.numberOf('left'), 0),
  };
}
export type HookOrigins = ReturnType<typeof hookOrigin>;
