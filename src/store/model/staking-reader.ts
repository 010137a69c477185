/** What the API reads of staking. */
import type { CursorKey, Page } from './page.ts';
import type { RewardCycle } from './stacking.ts';
import type {
  Bond,
  BondAllowance,
  BondDetail,
  BondPosition,
  BondRegistration,
  ManagedSigner,
  SignerStaker,
  StakingSigner,
  StakingSignerDetail,
  StakingSummary,
} from './staking.ts';

export interface StakingReader {
  /** Highest index first. */
  bonds(limit: number, from: CursorKey | null): Promise<Page<Bond>>;
  bond(index: number): Promise<BondDetail | undefined>;
  /** Newest transaction first, inside it in the order of its events. */
  allowances(bond: number, limit: number, from: CursorKey | null): Promise<Page<BondAllowance>>;
  allowance(bond: number, staker: string): Promise<BondAllowance | undefined>;
  /** Newest first. */
  registrations(bond: number, limit: number, from: CursorKey | null): Promise<Page<BondRegistration>>;
  registration(bond: number, staker: string): Promise<BondRegistration | undefined>;
  summary(staker: string): Promise<StakingSummary>;
  /** By the bond's index. */
  positions(staker: string, limit: number, from: CursorKey | null): Promise<Page<BondPosition>>;
  /** Every signer that ever registered a key, by address. */
  signers(limit: number, from: CursorKey | null): Promise<Page<StakingSigner>>;
  signer(signer: string): Promise<StakingSignerDetail | undefined>;
  /** Who stakes through a signer now, by address. */
  stakers(signer: string, limit: number, from: CursorKey | null): Promise<Page<SignerStaker>>;
  /** Heaviest first, then by key. */
  cycleSigners(cycle: RewardCycle, limit: number, from: CursorKey | null): Promise<Page<ManagedSigner>>;
}
