/** Writes the microblocks (Stacks 2.x) that blocks confirmed. */
import type { Database } from 'bun:sqlite';
import type { EffectOf } from '../../chain/effect.ts';
import { inserter } from '../rows/table.ts';
import { microblocksTable } from '../rows/tables.ts';

/** Applies effects on confirmed microblocks: adds and removes rows at the tip. */
export function confirmedMicroblockWriter(db: Database) {
  const last = db.prepare<{ ordinal: number | null }, []>('SELECT max(ordinal) AS ordinal FROM microblocks');
  const insert = inserter(db, microblocksTable);
  const remove = db.prepare<null, [number]>('DELETE FROM microblocks WHERE height = ?1');

  return ({ sign, height, microblocks }: EffectOf<'microblocks'>): void => {
    if (sign === -1) {
      remove.run(height);
      return;
    }
    let ordinal = last.get()?.ordinal ?? 0;
    for (const { hash, parentHash, sequence } of microblocks) {
      ordinal += 1;
      insert({ ordinal, hash, parent_hash: parentHash, sequence, height });
    }
  };
}
