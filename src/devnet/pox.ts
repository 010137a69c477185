/** Reward cycles, and what the stacking contracts pox-4 and pox-5 share. */
import { clarity } from '../codec/clarity-encode.ts';

/**
 * Returns the reward cycles of a chain, counted from burn height 0.
 * @param length burn blocks
 * @param prepareLength burn blocks of the prepare phase at the end of a cycle, when the next signers are chosen
 */
export const rewardCycles = (length: number, prepareLength: number) =>
  ({
    length,
    prepareLength,
    of: (burnHeight: number): number => Math.floor(burnHeight / length),
    startOf: (cycle: number): number => cycle * length,
    /** Returns the burn height at which the signers of a cycle are chosen. */
    prepareStartOf: (cycle: number): number => cycle * length - prepareLength,
    /** Returns the half cycle of a burn height, counted from burn height 0. pox-5 calculates rewards by half cycles. */
    halfOf: (burnHeight: number): number => Math.floor((2 * burnHeight) / length),
    startOfHalf: (half: number): number => (half * length) / 2,
    inPreparePhase: (burnHeight: number): boolean => burnHeight % length >= length - prepareLength,
  }) as const;

export type RewardCycles = ReturnType<typeof rewardCycles>;

/** The cycles of the simulated contracts: short, as on regtest networks, so that a short chain has several. */
export const cycles = rewardCycles(20, 5);

/** Micro-STX per reward slot: the minimum for solo stacking. */
export const SLOT = 50_000_000_000n;

/** Returns a pay-to-public-key-hash address (version 0) in the form of pox contracts: a serialized tuple. */
export function poxAddress(hash160: Uint8Array): Uint8Array {
  return clarity.tuple({ hashbytes: clarity.buffer(hash160), version: clarity.buffer(Uint8Array.of(0)) });
}
