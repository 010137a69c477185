/** The maximum number of layers; a fork beyond it copies them into one. */
const maximumDepth = 16;

/**
 * A map that can be continued in several directions: `fork()` makes a child that sees everything and writes only
 * to itself.
 *
 * Each block's state is a fork of its parent's, so branches of the chain never disturb each other. A child costs
 * nothing but its own changes, except that each sixteenth generation copies the whole, which bounds both the time of a
 * look-up and, since the copy needs no parents, the memory of states nobody holds any more.
 */
export class LayeredMap<V> {
  readonly #own: Map<string, V>;
  readonly #parent: LayeredMap<V> | undefined;
  readonly #depth: number;

  constructor(parent?: LayeredMap<V>) {
    const flatten = parent !== undefined && parent.#depth + 1 >= maximumDepth;
    this.#own = flatten ? new Map(parent.entries()) : new Map();
    this.#parent = flatten ? undefined : parent;
    this.#depth = this.#parent === undefined ? 0 : this.#parent.#depth + 1;
  }

  fork(): LayeredMap<V> {
    return new LayeredMap(this);
  }

  get(key: string): V | undefined {
    let layer: LayeredMap<V> | undefined = this;
    while (layer !== undefined) {
      const value = layer.#own.get(key);
      if (value !== undefined) return value;
      layer = layer.#parent;
    }
    return undefined;
  }

  /** The map must not have been forked yet: its forks would see the change. */
  set(key: string, value: V): void {
    this.#own.set(key, value);
  }

  /** Every key with its newest value. */
  entries(): Map<string, V> {
    const all = this.#parent === undefined ? new Map<string, V>() : this.#parent.entries();
    for (const [key, value] of this.#own) all.set(key, value);
    return all;
  }
}
