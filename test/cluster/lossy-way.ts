/** A connection to the log on which calls are lost, late or cut, drawn from a seed. */
import type { Prng } from '../../src/devnet/prng.ts';
import type { World } from '../simulation/world.ts';
import type { Call, Fate, Way } from '../support/data/memory-log.ts';

/** Milliseconds. */
const TRAVEL = 3;
export const LATE = 400;
const LOOK = 1_000;

const ofAppends: [number, Fate][] = [
  [2, 'unavailable'],
  [4, 'lost'],
  [3, 'late'],
  [1, 'never'],
  [1, 'refused'],
];
const ofLeases: [number, Fate][] = [
  [2, 'unavailable'],
  [4, 'lost'],
  [3, 'late'],
  [1, 'never'],
];
const ofOthers: [number, Fate][] = [
  [1, 'unavailable'],
  [2, 'cut'],
];

const fatesOf: Readonly<Record<Call, [number, Fate][]>> = {
  append: ofAppends,
  lease: ofLeases,
  read: ofOthers,
  head: ofOthers,
  wait: [[1, 'lost']],
};

export class LossyWay implements Way {
  readonly #world: World;
  readonly #prng: Prng;
  #lostInHundred: number;

  constructor(world: World, name: string, lostInHundred: number) {
    this.#world = world;
    this.#prng = world.prng(`way of ${name}`);
    this.#lostInHundred = lostInHundred;
  }

  /** From now on nothing is lost. */
  calm(): void {
    this.#lostInHundred = 0;
  }

  fate(call: Call): Fate {
    if (this.#prng.below(100) >= this.#lostInHundred) return 'done';
    return this.#prng.weighted<Fate>(fatesOf[call]);
  }

  travel(): Promise<void> {
    return this.#world.pause((this.#prng.below(100) / 100) * TRAVEL);
  }

  late(): Promise<void> {
    return this.#world.pause(this.#prng.below(LATE));
  }

  look(): Promise<void> {
    return this.#world.pause(LOOK);
  }
}
