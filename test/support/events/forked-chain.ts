/** Streams of events with forks, grown from a list of small steps, so that fast-check can shrink them. */
import fc from 'fast-check';
import { type ChainOptions, type MineOptions, SimulatedChain } from '../../../src/devnet/chain.ts';
import type { NodeEvent } from '../../../src/devnet/node-event.ts';

/** `burn_fork` puts a tenure on a new Bitcoin block that rivals the one the chain has. */
type Tenure = 'same' | 'new' | 'extended' | 'burn_fork';

export type Step =
  /** Mines on the tip's ancestor that many blocks back; 0 is the tip. */
  | { mine: 'back'; blocks: number; tenure: Tenure; transactions: number }
  /** Mines on a block that has no child, at any height. */
  | { mine: 'on_end'; end: number; tenure: Tenure; transactions: number }
  /** Mines on the block that was mined last, on whichever branch. */
  | { mine: 'on_newest'; tenure: Tenure; transactions: number }
  /** Mines on a block without a child until it is the tip: a branch that lost wins again. */
  | { mine: 'overtake'; end: number; tenure: Tenure; transactions: number }
  /** Sends an event again, counted from the newest. */
  | { repeat: number }
  /** The node starts again, and announces an empty block 0. */
  | { restart: true };

export interface Forks {
  seed: number;
  /** Approximate percentage of transactions that empty a balance; 0 if omitted. */
  emptying?: number;
  steps: Step[];
}

const DEEPEST_FORK = 12;
const MAX_TRANSACTIONS = 4;
/** As many calls of pox-5 as of everything else: bonds and stakes are changed again and again. */
const STAKING = 100;
/** Balances of STX and tokens go to zero and back all the time. */
const EMPTYING = 40;
/** A list in which a step back is followed by enough others to overtake the tip. */
const MAX_STEPS = 40;

const where = {
  tenure: fc.oneof(
    { weight: 4, arbitrary: fc.constant<Tenure>('same') },
    { weight: 4, arbitrary: fc.constant<Tenure>('new') },
    { weight: 1, arbitrary: fc.constant<Tenure>('extended') },
    { weight: 1, arbitrary: fc.constant<Tenure>('burn_fork') },
  ),
  transactions: fc.nat(MAX_TRANSACTIONS),
};
const end = fc.nat(7);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 9, arbitrary: fc.record({ mine: fc.constant('back' as const), blocks: fc.constant(0), ...where }) },
  { weight: 4, arbitrary: fc.record({ mine: fc.constant('back' as const), blocks: fc.nat(DEEPEST_FORK), ...where }) },
  { weight: 4, arbitrary: fc.record({ mine: fc.constant('on_end' as const), end, ...where }) },
  { weight: 5, arbitrary: fc.record({ mine: fc.constant('overtake' as const), end, ...where }) },
  { weight: 2, arbitrary: fc.record({ repeat: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.constant({ restart: true as const }) },
);

export const forks = (): fc.Arbitrary<Forks> =>
  fc.record({
    seed: fc.nat(1_000_000),
    emptying: fc.constantFrom(0, EMPTYING),
    steps: fc.array(step, { minLength: 1, maxLength: MAX_STEPS, size: 'max' }),
  });

/** Generates a chain whose side branches grow while the tip stays, sometimes with a block on the tip between. */
export const besides = (): fc.Arbitrary<Forks> => {
  const counts = { transactions: fc.integer({ min: 1, max: MAX_TRANSACTIONS }) };
  // On one Bitcoin block, so that branches reach Bitcoin heights at which the chain lacks a block.
  const tenure = fc.constant<Tenure>('same');
  const trunk = fc.record({ mine: fc.constant('back' as const), blocks: fc.constant(0), tenure, ...counts });
  const branch = fc.record({
    mine: fc.constant('back' as const),
    blocks: fc.integer({ min: 4, max: 6 }),
    tenure: fc.constant<Tenure>('burn_fork'),
    ...counts,
  });
  const growth = fc.record({ mine: fc.constant('on_newest' as const), tenure, ...counts });
  return fc.record({
    seed: fc.nat(1_000_000),
    steps: fc
      .tuple(
        fc.array<Step>(trunk, { minLength: 6, maxLength: 8 }),
        fc.array(fc.tuple(branch, growth, fc.option(growth)), { minLength: 1, maxLength: 2 }),
        fc.option(trunk),
      )
      .map(([before, branches, last]) => [
        ...before,
        ...branches.flat().filter((step) => step !== null),
        ...(last === null ? [] : [last]),
      ]),
  });
};

const mining = (tenure: Tenure, transactions: number): MineOptions => {
  switch (tenure) {
    case 'same':
      return { transactions };
    case 'new':
      return { transactions, newTenure: true };
    case 'extended':
      return { transactions, newTenure: false, newBurnBlock: true };
    case 'burn_fork':
      return { transactions, newTenure: true, newBurnBlock: true, burnFork: true };
  }
};

/** The events of the steps, in the order a node would post them; block 0 first. */
export const eventsOf = (forks: Forks): NodeEvent[] => grown(forks).events;

/** The chain that the steps make, and its events. */
export function grown(
  { seed, steps, emptying = 0 }: Forks,
  options: Partial<ChainOptions> = {},
): { chain: SimulatedChain; events: NodeEvent[] } {
  const chain = new SimulatedChain({ seed, accounts: 12, staking: STAKING, emptying, ...options });
  const events = [chain.genesis()];
  const parents = new Map<string, string | null>([[chain.genesisHash, null]]);
  /** Blocks without a child, oldest first. */
  const ends = new Set([chain.genesisHash]);

  const mine = (parent: string, tenure: Tenure, transactions: number): { hash: string; height: number } => {
    // Block 1 always begins a tenure.
    const allowed = parent === chain.genesisHash && tenure !== 'burn_fork' ? 'new' : tenure;
    const block = chain.mine(parent, mining(allowed, transactions));
    events.push(...block.events);
    parents.set(block.indexBlockHash, parent);
    ends.delete(parent);
    ends.add(block.indexBlockHash);
    newest = block.indexBlockHash;
    return { hash: block.indexBlockHash, height: block.height };
  };
  let newest = chain.genesisHash;
  const endAt = (index: number): string => [...ends][index % ends.size] ?? chain.genesisHash;

  for (const step of steps) {
    if ('repeat' in step) {
      const event = events.at(-1 - (step.repeat % events.length));
      if (event !== undefined) events.push(event);
    } else if ('restart' in step) {
      events.push(chain.restart());
    } else if (step.mine === 'back') {
      let parent = chain.tip.indexBlockHash;
      for (let i = 0; i < step.blocks; i++) parent = parents.get(parent) ?? parent;
      mine(parent, step.tenure, step.transactions);
    } else if (step.mine === 'on_newest') {
      mine(newest, step.tenure, step.transactions);
    } else if (step.mine === 'on_end') {
      mine(endAt(step.end), step.tenure, step.transactions);
    } else {
      let parent = endAt(step.end);
      for (;;) {
        const mined = mine(parent, step.tenure, step.transactions);
        if (chain.tip.indexBlockHash === mined.hash) break;
        parent = mined.hash;
      }
    }
  }
  return { chain, events };
}
