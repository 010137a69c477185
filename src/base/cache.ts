/**
 * Values in memory that would cost to make again: {@link lazy} for one, {@link memoize} for those of texts,
 * {@link memoizeByObject} for those of objects, and {@link lruCache} where the caller makes them.
 */

/** A function without parameters that computes once. */
export interface Lazy<Value> {
  (): Value;
  /** The next call computes again. */
  clear(): void;
}

/** Computes a value at its first use: much of what a process names at its start is never asked for. */
export function lazy<Value>(compute: () => Value): Lazy<Value> {
  let computed: { value: Value } | null = null;
  const value = (): Value => {
    computed ??= { value: compute() };
    return computed.value;
  };
  const clear = (): void => {
    computed = null;
  };
  return Object.assign(value, { clear });
}

/** A pure function of a text that keeps its last results. */
interface Memo<Value> {
  (key: string): Value;
  clear(): void;
}

/** @param capacity results that are cached at most; all of them where the caller is short-lived */
export function memoize<Value>(compute: (key: string) => Value, capacity = Number.POSITIVE_INFINITY): Memo<Value> {
  const results = lruCache<string, { value: Value }>(capacity);
  const value = (key: string): Value => {
    const known = results.get(key);
    if (known !== undefined) return known.value;
    const result = compute(key);
    results.set(key, { value: result }, 1);
    return result;
  };
  return Object.assign(value, { clear: results.clear });
}

/** A pure function of an object that keeps each result for as long as somebody has the object. */
export function memoizeByObject<Key extends object, Value>(compute: (of: Key) => Value): (of: Key) => Value {
  const results = new WeakMap<Key, { value: Value }>();
  return (of) => {
    let known = results.get(of);
    if (known === undefined) {
      known = { value: compute(of) };
      results.set(of, known);
    }
    return known.value;
  };
}

/**
 * A cache that evicts what was least recently used, by two generations: when the younger one has half of the capacity, the
 * older one is dropped, so that nothing is to be done for each value that goes.
 */
export interface LruCache<Key, Value> {
  get(key: Key): Value | undefined;
  /** @param size what the value takes, in the unit of the capacity */
  set(key: Key, value: Value, size: number): void;
  clear(): void;
}

interface Cached<Value> {
  value: Value;
  size: number;
}

/** @param capacity sum of sizes; 0 for a cache that stays empty */
export function lruCache<Key, Value>(capacity: number): LruCache<Key, Value> {
  let older = new Map<Key, Cached<Value>>();
  let younger = new Map<Key, Cached<Value>>();
  let size = 0;

  function add(key: Key, cached: Cached<Value>): void {
    if (size > capacity / 2) {
      older = younger;
      younger = new Map();
      size = 0;
    }
    size += cached.size - (younger.get(key)?.size ?? 0);
    younger.set(key, cached);
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
      if (capacity > 0) add(key, { value, size: entrySize });
    },
    clear() {
      older = new Map();
      younger = new Map();
      size = 0;
    },
  };
}
