import { LayeredMap } from './layered-map.ts';

/** Sats or micro-STX, by the reward cycle from which each entry counts. */
type Units = readonly { readonly from: number; readonly units: bigint }[];

export const unitsIn = (units: Units, cycle: number): bigint =>
  units.findLast(({ from }) => from <= cycle)?.units ?? 0n;

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
  /** Rewards were calculated for a half cycle; `owed` contains sats by {@link owedTo}. */
  | { kind: 'calculation'; half: number; owed: ReadonlyMap<string, bigint> }
  | { kind: 'claim'; owedTo: string };

/** Returns the key of the rewards owed to a staker. @param bond null for a stake without a bond */
export const owedTo = (staker: string, bond: number | null): string => `${staker} ${bond ?? ''}`;

/** The state of pox-5 on a branch of the chain. */
export class StakingState {
  readonly #bonds: LayeredMap<SimulatedBond>;
  readonly #positions: LayeredMap<SimulatedPosition>;
  readonly #stakes: LayeredMap<SimulatedStake>;
  readonly #signers: LayeredMap<Uint8Array>;
  readonly #owed: LayeredMap<bigint>;
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
    return [...this.#owed.entries()].filter(([, sats]) => sats > 0n);
  }

  owedOf(whom: string): bigint {
    return this.#owed.get(whom) ?? 0n;
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
        for (const [whom, sats] of move.owed) this.#owed.set(whom, this.owedOf(whom) + sats);
        return;
      case 'claim':
        this.#owed.set(move.owedTo, 0n);
    }
  }
}
