/** A state machine: tables that depend only on the chain and on the commands in the journal. */

import type { Block } from '../../chain/block.ts';
import type { Network } from '../../chain/network.ts';
import type { HookStore } from '../hooks/store.ts';
import type { Branch } from '../queries/blocks/chain.ts';
import type { ChainChange } from './chain-writer.ts';
import type { CommandRegistry } from './commands.ts';
import type { TransactionListener } from './event.ts';

export interface MachineParts {
  store: HookStore;
  history: ChainHistory;
  /** Null before the first block. */
  network: () => Network | null;
}

export interface StateMachine {
  follower: ChainFollower;
  commands: CommandRegistry;
}

/** Makes a state machine when an index is opened, before any entry is applied. */
export type ComposeMachine = (parts: MachineParts) => StateMachine;

/** Follows the changes of the chain, in their transactions. */
export interface ChainFollower extends TransactionListener {
  /**
   * May write. An error that it throws rolls back the event.
   * @param time Unix milliseconds of the entry that changed the chain
   */
  changed(change: ChainChange, time: number): void;
  /** Called when the log gets another identity, because it was restored to an earlier point. May write. */
  identityChanged(): void;
  committed(): void;
  recovered(): void;
}

/** The stored blocks, canonical and orphaned. */
export interface ChainHistory {
  tip(): { height: number; indexBlockHash: Uint8Array };
  /** Height of the block below the first one of the chain: 0, unless the history is partial. */
  bottom(): number;
  /** Index block hash of the canonical block at a height. */
  hashAt(height: number): Uint8Array | undefined;
  /** Whether the index has the block, canonical or not. */
  isKnown(indexBlockHash: Uint8Array): boolean;
  /** @throws UnknownParentError if the block isn't stored */
  branchOf(indexBlockHash: Uint8Array): Branch;
  /**
   * Returns a stored block, canonical or not; block 1 without the transactions of block 0.
   * @throws OperatorError if its payload is no longer stored
   */
  block(indexBlockHash: Uint8Array): Block;
}
