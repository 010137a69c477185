/** Models of stacking (pox to pox-4) and staking (pox-5). STX are in micro-STX, BTC and sBTC in sats. */
import type { StackingPrint } from '../../chain/pox/stacking.ts';
import type { TransactionPosition } from './transaction.ts';

/** A stacking contract that prints: pox-2 to pox-4. */
export type StackingVersion = 2 | 3 | 4;

export interface StackingEvent {
  txId: Uint8Array;
  txIndex: number;
  blockHeight: number;
  eventIndex: number;
  print: StackingPrint;
}

export interface DelegationsAt {
  /** Height of the canonical block at which the delegations are valid. */
  height: number;
  /** Only delegations made above this height. */
  afterHeight: number;
}

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

interface CycleSigner {
  /** 33 bytes. */
  key: Uint8Array;
  weight: number;
  /** micro-STX. */
  stacked: bigint;
}

/** A signer of a cycle of pox-4. */
export interface StackingSigner extends CycleSigner {
  /** The Stacks address of the key. */
  address: string;
  soloStackers: number;
  pooledStackers: number;
}

/** A signer with its cycle, and its share of the cycle's weight and stacked STX. */
export interface CycleShare {
  signer: CycleSigner;
  cycle: RewardCycle;
}

export interface CycleStacker {
  stacker: string;
  pooled: boolean;
  print: StackingPrint;
}

/** A Bitcoin block that paid addresses, or had to. */
export interface PayingBlock {
  hash: Uint8Array;
  height: number;
}

/** A payment to an address in a Bitcoin block; sats. */
export interface BurnReward extends PayingBlock {
  /** Sats that the block's miners burnt. */
  burnAmount: string;
  recipient: string;
  amount: string;
  index: number;
}

/** An address that a Bitcoin block had to pay. */
export interface RewardSlot extends PayingBlock {
  address: string;
  index: number;
}

/** An output of a Bitcoin transaction that paid an address; sats. */
export interface PoxOutput extends PayingBlock {
  txId: Uint8Array;
  outputIndex: number;
  recipient: string;
  amount: string;
}

export interface Bond {
  index: number;
  /** Basis points a year. */
  targetRate: number;
  /** micro-STX per 100 sats. */
  stxValueRatio: number;
  /** Basis points. */
  minimumStxRatio: number;
  firstCycle: number;
  /** Bitcoin height. */
  startHeight: number;
  unlockCycle: number;
  /** Bitcoin height. */
  unlockHeight: number;
  allowed: number;
  /** Sum of all allowances; decimal, as all amounts. */
  btcCapacity: string;
  registered: number;
  btcLocked: string;
  stxLocked: string;
  /** Sats that its stakers claimed. */
  paidOut: string;
}

/** The transaction that made something, with the time of its Bitcoin block in Unix seconds. */
export interface MadeBy extends TransactionPosition {
  burnBlock: { height: number; time: number };
}

export interface BondDetail extends Bond {
  madeBy: MadeBy;
}

export interface BondAllowance {
  staker: string;
  sats: string;
}

export interface BondRegistration {
  staker: string;
  signer: string;
  sats: string;
  stx: string;
  txId: Uint8Array;
  /** Outputs of a lock on Bitcoin; null if sBTC was handed in. */
  outputs: { txId: Uint8Array; index: number }[] | null;
}

export interface Rewards {
  accrued: bigint;
  claimed: bigint;
}

export interface BondPosition {
  bond: number;
  earlyExit: boolean;
  active: boolean;
  /** Id of the transaction that registered it, or last changed its registration. */
  enrolledBy: Uint8Array;
  btcLocked: string;
  stxLocked: string;
  rewards: Rewards;
}

export interface StakingSummary {
  stx: { locked: bigint; rewards: Rewards };
  bonds: { count: number; btcLocked: bigint; stxLocked: bigint; rewards: Rewards };
}

export interface StakingSigner {
  signer: string;
  key: Uint8Array;
}

export interface StakingSignerDetail extends StakingSigner {
  madeBy: MadeBy;
}

export interface SignerStaker {
  staker: string;
  /** Whether it stakes STX without a bond, and whether it has a position in a bond. */
  stx: boolean;
  btc: boolean;
}

/** A contract with a registered key that signs in a reward cycle. */
export interface SignerManager {
  signer: string;
  registered: { height: number; burnHeight: number; txId: Uint8Array };
  /** Keys that the contract was granted, by key. */
  grants: { key: Uint8Array; authId: string; txId: Uint8Array }[];
  /** Another key that it registered later, for the next cycle; null if there is none. */
  pending: { key: Uint8Array; txId: Uint8Array } | null;
}

export interface ManagedSigner extends CycleShare {
  /** Managers, ordered by address. */
  managers: SignerManager[];
}

/** STX that a principal stacked or staked in a reward cycle, and the rewards. */
export interface StackedCycle {
  cycle: number;
  /** 1 for pox, up to 5 for pox-5. */
  poxVersion: number;
  /** STX stacked solo or through a pool (pox to pox-4); STX staked without a bond, or a position in a bond (pox-5). */
  kind: 'solo' | 'pooled' | 'stake' | 'bond';
  bond: number | null;
  /** The pool's principal, for pooled STX. */
  pool: string | null;
  /** Micro-STX. */
  stx: bigint;
  /** Sats of a bond that earn rewards. */
  sats: bigint;
  /** The Bitcoin address that was named for rewards of pox to pox-4; null if it is unknown. */
  bitcoinAddress: string | null;
  /**
   * Sats that the cycle's Bitcoin blocks paid to the address, which others may share. For pox-5, sats that the principal
   * accrued. Null if it is unknown.
   */
  earned: bigint | null;
  /** Sats that the principal claimed; null for pox to pox-4, which pay to Bitcoin addresses. */
  claimed: bigint | null;
}

/** A reward cycle of pox-5. Heights are Bitcoin heights. */
export interface StakingCycle {
  cycle: number;
  status: 'reward_phase' | 'prepare_phase' | 'finished';
  start: number;
  /** Null if the length of the prepare phase is unknown. */
  prepareStart: number | null;
  /** Last height of the cycle. */
  end: number;
  /** Micro-STX staked without a bond and in bonds. */
  stx: { stakes: bigint; bonds: bigint };
  /** Sats that earn rewards: locked on Bitcoin and deposited as sBTC. */
  btc: { native: bigint; sbtc: bigint };
  /** Number of stakers without a bond and in bonds, and of signers in the reward set. */
  stakers: { stakes: number; bonds: number };
  signers: number;
  /** Bonds that cover the cycle, by index. */
  bonds: number[];
  /** Sats calculated for bonds, for STX without a bond and for the reserve, and claimed by signers. */
  rewards: { bonds: bigint; stakes: bigint; reserve: bigint; claimed: bigint };
}

/** A staker's rewards from a signer for a reward cycle of pox-5. */
export interface StakerShare {
  staker: string;
  /** Null for STX without a bond. */
  bond: number | null;
  /** Micro-STX that the staker staked in the cycle. */
  stx: bigint;
  /** Sats of the bond that earned rewards in the cycle. */
  sats: bigint;
  /** Sats. */
  earned: bigint;
  claimed: bigint;
}
