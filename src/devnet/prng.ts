import { sha256 } from '../codec/hash.ts';
import { utf8Bytes } from '../codec/utf8.ts';

/**
 * A seeded random number generator. Equal seeds give equal sequences on every machine.
 *
 * The generator is xoshiro128**, seeded with the SHA-256 of a text. It is fast and uniform, but not secure: keys made
 * with it are worthless outside a simulation.
 */
export class Prng {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: string) {
    const state = new DataView(sha256(utf8Bytes(seed)).buffer);
    this.#a = state.getUint32(0);
    this.#b = state.getUint32(4);
    this.#c = state.getUint32(8);
    this.#d = state.getUint32(12);
  }

  /** Returns 32 uniform bits. */
  u32(): number {
    const scrambled = Math.imul(this.#b, 5);
    const result = Math.imul((scrambled << 7) | (scrambled >>> 25), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result;
  }

  /** Returns an integer from 0 to `limit` - 1; `limit` at most 2^32. */
  below(limit: number): number {
    return Math.floor((this.u32() / 0x1_0000_0000) * limit);
  }

  /** Returns an integer from `low` to `high`, inclusive. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** Returns true with a given probability. */
  chance(probability: number): boolean {
    return this.u32() < probability * 0x1_0000_0000;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError('pick from an empty list');
    return item;
  }

  /** Picks a value with a probability in proportion to its weight. */
  weighted<T>(choices: readonly (readonly [weight: number, value: T])[]): T {
    let rest = this.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, value] of choices) {
      rest -= weight;
      if (rest < 0) return value;
    }
    throw new RangeError('weights must be positive integers');
  }

  bytes(length: number): Uint8Array {
    const result = new Uint8Array(length);
    for (let i = 0; i < length; i += 4) {
      const word = this.u32();
      for (let j = i; j < Math.min(i + 4, length); j++) result[j] = word >>> ((j - i) * 8);
    }
    return result;
  }

  /** Shuffles in place (Fisher-Yates) and returns the array. */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [items[i], items[j]] = [items[j]!, items[i]!];
    }
    return items;
  }
}
