/** The smallest changes of the canonical tables. */
import type { Block, ChainEvent, ChainTransaction, Microblock, MinerReward, RewardSet } from './block.ts';
import type { BnsChange } from './bns-v2.ts';
import type { MemoTransfer } from './memo-transfers.ts';
import type { NameOperation, NamespaceChange } from './name-system.ts';
import type { StackingLock } from './pox/reading.ts';
import type { StackingPrint } from './pox/stacking.ts';
import type { StakingChange } from './pox/staking.ts';
import type { MetadataUpdate, TokenContract, TokenMint } from './token-contracts.ts';

/** Things that a newer node may send in unknown kinds. */
export const unknownKinds = ['transaction', 'event', 'status', 'path'] as const;
export type UnknownKind = (typeof unknownKinds)[number];

/** 1: the effect adds its row or amount; -1: the effect reverts it. */
export type Sign = 1 | -1;

/** A principal's part in a transaction, in micro-STX; `sent` includes the fee if the principal pays it. */
export interface Involvement {
  stx: boolean;
  ft: boolean;
  nft: boolean;
  /** Whether the principal pays the fee (even a fee of zero) or takes part in an STX event. */
  stxMoved: boolean;
  /** Whether the principal only sponsors the transaction. */
  sponsorOnly: boolean;
  /** Number of asset events that the principal took part in; a transfer to itself counts once. */
  events: number;
  /** Number of STX events in which the principal received, and in which the principal sent. */
  stxInbound: number;
  stxOutbound: number;
  sent: bigint;
  received: bigint;
}

/** A change of the canonical tables. Amounts are micro-STX. */
export type Effect =
  | { kind: 'block'; sign: Sign; block: Block }
  | { kind: 'transaction'; sign: Sign; position: number; transaction: ChainTransaction }
  | { kind: 'event'; sign: Sign; position: number; index: number; event: ChainEvent }
  | { kind: 'involvement'; sign: Sign; position: number; principal: string; involvement: Involvement }
  | { kind: 'lock'; sign: Sign; position: number; index: number; lock: StackingLock }
  /** A print of pox-2 to pox-4. */
  | { kind: 'stacking_print'; sign: Sign; position: number; index: number; print: StackingPrint }
  /** A change by a print of pox-5; heights are Bitcoin's. */
  | { kind: 'staking'; sign: Sign; position: number; index: number; burnHeight: number; change: StakingChange }
  /** A print of a stacking contract that is unknown or unreadable. It changes nothing and is logged. */
  | { kind: 'unread_print'; sign: Sign; contract: string; topic: string | null; reason: string }
  /** A kind that this program doesn't support. It is stored unchanged, has no other effect and is logged. */
  | { kind: 'unknown_kind'; sign: Sign; what: UnknownKind; reason: string }
  | { kind: 'reward_set'; sign: Sign; height: number; rewardSet: RewardSet }
  | { kind: 'miner_reward'; sign: Sign; height: number; index: number; reward: MinerReward }
  /** Change of a principal's balance, and the number of transactions, rewards and STX events that caused it. */
  | ({ kind: 'account'; sign: Sign; principal: string } & AccountMove)
  /** One more block on the Bitcoin block that it is anchored to. */
  | { kind: 'anchor'; sign: Sign; block: Block }
  /** The microblocks that a block confirmed. */
  | { kind: 'microblocks'; sign: Sign; height: number; microblocks: readonly Microblock[] }
  /** Number of a block's transactions by payload type, of its calls by function name, and of its logs by contract. */
  | {
      kind: 'tallies';
      sign: Sign;
      types: ReadonlyMap<number, number>;
      functions: ReadonlyMap<string, number>;
      logs: ReadonlyMap<string, number>;
    }
  /** The activity that a block adds to a day (base/utc-time.ts): calls by contract, and events by asset. */
  | {
      kind: 'activity';
      sign: Sign;
      day: number;
      calls: ReadonlyMap<string, number>;
      ft: ReadonlyMap<string, number>;
      nft: ReadonlyMap<string, number>;
    }
  /** The change of the STX supply, and of the sum of all balances, by a block, in micro-STX. */
  | { kind: 'sums'; sign: Sign; height: number; supply: bigint; balances: bigint }
  | { kind: 'memo_transfer'; sign: Sign; position: number; transfer: MemoTransfer }
  /** Number of transactions and rewards of an account in a block, which its checkpoints count. */
  | { kind: 'checkpoint'; sign: Sign; height: number; principal: string; items: number }
  /** Change of a principal's token units, or of its number of NFTs, by a transaction. */
  | {
      kind: 'token_change';
      sign: Sign;
      position: number;
      principal: string;
      token: 'ft' | 'nft';
      asset: string;
      sent: bigint;
      received: bigint;
    }
  /** The change of a fungible token balance in base units, and the number of events that caused it. */
  | { kind: 'ft_balance'; sign: Sign; asset: string; principal: string; balance: bigint; transfers: number }
  | { kind: 'ft_token'; sign: Sign; asset: string; supply: bigint; events: number }
  /** The new owner of an NFT; null if the NFT was burnt. */
  | {
      kind: 'nft_move';
      sign: Sign;
      position: number;
      index: number;
      asset: string;
      value: Uint8Array;
      owner: string | null;
      isMint: boolean;
    }
  | { kind: 'name_operation'; sign: Sign; position: number; index: number; operation: NameOperation }
  /** A namespace was launched, or its price function changed. */
  | { kind: 'namespace'; sign: Sign; position: number; index: number; change: NamespaceChange }
  /** A change of the second name system; several changes may have one event. */
  | { kind: 'bns'; sign: Sign; position: number; index: number; contract: string; change: BnsChange }
  /** A token contract was deployed. */
  | { kind: 'token_contract'; sign: Sign; position: number; contract: string; token: TokenContract }
  /** A token was minted, for the first time or again. */
  | { kind: 'token_mint'; sign: Sign; position: number; index: number; mint: TokenMint }
  | { kind: 'token_update'; sign: Sign; position: number; index: number; update: MetadataUpdate };

export type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

export interface AccountMove {
  balance: bigint;
  /**
   * Number of rewards, and of transactions that moved the principal's STX (or would have moved STX with a fee above
   * zero).
   */
  stxMoves: number;
  transactions: number;
  rewards: number;
  stxInbound: number;
  stxOutbound: number;
  /** Number of transactions that the principal signed as origin, of token transfers to it, and of calls to it. */
  sent: number;
  paid: number;
  calls: number;
}
