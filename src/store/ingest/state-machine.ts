/** What makes tables of the chain and of the commands among the journal's entries, and nothing else. */
import type { Network } from '../../chain/network.ts';
import type { HookStore } from '../hooks/store.ts';
import type { CommandRegistry } from './commands.ts';
import type { ChainFollower, ChainHistory } from './follower.ts';

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
