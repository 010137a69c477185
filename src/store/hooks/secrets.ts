/** What signs a consumer's deliveries. */
import type { Database } from 'bun:sqlite';
import { prepared } from '../rows/statement.ts';
import type { Secrets } from './model.ts';

/** The secrets, as they are read through a connection. */
export function secretReads(db: Database) {
  const find = prepared<{ secret: Uint8Array; previous: Uint8Array | null; rotated_at: number }, [string]>(
    db,
    'SELECT secret, previous, rotated_at FROM hook_secrets WHERE consumer = ?1',
  );
  const all = db.prepare<{ consumer: string; secret: Uint8Array }, []>('SELECT consumer, secret FROM hook_secrets');
  return {
    /** The newest secret of everybody who has one. */
    all: (): { consumer: string; secret: Uint8Array }[] => all.all(),
    find: (consumer: string): Secrets | undefined => {
      const row = find.get(consumer);
      return row === null ? undefined : { secret: row.secret, previous: row.previous, rotatedAt: row.rotated_at };
    },
  };
}

/** The secrets, through the connection that writes. */
export function hookSecrets(db: Database) {
  const set = db.prepare<null, [string, Uint8Array, number]>(
    `INSERT INTO hook_secrets VALUES (?1, ?2, NULL, ?3)
     ON CONFLICT (consumer) DO UPDATE SET previous = secret, secret = ?2, rotated_at = ?3`,
  );
  const remove = db.prepare<null, [string]>('DELETE FROM hook_secrets WHERE consumer = ?1');
  return {
    ...secretReads(db),
    /** The one that was there is the previous one then. */
    set: (consumer: string, secret: Uint8Array, now: number) => {
      set.run(consumer, secret, now);
    },
    remove: (consumer: string) => {
      remove.run(consumer);
    },
  };
}
