/** What the API reads of stacking, reward cycles and what Bitcoin paid. */
import type { BlockId } from './block.ts';
import type { OffsetPage } from './page.ts';
import type {
  BurnReward,
  CycleStacker,
  DelegationsAt,
  PoxOutput,
  RewardCycle,
  RewardSlot,
  StackingEvent,
  StackingSigner,
  StackingVersion,
} from './stacking.ts';

export interface StackingReader {
  /** What a contract printed, newest first. */
  events(version: StackingVersion, limit: number, offset: number): Promise<OffsetPage<StackingEvent>>;
  /** Those of a transaction, newest first; undefined where the id is not of a canonical one. */
  ofTransaction(version: StackingVersion, txId: Uint8Array): Promise<StackingEvent[] | undefined>;
  /** All that was ever said of a stacker, newest first. */
  ofStacker(version: StackingVersion, stacker: string): Promise<StackingEvent[]>;
  /** The delegations to a pool that hold, one for each stacker, newest first; undefined where there is no such block. */
  delegations(
    version: StackingVersion,
    pool: string,
    at: DelegationsAt,
    limit: number,
    offset: number,
  ): Promise<OffsetPage<StackingEvent> | undefined>;
}

export interface RewardCycleReader {
  /** Highest first. */
  page(limit: number, offset: number): Promise<OffsetPage<RewardCycle>>;
  /** `current` is the highest whose signers are chosen: in a prepare phase that is the one to come. */
  find(cycle: number | 'current'): Promise<RewardCycle | undefined>;
  /** Heaviest first, then most stacked, then by key. */
  signers(cycle: number, limit: number, offset: number): Promise<OffsetPage<StackingSigner>>;
  signer(cycle: number, key: Uint8Array): Promise<StackingSigner | undefined>;
  /** Most locked first, then by address. */
  stackers(cycle: number, key: Uint8Array, limit: number, offset: number): Promise<OffsetPage<CycleStacker>>;
}

/** Rewards and slots are of pox to pox-4: they end with pox-4's locks. All are newest Bitcoin block first. */
export interface BurnRewardReader {
  /** Of the newest Bitcoin block that was announced; null where none was. */
  newestHash(): Promise<Uint8Array | null>;
  rewards(recipient: string | null, limit: number, offset: number): Promise<OffsetPage<BurnReward>>;
  /** Sats, decimal. */
  total(recipient: string): Promise<string>;
  slots(address: string | null, limit: number, offset: number): Promise<OffsetPage<RewardSlot>>;
  /** Of a Bitcoin block, or of the newest that has some. */
  outputsOf(id: BlockId, limit: number, offset: number): Promise<OffsetPage<PoxOutput>>;
  outputsTo(recipient: string, limit: number, offset: number): Promise<OffsetPage<PoxOutput>>;
}
