/**
 * Values in memory that are expensive to compute again: {@link lazy} for a single value, {@link memoize} and
 * {@link memoizeByObject} for results of a function of a text, a number or an object, {@link lruCache} for values that the
 * caller computes.
 */

/** A function without parameters that computes once. */
export interface Lazy<Value> {
  (): Value;
  /** Makes the next call compute again. */
  clear(): void;
}

/** Computes a value at its first use, because a process never uses many of the values that it declares at its start. */
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

/** A pure function of a text or a number that caches its most recent results. */
interface Memo<Key, Value> {
  (key: Key): Value;
  clear(): void;
}

/** Caches results of a pure function. @param capacity maximum number of results; unlimited for short-lived callers */
export function memoize<Value, Key extends string | number = string>(
  compute: (key: Key) => Value,
  capacity = Number.POSITIVE_INFINITY,
): Memo<Key, Value> {
  const results = lruCache<Key, { value: Value }>(capacity);
  const value = (key: Key): Value => {
    const cached = results.get(key);
    if (cached !== undefined) return cached.value;
    const result = compute(key);
    results.set(key, { value: result }, 1);
    return result;
  };
  return Object.assign(value, { clear: results.clear });
}

/** Caches results of a pure function of an object. Each result stays until its object is garbage-collected. */
export function memoizeByObject<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const results = new WeakMap<Key, { value: Value }>();
  return (key) => {
    let cached = results.get(key);
    if (cached === undefined) {
      cached = { value: compute(key) };
      results.set(key, cached);
    }
    return cached.value;
  };
}

/**
 * A cache that evicts approximately the least recently used values. It has two generations. When the younger generation
 * reaches half of the capacity, the older generation is dropped. This needs no bookkeeping per value.
 */
export interface LruCache<Key, Value> {
  get(key: Key): Value | undefined;
  /** Caches a value. @param size of the value, in the unit of the capacity */
  set(key: Key, value: Value, size: number): void;
  clear(): void;
}

interface CacheEntry<Value> {
  value: Value;
  size: number;
}

/** Makes an empty cache. @param capacity maximum sum of sizes; 0 for a cache that stays empty */
export function lruCache<Key, Value>(capacity: number): LruCache<Key, Value> {
  let older = new Map<Key, CacheEntry<Value>>();
  let younger = new Map<Key, CacheEntry<Value>>();
  let size = 0;

  function add(key: Key, cached: CacheEntry<Value>): void {
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
