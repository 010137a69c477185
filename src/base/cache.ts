/** What is made once or kept for a while, in memory. */

/** Makes something when it is asked for first: much of what a process names at its start is never asked for. */
export function madeOnce<Made>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/**
 * A map that forgets what was not asked for lately. When the younger of two generations is full, the older one is
 * forgotten, so that nothing is to be done for each entry that goes.
 */
export interface Recent<Key, Value> {
  get(key: Key): Value | undefined;
  /** @param size what the entry takes, in the unit of the map's limit */
  set(key: Key, value: Value, size: number): void;
  clear(): void;
}

interface Entry<Value> {
  value: Value;
  size: number;
}

/** @param generation size of a generation, of which there are two; 0 for a map that keeps nothing */
export function recent<Key, Value>(generation: number): Recent<Key, Value> {
  let older = new Map<Key, Entry<Value>>();
  let younger = new Map<Key, Entry<Value>>();
  let size = 0;

  function add(key: Key, entry: Entry<Value>): void {
    if (size > generation) {
      older = younger;
      younger = new Map();
      size = 0;
    }
    younger.set(key, entry);
    size += entry.size;
  }

  return {
    get(key) {
      const young = younger.get(key);
      if (young !== undefined) return young.value;
      const old = older.get(key);
      if (old === undefined) return undefined;
      add(key, old);
      return old.value;
    },
    set(key, value, entrySize) {
      if (generation > 0) add(key, { value, size: entrySize });
    },
    clear() {
      older = new Map();
      younger = new Map();
      size = 0;
    },
  };
}
