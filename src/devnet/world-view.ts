/** What a contract sees of the world: it changes nothing there but by its events and writes. */
import type { StakingState } from './staking-state.ts';

/** micro-STX that can't be moved until a burn height. */
export interface Lock {
  readonly amount: bigint;
  /** Burn height at which the amount is free again. */
  readonly unlockHeight: number;
}

export interface WorldView {
  /** Micro-STX, those locked included. */
  balance(principal: string): bigint;
  locked(principal: string, burnHeight: number): Lock | undefined;
  spendable(principal: string, burnHeight: number): bigint;
  fungibleBalance(asset: string, principal: string): bigint;
  /** How many of the smallest unit of an asset there are. */
  fungibleSupply(asset: string): bigint;
  /** Undefined when the token was never minted or is burnt. */
  ownerOf(asset: string, value: Uint8Array): string | undefined;
  /** How many tokens of an asset were ever minted. */
  mintedOf(asset: string): number;
  /** What a contract keeps under a key. */
  stored(contract: string, key: string): string | undefined;
  /** Micro-STX that exist. */
  supply(): bigint;
  /** Whether a stacking contract takes calls at a burn height. */
  isActive(contract: 'pox-4' | 'pox-5', burnHeight: number): boolean;
  /** What pox-5 remembers. */
  readonly staking: StakingState;
}
