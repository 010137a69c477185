/** What queries of staking (pox-5) answer. STX are in micro-STX, BTC and sBTC in sats. */

import type { CycleShare } from './stacking.ts';
import type { TransactionPlace } from './transaction.ts';

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
  /** What all that are allowed may put in; decimal as all amounts. */
  btcCapacity: string;
  registered: number;
  btcLocked: string;
  stxLocked: string;
  /** What its stakers claimed. */
  paidOut: string;
}

/** The transaction that something was made by, with the time of its Bitcoin block in Unix seconds. */
export interface MadeBy extends TransactionPlace {
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
  /** Outputs of a lock on Bitcoin; null where sBTC was handed in. */
  outputs: { txId: Uint8Array; index: number }[] | null;
}

export interface Rewards {
  accrued: bigint;
  claimed: bigint;
}

/** What a staker has in a bond. */
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
  /** Whether it stakes STX without a bond, and whether it is in one. */
  stx: boolean;
  btc: boolean;
}

/** A contract that has a signer's key in a reward cycle. */
export interface SignerManager {
  signer: string;
  registered: { height: number; burnHeight: number; txId: Uint8Array };
  /** Keys that are granted to it, by key. */
  grants: { key: Uint8Array; authId: string; txId: Uint8Array }[];
  /** Another key it registered since; of the next cycle. */
  pending: { key: Uint8Array; txId: Uint8Array } | null;
}

export interface ManagedSigner extends CycleShare {
  /** Managers, ordered by address. */
  managers: SignerManager[];
}
