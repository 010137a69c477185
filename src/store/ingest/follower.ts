/** What follows the chain as it changes: what followers learn, and what they may ask. */
import type { Block } from '../../chain/block.ts';
import type { ChainChange } from './chain-writer.ts';
import type { Participant } from './participant.ts';

/** What takes part in the changes of the chain, inside the transaction of each. */
export interface ChainFollower extends Participant {
  /**
   * May write. What it throws undoes the event.
   * @param at Unix milliseconds of the entry that changed the chain
   */
  changed(change: ChainChange, at: number): void;
  committed(): void;
  recovered(): void;
}

/** The known blocks, for those who follow the chain. */
export interface ChainHistory {
  tip(): { height: number; indexBlockHash: Uint8Array };
  /** Index block hash of the canonical block at a height. */
  hashAt(height: number): Uint8Array | undefined;
  /** @throws UnknownParentError for a block that isn't known */
  branchOf(indexBlockHash: Uint8Array): { forkHeight: number; hashes: Uint8Array[] };
  /**
   * A known block, canonical or not; block 1 without the transactions of block 0.
   * @throws OperatorError where its payload is kept no more
   */
  block(indexBlockHash: Uint8Array): Block;
}
