/** Chains without forks. */
import type { MineOptions, SimulatedChain } from '../../../src/devnet/chain.ts';
import type { NodeEvent } from '../../../src/devnet/node-event.ts';

/**
 * Mines blocks on the tip until a chain has a height.
 * @param optionsFor returns the options of each block from the height of its parent; by default, each block starts a tenure
 * @returns the events, which start with block 0 if the chain has no other block
 */
export function mineTo(
  chain: SimulatedChain,
  height: number,
  optionsFor: (parentHeight: number) => MineOptions = () => ({ newTenure: true }),
): NodeEvent[] {
  const events = chain.tip.height === 0 ? [chain.genesis()] : [];
  while (chain.tip.height < height) {
    const { height: parentHeight, indexBlockHash } = chain.tip;
    events.push(...chain.mine(parentHeight === 0 ? null : indexBlockHash, optionsFor(parentHeight)).events);
  }
  return events;
}
