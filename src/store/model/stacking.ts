/** What queries of stacking (pox to pox-4), reward cycles and what Bitcoin paid answer. */
import type { StackingPrint } from '../../chain/pox/stacking.ts';

/** A stacking contract that prints: pox-2 to pox-4. */
export type StackingVersion = 2 | 3 | 4;

export interface StackingEvent {
  txId: Uint8Array;
  txIndex: number;
  blockHeight: number;
  eventIndex: number;
  print: StackingPrint;
}

/** Which delegations to a pool are asked for. */
export interface DelegationsAt {
  /** Height of the canonical block that the figures hold at. */
  height: number;
  /** Only those made above this height. */
  afterHeight: number;
}

/** Who may sign the blocks of a reward cycle. */
export interface RewardCycle {
  cycle: number;
  /** Height of the block that chose them. */
  blockHeight: number;
  indexHash: Uint8Array;
  signers: number;
  weight: number;
  /** micro-STX. */
  stacked: bigint;
}

export interface CycleSigner {
  /** 33 bytes. */
  key: Uint8Array;
  weight: number;
  /** micro-STX. */
  stacked: bigint;
}

/** A signer of a cycle by pox-4; by pox-5 there are none. */
export interface StackingSigner extends CycleSigner {
  /** The Stacks address of the key. */
  address: string;
  soloStackers: number;
  pooledStackers: number;
}

/** The signers of a cycle share its weight and what is stacked in it. */
export interface CycleShare {
  signer: CycleSigner;
  cycle: RewardCycle;
}

export interface CycleStacker {
  stacker: string;
  pooled: boolean;
  print: StackingPrint;
}

/** A payment to an address in a Bitcoin block; sats. */
export interface BurnReward {
  burnBlock: { hash: Uint8Array; height: number };
  /** What the block's miners burnt. */
  burnAmount: string;
  recipient: string;
  amount: string;
  index: number;
}

/** An address that a Bitcoin block had to pay. */
export interface RewardSlot {
  burnBlock: { hash: Uint8Array; height: number };
  address: string;
  index: number;
}

/** An output of a Bitcoin transaction that paid an address; sats. */
export interface PoxOutput {
  burnBlock: { hash: Uint8Array; height: number };
  txId: Uint8Array;
  outputIndex: number;
  recipient: string;
  amount: string;
}
