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

/** A change of the simulated state by a print of pox-5. */
export type StakingMove =
  | { kind: 'bond'; bond: SimulatedBond }
  | { kind: 'position'; position: SimulatedPosition }
  | { kind: 'stake'; stake: SimulatedStake }
  | { kind: 'signer'; signer: string; key: Uint8Array }
  /** Rewards were calculated for a half cycle; `owed` contains shares by {@link owedTo}. */
  | { kind: 'calculation'; half: number; owed: ReadonlyMap<string, OwedShare> }
  | { kind: 'claim'; owedTo: string };

/** Returns the key of the rewards owed to a staker. @param bond null for a stake without a bond */
export const owedTo = (staker: string, bond: number | null): string => `${staker} ${bond ?? ''}`;

/** Adds a share to the one with its cycle and signer. */
function withShare(shares: readonly OwedShare[], added: OwedShare): readonly OwedShare[] {
  const at = shares.findIndex(({ cycle, signer }) => cycle === added.cycle && signer === added.signer);
  if (at === -1) return added.sats === 0n ? shares : [...shares, added];
  return shares.with(at, { ...added, sats: added.sats + shares[at]!.sats });
}

/** The state of pox-5 on a branch of the chain. */
export class StakingState {
  readonly #bonds: LayeredMap<SimulatedBond>;
  readonly #positions: LayeredMap<SimulatedPosition>;
  readonly #stakes: LayeredMap<SimulatedStake>;
  readonly #signers: LayeredMap<Uint8Array>;
  readonly #owed: LayeredMap<readonly OwedShare[]>;
  readonly #halves: LayeredMap<boolean>;

  constructor(parent?: StakingState) {
    this.#bonds = parent === undefined ? new LayeredMap() : parent.#bonds.fork();
    this.#positions = parent === undefined ? new LayeredMap() : parent.#positions.fork();
    this.#stakes = parent === undefined ? new LayeredMap() : parent.#stakes.fork();
    this.#signers = parent === undefined ? new LayeredMap() : parent.#signers.fork();
    this.#owed = parent === undefined ? new LayeredMap() : parent.#owed.fork();
    this.#halves = parent === undefined ? new LayeredMap() : parent.#halves.fork();
  }

  /** All bonds by ascending index. */
  get bonds(): SimulatedBond[] {
    return [...this.#bonds.entries().values()].sort((a, b) => a.index - b.index);
  }

  get positions(): SimulatedPosition[] {
    return [...this.#positions.entries().values()];
  }

  get stakes(): SimulatedStake[] {
    return [...this.#stakes.entries().values()];
  }

  /** Signers, with their keys. */
  get signers(): [signer: string, key: Uint8Array][] {
    return [...this.#signers.entries()];
  }

  bond(index: number): SimulatedBond | undefined {
    return this.#bonds.get(String(index));
  }

  position(bond: number, staker: string): SimulatedPosition | undefined {
    return this.#positions.get(owedTo(staker, bond));
  }

  stake(staker: string): SimulatedStake | undefined {
    return this.#stakes.get(staker);
  }

  /** Sats owed, by {@link owedTo}. */
  get owed(): [owedTo: string, sats: bigint][] {
    return [...this.#owed.entries().keys()].flatMap((recipient): [string, bigint][] => {
      const sats = this.owedOf(recipient).reduce((sum, share) => sum + share.sats, 0n);
      return sats > 0n ? [[recipient, sats]] : [];
    });
  }

  /** Returns the owed shares, at most one per cycle and signer. */
  owedOf(recipient: string): readonly OwedShare[] {
    return this.#owed.get(recipient) ?? [];
  }

  isCalculated(half: number): boolean {
    return this.#halves.get(String(half)) ?? false;
  }

  apply(move: StakingMove): void {
    switch (move.kind) {
      case 'bond':
        this.#bonds.set(String(move.bond.index), move.bond);
        return;
      case 'position':
        this.#positions.set(owedTo(move.position.staker, move.position.bond), move.position);
        return;
      case 'stake':
        this.#stakes.set(move.stake.staker, move.stake);
        return;
      case 'signer':
        this.#signers.set(move.signer, move.key);
        return;
      case 'calculation':
        this.#halves.set(String(move.half), true);
        for (const [recipient, share] of move.owed) this.#owed.set(recipient, withShare(this.owedOf(recipient), share));
        return;
      case 'claim':
        this.#owed.set(move.owedTo, []);
    }
  }
}
