/** Streams of events that begin at a block of a chain, as a server hears them that is begun beside a node with its chain. */
import { HISTORY_START_PATH } from '../../../src/chain/payload-reader.ts';
import type { HistoryStartPayload } from '../../../src/chain/payload-schemas.ts';
import { networks } from '../../../src/devnet/network.ts';
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import { BlockTree, treesOf } from './winning-chain.ts';

interface Head {
  block_height: number;
  index_block_hash: string;
  block_hash: string;
  burn_block_hash: string;
  burn_block_height: number;
}

/** The entry that makes an index begin above a block. */
export function startAbove({ body, time }: NodeEvent): NodeEvent {
  const below: Head = JSON.parse(body);
  const start: HistoryStartPayload = {
    chain_id: networks.testnet.chainId,
    block_height: below.block_height + 1,
    parent_index_block_hash: below.index_block_hash,
    parent_block_hash: below.block_hash,
    parent_burn_block_hash: below.burn_block_hash,
    parent_burn_block_height: below.burn_block_height,
  };
  return { path: HISTORY_START_PATH, body: JSON.stringify(start), time };
}

export interface Beginning {
  /** Height of the first block. */
  height: number;
  /** The first entry, and the events after the block below the first one. */
  events: NodeEvent[];
}

/** Whether Bitcoin forks nowhere below the blocks that the events announce. */
function isOneBitcoin(events: readonly NodeEvent[]): boolean {
  const { blocks } = treesOf(events).burnBlocks;
  const roots = [...blocks.values()].filter(({ head }) => !blocks.has(head.parent_burn_block_hash));
  return roots.length <= 1;
}

/** Every beginning of a stream below which its chain doesn't fork, lowest first. */
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
    const at = events.indexOf(event);
    // Bitcoin blocks of before would be new.
    const before = new Set(events.slice(0, at + 1));
    const since = events.slice(at + 1).filter((one) => !before.has(one));
    const after = since.filter(({ path }) => path === '/new_block').map(({ body }) => JSON.parse(body));
    const higher = after.filter(({ block_height }) => block_height > head.block_height);
    if (higher.length === 0 || !higher.every((one) => isAbove(one.index_block_hash, head.index_block_hash))) return [];
    if (!isOneBitcoin(since)) return [];
    return [{ height: head.block_height + 1, events: [startAbove(event), ...since] }];
  });
}
