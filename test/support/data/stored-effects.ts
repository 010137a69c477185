/** Effects whose rows can be read at once, without a commit. */
import type { Database } from 'bun:sqlite';
import { type EffectsWriter, effectsWriter } from '../../../src/store/effects/apply.ts';
import { dictionaries } from '../../../src/store/effects/dictionary.ts';

/** Returns a function that applies effects through this connection and writes their rows before it returns. */
export function storedEffects(db: Database, options?: Parameters<typeof effectsWriter>[2]): EffectsWriter['apply'] {
  const { apply, store } = effectsWriter(db, dictionaries(db), options);
  return (effects) => {
    apply(effects);
    store();
  };
}
