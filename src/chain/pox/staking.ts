/** How the prints of pox-5 are declared and read, and what they change. STX are in micro-STX, BTC and sBTC in sats. */
import { type Fields, type Tuple, type ValuesOf, valuesOf } from './fields.ts';

/** A Bitcoin output that a time lock is proven by; the id as Bitcoin shows it. */
export interface BitcoinOutput {
  txId: Uint8Array;
  index: number;
}

/**
 * A change that a print causes. Cycles are reward cycles, heights are Bitcoin's; a lock that ends at a height is free
 * from it on.
 */
export type StakingChange =
  | {
      kind: 'bond';
      bond: number;
      /** Basis points a year. */
      targetRate: number;
      /** micro-STX per 100 sats. */
      stxValueRatio: number;
      /** Basis points. */
      minimumStxRatio: number;
      firstCycle: number;
      startHeight: number;
      unlockCycle: number;
      unlockHeight: number;
    }
  /** How many sats a staker may put into a bond. */
  | { kind: 'allowance'; bond: number; staker: string; sats: bigint }
  | {
      kind: 'registration';
      bond: number;
      staker: string;
      signer: string;
      stx: bigint;
      sats: bigint;
      firstCycle: number;
      unlockCycle: number;
      unlockHeight: number;
      /** The outputs of a lock on Bitcoin; null where sBTC was deposited. */
      outputs: readonly BitcoinOutput[] | null;
    }
  /** Another signer, from a cycle on. */
  | {
      kind: 'registration_update';
      bond: number;
      staker: string;
      signer: string;
      stx: bigint;
      sats: bigint;
      firstCycle: number;
    }
  /** The Bitcoin of a position is released before the bond's end; its STX stay locked. */
  | { kind: 'early_exit'; bond: number; staker: string }
  /** A withdrawal of sBTC; `sats` is what remains. */
  | { kind: 'withdrawal'; bond: number; staker: string; sats: bigint }
  /** STX staked without a bond. */
  | {
      kind: 'stake';
      staker: string;
      signer: string;
      stx: bigint;
      firstCycle: number;
      unlockCycle: number;
      unlockHeight: number;
    }
  /** What the stake is from `fromCycle` on; where a stake ends, that is its `unlockCycle`. */
  | {
      kind: 'stake_update';
      staker: string;
      signer: string;
      stx: bigint;
      fromCycle: number;
      unlockCycle: number;
      unlockHeight: number;
    }
  /** Keys have 33 bytes. A registration makes the key the signer's; a grant allows it to, until it is revoked. */
  | {
      kind: 'signer_key';
      action: 'register' | 'grant' | 'revoke';
      signer: string;
      key: Uint8Array;
      authId: bigint | null;
    }
  /**
   * Sats for the sats of a bond: `rate` is for one, times 10^18. The cycle is that of the calculation it is a part of, and
   * null where there is none.
   */
  | { kind: 'bond_distribution'; bond: number; rate: bigint; cycle: number | null }
  /** Sats for the stakes of a cycle: `rate` is for a micro-STX, times 10^18; `staked` the micro-STX that get any. */
  | { kind: 'reward_calculation'; cycle: number; rate: bigint; staked: bigint }
  /** Sats that a staker took, of a bond or, where that is null, of its stake. */
  | { kind: 'reward_claim'; staker: string; bond: number | null; sats: bigint };

/** One topic of a contract. */
export interface StakingTopic {
  name: string;
  /** Reads a print's fields. @throws UnreadablePrint where they are not those of the topic */
  read(fields: Tuple): StakingChange[];
}

/** Declares a topic of pox-5. @param changes makes the changes of a print; none for a print that is only a log */
export const stakingTopic = <F extends Fields>(
  name: string,
  fields: F,
  changes: (values: ValuesOf<F>) => StakingChange[] = () => [],
): StakingTopic => ({ name, read: (tuple) => changes(valuesOf(fields, tuple)) });
