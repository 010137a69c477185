/** Minimum growth in entries from a layer to the next lower layer. Smaller layers are merged. */
const GROWTH = 4;

/**
 * A persistent map: `fork()` makes a child that sees all entries of its parent and writes only to itself.
 *
 * Each block's state is a fork of its parent's state, so branches are independent. A child costs little more than its
 * changes: layers grow from top to bottom by a constant factor, so the number of layers in a look-up, and of copies of
 * an entry, is logarithmic.
 */
export class LayeredMap<V> {
  readonly #changes = new Map<string, V>();
  /** The layers below the map's changes, newest and smallest first; immutable. */
  readonly #lower: readonly ReadonlyMap<string, V>[];
  /** The layers for forks. The first fork makes them. */
  #layers: readonly ReadonlyMap<string, V>[] | undefined;

  constructor(lower: readonly ReadonlyMap<string, V>[] = []) {
    this.#lower = lower;
  }

  fork(): LayeredMap<V> {
    this.#layers ??= mergeForFork(this.#changes, this.#lower);
    return new LayeredMap(this.#layers);
  }

  get(key: string): V | undefined {
    const value = this.#changes.get(key);
    if (value !== undefined) return value;
    for (const layer of this.#lower) {
      const value = layer.get(key);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** Sets a value. Must not be called after a fork, because the fork would see the change. */
  set(key: string, value: V): void {
    this.#changes.set(key, value);
  }

  /** Returns all keys with their newest values. */
  entries(): Map<string, V> {
    return mergeLayers([this.#changes, ...this.#lower]);
  }
}

/** Returns forks of all maps. */
export const forkAll = <Maps extends Readonly<Record<string, LayeredMap<unknown>>>>(maps: Maps): Maps =>
  Object.fromEntries(Object.entries(maps).map(([name, map]) => [name, map.fork()])) as Maps;

/** Returns the layers for a fork: the parent's changes, merged with lower layers that are too small. */
function mergeForFork<V>(changes: ReadonlyMap<string, V>, lower: readonly ReadonlyMap<string, V>[]) {
  if (changes.size === 0) return lower;
  let size = changes.size;
  let merged = 0;
  for (; merged < lower.length && lower[merged]!.size < size * GROWTH; merged++) size += lower[merged]!.size;
  return [merged === 0 ? changes : mergeLayers([changes, ...lower.slice(0, merged)]), ...lower.slice(merged)];
}

/** Merges layers into a map with their newest values. @param layers newest first */
function mergeLayers<V>(layers: readonly ReadonlyMap<string, V>[]): Map<string, V> {
  const oldest = layers.at(-1);
  const all = new Map(oldest);
  for (const layer of layers.slice(0, -1).reverse()) for (const [key, value] of layer) all.set(key, value);
  return all;
}
