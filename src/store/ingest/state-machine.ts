/** What makes tables of the chain and of the commands among the journal's entries, and nothing else. */

import type { Block } from '../../chain/block.ts';
import type { Network } from '../../chain/network.ts';
import type { HookStore } from '../hooks/store.ts';
import type { ChainChange } from './chain-writer.ts';
import type { CommandRegistry } from './commands.ts';
import type { TransactionListener } from './event.ts';

/** What a machine works with. */
export interface MachineParts {
  store: HookStore;
  history: ChainHistory;
  /** Null until a block came. */
  network: () => Network | null;
}

export interface StateMachine {
  follower: ChainFollower;
  commands: CommandRegistry;
}

/** Makes a machine that an index is opened with, before anything is applied. */
export type ComposeMachine = (parts: MachineParts) => StateMachine;

/** What takes part in the changes of the chain, inside the transaction of each. */
export interface ChainFollower extends TransactionListener {
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
   * @throws OperatorError where its payload is no longer stored
   */
  block(indexBlockHash: Uint8Array): Block;
}
