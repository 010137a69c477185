import { type ChainOptions, type MineOptions, SimulatedChain } from './chain.ts';
import type { NodeEvent } from './node-event.ts';
import { Prng } from './prng.ts';

interface ScenarioOptions {
  readonly seed: number;
  /** A fork after every so many blocks; 0 for none. Default 20. */
  readonly forkEvery?: number;
  /** Blocks a fork reverts at most. Default 3. */
  readonly forkDepth?: number;
}

export interface DevnetOptions extends Omit<ChainOptions, 'retained'>, ScenarioOptions {
  /** Height at which the chain ends; blocks of losing forks are not counted. Default 100. */
  readonly blocks?: number;
}

/**
 * What happens on a simulated chain, step by step. Besides growing, the chain does what makes life hard for an indexer:
 * forks that lose and forks that win, with and without a fork of Bitcoin under them, blocks announced twice, and nodes that
 * start again.
 */
export class Scenario {
  readonly #chain: SimulatedChain;
  readonly #prng: Prng;
  readonly #forkEvery: number;
  readonly #forkDepth: number;
  #nextFork: number;

  constructor(chain: SimulatedChain, { seed, forkEvery = 20, forkDepth = 3 }: ScenarioOptions) {
    this.#chain = chain;
    this.#prng = new Prng(`stackside-devnet-${seed}/scenario`);
    this.#forkEvery = forkEvery;
    this.#forkDepth = forkDepth;
    this.#nextFork = forkEvery;
  }

  /** The events of the next block on the tip, or of a fork. */
  *step(): Generator<NodeEvent> {
    const chain = this.#chain;
    /** Index block hashes of the winning chain's last blocks, the tip at the end. */
    const branch = chain
      .ancestors(chain.tip)
      .take(this.#forkDepth + 1)
      .map(({ indexBlockHash }) => indexBlockHash)
      .toArray()
      .reverse();
    const depth = Math.min(branch.length - 1, this.#prng.between(1, Math.max(1, this.#forkDepth)));
    if (this.#forkEvery > 0 && chain.tip.height >= this.#nextFork && depth > 0) {
      this.#nextFork = chain.tip.height + this.#forkEvery;
      yield* this.#fork(branch.slice(0, branch.length - depth), depth);
    } else {
      yield* this.#announce(chain.tip.indexBlockHash, this.#nextStep());
    }
    if (this.#prng.chance(1 / 100)) yield chain.restart();
  }

  /** Mines a rival branch from `depth` blocks below the tip; a winning one ends one block above it. */
  *#fork(rivals: string[], depth: number): Generator<NodeEvent> {
    const wins = this.#prng.chance(0.5);
    const onBitcoin = this.#prng.chance(0.5);
    const length = wins ? depth + 1 : this.#prng.between(1, depth);
    let parent = rivals.at(-1)!;
    for (let i = 0; i < length; i++) {
      const first = i === 0 && onBitcoin;
      const step = first ? { newTenure: true, newBurnBlock: true, burnFork: true } : this.#nextStep();
      parent = yield* this.#announce(parent, step);
    }
  }

  *#announce(parent: string, options: MineOptions): Generator<NodeEvent, string> {
    const { events, indexBlockHash } = this.#chain.mine(parent, options);
    yield* events;
    // Acknowledged too late: the node sends the block once more.
    if (this.#prng.chance(1 / 50)) yield { ...events.at(-1)!, time: events.at(-1)!.time + 1 };
    return indexBlockHash;
  }

  /** A tenure has four blocks on average; now and then a burn block elects nobody. */
  #nextStep(): MineOptions {
    return this.#prng.weighted([
      [24, { newTenure: true }],
      [4, { newTenure: false, newBurnBlock: true }],
      [72, {}],
    ]);
  }
}

/**
 * The events of a whole simulated chain, in the order a node would post them. Only the blocks that a fork can still reach
 * are held in memory.
 */
export function* devnetEvents(options: DevnetOptions): Generator<NodeEvent> {
  const { blocks = 100, forkDepth = 3 } = options;
  const chain = new SimulatedChain({ ...options, retained: forkDepth + 2 });
  const scenario = new Scenario(chain, options);
  yield chain.genesis();
  while (chain.tip.height < blocks) yield* scenario.step();
}
