/** Streams of events that start at a block of a chain, as a server gets them that is started next to a synced node. */
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import { BlockTree, treesOf } from './winning-chain.ts';

export interface Beginning {
  /** Height of the first block. */
  height: number;
  /** Index block hash of the block below it. */
  parent: string;
  /** The events after the block below the first one. */
  events: NodeEvent[];
}

/** Reports whether all announced Bitcoin blocks descend from one of them. */
export function isOneBitcoin(events: readonly NodeEvent[]): boolean {
  const { blocks } = treesOf(events).burnBlocks;
  const roots = [...blocks.values()].filter(({ head }) => !blocks.has(head.parent_burn_block_hash));
  return roots.length <= 1;
}

/** Returns every start block of a stream below which its chain doesn't fork, lowest first. */
export function beginnings(events: readonly NodeEvent[]): Beginning[] {
  const tree = new BlockTree();
  const blocks = events.filter(({ path }) => path === '/new_block');
  for (const event of blocks) tree.add(event);
  const isAbove = (hash: string, below: string): boolean => {
    for (let at = tree.blocks.get(hash); at !== undefined; at = tree.blocks.get(at.head.parent_index_block_hash)) {
      if (at.head.index_block_hash === below) return true;
    }
    return false;
  };
  return tree.chain().flatMap(({ head, event }): Beginning[] => {
    const index = events.indexOf(event);
    // Earlier Bitcoin blocks would be new, and so would lower blocks, at which the history would start.
    const before = new Set(events.slice(0, index + 1));
    const isLower = ({ path, body }: NodeEvent) =>
      path === '/new_block' && JSON.parse(body).block_height <= head.block_height;
    const since = events.slice(index + 1).filter((item) => !before.has(item) && !isLower(item));
    const after = since.filter(({ path }) => path === '/new_block').map(({ body }) => JSON.parse(body));
    const higher = after.filter(({ block_height }) => block_height > head.block_height);
    if (higher.length === 0 || !higher.every((row) => isAbove(row.index_block_hash, head.index_block_hash))) return [];
    if (!isOneBitcoin(since)) return [];
    return [{ height: head.block_height + 1, parent: head.index_block_hash, events: since }];
  });
}
