/** A layer that has less than so many times the entries of the one above it is merged with it. */
const GROWTH = 4;

/**
 * A map that can be continued in several directions: `fork()` makes a child that sees everything and writes only
 * to itself.
 *
 * Each block's state is a fork of its parent's, so branches of the chain never disturb each other. A child costs little
 * more than its own changes: layers grow from the top to the bottom by a factor at least, so a look-up passes a number
 * of layers that is the logarithm of all entries, and an entry is copied as often.
 */
export class LayeredMap<V> {
  readonly #own = new Map<string, V>();
  /** What a fork sees below its own changes; never changed. Newest and smallest first. */
  readonly #below: readonly ReadonlyMap<string, V>[];
  /** What the forks of this one see, once there is one. */
  #layers: readonly ReadonlyMap<string, V>[] | undefined;

  constructor(below: readonly ReadonlyMap<string, V>[] = []) {
    this.#below = below;
  }

  fork(): LayeredMap<V> {
    this.#layers ??= layersOf(this.#own, this.#below);
    return new LayeredMap(this.#layers);
  }

  get(key: string): V | undefined {
    const own = this.#own.get(key);
    if (own !== undefined) return own;
    for (const layer of this.#below) {
      const value = layer.get(key);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** The map must not have been forked yet: its forks would see the change. */
  set(key: string, value: V): void {
    this.#own.set(key, value);
  }

  /** Every key with its newest value. */
  entries(): Map<string, V> {
    return mergedLayers([this.#own, ...this.#below]);
  }
}

/** The layers under a fork: the parent's own changes, merged with those below that are too small to stay apart. */
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
