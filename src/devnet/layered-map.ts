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
  readonly #own = new Map<string, V>();
  /** The layers below the map's changes, newest and smallest first; immutable. */
  readonly #below: readonly ReadonlyMap<string, V>[];
  /** The layers for forks. The first fork makes them. */
  #layers: readonly ReadonlyMap<string, V>[] | undefined;

  constructor(below: readonly ReadonlyMap<string, V>[] = []) {
    this.#below = below;
  }

  fork(): LayeredMap<V> {
    this.#layers ??= layersOf(this.#own, this.#below);
    return new LayeredMap(this.#layers);
  }

  get(key: string): V | undefined {
    const value = this.#own.get(key);
    if (value !== undefined) return value;
    for (const layer of this.#below) {
      const value = layer.get(key);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** Sets a value. Must not be called after a fork, because the fork would see the change. */
  set(key: string, value: V): void {
    this.#own.set(key, value);
  }

  /** Returns all keys with their newest values. */
  entries(): Map<string, V> {
    return mergedLayers([this.#own, ...this.#below]);
  }
}

/** Returns forks of all maps. */
export const forkAll = <Maps extends Readonly<Record<string, LayeredMap<unknown>>>>(maps: Maps): Maps =>
  Object.fromEntries(Object.entries(maps).map(([name, map]) => [name, map.fork()])) as Maps;

/** Returns the layers for a fork: the parent's changes, merged with lower layers that are too small. */
function layersOf<V>(own: ReadonlyMap<string, V>, below: readonly ReadonlyMap<string, V>[]) {
  if (own.size === 0) return below;
  let size = own.size;
  let merged = 0;
  for (; merged < below.length && below[merged]!.size < size * GROWTH; merged++) size += below[merged]!.size;
  return [merged === 0 ? own : mergedLayers([own, ...below.slice(0, merged)]), ...below.slice(merged)];
}

/** @param layers newest first */
function mergedLayers<V>(layers: readonly ReadonlyMap<string, V>[]): Map<string, V> {
  const oldest = layers.at(-1);
  const all = new Map(oldest);
  for (const layer of layers.slice(0, -1).reverse()) for (const [key, value] of layer) all.set(key, value);
  return all;
}
