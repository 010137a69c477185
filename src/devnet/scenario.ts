import { type ChainOptions, type MineOptions, SimulatedChain } from './chain.ts';
import type { NodeEvent } from './node-event.ts';
import { Prng } from './prng.ts';

interface ScenarioOptions {
  readonly seed: number;
  /** Number of blocks between two forks; 0 for no forks. Default 20. */
  readonly forkEvery?: number;
  /** Maximum blocks that a fork reverts. Default 3. */
  readonly forkDepth?: number;
}

export interface DevnetOptions extends Omit<ChainOptions, 'retained'>, ScenarioOptions {
  /** Height of the last block; blocks of losing forks don't count. Default 100. */
  readonly blocks?: number;
}

/**
 * A random course of a simulated chain with everything that is difficult for an indexer: losing and winning forks, with
 * and without a Bitcoin fork, repeated events of blocks, and restarts of the node.
 */
export class Scenario {
  readonly #prng: Prng;
  readonly #forkEvery: number;
  readonly #forkDepth: number;
  #nextFork: number;

  constructor(
    readonly chain: SimulatedChain,
    { seed, forkEvery = 20, forkDepth = 3 }: ScenarioOptions,
  ) {
    this.#prng = new Prng(`stackside-devnet-${seed}/scenario`);
    this.#forkEvery = forkEvery;
    this.#forkDepth = forkDepth;
    this.#nextFork = forkEvery;
  }

  /** Generates the events of the next block on the tip, or of a fork. */
  *next(): Generator<NodeEvent> {
    const { chain } = this;
    /** Index block hashes of the winning chain's last blocks, with the tip at the end. */
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
      yield* this.#announce(chain.tip.indexBlockHash, this.#nextOptions());
    }
    if (this.#prng.chance(1 / 100)) yield chain.restart();
  }

  /** Mines a rival branch from `depth` blocks below the tip. A winning branch ends one block above the tip. */
  *#fork(rivals: string[], depth: number): Generator<NodeEvent> {
    const wins = this.#prng.chance(0.5);
    const onBitcoin = this.#prng.chance(0.5);
    const length = wins ? depth + 1 : this.#prng.between(1, depth);
    let parent = rivals.at(-1)!;
    for (let i = 0; i < length; i++) {
      const forksBitcoin = i === 0 && onBitcoin;
      const options = forksBitcoin ? { newTenure: true, newBurnBlock: true, burnFork: true } : this.#nextOptions();
      parent = yield* this.#announce(parent, options);
    }
  }

  *#announce(parent: string, options: MineOptions): Generator<NodeEvent, string> {
    const { events, indexBlockHash } = this.chain.mine(parent, options);
    yield* events;
    // As after a late acknowledgement, the node sends the block again.
    if (this.#prng.chance(1 / 50)) yield { ...events.at(-1)!, time: events.at(-1)!.time + 1 };
    return indexBlockHash;
  }

  /** Tenures have four blocks on average; some burn blocks elect no miner. */
  #nextOptions(): MineOptions {
    return this.#prng.weighted([
      [24, { newTenure: true }],
      [4, { newTenure: false, newBurnBlock: true }],
      [72, {}],
    ]);
  }
}

/**
 * Generates the events of a whole simulated chain, in the order in which a node posts them. Only the blocks that a fork
 * can still reach stay in memory.
 */
export function* devnetEvents(options: DevnetOptions): Generator<NodeEvent> {
  const { blocks = 100, forkDepth = 3 } = options;
  const chain = new SimulatedChain({ ...options, retained: forkDepth + 2 });
  const scenario = new Scenario(chain, options);
  yield chain.genesis();
  while (chain.tip.height < blocks) yield* scenario.next();
}
