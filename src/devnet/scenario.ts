import { type ChainOptions, type MineOptions, SimulatedChain } from './chain.ts';
import type { NodeEvent } from './node-event.ts';
import { Prng } from './prng.ts';

export interface DevnetOptions extends Omit<ChainOptions, 'keep'> {
  /** Height at which the chain ends; blocks of losing forks are not counted. Default 100. */
  readonly blocks?: number;
  /** A fork after every so many blocks; 0 for none. Default 20. */
  readonly forkEvery?: number;
  /** Blocks a fork takes back at most. Default 3. */
  readonly forkDepth?: number;
}

/**
 * The events of a whole simulated chain, in the order a node would post them.
 *
 * Besides growing, the chain does what makes life hard for an indexer: forks that lose and forks that win, with and
 * without a fork of Bitcoin under them, blocks announced twice, and nodes that start again. Only the blocks a fork can
 * still reach are held in memory.
 */
export function* devnetEvents(options: DevnetOptions): Generator<NodeEvent> {
  const { blocks = 100, forkEvery = 20, forkDepth = 3 } = options;
  const prng = new Prng(`stackside-devnet-${options.seed}/scenario`);
  const chain = new SimulatedChain({ ...options, keep: forkDepth + 2 });
  /** Index block hashes of the winning chain's last blocks, the tip at the end. */
  let branch = [chain.genesisHash];
  let nextFork = forkEvery;

  yield chain.genesis();
  while (chain.tip.height < blocks) {
    const depth = Math.min(branch.length - 1, prng.between(1, Math.max(1, forkDepth)));
    if (forkEvery > 0 && chain.tip.height >= nextFork && depth > 0) {
      nextFork = chain.tip.height + forkEvery;
      branch = yield* fork(chain, branch, depth, prng);
    } else {
      branch = [...branch, yield* announce(chain, branch.at(-1)!, nextStep(prng), prng)];
    }
    branch = branch.slice(-forkDepth - 1);
    if (prng.chance(1 / 100)) yield chain.restart();
  }
}

/** Mines a rival branch from `depth` blocks below the tip; a winning one ends one block above it. */
function* fork(chain: SimulatedChain, branch: string[], depth: number, prng: Prng): Generator<NodeEvent, string[]> {
  const wins = prng.chance(0.5);
  const onBitcoin = prng.chance(0.5);
  const rivals = branch.slice(0, branch.length - depth);
  const length = wins ? depth + 1 : prng.between(1, depth);
  for (let i = 0; i < length; i++) {
    const first = i === 0 && onBitcoin;
    const step = first ? { newTenure: true, newBurnBlock: true, burnFork: true } : nextStep(prng);
    rivals.push(yield* announce(chain, rivals.at(-1)!, step, prng));
  }
  return wins ? rivals : branch;
}

function* announce(
  chain: SimulatedChain,
  parent: string,
  options: MineOptions,
  prng: Prng,
): Generator<NodeEvent, string> {
  const { events, indexBlockHash } = chain.mine(parent, options);
  yield* events;
  // Acknowledged too late: the node sends the block once more.
  if (prng.chance(1 / 50)) yield { ...events.at(-1)!, time: events.at(-1)!.time + 1 };
  return indexBlockHash;
}

/** A tenure has four blocks on average; now and then a burn block elects nobody. */
function nextStep(prng: Prng): MineOptions {
  return prng.weighted([
    [24, { newTenure: true }],
    [4, { newTenure: false, newBurnBlock: true }],
    [72, {}],
  ]);
}
