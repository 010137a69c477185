/** The laws of pushes, derived only from the node's events. */
import { expect } from 'bun:test';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { BlockTree } from '../support/events/winning-chain.ts';
import type { Session } from './clients.ts';

/** A push of a block, as sessions and laws name it. */
export const pushedBlock = (indexBlockHash: string, canonical: boolean): string =>
  `${indexBlockHash} ${canonical ? 'canonical' : 'beside'}`;

/**
 * Returns the pushed blocks for each new block of the node, in order: blocks that left the chain and blocks that joined it, or
 * the new block itself. Each is its index block hash, and whether it was canonical then, however late it is pushed.
 */
export function pushedBlocks(events: readonly NodeEvent[]): string[][] {
  const tree = new BlockTree();
  let chain = new Set<string>();
  const pushed: string[][] = [];
  for (const event of events) {
    if (event.path !== '/new_block') continue;
    const before = tree.tip;
    if (!tree.add(event)) continue;
    const { index_block_hash, block_height } = JSON.parse(event.body);
    if (tree.tip === before) {
      pushed.push(block_height === 0 ? [] : [pushedBlock(index_block_hash, false)]);
      continue;
    }
    const hashes = tree.chain().map(({ head }) => head.index_block_hash);
    const joined = new Set(hashes);
    const orphaned = [...chain].filter((hash) => !joined.has(hash)).toReversed();
    pushed.push([
      ...orphaned.map((hash) => pushedBlock(hash, false)),
      ...hashes.filter((hash) => !chain.has(hash)).map((hash) => pushedBlock(hash, true)),
    ]);
    chain = joined;
  }
  return pushed;
}

/**
 * Checks that a subscriber gets each block on or off the chain once, in order, until the connection
 * ends.
 * @param pushed as {@link pushedBlocks} has it, for the whole run
 */
export function hearsEachBlock({ since, blocks, open }: Session, pushed: readonly (readonly string[])[]): void {
  const hashes = pushed.flat();
  // Blocks from before the client's confirmed subscription may be pushed as well.
  const latest = since === null ? hashes.length : pushed.slice(0, since).flat().length;
  const isFrom = (start: number): boolean => blocks.every((hash, place) => hashes[start + place] === hash);
  const starts = Array.from({ length: latest + 1 }, (_, start) => start).filter(isFrom);
  const isHeard = starts.some((start) => !open || start + blocks.length === hashes.length);
  expect({ since, blocks, open, isHeard }).toEqual({ since, blocks, open, isHeard: true });
}
