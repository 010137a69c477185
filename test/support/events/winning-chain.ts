/** Selects a stream's events on the winning chain, only from the payloads. */
import type { NodeEvent } from '../../../src/devnet/node-event.ts';

export interface BlockHead {
  index_block_hash: string;
  parent_index_block_hash: string;
  block_height: number;
  burn_block_height: number;
  transactions: { txid: string; raw_tx: string }[];
}

export interface BurnBlockHead {
  burn_block_hash: string;
  parent_burn_block_hash: string;
  burn_block_height: number;
}

export interface ChainBlock<Head> {
  head: Head;
  event: NodeEvent;
}

/** The blocks of the stream by hash, as first announced, including block 0. The tip is the first of the highest blocks. */
export class BlockTree {
  readonly blocks = new Map<string, ChainBlock<BlockHead>>();
  tip: BlockHead | undefined;

  /** @returns whether the block was new */
  add(event: NodeEvent): boolean {
    const head: BlockHead = JSON.parse(event.body);
    if (this.blocks.has(head.index_block_hash)) return false;
    this.blocks.set(head.index_block_hash, { head, event });
    if (this.tip === undefined || head.block_height > this.tip.block_height) this.tip = head;
    return true;
  }

  /** From block 1 to the tip. */
  chain(): ChainBlock<BlockHead>[] {
    const chain: ChainBlock<BlockHead>[] = [];
    let block = this.tip === undefined ? undefined : this.blocks.get(this.tip.index_block_hash);
    while (block !== undefined && block.head.block_height > 0) {
      chain.unshift(block);
      block = this.blocks.get(block.head.parent_index_block_hash);
    }
    return chain;
  }
}

/**
 * The Bitcoin blocks of the stream. The node announces a Bitcoin block when it is on the chain, so the tip is the last announced
 * block that was not already below the tip.
 */
export class BurnTree {
  readonly blocks = new Map<string, ChainBlock<BurnBlockHead>>();
  tip: string | undefined;

  add(event: NodeEvent): void {
    const head: BurnBlockHead = JSON.parse(event.body);
    if (!this.blocks.has(head.burn_block_hash)) this.blocks.set(head.burn_block_hash, { head, event });
    if (!this.chain().some(({ head: earlier }) => earlier.burn_block_hash === head.burn_block_hash))
      this.tip = head.burn_block_hash;
  }

  /** From the lowest that was announced to the tip. */
  chain(): ChainBlock<BurnBlockHead>[] {
    const chain: ChainBlock<BurnBlockHead>[] = [];
    let block = this.tip === undefined ? undefined : this.blocks.get(this.tip);
    while (block !== undefined) {
      chain.unshift(block);
      block = this.blocks.get(block.head.parent_burn_block_hash);
    }
    return chain;
  }
}

export function treesOf(events: readonly NodeEvent[]): { blocks: BlockTree; burnBlocks: BurnTree } {
  const [blocks, burnBlocks] = [new BlockTree(), new BurnTree()];
  for (const event of events) {
    if (event.path === '/new_block') blocks.add(event);
    if (event.path === '/new_burn_block') burnBlocks.add(event);
  }
  return { blocks, burnBlocks };
}

/**
 * Returns the events that a node would have sent if only the winning chain had existed: block 0, the Bitcoin blocks from the lowest
 * to Bitcoin's tip, and the blocks from 1 to the tip, each once.
 */
export function winningChain(events: readonly NodeEvent[]): NodeEvent[] {
  const { blocks, burnBlocks } = treesOf(events);
  const genesis = [...blocks.blocks.values()].find(({ head }) => head.block_height === 0);
  return [
    ...(genesis === undefined ? [] : [genesis.event]),
    ...burnBlocks.chain().map(({ event }) => event),
    ...blocks.chain().map(({ event }) => event),
  ];
}
