/** The state of pox-5 on a branch of the chain. */
import { LayeredMap } from './layered-map.ts';

/** Sats or micro-STX and their signer, by the reward cycle from which each entry counts. */
type Units = readonly { readonly from: number; readonly units: bigint; readonly signer: string }[];

/** Returns the entry that counts in a cycle; undefined if there is none. */
export const unitsIn = (units: Units, cycle: number): Units[number] | undefined =>
  units.findLast(({ from }) => from <= cycle);

/** Sats that a signer owes for a reward cycle. */
export interface OwedShare {
  readonly cycle: number;
  readonly signer: string;
  readonly sats: bigint;
}

interface Term {
  readonly firstCycle: number;
  readonly unlockCycle: number;
}

export const isOn = ({ firstCycle, unlockCycle }: Term, cycle: number): boolean =>
  firstCycle <= cycle && cycle < unlockCycle;

interface SimulatedBond extends Term {
  readonly index: number;
  /** Sats by staker. */
  readonly allowed: ReadonlyMap<string, bigint>;
}

export interface SimulatedPosition {
  readonly bond: number;
  readonly staker: string;
  readonly signer: string;
  /** Micro-STX. */
  readonly stx: bigint;
  /** Remaining sats. */
  readonly sats: bigint;
  readonly onBitcoin: boolean;
  readonly units: Units;
}

export interface SimulatedStake extends Term {
  readonly staker: string;
  readonly signer: string;
  readonly units: Units;
}

/** Returns the state before the first call. */
export const emptyStaking = () => ({
  /** By index. */
  bonds: new LayeredMap<SimulatedBond>(),
  /** By {@link owedTo}. */
  positions: new LayeredMap<SimulatedPosition>(),
  /** By staker. */
  stakes: new LayeredMap<SimulatedStake>(),
  /** Keys of signers. */
  signers: new LayeredMap<Uint8Array>(),
  /** Shares by {@link owedTo}, at most one per cycle and signer. */
  owed: new LayeredMap<readonly OwedShare[]>(),
  /** The half cycles whose rewards were calculated. */
  halves: new LayeredMap<true>(),
});

export type StakingState = ReturnType<typeof emptyStaking>;

/** A change of the state by a print of pox-5. */
export type StakingMove = (state: StakingState) => void;

/** Returns the key of the rewards owed to a staker. @param bond null for a stake without a bond */
export const owedTo = (staker: string, bond: number | null): string => `${staker} ${bond ?? ''}`;

/** Adds a share to the recipient's share of the same cycle and signer. */
export function addShare({ owed }: StakingState, recipient: string, added: OwedShare): void {
  const shares = owed.get(recipient) ?? [];
  const index = shares.findIndex(({ cycle, signer }) => cycle === added.cycle && signer === added.signer);
  const appended = added.sats === 0n ? shares : [...shares, added];
  owed.set(recipient, index < 0 ? appended : shares.with(index, { ...added, sats: added.sats + shares[index]!.sats }));
}

/** Returns the recipients of owed sats, by {@link owedTo}. */
export const owedIn = ({ owed }: StakingState): string[] =>
  [...owed.entries()].filter(([, shares]) => shares.some(({ sats }) => sats > 0n)).map(([recipient]) => recipient);
